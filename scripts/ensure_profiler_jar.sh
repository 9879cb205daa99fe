#!/bin/sh
# Print the path of the jar of async-profiler, which contains the profiler's native library for Linux and macOS. The first
# call fetches the jar with Maven into .tools.
set -eu
version=4.1
cd "$(dirname "$0")/.."
jar="$PWD/.tools/async-profiler-$version/async-profiler-$version.jar"
if [ ! -f "$jar" ]; then
  command -v mvn >/dev/null || { echo "Maven is needed to fetch async-profiler $version (Debian: apt-get install maven)." >&2; exit 1; }
  echo "Fetching async-profiler $version into .tools" >&2
  mvn -q -B dependency:copy -Dartifact="tools.profiler:async-profiler:$version" -DoutputDirectory="$(dirname "$jar")" >&2
fi
echo "$jar"
