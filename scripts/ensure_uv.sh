#!/bin/sh
# Print the path of uv. The first call installs uv into .tools with pip; nothing is installed globally.
set -eu
version=0.13.8
cd "$(dirname "$0")/.."
folder="$PWD/.tools/uv-$version"
if [ ! -x "$folder/bin/uv" ]; then
  echo "Installing uv $version into .tools" >&2
  python=$(scripts/find_python.sh)
  if ! "$python" -m pip --version >/dev/null 2>&1; then
    "$python" -m venv "$PWD/.tools/pip" >&2 || {
      echo "pip is needed to install uv, but $python has no pip: install it (Debian: apt-get install python3-pip)." >&2
      exit 1
    }
    python="$PWD/.tools/pip/bin/python"
  fi
  # A target folder works with and without the venv module, and also with an externally managed system Python.
  "$python" -m pip install --quiet --no-input --disable-pip-version-check --root-user-action=ignore --upgrade \
    --target "$folder" "uv==$version" >&2
fi
echo "$folder/bin/uv"
