#!/bin/sh
# Print the folder of PostgreSQL's server programs. If PostgreSQL is missing, install Debian's package as root. Print
# nothing if that is not possible: Airflow then uses SQLite.
set -eu

newest() {
  ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | sort -V | tail -1 | xargs -r dirname
}

folder=$(newest)
if [ -z "$folder" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing PostgreSQL for Airflow's database" >&2
  # The package must not create and start a server of its own.
  mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf
  {
    apt-get install --yes --no-install-recommends postgresql ||
      { apt-get update && apt-get install --yes --no-install-recommends postgresql; }
  } >/dev/null 2>&1 || echo "PostgreSQL cannot be installed; Airflow uses SQLite." >&2
  folder=$(newest)
fi
echo "$folder"
