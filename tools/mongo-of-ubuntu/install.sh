#!/bin/sh
# Puts MongoDB 3.6.8 and the libraries it needs into the directory it is given, as Ubuntu 20.04 packages them, checked. Once.
# Nothing of the system is changed: what it needs is found by LD_LIBRARY_PATH.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=$1
archive=http://archive.ubuntu.com/ubuntu
[ -d "$target" ] && exit 0

[ "$(uname -sm)" = 'Linux x86_64' ] || { echo 'its packages are for Linux on x86_64' >&2; exit 1; }
for program in curl dpkg-deb sha256sum; do
  command -v "$program" >/dev/null || { echo "it needs $program" >&2; exit 1; }
done

new=$target.new
rm -rf "$new"
mkdir -p "$new/packages" "$new/root"
while read -r sum path; do
  package=$new/packages/$(basename "$path")
  curl -sS --fail --connect-timeout 5 --max-time 120 -o "$package" "$archive/$path" >&2
  echo "$sum  $package" | sha256sum --quiet --strict -c - >&2
  dpkg-deb -x "$package" "$new/root"
done <"$here/packages.sha256"
rm -r "$new/packages"
mv "$new" "$target"
