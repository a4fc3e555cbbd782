#!/usr/bin/env bash
# Ten of the kills of `make torture`.
KILLS=10 exec "$(dirname "$0")/torture/eval.sh"
