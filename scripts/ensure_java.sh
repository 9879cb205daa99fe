#!/bin/sh
# Print the home of a Java that both Spark 3.5 and 4.3 support: Java 17, otherwise Java 21. If there is none and the user
# has the rights, install Java.
set -u

# home_of JAVA MAJOR: print the home of the executable JAVA if its version is MAJOR.
home_of() {
  settings=$("$1" -XshowSettings:properties -version 2>&1) || return 1
  echo "$settings" | grep -q "java.specification.version = $2\$" || return 1
  echo "$settings" | sed -n 's/^ *java\.home = //p'
}

find_home() {
  for major in 17 21; do
    for java in "${JAVA_HOME:-/unset}/bin/java" java /usr/lib/jvm/*/bin/java; do
      home_of "$java" "$major" 2>/dev/null && return 0
    done
  done
  return 1
}

install_java() {
  command -v apt-get >/dev/null || return 1
  if [ "$(id -u)" = 0 ]; then as_root=""; elif sudo -n true 2>/dev/null; then as_root="sudo -n"; else return 1; fi
  echo "Java 17 is missing: installing it with apt-get" >&2
  $as_root apt-get -qq update >&2 || return 1
  for package in openjdk-17-jre-headless openjdk-21-jre-headless; do
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
      install --no-install-recommends "$package" >&2 && return 0
  done
  return 1
}

find_home && exit 0
install_java && find_home && exit 0
echo "Java 17 is needed and could not be installed: install openjdk-17-jre-headless (any JDK or JRE 17 works), or set JAVA_HOME to the home of one." >&2
exit 1
