#!/usr/bin/env bash
# How long compiling takes, against nvcc: see bench/compile.c.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "build/${MODE:-release}/bench/compile" "$@"
