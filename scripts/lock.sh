#!/bin/sh
# Write the locks anew: for each environment every version and hash, and no index address (see docs/adr/0003).
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
    --no-emit-index-url --custom-compile-command "make lock" --output-file "locks/$name.txt" --extra engine --group dev "$@"
}

lock spark --extra airflow --group spark "$@"
lock judges --group judges --group bench "$@"
