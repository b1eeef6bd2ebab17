#!/bin/sh
# Writes published.cpp with the hashes that a build of tapegrad computes: checks/self_test/publish.sh [COMMAND]
# Run it after a change that is meant to change results, and say in CHANGELOG.md which.
set -eu
cd "$(dirname "$0")/../.."
"${1:-build/release/tapegrad}" info --self-test --json >/tmp/tapegrad-bits.$$ || true
python3 - /tmp/tapegrad-bits.$$ <<'END'
import json, sys
bits = json.load(open(sys.argv[1]))["bits"]
rows = "".join(f'    {{"{name}", "{value}"}},\n' for name, value in bits.items())
open("checks/self_test/published.cpp", "w").write(f"""// The hashes of the self-test. Written by publish.sh.
#include <tapegrad/checks/self_test/self_test.h>

namespace tapegrad::tasks {{
namespace {{

constexpr PublishedBits kPublished[] = {{
{rows}}};

}}  // namespace

std::span<const PublishedBits> published_bits() {{ return kPublished; }}

}}  // namespace tapegrad::tasks
""")
END
rm /tmp/tapegrad-bits.$$
