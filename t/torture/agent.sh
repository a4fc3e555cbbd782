#!/usr/bin/env bash
# t/unit/agent_resume.c with a SIGKILL before or after every single write of every strategy.
cd "$(dirname "$0")/../.." || exit 1
make -s "build/${MODE:-release}/t/agent_resume" >&2 || exit 1
HONE_TORTURE=1 exec "build/${MODE:-release}/t/agent_resume"
