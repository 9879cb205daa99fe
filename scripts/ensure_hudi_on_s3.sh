#!/bin/sh
# Print the class path of Hudi 1.2.0 on Spark 3.5 with the jars that it needs for tables on S3. The first call fetches the
# jars with Maven into .tools (400 MB). The release of hadoop-aws must equal that of Hadoop in pyspark 3.5.
set -eu
hudi=1.2.0
hadoop=3.3.4
sdk=1.12.262
cd "$(dirname "$0")/.."
folder="$PWD/.tools/hudi-$hudi-on-s3"
if [ ! -e "$folder/.ready" ]; then
  command -v mvn >/dev/null || { echo "Maven is needed to fetch Hudi $hudi (Debian: apt-get install maven)." >&2; exit 1; }
  echo "Fetching Hudi $hudi and hadoop-aws $hadoop into .tools" >&2
  mkdir -p "$folder"
  for artifact in org.apache.hudi:hudi-spark3.5-bundle_2.12:$hudi org.apache.hadoop:hadoop-aws:$hadoop \
    com.amazonaws:aws-java-sdk-bundle:$sdk; do
    mvn -q -B dependency:copy -Dartifact="$artifact" -DoutputDirectory="$folder" >&2
  done
  touch "$folder/.ready"
fi
echo "$folder/*"
