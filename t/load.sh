#!/usr/bin/env bash
# Sixteen of the evaluations of t/torture/load.sh; `make soak` does them all.
LOAD=16 exec "$(dirname "$0")/torture/load.sh"
