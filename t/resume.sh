#!/usr/bin/env bash
# Runs t/torture/resume.sh with twenty kills; `make soak` runs it with all kills.
KILLS=20 exec "$(dirname "$0")/torture/resume.sh"
