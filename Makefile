# Each target sets up what it needs on a machine that has git, make and Python 3.11. A second run skips the set-up.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install check format lock docs demo demo-spark airflow soak bench bench-many-tables bench-metadata-table bench-scale bench-spark-connect profile archive clean
.PHONY: compose-up compose-down test-compose test-s3 test test-all test-times test-docs test-unit test-spark test-spark35 test-connect35 test-airflow test-airflow31 test-airflow-stack test-conformance test-conformance-metadata test-conformance-logs test-conformance-tables test-conformance42 test-e2e test-readers test-platforms

PYTEST_ARGS ?=
PYTEST       = -m pytest $(PYTEST_ARGS)
# Docker Compose: the plugin of Docker if it is installed, otherwise the program docker-compose.
COMPOSE      = $$(docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose)
WITH_JAVA    = JAVA_HOME="$$(scripts/ensure_java.sh)" && export JAVA_HOME &&
# Environment of targets that start many JVMs with Spark 4.2: Java, and an archive of Spark's classes.
WITH_SPARK   = $(WITH_JAVA) SPARK_CLASS_ARCHIVE="$$(scripts/ensure_spark_archive.sh .venv)" && export SPARK_CLASS_ARCHIVE &&

# Environment of targets that run Airflow's four processes: the folder of PostgreSQL's server programs. If it is empty,
# Airflow uses SQLite.
WITH_POSTGRES = POSTGRES_PROGRAMS="$$(scripts/ensure_postgres.sh)" && export POSTGRES_PROGRAMS &&

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: .venv/.ready ## Create .venv (Airflow 3.3, Spark 4.2) for the jobs and hudi-services; other targets create their own environments
	@$(WITH_JAVA) echo "Ready: .venv, Java in $$JAVA_HOME"

.venv/.ready: locks/spark.txt pyproject.toml
	@scripts/ensure_env.sh .venv locks/spark.txt

.venv-airflow31/.ready: locks/airflow31.txt pyproject.toml
	@scripts/ensure_env.sh .venv-airflow31 locks/airflow31.txt

.venv-s3/.ready: locks/s3.txt pyproject.toml
	@scripts/ensure_env.sh .venv-s3 locks/s3.txt

.venv-judges/.ready: locks/judges.txt pyproject.toml
	@scripts/ensure_env.sh .venv-judges locks/judges.txt

.venv-docs/.ready: locks/docs.txt pyproject.toml
	@scripts/ensure_env.sh .venv-docs locks/docs.txt

.venv-readers/.ready: locks/readers.txt pyproject.toml
	@scripts/ensure_env.sh .venv-readers locks/readers.txt

check: .venv/.ready ## Check style, formatting, strict types and the direction of imports
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports --no-cache

format: .venv/.ready ## Format the sources, and correct the findings that ruff can correct
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

EVERY_ENVIRONMENT = .venv/.ready .venv-s3/.ready .venv-airflow31/.ready .venv-judges/.ready .venv-docs/.ready

test: $(EVERY_ENVIRONMENT) ## Run most groups of tests in two lanes (LANES=2), with a sample of the matrix (docs/testing.md)
	@$(WITH_JAVA) .venv/bin/python scripts/run_test_groups.py

test-all: $(EVERY_ENVIRONMENT) .venv-readers/.ready ## Run every group of tests, with every layout and point of failure (docs/testing.md)
	@$(WITH_JAVA) TEST_DEPTH="$${TEST_DEPTH:-all}" .venv/bin/python scripts/run_test_groups.py
	@[ "$${TEST_DEPTH:-all}" != all ] || .venv/bin/python scripts/make_testing_doc.py

test-times: .venv/.ready ## Write the seconds of the last whole run of the tests into docs/testing.md
	.venv/bin/python scripts/make_testing_doc.py

test-unit: .venv/.ready ## Run the tests without Spark, in two to five minutes
	.venv/bin/python $(PYTEST) tests/unit

docs: .venv-docs/.ready ## Build the site of docs/ into build/site, with warnings as errors
	.venv-docs/bin/python scripts/build_docs.py

test-docs: docs ## Build the site as a group of tests; test-unit checks the content of the pages

