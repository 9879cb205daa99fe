# Each target does its own set-up, on a machine that has git, make and Python 3.11; a second run finds it done.
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install check format lock docs demo demo-spark airflow soak bench archive clean
.PHONY: test-s3 test test-all test-times test-docs test-unit test-spark test-spark35 test-airflow test-airflow31 test-airflow-stack test-conformance test-conformance42 test-e2e

PYTEST_ARGS ?=
PYTEST       = -m pytest $(PYTEST_ARGS)
WITH_JAVA    = JAVA_HOME="$$(scripts/ensure_java.sh)" && export JAVA_HOME &&

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: .venv/.ready .venv-s3/.ready .venv-judges/.ready ## Make the environments: .venv (Airflow 3.3, Spark 4.2), .venv-judges (Spark 3.5, Delta), .venv-s3
	@$(WITH_JAVA) echo "Ready: .venv, .venv-s3, .venv-judges, Java in $$JAVA_HOME"

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

check: .venv/.ready ## Lint, formatting, strict types, direction of imports
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports --no-cache

format: .venv/.ready ## Format the sources and mend what ruff can mend
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

EVERY_ENVIRONMENT = .venv/.ready .venv-s3/.ready .venv-airflow31/.ready .venv-judges/.ready .venv-docs/.ready

test: $(EVERY_ENVIRONMENT) ## Run every group of tests in two lanes, with a sample of the matrix (docs/testing.md)
	@$(WITH_JAVA) .venv/bin/python scripts/run_test_groups.py

test-all: $(EVERY_ENVIRONMENT) ## The same with the whole matrix: every table version, release, layout and point of failure
	@$(WITH_JAVA) TEST_DEPTH=all .venv/bin/python scripts/run_test_groups.py
	.venv/bin/python scripts/make_testing_doc.py

test-times: .venv/.ready ## Write the seconds of the last whole run of the tests into docs/testing.md
	.venv/bin/python scripts/make_testing_doc.py

test-unit: .venv/.ready ## Tests without Spark, in two to five minutes
	.venv/bin/python $(PYTEST) tests/unit

docs: .venv-docs/.ready ## Build the site of docs/ into build/site, with warnings as errors
	.venv-docs/bin/python scripts/build_docs.py

test-docs: docs ## The same, as a group of tests; what pages say is tested in test-unit

test-s3: .venv/.ready .venv-s3/.ready ## Storage, locks and jobs on a server that speaks S3
	$(WITH_JAVA) .venv/bin/python $(PYTEST) tests/s3

test-spark: .venv/.ready ## Tests of the execution layer and the jobs on Spark 4.2
	$(WITH_JAVA) .venv/bin/python $(PYTEST) tests/spark

# What differs between releases of Spark: types, ordering, SQL over the source, retried tasks, exchanges and layouts.
SPARK35      = $(addprefix tests/spark/writing/test_,schema_and_ordering.py source_query.py late_tasks.py task_progress.py upsert_job.py) \
               tests/spark/clustering/test_clustering_job.py
# In `make test-all` all tests but those where Spark plays no part, such as crashes of the driver and refused input.
SPARK35_ALL  = tests/spark $(addprefix --ignore tests/spark/writing/test_,writes_on_a_full_disk.py bad_input.py fail_at_every_call.py job_crashes.py merge_memory.py table_machine.py two_writers.py) \
               $(addprefix --ignore tests/spark/clustering/test_,clustering_beside_overwrites.py clustering_beside_writers.py clustering_crashes.py clustering_in_a_loop.py clustering_memory.py dry_runs_beside_plans.py)

# Spark's release and the table version are independent: one version is enough there.
test-spark35: .venv-judges/.ready ## Those of them whose outcome may differ on Spark 3.5
	$(WITH_JAVA) TABLE_VERSION=9 .venv-judges/bin/python $(PYTEST) $(if $(filter all,$(TEST_DEPTH)),$(SPARK35_ALL),$(SPARK35))

