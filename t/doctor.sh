#!/usr/bin/env bash
# `hone doctor`, in environments where tools and keys are present or missing.
. "$(dirname "$0")/lib.sh"

export OPENAI_API_KEY=sk-secret-value
"$HONE" doctor >"$T/text" 2>&1
is "hone doctor names a key that is set" "$(grep -c 'yes  OPENAI_API_KEY' "$T/text")" 1
is "hone doctor does not show the value of a key" "$(grep -c 'sk-secret-value' "$T/text")" 0

"$HONE" doctor --json >"$T/json" 2>"$T/err"
status=$?
err_empty "hone doctor --json prints nothing on stderr"
get() { perl -MJSON::PP -0777 -e 'print '"$1"' for decode_json(<STDIN>)' <"$T/json"; }
is "the exit status of hone doctor agrees with \"ready\"" "$(get '$_->{ready} ? 0 : 3')" $status
is "every check of hone doctor says what it enables" "$(get 'scalar grep { !length $_->{enables} } @{$_->{checks}}')" 0

is "hone doctor does not list compute-sanitizer, which Hone does not use" \
    "$(get 'scalar grep { $_->{name} eq "compute-sanitizer" } @{$_->{checks}}')" 0
# Each option and each command that doctor's output names exists.
get 'map { " $_->{enables}\n" } @{$_->{checks}}' >promises
for option in $(grep -o -- ' --[a-z-]*' promises | sort -u); do
    ok "the option $option exists" bash -c "'$HONE' compile --help | cat - <('$HONE' optimize --help) | grep -q -- '$option '"
done
for c in $(grep -o 'hone [a-z]*' promises | sort -u | cut -d' ' -f2); do
    runs 0 "the command hone $c exists" "$HONE" "$c" --help
done
mkdir -p "$T/cluster"
printf '#!/bin/sh\n' >"$T/cluster/sbatch"
chmod +x "$T/cluster/sbatch"
PATH=$T/cluster:$PATH "$HONE" doctor >"$T/out" 2>&1
out_has "hone doctor finds Slurm if there is an sbatch" "yes  slurm              $T/cluster/sbatch"

# A hone without hone-worker beside it.
mkdir -p "$T/nowhere/bin" "$T/fake/bin"
cp "$HONE" "$T/nowhere/bin/hone"
runs 3 "hone doctor exits with 3 if there is no hone-worker" "$T/nowhere/bin/hone" doctor
out_has "hone doctor names the missing hone-worker" "NO!  hone-worker"
out_has "hone doctor says that Hone is not ready" "Not ready"

# If a program that doctor runs fails, doctor goes on.
printf '#!/bin/sh\nexit 9\n' >"$T/fake/bin/ncu"
chmod +x "$T/fake/bin/ncu"
HONE_NCU=$T/fake/bin/ncu "$HONE" doctor >"$T/out" 2>&1
out_has "hone doctor says that an ncu that fails does not run" "ncu does not run"
printf '#!/bin/sh\necho NVIDIA; echo Version 2099.1\n' >"$T/fake/bin/ncu"
HONE_NCU=$T/fake/bin/ncu "$HONE" doctor >"$T/out" 2>&1
out_has "hone doctor gives the version of an ncu that runs" "Version 2099.1"
done_testing
