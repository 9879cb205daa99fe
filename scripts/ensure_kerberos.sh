#!/bin/sh
# Install MIT Kerberos (its KDC, kadmin.local and kinit) with apt-get if it is missing and the user has the rights.
set -u
PATH="$PATH:/usr/sbin"
command -v krb5kdc >/dev/null && command -v kadmin.local >/dev/null && command -v kinit >/dev/null && exit 0
if command -v apt-get >/dev/null; then
  if [ "$(id -u)" = 0 ]; then as_root=""; elif sudo -n true 2>/dev/null; then as_root="sudo -n"; else as_root=none; fi
  if [ "$as_root" != none ]; then
    echo "The KDC of MIT Kerberos is missing: installing it with apt-get" >&2
    $as_root apt-get -qq update >&2
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
      install --no-install-recommends krb5-kdc krb5-admin-server krb5-user >&2
  fi
fi
command -v krb5kdc >/dev/null && command -v kadmin.local >/dev/null && command -v kinit >/dev/null && exit 0
echo "The KDC of MIT Kerberos is needed: install the packages krb5-kdc, krb5-admin-server and krb5-user." >&2
exit 1
