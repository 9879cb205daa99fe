#!/bin/sh
# Install exactly the packages that LOCK pins, by hash, into the environment FOLDER, plus this checkout in editable form.
# Usage: scripts/ensure_env.sh FOLDER LOCK
set -eu
folder=$1 lock=$2
cd "$(dirname "$0")/.."
uv=$(scripts/ensure_uv.sh)
python=$(scripts/find_python.sh)
export UV_PYTHON_DOWNLOADS=never
echo "Installing $lock into $folder (about a minute if nothing is cached)" >&2
if "$folder/bin/python" -c '' 2>/dev/null; then reuse=--allow-existing; else reuse=--clear; fi
"$uv" venv --quiet --no-project "$reuse" --python "$python" "$folder"
# Compile once: Airflow alone takes seconds to compile. If Python may not write bytecode, each process would compile it.
"$uv" pip sync --quiet --compile-bytecode --python "$folder/bin/python" --require-hashes "$lock"
"$uv" pip install --quiet --python "$folder/bin/python" --no-deps --no-build-isolation --editable .
"$folder/bin/python" -m compileall -q airflow_hudi_provider spark_jobs
touch "$folder/.ready"
