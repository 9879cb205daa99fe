#!/bin/sh
# Create the database at the first start, and run the server.
set -eu
data=/var/lib/postgresql/data/main
if [ ! -e "$data/PG_VERSION" ]; then
  umask 077
  echo "$POSTGRES_PASSWORD" > /tmp/password
  initdb --pgdata "$data" --username "$POSTGRES_USER" --pwfile /tmp/password --auth scram-sha-256 --encoding UTF8 --locale C.UTF-8
  echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"
  rm /tmp/password
  postgres --single -D "$data" postgres <<SQL
CREATE DATABASE $POSTGRES_DB OWNER $POSTGRES_USER
SQL
fi
exec postgres -D "$data" -h '*' -c unix_socket_directories=/tmp
