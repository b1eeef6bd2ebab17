#!/usr/bin/env bash
# sh_blocks.sh BUILD_DIR [PAGE...]   run every `sh` block of the documents, in an installed tapegrad
#
# The blocks of a page run in order in a folder of their own, with the installed command in PATH and as
# build/release/tapegrad. A block that fails, or that none of these comments excuses, fails the test:
#   <!-- sh: not run: REASON -->                 directly before the block
#   <!-- sh: long -->                            runs with TAPEGRAD_LONG=1 only
#   <!-- sh: first: COMMANDS -->                 what the reader has done before; $SOURCES is the checkout
#   <!-- sh: train copy: --max-steps 2 -->       without TAPEGRAD_LONG, the command's calls that begin so get these options
# A block may have several comments, one per line. Those of the last kind hold for the rest of the page. PREFIX=DIR:
# use what is installed there.
set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd) build=$1; shift
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
prefix=${PREFIX:-$work/prefix}
if [ -z "${PREFIX:-}" ]; then
  cmake --install "$build" --prefix "$prefix" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
fi
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tapegrad.pc)")  # as a reader has them after an installation in /usr
LD_LIBRARY_PATH=${PKG_CONFIG_PATH%/pkgconfig} CMAKE_PREFIX_PATH=$prefix
export PKG_CONFIG_PATH LD_LIBRARY_PATH CMAKE_PREFIX_PATH
if [ $# = 0 ]; then
  mapfile -t pages < <(cd "$top" && find . -name '*.md' -not -path './build/*' -not -path './out/*' -not -path './.git/*' | sed 's|^\./||' | sort)
else
  pages=("$@")
fi

# cut_blocks PAGE FOLDER   writes each block as FOLDER/LINE.sh, what comes before it as .first, and its comments as .notes
cut_blocks() {
  awk -v folder="$2" '
    /^```sh$/ { line = NR; notes_of[line] = notes; block = sprintf("%s/%05d", folder, line); printf "%s", notes >(block ".notes"); on = 1; notes = ""; next }
    on && /^```$/ { on = 0; close(block ".sh"); close(block ".notes"); next }
    on { print >(block ".sh"); next }
    /^<!-- sh: .* -->$/ { sub(/^<!-- sh: /, ""); sub(/ -->$/, ""); notes = notes $0 "\n"; next }
    { notes = "" }' "$1"
}

# The command: the installed one, with the options of the first line of $work/shorter that begins as its words do.
cat >"$work/tapegrad" <<EOF
#!/usr/bin/env bash
while IFS=: read -r words options; do
  if [[ "\$* " == "\$words "* ]]; then set -- "\$@" \$options; break; fi
done <"$work/shorter"
exec '$prefix/bin/tapegrad' "\$@"
EOF
chmod +x "$work/tapegrad"

ran=0 excused=0 later=0 failed=0
for page in "${pages[@]}"; do
  [[ $page = /* ]] || page=$top/$page
  name=${page#"$top"/}
  blocks=$work/blocks folder=$work/page
  rm -rf "$blocks" "$folder"; mkdir -p "$blocks" "$folder/build/release"
  if grep -HnE '^ *```(bash|shell|console|zsh)|^ +```sh' "$page"; then
    echo "expected commands in blocks that begin with \`\`\`sh at the start of a line"; failed=$((failed + 1))
  fi
  cut_blocks "$page" "$blocks"
  : >"$work/shorter"
  ln -s "$work/tapegrad" "$folder/build/release/tapegrad"
  for block in "$blocks"/*.sh; do
    [ -e "$block" ] || continue
    place=$name:$((10#$(basename "$block" .sh))) reason="" long="" first=""
    while IFS= read -r note; do
      case $note in
        "not run: "?*) reason=${note#not run: } ;;
        long) long=1 ;;
        "first: "*) first+=${note#first: }$'\n' ;;
        *": --"*) [ "${TAPEGRAD_LONG:-}" = 1 ] || echo "$note" >>"$work/shorter" ;;
        *) echo "$place: expected a comment as in $(basename "$0"), got: $note"; failed=$((failed + 1)) ;;
      esac
    done <"${block%.sh}.notes"
    if [ -n "$reason" ]; then excused=$((excused + 1)); continue; fi
    if [ -n "$long" ] && [ "${TAPEGRAD_LONG:-}" != 1 ]; then later=$((later + 1)); continue; fi
    start=$EPOCHREALTIME
    printf '%s' "$first" | cat - "$block" >"$work/block"
    if (cd "$folder" && PATH=$work:$PATH SOURCES=$top bash -euo pipefail "$work/block") >"$work/log" 2>&1 </dev/null; then
      ran=$((ran + 1))
      awk -v place="$place" -v from="$start" -v to="$EPOCHREALTIME" 'BEGIN { printf "%-40s %5.1f s\n", place, to - from }'
    else
      failed=$((failed + 1))
      echo "$place: this block fails:"; sed 's/^/    /' "$block"; tail -n 20 "$work/log"
    fi
  done
done
echo "$ran blocks ran, $excused are not run for a reason that the page names, $later need TAPEGRAD_LONG=1, $failed failed"
[ $failed = 0 ]
