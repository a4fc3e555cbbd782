#!/usr/bin/env bash
# Twenty of the kills of t/torture/resume.sh; `make soak` does them all.
KILLS=20 exec "$(dirname "$0")/torture/resume.sh"
