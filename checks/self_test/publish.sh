#!/bin/sh
# Writes published.inc with the hashes that a build of tapegrad computes: checks/self_test/publish.sh [COMMAND]
# Run it after a change that is meant to change results, and say in CHANGELOG.md which.
set -eu
cd "$(dirname "$0")/../.."
"${1:-build/release/tapegrad}" info --self-test --json >/tmp/tapegrad-bits.$$ || true
python3 - /tmp/tapegrad-bits.$$ <<'END'
import json, sys
bits = json.load(open(sys.argv[1]))["bits"]
rows = "".join(f'{{"{name}", "{value}"}},\n' for name, value in bits.items())
open("checks/self_test/published.inc", "w").write("// The hashes of the self-test. Written by publish.sh.\n" + rows)
END
rm /tmp/tapegrad-bits.$$
