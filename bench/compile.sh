#!/usr/bin/env bash
# Measures how long compiling takes, for Hone and for nvcc: see bench/compile.c.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "build/${MODE:-release}/bench/compile" "$@"
