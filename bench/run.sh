#!/usr/bin/env bash
# bench/run.sh [OPTION...]   build the benchmarks, measure tapegrad and the peers that are installed, in turns, and write a
#                            table and a JSON (--help: options; --compare BEFORE.json NOW.json compares two results)
#
# Installs missing packages. PYTHON, or --python PYTHON, is an interpreter with torch, and jax, llama_cpp,
# gguf and ctranslate2 where they are wanted.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
(. "$here/../tasks/setup.sh" && install python3)
exec python3 "$here/run.py" "$@"
