#!/bin/sh
# Make sure that the programs of a Kerberos realm exist: krb5kdc, kdb5_util, kadmin.local and kinit. If one is missing,
# install Debian's packages as root. Fail if that is not possible.
set -eu
PATH="$PATH:/usr/sbin"

complete() {
  for program in krb5kdc kdb5_util kadmin.local kinit; do
    command -v "$program" >/dev/null || return 1
  done
}

if ! complete && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing MIT Kerberos" >&2
  # The packages must not start servers of their own.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
  fi
  export DEBIAN_FRONTEND=noninteractive
  packages="krb5-kdc krb5-admin-server krb5-user"
  {
    apt-get install --yes --no-install-recommends $packages ||
      { apt-get update && apt-get install --yes --no-install-recommends $packages; }
  } >/dev/null 2>&1 || echo "MIT Kerberos cannot be installed." >&2
fi
complete
