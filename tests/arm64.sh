#!/usr/bin/env bash
# tests/arm64.sh [OPTION...]   builds tapegrad for arm64 and runs tests in an emulator (QEMU): the core tests, or those
#                              that ctest's options select (-R golden)
#
# For Debian 12 on x86-64. Installs the cross compiler and the emulator; packages for arm64 are unpacked into
# build/arm64/sysroot, and nothing of the machine changes. Building takes about 20 minutes on two cores.
set -euo pipefail
. "$(dirname "$0")/../tasks/setup.sh"
build=$PWD/build/arm64 root=$PWD/build/arm64/sysroot
install g++-aarch64-linux-gnu qemu-user cmake ninja-build

# unpack PACKAGE...   for arm64, with what they depend on, into $root; a folder of APT's own, without the machine's state
unpack() {
  local apt=$build/apt deb
  say "unpacking packages for arm64"
  rm -rf "$apt" "$root"
  mkdir -p "$apt"/{lists,archives}/partial "$root"/usr/{bin,lib}
  ln -s usr/bin "$root/bin"
  ln -s usr/lib "$root/lib"
  : >"$apt/status"
  printf '%s\n' 'APT::Architecture "arm64";' 'APT::Architectures { "arm64"; };' 'APT::Sandbox::User "root";' \
    "Dir::State::Lists \"$apt/lists\";" "Dir::State::status \"$apt/status\";" "Dir::Cache \"$apt\";" \
    "Dir::Cache::Archives \"$apt/archives\";" >"$apt/apt.conf"
  APT_CONFIG=$apt/apt.conf apt-get update -q >"$apt/log" 2>&1 &&
    APT_CONFIG=$apt/apt.conf apt-get install -y -q --download-only --no-install-recommends "$@" >>"$apt/log" 2>&1 ||
    { tail -n 20 "$apt/log" >&2; return 1; }
  for deb in "$apt"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink --no-same-owner -C "$root"
  done
  rm -rf "$apt"
  touch "$root/unpacked"
}

libraries=$(tr ' ' '\n' <<<"$packages $images" | grep -E '^(lib|nlohmann|zlib)')
[ -e "$root/unpacked" ] || unpack libc6-dev libstdc++-12-dev $libraries
say "configuring (arm64)"
mkdir -p "$build"
cmake -S . -B "$build" -G Ninja --toolchain "$PWD/cmake/arm64.cmake" -D CMAKE_SYSROOT="$root" -D CMAKE_BUILD_TYPE=None \
  -D CMAKE_CXX_FLAGS="-O1 -Wno-psabi" -D TAPEGRAD_UNITY=ON -D TAPEGRAD_WERROR=ON -D CMAKE_DISABLE_FIND_PACKAGE_MPI=ON \
  >"$build/configured" 2>&1 || { cat "$build/configured" >&2; exit 1; }
[ $# -gt 0 ] || set -- -L core
chosen=$(ctest --test-dir "$build" -N "$@" 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: /test_/p')
[ -n "$chosen" ] || { echo "no test is chosen by: $*" >&2; exit 2; }
say "building (arm64)"
cmake --build "$build" -j "$(nproc)" --target tapegrad_command $chosen
say "testing (arm64)"
ctest --test-dir "$build" -j "$(nproc)" --output-on-failure --no-tests=error "$@" </dev/null
