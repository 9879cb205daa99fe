#!/bin/sh
# Print the path of a Debian base image as a tar archive, for machines that cannot pull images. The first call makes the
# archive with mmdebstrap as root. The archive contains the settings of this machine for apt, pip and certificates. Its
# name contains a checksum of this script, so that a changed script makes a new archive.
set -eu
cd "$(dirname "$0")/.."
checksum=$(sha256sum scripts/ensure_docker_base.sh | cut -c1-12)
archive="$PWD/.tools/docker-base-$checksum.tar"
if [ ! -e "$archive" ]; then
  echo "Making a Debian base image in .tools" >&2
  mkdir -p .tools
  mmdebstrap --quiet --variant=minbase --format=tar \
    --include=ca-certificates,openjdk-17-jre-headless,postgresql,procps,python3,python3-venv,tini \
    --customize-hook='mkdir -p "$1/etc/apt/apt.conf.d" "$1/etc/apt/sources.list.d"' \
    --customize-hook='cp -a /etc/apt/apt.conf.d/. "$1/etc/apt/apt.conf.d/"' \
    --customize-hook='rm -f "$1/etc/apt/apt.conf.d/20packagekit" "$1/etc/apt/apt.conf.d/50appstream"' \
    --customize-hook='cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/ca-certificates.crt"' \
    --customize-hook='if [ -e /etc/pip.conf ]; then cp /etc/pip.conf "$1/etc/pip.conf"; fi' \
    bookworm "$archive.new" /etc/apt/sources.list.d/debian.sources >&2
  mv "$archive.new" "$archive"
fi
echo "$archive"
