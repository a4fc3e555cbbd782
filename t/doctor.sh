#!/usr/bin/env bash
# `hone doctor`, with an environment in which things are present or missing.
. "$(dirname "$0")/lib.sh"

export OPENAI_API_KEY=sk-secret-value
"$HONE" doctor >"$T/text" 2>&1
is "a key is named" "$(grep -c 'yes  OPENAI_API_KEY' "$T/text")" 1
is "its value is not shown" "$(grep -c 'sk-secret-value' "$T/text")" 0

"$HONE" doctor --json >"$T/json" 2>"$T/err"
status=$?
err_empty "--json prints nothing else"
get() { perl -MJSON::PP -0777 -e 'print '"$1"' for decode_json(<STDIN>)' <"$T/json"; }
is "exit status and ready agree" "$(get '$_->{ready} ? 0 : 3')" $status
is "every check says what it enables" "$(get 'scalar grep { !length $_->{enables} } @{$_->{checks}}')" 0

is "doctor does not promise compute-sanitizer, which Hone does not use" \
    "$(get 'scalar grep { $_->{name} eq "compute-sanitizer" } @{$_->{checks}}')" 0
# Each option or command that doctor promises exists.
get 'map { " $_->{enables}\n" } @{$_->{checks}}' >promises
for option in $(grep -o -- ' --[a-z-]*' promises | sort -u); do
    ok "$option exists" bash -c "'$HONE' compile --help | cat - <('$HONE' optimize --help) | grep -q -- '$option '"
done
for c in $(grep -o 'hone [a-z]*' promises | sort -u | cut -d' ' -f2); do
    runs 0 "hone $c exists" "$HONE" "$c" --help
done
mkdir -p "$T/cluster"
printf '#!/bin/sh\n' >"$T/cluster/sbatch"
chmod +x "$T/cluster/sbatch"
PATH=$T/cluster:$PATH "$HONE" doctor >"$T/out" 2>&1
out_has "sbatch means Slurm" "yes  slurm              $T/cluster/sbatch"

# A machine without CUDA: no tool on PATH, no variable that names a CUDA directory.
mkdir -p "$T/nowhere/bin" "$T/fake/bin"
cp "$HONE" "$T/nowhere/bin/hone"
runs 3 "without a worker kernels cannot be run: exit 3" "$T/nowhere/bin/hone" doctor
out_has "says so" "NO!  hone-worker"
out_has "and what to do" "Not ready"

# If a program that doctor asks hangs or fails, doctor goes on.
printf '#!/bin/sh\nexit 9\n' >"$T/fake/bin/ncu"
chmod +x "$T/fake/bin/ncu"
HONE_NCU=$T/fake/bin/ncu "$HONE" doctor >"$T/out" 2>&1
out_has "a tool that fails is not counted as there" "ncu does not run"
printf '#!/bin/sh\necho NVIDIA; echo Version 2099.1\n' >"$T/fake/bin/ncu"
HONE_NCU=$T/fake/bin/ncu "$HONE" doctor >"$T/out" 2>&1
out_has "one that runs is, with its version" "Version 2099.1"
done_testing
