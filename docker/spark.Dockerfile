# Spark with the packages that the engine needs on executors. Each job uploads the engine.
ARG BASE=python:3.11-slim-bookworm
FROM ${BASE}

ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYSPARK_PYTHON=/opt/venv/bin/python \
    PYTHONUNBUFFERED=1

RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 50000 --create-home spark \
    && mkdir -p /landing /work \
    && chown spark /landing /work \
    && python3 -m venv /opt/venv

COPY locks/spark-image.txt /tmp/spark-image.txt
RUN pip install --require-hashes --requirement /tmp/spark-image.txt \
    && ln -s "$(python -c 'import pyspark; print(pyspark.__path__[0])')" /opt/spark
ENV SPARK_HOME=/opt/spark SPARK_WORKER_DIR=/work

COPY docker/check_health.py /usr/local/bin/check_health.py
USER spark
WORKDIR /work
ENTRYPOINT ["tini", "--"]
