#!/usr/bin/env bash
# src/cuda/ on this machine's GPU: pinned memory, two streams, events, a kernel from PTX. Needs cc.
# Prints TAP. Exits 77 where there is no GPU.
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cc -std=gnu17 -D_GNU_SOURCE -O1 -iquote src -o "$tmp/cuda" t/gpu/cuda.c src/cuda/*.c \
    src/base/err.c src/base/util.c src/base/dtype.c -ldl -lpthread -lm || exit 1
"$tmp/cuda"
