#!/bin/sh
# Print the path of Spark Connect's jar for pyspark 3.5, whose package does not contain it. The first call fetches the jar
# with Maven into .tools. The release must equal that of pyspark in locks/judges.txt.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^pyspark==\([0-9.]*\).*/\1/p' locks/judges.txt)
jar="$PWD/.tools/spark-connect-$version/spark-connect_2.12-$version.jar"
if [ ! -e "$jar" ]; then
  command -v mvn >/dev/null || { echo "Maven is needed to fetch Spark Connect $version (Debian: apt-get install maven)." >&2; exit 1; }
  echo "Fetching Spark Connect $version into .tools" >&2
  mvn -q -B dependency:copy -Dartifact="org.apache.spark:spark-connect_2.12:$version" -DoutputDirectory="$(dirname "$jar")" >&2
fi
echo "$jar"
