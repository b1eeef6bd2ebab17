#!/usr/bin/env bash
# sh_blocks_test.sh   sh_blocks.sh finds blocks that fail, comments that excuse nothing, and runs what it should
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir -p "$work/prefix/bin"
printf '#!/bin/sh\necho "$*" >>"%s/calls"\n' "$work" >"$work/prefix/bin/tapegrad"
chmod +x "$work/prefix/bin/tapegrad"
export PREFIX=$work/prefix
unset TAPEGRAD_LONG

# page TEXT   a document with this text, in which ~~~ are fences
page() { sed 's/~~~/```/' <<<"$1" >"$work/page.md"; }
# expect STATUS TEXT   what the script says of the page
expect() {
  local status=0
  "$here/sh_blocks.sh" none "$work/page.md" >"$work/log" 2>&1 || status=$?
  [ $status = "$1" ] && grep -qF -- "$2" "$work/log" || { echo "expected status $1 and: $2"; cat "$work/page.md" "$work/log"; exit 1; }
}
calls() { [ "$(cat "$work/calls")" = "$1" ] || { echo "expected the calls: $1"; cat "$work/calls"; exit 1; }; rm "$work/calls"; }

page $'~~~sh\nfalse\ntrue\n~~~'
expect 1 'page.md:1: this block fails:'
page $'~~~sh\nno_such_command | cat\n~~~'
expect 1 '1 failed'
page $'<!-- sh: not run: -->\n~~~sh\ntrue\n~~~'  # no reason
expect 1 'expected a comment as in sh_blocks.sh, got: not run:'
page $'<!-- sh: not run: needs two machines -->\n\n~~~sh\nfalse\n~~~'  # not directly before the block
expect 1 'this block fails'
page $'<!-- sh: not run: needs two machines -->\n~~~sh\nfalse\n~~~\n~~~sh\ntrue\n~~~'
expect 0 '1 blocks ran, 1 are not run for a reason that the page names, 0 need TAPEGRAD_LONG=1, 0 failed'
page $'~~~bash\ntrue\n~~~'
expect 1 'expected commands in blocks that begin with ```sh'
page $'<!-- sh: long -->\n~~~sh\nfalse\n~~~'
expect 0 '1 need TAPEGRAD_LONG=1'
TAPEGRAD_LONG=1 expect 1 'this block fails'
page $'<!-- sh: first: echo one > file -->\n~~~sh\ngrep one file\n~~~\n~~~sh\ngrep one file\n~~~\n~~~cpp\nfalse\n~~~'  # one folder per page
expect 0 '2 blocks ran'
page $'<!-- sh: train copy: --max-steps 2 --lr 1 -->\n~~~sh\ntapegrad train copy --seed 1\nbuild/release/tapegrad train copyright\n~~~\n~~~sh\nbuild/release/tapegrad train copy\n~~~'
expect 0 '2 blocks ran'
calls $'train copy --seed 1 --max-steps 2 --lr 1\ntrain copyright\ntrain copy --max-steps 2 --lr 1'
TAPEGRAD_LONG=1 expect 0 '2 blocks ran'
calls $'train copy --seed 1\ntrain copyright\ntrain copy'
