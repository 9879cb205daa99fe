#!/bin/sh
# Regenerate the lock files: all versions and hashes of each environment, without index addresses (see docs/adr/0003).
# Usage: scripts/lock.sh [--upgrade]
set -eu
cd "$(dirname "$0")/.."
uv=$(scripts/ensure_uv.sh)

# lock NAME UV_ARGUMENT...
lock() {
  name=$1
  shift
  echo "Locking locks/$name.txt" >&2
  "$uv" pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
    --no-emit-index-url --custom-compile-command "make lock" --output-file "locks/$name.txt" "$@"
}

lock spark --extra engine --extra catalogs --extra hdfs --group dev --extra airflow --group celery --group spark --group database --group witnesses "$@"
lock airflow-image --extra engine --extra catalogs --extra airflow --group airflow-image "$@"
lock spark-image --extra engine --group spark-image "$@"
lock s3 --group s3 "$@"
lock docs --group docs "$@"
lock readers --group readers "$@"
lock judges --extra engine --extra catalogs --extra hdfs --group dev --group judges --group bench "$@"

# Use the packages from the release date of the oldest supported Airflow, and the oldest versions of this project's own
# requirements: Airflow declares no upper bounds, so newer packages break it. Only the packages below may be newer.
newer=
for package in apache-airflow-providers-apache-spark apache-airflow-providers-common-compat pyspark-client hypothesis pytest; do
  newer="$newer --exclude-newer-package $package=2026-11-01"
done
# shellcheck disable=SC2086 - several arguments
lock airflow31 --extra engine --extra catalogs --extra airflow --group airflow31 --resolution lowest-direct --exclude-newer 2025-10-15 $newer "$@"
