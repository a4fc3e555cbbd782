#!/usr/bin/env bash
# Runs t/torture/serve.sh for one second; `make soak` runs it in full. Other tests run at the same time, so this
# one allows the server more time.
SERVE_SECONDS=1 FUZZ=1 IDLE=0 LISTENERS=50 RATE=400 MAX_CPU=100 SLOWEST_MS=1000 exec "$(dirname "$0")/torture/serve.sh"
