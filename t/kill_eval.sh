#!/usr/bin/env bash
# Runs t/torture/eval.sh with ten kills; `make soak` runs it with all kills.
KILLS=10 exec "$(dirname "$0")/torture/eval.sh"
