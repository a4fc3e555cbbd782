#!/usr/bin/env bash
# Runs t/unit/agent_resume.c with a SIGKILL at every write of every strategy: before the first write, after the second,
# before the third, and so on.
cd "$(dirname "$0")/../.." || exit 1
make -s "build/${MODE:-release}/t/agent_resume" >&2 || exit 1
HONE_TORTURE=1 exec "build/${MODE:-release}/t/agent_resume"
