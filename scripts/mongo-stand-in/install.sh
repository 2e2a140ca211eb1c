#!/bin/sh
# Puts the stand-in for MongoDB into the directory it is given: its jars, checked, and its classes, compiled. Once.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=$1
[ -d "$target" ] && exit 0

if ! { command -v javac && command -v mvn; } >/dev/null; then
  packages='default-jdk-headless maven'
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "it needs Java 17 or newer and Maven: sudo apt-get install $packages" >&2
    exit 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q update >/dev/null
  # shellcheck disable=SC2086 # two words
  apt-get -qy install --no-install-recommends $packages >/dev/null
fi

new=$target.new
rm -rf "$new"
mkdir -p "$new/lib" "$new/classes"
mvn -q -B -f "$here/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
  -DincludeScope=runtime "-DoutputDirectory=$new/lib" >&2
(cd "$new/lib" && sha256sum --quiet --strict -c "$here/checksums.sha256" >&2)
listed=$(wc -l <"$here/checksums.sha256")
[ "$(find "$new/lib" -type f | wc -l)" -eq "$listed" ] || { echo 'more jars came than checksums.sha256 lists' >&2; exit 1; }
javac -cp "$new/lib/*" -d "$new/classes" "$here"/*.java
mv "$new" "$target"
