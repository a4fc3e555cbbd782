#!/usr/bin/env bash
# Runs t/torture/load.sh with sixteen evaluations; `make soak` runs it with all evaluations.
LOAD=16 exec "$(dirname "$0")/torture/load.sh"