test-s3: .venv/.ready .venv-s3/.ready ## Run the tests of storage, locks and jobs on a server with the S3 protocol
	$(WITH_SPARK) VERSITYGW="$$(scripts/ensure_versitygw.sh $(if $(filter all exhaustive,$(TEST_DEPTH)),,--if-built))" && export VERSITYGW && .venv/bin/python $(PYTEST) tests/s3

test-spark: .venv/.ready ## Run the tests of the execution layer and the jobs on Spark 4.2
	$(WITH_SPARK) .venv/bin/python $(PYTEST) tests/spark

# Tests of features that differ between releases of Spark: types, ordering, SQL over the source, retried tasks, exchanges.
# `test-conformance` also runs the engine on Spark 3.5, so it tests writes and clusterings with this release.
SPARK35      = tests/spark/reading/test_dataframes_of_tables.py tests/spark/sources --ignore tests/spark/sources/test_blocks_of_start_page.py $(addprefix tests/spark/writing/test_,schema_and_ordering.py late_tasks.py task_progress.py)
# Tests of test-spark that `make test-all` runs on Spark 3.5. It leaves out tests whose outcome does not depend on Spark,
# such as crashes of the driver and refused input.
SPARK35_ALL  = tests/spark --ignore tests/spark/metadata_table/test_crashes_with_all_indexes.py $(addprefix --ignore tests/spark/writing/test_,writes_on_a_full_disk.py bad_input.py fail_at_every_call.py job_crashes.py merge_memory.py table_machine.py two_writers.py two_writers_of_new_keys.py) \
               $(addprefix --ignore tests/spark/clustering/test_,clustering_beside_overwrites.py clustering_beside_writers.py clustering_crashes.py clustering_in_a_loop.py clustering_memory.py dry_runs_beside_plans.py)

# Spark's release and the table version are independent, so tests with one table version are enough.
test-spark35: .venv-judges/.ready ## Run the tests of test-spark whose outcome may differ on Spark 3.5
	$(WITH_JAVA) TABLE_VERSION=9 .venv-judges/bin/python $(PYTEST) $(if $(filter all exhaustive,$(TEST_DEPTH)),$(SPARK35_ALL),$(SPARK35))

# On Spark 3.5, a process that has a regular Spark session cannot open a session of Spark Connect, so these tests need a
# process of their own.
test-connect35: .venv-judges/.ready ## Run the tests of Spark Connect with client and server of Spark 3.5; needs Maven; only test-all includes this target
	$(WITH_JAVA) CONNECT_JAR="$$(scripts/ensure_connect_jar.sh)" && export CONNECT_JAR && TABLE_VERSION=9 .venv-judges/bin/python $(PYTEST) tests/e2e/connect

test-airflow: .venv/.ready ## Run the tests of the provider in Airflow, with real Spark
	$(WITH_SPARK) .venv/bin/python $(PYTEST) tests/airflow --ignore tests/airflow/stack

# Tests that `test-airflow31` leaves out, because they need Spark or an Airflow later than 3.1.
NOT_AIRFLOW31 = --ignore tests/airflow/stack --ignore tests/airflow/pages --ignore tests/airflow/dags/test_code_blocks_of_docs.py --ignore tests/airflow/dags/test_examples.py --ignore tests/airflow/dags/test_examples_in_backfills.py --ignore tests/airflow/dags/test_upkeep_examples.py --ignore tests/airflow/dags/test_fleet_example.py --ignore tests/airflow/dags/test_merge_on_read_example.py --ignore tests/airflow/dags/test_chain_example.py --ignore tests/airflow/spark/test_with_spark.py --ignore tests/airflow/spark/test_with_spark_connect.py --ignore tests/airflow/spark/test_spark_connect_runs.py --ignore tests/airflow/spark/drivers -k "not in_a_dag and not mapped_sensor"
# Further tests that only `make test-all` runs on Airflow 3.1. These are tests of modules that do not call Airflow
# (pictures, logs, commit cursors, fleets, supervised processes), and tests of operators that call Airflow in the same way as
# other operators.
NO_AIRFLOW    = --ignore tests/airflow/results --ignore tests/airflow/operators/clustering --ignore tests/airflow/operators/compaction --ignore tests/airflow/operators/test_released_plans.py --ignore tests/airflow/spark/test_submission.py --ignore tests/airflow/triggers/test_pool.py --ignore tests/airflow/tables --ignore tests/airflow/test_fleet.py --ignore tests/airflow/spark/runs

