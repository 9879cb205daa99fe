#!/bin/sh
# Print the path of Chromium or Chrome. If neither is installed and the user has the rights, install Debian's Chromium.
set -u

find_chromium() {
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" && return 0
  done
  return 1
}

install_chromium() {
  command -v apt-get >/dev/null || return 1
  if [ "$(id -u)" = 0 ]; then as_root=""; elif sudo -n true 2>/dev/null; then as_root="sudo -n"; else return 1; fi
  echo "Chromium is missing: installing it with apt-get" >&2
  $as_root apt-get -qq update >&2 || return 1
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
    install --no-install-recommends chromium fonts-dejavu-core >&2
}

find_chromium && exit 0
install_chromium && find_chromium && exit 0
echo "The browser tests need Chromium, and it could not be installed: install the package chromium." >&2
exit 1
