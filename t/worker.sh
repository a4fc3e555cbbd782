#!/usr/bin/env bash
# hone-worker on the emulator: usage, hostile bundles, and the kernels that t/gpu/ runs on a GPU.
cd "$(dirname "$0")/.." || exit 1
exec t/gpu/smoke.sh emu "$PWD/build/${MODE:-release}/hone-worker"
