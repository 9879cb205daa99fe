#!/bin/sh
# Print the Python for new environments: $PYTHON if it is set, otherwise the first Python on the path that is new enough.
# 3.11 comes first, because both Spark 4.3 (3.11 and newer) and Spark 3.5 (up to 3.11) support it.
set -u
for candidate in ${PYTHON:-} python3.11 python3.12 python3.13 python3 python; do
  "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
  "$candidate" -c 'import sys; print(sys.executable)'
  exit 0
done
echo "No Python 3.11 or newer found: install python3.11, or call make with PYTHON=/path/to/python." >&2
exit 1
