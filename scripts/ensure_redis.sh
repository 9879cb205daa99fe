#!/bin/sh
# Print the path of Redis's server. If Redis is missing, install Debian's package as root. Print nothing if that is not
# possible.
set -eu

if ! command -v redis-server >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing Redis as the broker of Celery" >&2
  # The package must not start a server of its own.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
  fi
  {
    apt-get install --yes --no-install-recommends redis-server ||
      { apt-get update && apt-get install --yes --no-install-recommends redis-server; }
  } >/dev/null 2>&1 || echo "Redis cannot be installed." >&2
fi
command -v redis-server || true
