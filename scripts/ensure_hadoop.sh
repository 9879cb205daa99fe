#!/bin/sh
# Print the folder with the jars that Hadoop's servers need in addition to the jars of pyspark. The first call fetches
# the jars with Maven into .tools. The release must equal that of the Hadoop client in pyspark.
set -eu
version=3.5.0
cd "$(dirname "$0")/.."
folder="$PWD/.tools/hadoop-$version"
if [ ! -e "$folder/.ready" ]; then
  command -v mvn >/dev/null || { echo "Maven is needed to fetch Hadoop $version (Debian: apt-get install maven)." >&2; exit 1; }
  echo "Fetching Hadoop $version into .tools" >&2
  mkdir -p "$folder"
  for artifact in org.apache.hadoop:hadoop-client-minicluster:$version \
    org.bouncycastle:bcprov-jdk18on:1.82 org.bouncycastle:bcpkix-jdk18on:1.82 org.bouncycastle:bcutil-jdk18on:1.82; do
    mvn -q -B dependency:copy -Dartifact="$artifact" -DoutputDirectory="$folder" >&2
  done
  touch "$folder/.ready"
fi
echo "$folder"
