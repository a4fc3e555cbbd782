#!/usr/bin/env bash
# hone-worker on the emulator: the kernels that t/gpu/smoke.sh runs on a GPU.
cd "$(dirname "$0")/.." || exit 1
exec t/gpu/smoke.sh emu "$PWD/build/${MODE:-release}/hone-worker"
