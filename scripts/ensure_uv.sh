#!/bin/sh
# Print the path of uv, which is put into .tools by pip at its first use; nothing is installed globally.
set -eu
version=0.13.8
cd "$(dirname "$0")/.."
uv="$PWD/.tools/uv-$version/bin/uv"
if [ ! -x "$uv" ]; then
  python=$(scripts/find_python.sh)
  echo "Installing uv $version into .tools" >&2
  # A target folder works with and without the venv module, and where the system's Python is externally managed.
  if ! "$python" -m pip install --quiet --no-input --disable-pip-version-check --root-user-action=ignore \
    --upgrade --target "$PWD/.tools/uv-$version" "uv==$version" >&2; then
    echo "Cannot install uv: $python needs pip (Debian: apt-get install python3-pip) and a package index." >&2
    exit 1
  fi
fi
echo "$uv"
