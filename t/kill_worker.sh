#!/usr/bin/env bash
# Ten of the kills of t/torture/worker.sh; `make soak` does them all.
KILLS=10 exec "$(dirname "$0")/torture/worker.sh"
