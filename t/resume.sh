#!/usr/bin/env bash
# Twenty of the kills of `make torture`.
KILLS=20 exec "$(dirname "$0")/torture/resume.sh"
