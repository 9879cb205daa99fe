#!/bin/sh
# Print the path of versitygw, an S3 server. The first call builds versitygw with Go into .tools, which takes minutes.
# Print nothing if Go is missing, or if versitygw is not built and the argument is --if-built.
set -eu
version=1.8.0
cd "$(dirname "$0")/.."
binary="$PWD/.tools/versitygw-$version/versitygw"
if [ ! -x "$binary" ]; then
  [ "${1:-}" != --if-built ] || exit 0
  command -v go >/dev/null || { echo "Go is missing, so the S3 server of the tests is moto." >&2; exit 0; }
  echo "Building versitygw $version into .tools" >&2
  GOBIN=$(dirname "$binary") go install -trimpath -ldflags='-s -w' "github.com/versity/versitygw/cmd/versitygw@v$version" >&2
fi
echo "$binary"
