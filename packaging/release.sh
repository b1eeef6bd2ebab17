#!/usr/bin/env bash
# release.sh [--on COMMAND] [DIR]   make the files of a release from the last commit, and check them; DIR: build/packages
#
#   tapegrad-VERSION-x86_64-linux.tar.gz   the command, libraries, headers, CMake package and pkg-config files, for any folder of
#                                          any Linux with glibc 2.34 and the C++ library of GCC 11, or later ones; it brings
#                                          the other libraries that it needs, in lib/tapegrad-X.Y
#   bookworm/*.deb, trixie/*.deb           packages for Debian 12 and 13
#
# They are built in a new Debian and checked in another new one: symbol versions, lintian, installation, a short training run and
# its test, the self-test, a program of a user with CMake and with pkg-config, removal. A new Debian is made by debootstrap and chroot,
# which needs root, the network, and 4 GB in ${TMPDIR:-/var/tmp}; or by COMMAND, which runs the words after it as root in a new minimal
# Debian of the release {}, with its own standard input and output:
#   packaging/release.sh --on "docker run --rm -i debian:{}"
set -euo pipefail
releases="bookworm trixie" oldest=bookworm  # the tarball is built in the oldest
glibc=2.34 libstdcxx=3.4.29

note() { printf '\n== %s\n' "$*" >&2; }
die() { echo "release.sh: $*" >&2; exit 1; }

# --- in a new Debian: release.sh --step NAME, in a folder with sources/ and files/; files/ is printed as a tar archive ---

# newest NAME FILE...   the newest version of the symbols NAME_1.2 that the files use
newest() { objdump -T "${@:2}" | grep -oE "\b$1_[0-9.]+" | sort -Vu | tail -n 1 | sed 's/.*_//'; }

