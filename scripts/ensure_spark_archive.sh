#!/bin/sh
# Print the path of an archive of Spark's Java classes for the environment FOLDER, and create the archive if it is missing.
# A JVM that loads its classes from the archive needs half the processor time to start Spark (class data sharing of Java).
# The archive is valid only for one Java and one folder of jars, so its name contains a checksum of both.
# With --if-present, print nothing if the archive is missing: creating it takes longer than it saves for one JVM.
# Usage: JAVA_HOME=... scripts/ensure_spark_archive.sh FOLDER [--if-present]
set -eu
cd "$(dirname "$0")/.."
python=$PWD/$1/bin/python
spark=$("$python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
checksum=$({ "$JAVA_HOME/bin/java" -version 2>&1; ls -ln "$spark/jars"; echo "$spark"; } | cksum | tr ' ' '-')
archive=$PWD/.tools/spark-classes-$checksum.jsa
if [ ! -e "$archive" ]; then
  [ "${2:-}" != --if-present ] || exit 0
  echo "Creating the archive of Spark's classes (half a minute)" >&2
  mkdir -p .tools
  folder=$(mktemp -d "$PWD/.tools/spark-classes.XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  printf 'id,day\n1,a\n2,b\n' > "$folder/rows.csv"
  # The job loads the classes that the archive contains. A folder of settings would become part of the class path, and
  # the archive would then be valid only with this folder.
  env -u SPARK_CONF_DIR -u SPARK_HOME PYSPARK_PYTHON="$python" SPARK_LOCAL_IP=127.0.0.1 \
    SPARK_SUBMIT_OPTS="-XX:ArchiveClassesAtExit=$folder/classes.jsa -XX:+UseSerialGC -Dspark.ui.enabled=false" \
    "$spark/bin/spark-submit" --master 'local[2]' spark_jobs/upsert_with_sizing.py --base-path "$folder/table" \
    --table-name rows --source-path "$folder/rows.csv" --source-format csv --source-option header=true \
    --record-key id --partition-by day > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
  mv "$folder/classes.jsa" "$archive"
fi
echo "$archive"
