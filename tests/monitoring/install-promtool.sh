#!/bin/sh
# Puts promtool of the Debian package prometheus into the given directory, without installing the package, which would start a server.
set -eu
target=$1
[ -x "$target/promtool" ] && exit 0
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || { echo 'promtool is installed by apt-get only' >&2; exit 1; }

new=$target.new
rm -rf "$new"
mkdir -p "$new"
cd "$new"
apt-get -q download prometheus >/dev/null 2>&1 || { apt-get -q update >/dev/null; apt-get -q download prometheus >/dev/null; }
dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
mkdir -p "$target"
mv usr/bin/promtool "$target/promtool"
rm -rf "$new"