# check_symbols FOLDER   each program and library in it runs with the oldest glibc and C++ library
check_symbols() {
  local file name most found
  while read -r file; do
    for name in GLIBC:$glibc GLIBCXX:$libstdcxx; do
      most=${name#*:} name=${name%:*} found=$(newest "$name" "$file" || true)
      [ "$(printf '%s\n' "$most" "$found" | sort -V | tail -n 1)" = "$most" ] || die "${file##*/} needs ${name}_$found, newer than ${name}_$most"
    done
  done < <(find "$1/bin" "$1/lib" -type f \( -name tapegrad -o -name '*.so*' \))
}

# bundle PREFIX FOLDER   puts libraries of the system into PREFIX/lib/FOLDER, with their licences, and lets all find each other there.
# Not the C and C++ libraries, which a process has once, nor MPI, which must be the launcher's.
bundle() {
  local prefix=$1 inner=$1/lib/$2 file package
  mkdir -p "$inner" "$prefix/share/doc/tapegrad/licences"
  cp LICENSE "$prefix/share/doc/tapegrad/"
  ldd "$prefix/bin/tapegrad" | awk '$3 ~ /^\// { print $3 }' | grep -vE '/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libtapegrad[a-z_]*)\.so' |
    while read -r file; do
      cp -L "$file" "$inner/"
      file=$(readlink -f "$file")
      package=$(dpkg-query -S "$file" "${file#/usr}" 2>/dev/null | sed -n '1s/:.*//p' || true)
      cp "/usr/share/doc/$package/copyright" "$prefix/share/doc/tapegrad/licences/$package"
    done
  find "$inner" -type f -exec patchelf --set-rpath '$ORIGIN:$ORIGIN/..' {} +
  find "$prefix/lib" -maxdepth 1 -type f -name '*.so*' -exec patchelf --set-rpath "\$ORIGIN:\$ORIGIN/$2" {} +
  patchelf --set-rpath "\$ORIGIN/../lib:\$ORIGIN/../lib/$2" "$prefix/bin/tapegrad"
}

step_packages() {
  . tasks/setup.sh
  install $packages $mpi $images dpkg-dev lintian
  configure release -D CMAKE_INSTALL_PREFIX=/usr -D TAPEGRAD_TESTS=OFF
  build release tapegrad_command
  note "packages"
  tests/consumer/package.sh build/release ../files
}

step_tarball() {
  local version name prefix
  install patchelf
  version=$(build/release/tapegrad --version | awk '{ print $2 }')
  name=tapegrad-$version-$(uname -m)-linux prefix=$PWD/build/$name
  configure release -D CMAKE_INSTALL_PREFIX=/usr/local -D CMAKE_INSTALL_LIBDIR=lib
  build release tapegrad_command
  note "$name"
  cmake --install build/release --strip --prefix "$prefix" >/dev/null
  bundle "$prefix" "tapegrad-${version%.*}"
  check_symbols "$prefix"
  tar -C build --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -c "$name" | gzip -9n >"../files/$name.tar.gz"
}

# try_command COMMAND   trains a little and tests the model; computes what every machine computes alike
try_command() {
  local folder; folder=$(mktemp -d)
  (cd "$folder" && "$1" train copy --max-steps 20 --no-progress && "$1" test copy --count 20 --target 0 && "$1" info --self-test | tail -n 1)
}

# try_library [PREFIX]   a program of a user, with CMake and with pkg-config
try_library() {
  local user; user=$(mktemp -d)
  cp sources/tests/consumer/training.cpp "$user"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(user LANGUAGES CXX)' 'find_package(tapegrad REQUIRED)' \
    'add_executable(user training.cpp)' 'target_link_libraries(user tapegrad::train)' >"$user/CMakeLists.txt"
  cmake -S "$user" -B "$user/build" ${1:+-D CMAKE_PREFIX_PATH="$1"} >/dev/null
  cmake --build "$user/build" >/dev/null
  "$user/build/user"
  export PKG_CONFIG_PATH=${1:+$1/lib/pkgconfig}
  g++ $(pkg-config --cflags tapegrad-train) "$user/training.cpp" -o "$user/user" $(pkg-config --libs tapegrad-train) ${1:+-Wl,-rpath,"$1/lib"}
  "$user/user"
}

step_check() {
  local prefix names
  export DEBIAN_FRONTEND=noninteractive
  note "the tarball"
  mkdir -p "/opt/any folder"
  tar -C "/opt/any folder" -xf files/*.tar.gz
  prefix=$(echo "/opt/any folder"/tapegrad-*)
  try_command "$prefix/bin/tapegrad"
  apt-get update -q >/dev/null
  apt-get install -y -q --no-install-recommends g++ cmake make pkg-config >/dev/null
  mv "$prefix" /opt/tapegrad  # compilers' options by pkg-config are words without spaces
  try_library /opt/tapegrad
  rm -rf "/opt/any folder" /opt/tapegrad
  note "the packages"
  names=$(for file in files/*.deb; do dpkg-deb -f "$file" Package; done)
  apt-get install -y -q --no-install-recommends ./files/*.deb >/dev/null
  try_command tapegrad
  try_library
  apt-get purge -y -q $names >/dev/null
  [ -z "$(find /usr /etc -name '*tapegrad*')" ] || die "left after removal: $(find /usr /etc -name '*tapegrad*' | xargs)"
  rm files/*
}

if [ "${1:-}" = --step ]; then
  exec 3>&1 1>&2
  export SOURCE_DATE_EPOCH=$4
  case $2 in
    build) cd sources; step_packages; [ "$3" != "$oldest" ] || step_tarball; cd .. ;;
    check) step_check ;;
  esac
  exec tar -C files -c . >&3
fi

# --- here ---

on= out=build/packages
while [ $# -gt 0 ]; do
  case $1 in
    --on) on=${2:?--on needs a command}; shift ;;
    -h | --help) sed -n '2,15s/^# \?//p' "$0"; exit 0 ;;
    -*) die "unknown option $1 (see --help)" ;;
    *) out=$1 ;;
  esac
  shift
done
cd "$(dirname "$0")/.."
[ -n "$on" ] || { [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; } ||
  die "needs root and debootstrap, or --on \"COMMAND\", which runs words in a new Debian {} (see --help)"
work=$(mktemp -d "${TMPDIR:-/var/tmp}/tapegrad-release.XXXXXX")
clean() { umount "$work"/*/proc 2>/dev/null || true; rm -rf --one-file-system "$work"; }
trap clean EXIT
mkdir -p "$out" "$work/in/sources" "$work/in/files"
git archive HEAD | tar -C "$work/in/sources" -x
when=$(git log -1 --format=%ct)

# by_debootstrap RELEASE WORD...   runs the words in a new Debian
by_debootstrap() {
  local root; root=$(mktemp -d "$work/$1.XXX")
  debootstrap --variant=minbase "$1" "$root" >"$work/debootstrap.log" 2>&1 </dev/null || { tail -n 5 "$work/debootstrap.log" >&2; return 1; }
  mount -t proc proc "$root/proc"
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 $(env | grep -iE '^(https?|no)_proxy=' || true) chroot "$root" "${@:2}"
  umount "$root/proc"
  rm -rf --one-file-system "$root"
}

# in_new RELEASE STEP TO [FILE...]   runs a step with these files in a new Debian of the release, and puts into TO what it has made
in_new() {
  local run=(by_debootstrap "$1")
  [ -z "$on" ] || read -ra run <<<"${on//\{\}/$1}"
  rm -rf "$work/in/files"; mkdir -p "$work/in/files" "$3"
  [ $# = 3 ] || cp "${@:4}" "$work/in/files/"
  note "$2: new Debian $1"
  tar -C "$work/in" -c sources files |
    "${run[@]}" bash -c 'set -e; cd "$(mktemp -d)"; tar -x; exec bash sources/packaging/release.sh --step "$@"' _ "$2" "$1" "$when" |
    tar -C "$3" -x
}

for release in $releases; do
  in_new $release build "$out/$release"
done
mv "$out/$oldest"/*.tar.gz "$out/"
for release in $releases; do
  in_new $release check "$work/nothing" "$out"/*.tar.gz "$out/$release"/*.deb
done
note "made and checked"
(cd "$out" && sha256sum ./*.tar.gz ./*/*.deb | tee SHA256SUMS)
