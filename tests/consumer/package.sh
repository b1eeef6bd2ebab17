#!/usr/bin/env bash
# package.sh BUILD_DIR [DIR]   make the Debian packages of a build, in DIR to keep them; lintian finds no error in them, and they
# name one another right
#
# Exit status 77: a tool is missing, or the build has another prefix than its packages, /usr.
set -euo pipefail
build=$1 keep=${2:+$(realpath "$2")}
for tool in cpack dpkg-deb dpkg-shlibdeps lintian; do
  command -v $tool >/dev/null || { echo "skipped: $tool not found (apt-get install cmake dpkg-dev lintian)"; exit 77; }
done
grep -q '^CMAKE_INSTALL_PREFIX:[A-Z]*=/usr$' "$build/CMakeCache.txt" || { echo "skipped: configure with -D CMAKE_INSTALL_PREFIX=/usr"; exit 77; }
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cd "$work"
library=$(find . -maxdepth 1 -name 'libtapegrad[0-9]*.deb' ! -name '*-mpi_*')
soname=$(dpkg-deb --fsys-tarfile "$library" | tar -t | sed -n 's|.*/libtapegrad\.so\.\([0-9]*\.[0-9]*\)$|\1|p')
[ "$(dpkg-deb -f "$library" Package)" = "libtapegrad$soname" ]  # Debian's policy: the package has the name of its soname
for package in tapegrad libtapegrad-dev; do
  dpkg-deb -f ${package}_*.deb Depends | grep -qF "libtapegrad$soname (= " || { echo "$package does not depend on its library"; exit 1; }
done
lintian --allow-root --fail-on error ./*.deb
ls ./*.deb
[ -z "$keep" ] || cp ./*.deb "$keep"
