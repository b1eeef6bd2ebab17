#!/usr/bin/env bash
# tests/pages.sh [BUILD_DIR]   looks at every page that the command writes in headless Chromium, 400 and 1,400 pixels wide, light and
#                              dark, and uses its controls; prints what is wrong with it, and then fails
#
# BUILD_DIR (default: build/release) has the command; the pages go into BUILD_DIR/pages. tests/pages has the browser's part: look.js
# opens the pages, faults.js finds bugs. First, it must find those of planted.html, listed in planted.txt, and no others. By default,
# half of the views: a page that is dark at one width is light at the other. TAPEGRAD_LONG=1 takes all.
set -uo pipefail
. "$(dirname "$0")/../tasks/setup.sh"
install $browser || exit 1
tapegrad=$(realpath "${1:-build/release}")/tapegrad
out=$(dirname "$tapegrad")/pages
rm -rf "$out" && mkdir -p "$out/planted" "$out/made" || exit 1

# make ARGUMENT...   runs the command in $out/made, in $language, silently unless it fails
language=en
make() {
  local log=$out/log
  (cd "$out/made" && env LC_ALL=$language.UTF-8 "$tapegrad" "$@" </dev/null >"$log" 2>&1) || { echo "tapegrad $*"; cat "$log"; exit 1; }
}

# chromium_in dark|light FOLDER   what look.html finds. Root needs --no-sandbox. Virtual time passes while the page waits.
chromium_in() {
  local scheme=1 profile; profile=$(mktemp -d)
  [ "$1" != dark ] || scheme=0
  timeout 900 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$profile" --allow-file-access-from-files \
    --blink-settings=preferredColorScheme=$scheme --virtual-time-budget=100000000 --dump-dom "file://$2/look.html" \
    2>"$2/$1.log" | sed -n '/<pre id="found">/,/<\/pre>/p' | sed '1d; $d; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g'
  rm -rf "$profile"
}

# look FOLDER true|false   one line per bug in its pages, in all views or in half of them, and one per mode that begins with "looked at"; a process per mode
look() {
  cp tests/pages/look.html tests/pages/*.js "$1" || return 1
  (cd "$1" && find . \( -name '*.html' ! -name look.html -o -name '*.svg' \) -printf '%P\n' | sort |
    sed 's/.*/  "&",/; 1i const pages = [' && echo '];' && echo "const kAllViews = $2;") >"$1/list.js"
  chromium_in dark "$1" >"$1/dark.txt" &
  chromium_in light "$1" >"$1/light.txt"
  wait
  cat "$1/dark.txt" "$1/light.txt"
}

say "planted bugs"
cp tests/pages/planted.html "$out/planted" || exit 1
look "$out/planted" true | grep -v '^looked at' | sed "s|file://$out/||" | sort >"$out/planted/found.txt"
diff <(sort tests/pages/planted.txt) "$out/planted/found.txt" || { echo "expected the bugs of planted.txt (<)"; exit 1; }
echo "found"

say "making pages"
# Topics that measure or train, with their smallest sizes.
declare -A less=([attention-cost]="--length 1024 --dim 64" [attention-accuracy]="--length 32 --seconds 0.01"
  [gpt-cost]="--length 128 --dim 64" [performer-error]="--dim 8" [mask-leak]="--length 8 --steps 2"
  [recurrent-lengths]="--length 12 --steps 3" [head-roles]="--steps 2")
topics=$("$tapegrad" show --help --lang en | sed -n '/^Topics:/,/^Examples:/ s/^  \([a-z][a-z-]*\) .*/\1/p')
# Runs that are too short to learn anything.
small="--hidden-size 8 --num-hidden-layers 1 --num-attention-heads 2 --intermediate-size 16 --num-epochs 2 --no-progress"
for i in {1..20}; do echo "나는 학교에 간다. The cat sat on the mat, again and again."; done >"$out/made/text.txt"
for language in ko en; do
  for topic in $topics; do make show "$topic" ${less[$topic]:-} --out $language/show; done
  make show attention-steps --example journey --out $language/show
  for task in copy addition parser; do
    make train $task $small --steps-per-epoch 5 --batch-size 8 --out $language/$task
    make attention $task --model $language/$task --analyze
    make explain step --model $language/$task
  done
  for task in classify summarize answer; do make train $task $small --max-steps 4 --vocab-size 400 --out $language/$task; done
  make train gpt --text text.txt --emb-dim 8 --n-heads 2 --n-layers 1 --context-length 16 --num-epochs 2 --out $language/gpt
  make attention gpt --model $language/gpt --prompt "The cat"
  make explain step --model $language/gpt --text "The cat"
  make plot $language/copy $language/addition --out $language/plot
done
make tutorial --out site
echo "$(find "$out/made" -name '*.html' -o -name '*.svg' | wc -l) pages and pictures"

say "looking at pages"
found=$(look "$out/made" $([ "${TAPEGRAD_LONG:-0}" = 1 ] && echo true || echo false))
echo "$found"
[ "$(grep -c '^looked at' <<<"$found")" = 2 ] || { echo "expected to see all pages, light and dark"; tail -n 5 "$out"/made/*.log; exit 1; }
[ "$(wc -l <<<"$found")" = 2 ]
