# Shared by tasks/run.sh and tests/run.sh: installs Debian packages, configures, builds.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
packages="g++ cmake ninja-build libblis-serial-dev liblapack-dev libtbb-dev libhwy-dev libcli11-dev nlohmann-json3-dev libfmt-dev libutfcpp-dev libxxhash-dev zlib1g-dev libgtest-dev"
mpi="libopenmpi-dev openmpi-bin"  # optional: training by several processes
images="libpng-dev libjpeg-dev"   # optional: images in files
browser="chromium fonts-noto-cjk fonts-dejavu-core"  # of tests/pages.sh

say() { printf '\n== %s\n' "$*"; }

# install PACKAGE...   with apt-get, only what is missing; uses sudo unless root
install() {
  command -v dpkg-query >/dev/null || return 0  # not Debian: configuring names what is missing
  local missing=() package sudo=() log
  for package; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "needs root: apt-get install ${missing[*]}" >&2; return 1; }
    sudo=(sudo)
  fi
  log=$(mktemp)
  if ! { "${sudo[@]}" apt-get update -q &&
         "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"; } \
       </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2; rm -f "$log"
    echo "could not install ${missing[*]}" >&2; return 1
  fi
  grep -E '^[0-9]+ upgraded' "$log" || true
  rm -f "$log"
}

# configure PRESET [OPTION...]   silent unless it fails
configure() {
  local log; log=$(mktemp)
  say "configuring ($1)"
  cmake --preset "$@" >"$log" 2>&1 || { cat "$log" >&2; rm -f "$log"; return 1; }
  rm -f "$log"
}

# build PRESET TARGET...
build() {
  say "building ($1)"
  cmake --build --preset "$1" -j "$(nproc)" --target "${@:2}"
}