test-airflow31: .venv-airflow31/.ready ## Run the tests of test-airflow that call Airflow, on the oldest supported release, without Spark
	$(if $(filter all exhaustive,$(TEST_DEPTH)),,TABLE_VERSION=9) .venv-airflow31/bin/python $(PYTEST) tests/airflow $(NOT_AIRFLOW31) $(if $(filter all exhaustive,$(TEST_DEPTH)),,$(NO_AIRFLOW))

test-airflow-stack: .venv/.ready ## Run the tests of the provider in Airflow's four processes: backfills, kills, restarts
	$(WITH_SPARK) $(WITH_POSTGRES) .venv/bin/python $(PYTEST) tests/airflow/stack

test-e2e: .venv/.ready ## Run the tests of whole jobs as users run them: spark-submit, a standalone master, kill -9
	$(WITH_SPARK) .venv/bin/python $(PYTEST) tests/e2e

test-conformance: .venv-judges/.ready ## Let real Hudi 1.2.0 and 0.15.0 and hudi-rs check the tables of the engine, which runs on Spark 3.5
	$(WITH_JAVA) .venv-judges/bin/python $(PYTEST) tests/conformance

# `make test-all` runs test-conformance as three groups, so that a run with RESUME=1 need not repeat all of it.
METADATA = tests/conformance/metadata_table
LOGS     = $(addprefix tests/conformance/,compaction merge_on_read merge_on_read_services)

test-conformance-metadata: .venv-judges/.ready ## The part of test-conformance about metadata tables
	$(WITH_JAVA) .venv-judges/bin/python $(PYTEST) $(METADATA)

test-conformance-logs: .venv-judges/.ready ## The part of test-conformance about log files and their compaction
	$(WITH_JAVA) .venv-judges/bin/python $(PYTEST) $(LOGS)

test-conformance-tables: .venv-judges/.ready ## All other tests of test-conformance
	$(WITH_JAVA) .venv-judges/bin/python $(PYTEST) tests/conformance $(addprefix --ignore ,$(METADATA) $(LOGS))

# The releases of Spark and of Hudi are independent, so the sample of Hudi's releases and table versions is enough.
test-conformance42: .venv/.ready .venv-judges/.ready ## Run the tests of the sample of test-conformance that use Spark, with the engine on Spark 4.2; only test-all includes this target
	$(WITH_SPARK) TEST_DEPTH=sample .venv/bin/python $(PYTEST) tests/conformance -m on_spark

test-readers: .venv/.ready .venv-judges/.ready .venv-readers/.ready ## Let Hive, Trino, Spark, DuckDB and pandas read tables through a Hive Metastore; needs Maven; only test-all includes this target
	$(WITH_SPARK) .venv/bin/python $(PYTEST) tests/readers

test-platforms: .venv/.ready .venv-s3/.ready .venv-judges/.ready ## Run jobs on HDFS, YARN, Azurite, the XML API of GCS, a standalone cluster, and on S3 beside Hudi; needs Maven, npm and Go; only test-all includes this target
	$(WITH_SPARK) VERSITYGW="$$(scripts/ensure_versitygw.sh)" && export VERSITYGW && .venv/bin/python $(PYTEST) tests/platforms

demo: .venv/.ready ## Backfill and cluster two weeks of real flights in a real Airflow (3 to 5 minutes)
	@$(WITH_JAVA) SPARK_CLASS_ARCHIVE="$$(scripts/ensure_spark_archive.sh .venv --if-present)" && export SPARK_CLASS_ARCHIVE && $(WITH_POSTGRES) .venv/bin/python scripts/demo_airflow.py

demo-spark: .venv/.ready ## Load five weeks of real flights, with corrections of some days, without Airflow (1 minute)
	@$(WITH_JAVA) .venv/bin/python scripts/demo_spark.py