test-airflow: .venv/.ready ## The provider in Airflow, with real Spark under the operator
	$(WITH_JAVA) .venv/bin/python $(PYTEST) tests/airflow --ignore tests/airflow/stack

# Needs Spark, or an Airflow later than 3.1.
NOT_AIRFLOW31 = --ignore tests/airflow/stack --ignore tests/airflow/pages --ignore tests/airflow/dags/test_examples.py --ignore tests/airflow/dags/test_examples_in_backfills.py --ignore tests/airflow/dags/test_upkeep_examples.py --ignore tests/airflow/dags/test_fleet_example.py --ignore tests/airflow/spark/test_with_spark.py --ignore tests/airflow/spark/drivers -k "not in_a_dag and not mapped_sensor"
# Does not call Airflow: pictures, logs, commit cursors, fleets. `make test-all` runs these tests as well, with every table version.
NO_AIRFLOW    = --ignore tests/airflow/results --ignore tests/airflow/tables --ignore tests/airflow/test_fleet.py

test-airflow31: .venv-airflow31/.ready ## Those of them that call Airflow, on the oldest supported release, without Spark
	$(if $(filter all,$(TEST_DEPTH)),,TABLE_VERSION=9) .venv-airflow31/bin/python $(PYTEST) tests/airflow $(NOT_AIRFLOW31) $(if $(filter all,$(TEST_DEPTH)),,$(NO_AIRFLOW))

test-airflow-stack: .venv/.ready ## The provider in Airflow's four processes: backfills, kills, restarts
	$(WITH_JAVA) .venv/bin/python $(PYTEST) tests/airflow/stack

test-e2e: .venv/.ready ## Whole jobs as their users run them: spark-submit, a standalone master, kill -9
	$(WITH_JAVA) .venv/bin/python $(PYTEST) tests/e2e

test-conformance: .venv-judges/.ready ## Real Hudi 1.2.0 and 0.15.0 and hudi-rs judge the tables of the engine, which runs on Spark 3.5
	$(WITH_JAVA) .venv-judges/bin/python $(PYTEST) tests/conformance

test-conformance42: .venv/.ready .venv-judges/.ready ## The same with the engine on Spark 4.2; in test-all only
	$(WITH_JAVA) .venv/bin/python $(PYTEST) tests/conformance

demo: .venv/.ready ## Two weeks of real flights, backfilled in a real Airflow and clustered on the way (5 to 8 minutes)
	@$(WITH_JAVA) .venv/bin/python scripts/demo_airflow.py

demo-spark: .venv/.ready ## Five weeks of them, some days corrected, without Airflow (1 minute)
	@$(WITH_JAVA) .venv/bin/python scripts/demo_spark.py

airflow: .venv/.ready ## The demo's Airflow with its UI, until Ctrl-C; DAGS=folder: with DAGs of your own
	@$(WITH_JAVA) .venv/bin/python scripts/run_airflow.py $(if $(DAGS),--dags "$(DAGS)")

MINUTES ?= 60
soak: .venv/.ready ## Does anything grow? An Airflow at work for MINUTES=60, its processes measured; PLAIN=1: of Airflow alone
	@$(WITH_JAVA) .venv/bin/python scripts/soak.py --minutes $(MINUTES) $(if $(PLAIN),--plain)

bench: .venv-judges/.ready ## Side by side with Hudi 1.2.0, Delta and plain Parquet (three quarters of an hour)
	$(WITH_JAVA) .venv-judges/bin/python benchmarks/run.py
	.venv-judges/bin/python benchmarks/metadata.py

archive: ## Build dist/hudi_table_services.zip for spark-submit --py-files
	@$$(scripts/find_python.sh) scripts/build_archive.py

lock: ## Write locks/ anew from pyproject.toml; UPGRADE=1 takes newer versions
	scripts/lock.sh $(if $(UPGRADE),--upgrade)

clean: ## Remove everything that the other targets made
	rm -rf .venv .venv-s3 .venv-airflow31 .venv-judges .venv-docs .tools dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
