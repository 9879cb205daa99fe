#!/bin/sh
# Print the path of azurite-blob, an emulator of Azure Blob Storage. The first call installs Azurite with npm into .tools.
set -eu
version=3.37.0
cd "$(dirname "$0")/.."
folder="$PWD/.tools/azurite-$version"
if [ ! -e "$folder/.ready" ]; then
  command -v npm >/dev/null || { echo "npm is needed to install Azurite $version." >&2; exit 1; }
  echo "Installing Azurite $version into .tools" >&2
  mkdir -p "$folder"
  npm install --silent --no-fund --no-audit --prefix "$folder" "azurite@$version" >&2
  touch "$folder/.ready"
fi
echo "$folder/node_modules/.bin/azurite-blob"
