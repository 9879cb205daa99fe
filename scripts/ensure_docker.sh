#!/bin/sh
# Install Docker's daemon, Compose and mmdebstrap with apt-get, as root. Print nothing to standard output. The exit code
# is 1 if the programs cannot be installed.
set -eu
for program in dockerd docker-compose mmdebstrap iptables; do
  command -v "$program" >/dev/null && continue
  { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; } || exit 1
  echo "Installing Docker and mmdebstrap" >&2
  packages="docker.io docker-compose mmdebstrap iptables"
  # shellcheck disable=SC2086 - several packages
  apt-get install --yes --no-install-recommends $packages >/dev/null 2>&1 ||
    { apt-get update && apt-get install --yes --no-install-recommends $packages; } >/dev/null 2>&1 || exit 1
  break
done