airflow: .venv/.ready ## Run the demo's Airflow with its UI until Ctrl-C; DAGS=folder runs your own DAGs instead of the examples, HOME_FOLDER=folder keeps its data elsewhere
	@$(WITH_SPARK) $(WITH_POSTGRES) .venv/bin/python scripts/run_airflow.py $(if $(DAGS),--dags "$(DAGS)") $(if $(HOME_FOLDER),--home "$(HOME_FOLDER)")

MINUTES ?= 60
soak: .venv/.ready ## Run an Airflow for MINUTES=60 and check whether its processes grow; PLAIN=1 runs plain Airflow DAGs instead
	@$(WITH_JAVA) .venv/bin/python scripts/soak.py --minutes $(MINUTES) $(if $(PLAIN),--plain)

bench: .venv-judges/.ready ## Compare the engine with Hudi 1.2.0, Delta, Iceberg and plain Parquet, without metadata tables (more than an hour)
	$(WITH_JAVA) .venv-judges/bin/python benchmarks/run.py
	$(WITH_JAVA) .venv-judges/bin/python benchmarks/reads.py
	.venv-judges/bin/python benchmarks/metadata.py
	.venv-judges/bin/python benchmarks/compaction_planning.py

bench-spark-connect: .venv/.ready ## Compare a small load through spark-submit with one through a Spark Connect server (5 minutes)
	$(WITH_JAVA) .venv/bin/python benchmarks/spark_connect.py

bench-metadata-table: .venv/.ready .venv-s3/.ready .venv-judges/.ready ## Measure what the metadata table costs and saves, compared with Hudi 1.2.0 (an hour or more)
	$(WITH_JAVA) .venv-judges/bin/python benchmarks/metadata_table.py
	.venv/bin/python benchmarks/plan_on_s3.py

# The second program reads the figures of the first program. It also runs if these figures miss their targets.
bench-scale: .venv/.ready ## Measure plans, pages and commits on tables of up to 100,000 file groups, and predict loads on large clusters; WRITE_PAGE=1 writes docs/scale.md
	@status=0; .venv/bin/python benchmarks/scale_run.py $(if $(WRITE_PAGE),--write-page) || status=$$?; \
	$(WITH_JAVA) .venv/bin/python benchmarks/scale_load.py $(if $(WRITE_PAGE),--write-page) && exit $$status

bench-many-tables: .venv/.ready ## Load 200 tables of 10 MB every hour for three hours through one Spark Connect server; EVERY=0 loads without pause, for MINUTES=180
	$(WITH_JAVA) $(WITH_POSTGRES) .venv/bin/python benchmarks/many_tables_run.py --every $(or $(EVERY),3600) --minutes $(if $(filter file,$(origin MINUTES)),180,$(MINUTES))

SCENARIO ?= first_insert,upsert_changed_and_new
profile: .venv-judges/.ready ## Show the core-seconds of each step, and flame graphs, of SCENARIO=first_insert,… for the engine and Hudi 1.2.0; needs Maven
	$(WITH_JAVA) .venv-judges/bin/python benchmarks/profile_steps.py --scenario "$(SCENARIO)" --profiler-jar "$$(scripts/ensure_profiler_jar.sh)"

compose-up: ## Start Airflow on PostgreSQL, a Spark cluster and an S3 server with Docker Compose; the first run writes .env
	@python3 scripts/make_env_file.py
	$(COMPOSE) up --detach --build
	@echo "Airflow: http://localhost:8080, user admin, password: see AIRFLOW_ADMIN_PASSWORD in .env (docs/compose.md)"

compose-down: ## Stop the services of compose-up; VOLUMES=1 also removes their data
	$(COMPOSE) down $(if $(VOLUMES),--volumes)

test-compose: .venv/.ready ## Build and run docker-compose.yaml on a base of Debian packages; needs root; only test-all includes this target
	.venv/bin/python $(PYTEST) tests/compose

archive: ## Build dist/hudi_table_services.zip for spark-submit --py-files
	@$$(scripts/find_python.sh) scripts/build_archive.py

lock: ## Regenerate locks/ from pyproject.toml; UPGRADE=1 allows newer versions
	scripts/lock.sh $(if $(UPGRADE),--upgrade)

clean: ## Remove everything that the other targets created
	rm -rf .venv .venv-s3 .venv-airflow31 .venv-judges .venv-docs .venv-readers .tools dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis \
	  demo-output airflow-home soak-output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
