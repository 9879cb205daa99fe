#!/bin/sh
# Print the path of versitygw, an S3 server. The first call builds versitygw with Go into .tools, which takes minutes.
set -eu
version=1.8.0
cd "$(dirname "$0")/.."
binary="$PWD/.tools/versitygw-$version/versitygw"
if [ ! -x "$binary" ]; then
  command -v go >/dev/null || { echo "Go is needed to build versitygw $version." >&2; exit 1; }
  echo "Building versitygw $version into .tools" >&2
  GOBIN=$(dirname "$binary") go install -trimpath -ldflags='-s -w' "github.com/versity/versitygw/cmd/versitygw@v$version" >&2
fi
echo "$binary"
