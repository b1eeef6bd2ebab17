# Shared by tasks/run.sh, tests/run.sh and others: installs packages, configures, builds.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
say() { printf '\n== %s\n' "$*"; }

# The packages, by the distribution's package manager: $packages to build and test, $mpi for several processes and $images
# for images in files, which are optional, and $tools of tests, without which some are left out. Those of dnf and pacman have
# no BLIS with its kernels (docs/install.md).
manager=
for manager in apt-get dnf pacman none; do command -v $manager >/dev/null && break; done
case $manager in
  apt-get)
    packages="g++ cmake ninja-build libblis-serial-dev liblapack-dev libtbb-dev libhwy-dev libcli11-dev nlohmann-json3-dev libfmt-dev libutfcpp-dev libxxhash-dev zlib1g-dev libgtest-dev"
    mpi="libopenmpi-dev openmpi-bin" images="libpng-dev libjpeg-dev" tools="pkg-config python3"
    browser="chromium fonts-noto-cjk fonts-dejavu-core"  # of tests/pages.sh
    ;;
  dnf)
    packages="gcc-c++ cmake ninja-build lapack-devel blas-devel tbb-devel highway-devel cli11-devel json-devel fmt-devel utf8cpp-devel xxhash-devel zlib-devel gtest-devel"
    mpi="openmpi-devel" images="libpng-devel libjpeg-turbo-devel" tools="pkgconf-pkg-config python3" browser="chromium"
    ;;
  pacman)
    packages="gcc cmake ninja lapack blas onetbb highway cli11 nlohmann-json fmt utf8cpp xxhash zlib gtest"
    mpi="openmpi" images="libpng libjpeg-turbo" tools="pkgconf python" browser="chromium noto-fonts-cjk"
    ;;
  none) packages="" mpi="" images="" tools="" browser="" ;;
esac

# is_installed PACKAGE
is_installed() {
  case $manager in
    apt-get) [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
    dnf) rpm -q --whatprovides "$1" ;;
    pacman) pacman -Qi "$1" ;;
  esac >/dev/null 2>&1
}

# install PACKAGE...   with the distribution's package manager, only what is missing; uses sudo unless root
install() {
  local missing=() package sudo=() log command=()
  if [ $manager = none ]; then  # configuring names the libraries that are missing
    for package in cmake ninja c++; do command -v $package >/dev/null || missing+=("$package"); done
    [ ${#missing[@]} = 0 ] || echo "install these programs first: ${missing[*]}" >&2
    return $((${#missing[@]} > 0))
  fi
  for package; do is_installed "$package" || missing+=("$package"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]}"
  case $manager in
    apt-get) command=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends) ;;
    dnf) command=(dnf install -y -q) ;;
    pacman) command=(pacman -S --needed --noconfirm) ;;
  esac
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "needs root: $manager ${missing[*]}" >&2; return 1; }
    sudo=(sudo)
  fi
  log=$(mktemp)
  if ! { [ $manager != apt-get ] || "${sudo[@]}" apt-get update -q; } </dev/null >"$log" 2>&1 ||
     ! "${sudo[@]}" "${command[@]}" "${missing[@]}" </dev/null >>"$log" 2>&1; then
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

# configure_first [OPTION...]   for a first run: this processor's kernels, the verbs of training runs, no tests. What the folder of an
# earlier build has stays.
configure_first() {
  [ -f build/release/CMakeCache.txt ] || set -- -D TAPEGRAD_TARGETS=native -D TAPEGRAD_VERBS=train -D TAPEGRAD_TESTS=OFF "$@"
  configure release "$@"
}
everything="-D TAPEGRAD_TARGETS=all -D TAPEGRAD_VERBS=all -D TAPEGRAD_TESTS=ON"

# build PRESET TARGET...   tells how far it is and what is compiled: on a terminal in one line that moves, elsewhere every 30 seconds
build() {
  say "building ($1)"
  NINJA_STATUS='@%f %t %e ' cmake --build --preset "$1" -j "$(nproc)" --target "${@:2}" 2>&1 | progress
  return "${PIPESTATUS[0]}"
}
progress() {
  local line text terminal=0 said=0
  [ ! -t 1 ] || terminal=1
  while IFS= read -r line; do
    if [[ $line =~ ^@([0-9]+)\ ([0-9]+)\ ([0-9]+)[.0-9]*\ (.*) ]]; then
      local built=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} seconds=${BASH_REMATCH[3]} what=${BASH_REMATCH[4]##* }
      text="$built of $all built"
      [ "$built" = 0 ] || [ "$built" = "$all" ] || text+=", about $((seconds * (all - built) / built / 60 + 1)) min left"
      what=${what#CMakeFiles/}
      text+=", last: ${what/.dir/}"
      if [ $terminal = 1 ]; then
        printf '\r\033[K%s' "${text:0:$((${COLUMNS:-80} - 1))}"
      elif [ "$built" = "$all" ] || [ $((seconds - said)) -ge 30 ]; then
        said=$seconds
        echo "$text"
      fi
    else
      [ $terminal = 0 ] || printf '\r\033[K'
      [ -z "$line" ] || printf '%s\n' "$line"
    fi
  done
  [ $terminal = 0 ] || echo
}
