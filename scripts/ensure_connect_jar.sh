#!/bin/sh
# Print the path of Spark Connect's jar for pyspark 3.5, whose package does not contain it. The first call fetches the jar
# with Maven into .tools: in the release of pyspark in locks/judges.txt or, if the repository of Maven lacks that release,
# in the newest earlier patch release that the repository has.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^pyspark==\([0-9.]*\).*/\1/p' locks/judges.txt)
folder="$PWD/.tools/spark-connect-$version"
found() { ls "$folder"/spark-connect_2.12-*.jar 2>/dev/null; }
if ! found >/dev/null; then
  command -v mvn >/dev/null || { echo "Maven is needed to fetch Spark Connect $version (Debian: apt-get install maven)." >&2; exit 1; }
  patch=${version##*.}
  while [ "$patch" -ge 0 ]; do
    release="${version%.*}.$patch"
    echo "Fetching Spark Connect $release into .tools" >&2
    mvn -q -B dependency:copy -Dartifact="org.apache.spark:spark-connect_2.12:$release" -DoutputDirectory="$folder" >&2 && break
    patch=$((patch - 1))
  done
fi
found
