# Airflow with this provider. The image contains no Java: the jobs run through a Spark Connect server.
ARG BASE=python:3.11-slim-bookworm
FROM ${BASE}

ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin \
    AIRFLOW_HOME=/opt/airflow \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONUNBUFFERED=1

RUN useradd --uid 50000 --create-home --home-dir /opt/airflow airflow \
    && mkdir -p /landing /opt/airflow/logs \
    && chown airflow /landing /opt/airflow/logs \
    && python3 -m venv /opt/venv

COPY locks/airflow-image.txt /tmp/airflow-image.txt
RUN pip install --require-hashes --requirement /tmp/airflow-image.txt

WORKDIR /opt/provider
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY scripts/job_scripts_in_wheel.py scripts/job_scripts_in_wheel.py
COPY airflow_hudi_provider airflow_hudi_provider
COPY spark_jobs spark_jobs
RUN pip install --no-deps --no-build-isolation .

COPY --chown=airflow dags_examples /opt/airflow/dags
COPY docker/start_airflow.py docker/check_health.py /usr/local/bin/
USER airflow
WORKDIR /opt/airflow
ENTRYPOINT ["python", "/usr/local/bin/start_airflow.py"]
