#!/usr/bin/env bash
# tools/setup and make install, without changing this machine: apt-get, sudo, id, cc and python3 are
# stubs that record how they were called.
. "$(dirname "$0")/lib.sh"
S=$T/stubs
mkdir "$S"
stub() { # stub NAME < script
    { echo '#!/bin/bash'; cat; } >"$S/$1"
    chmod +x "$S/$1"
}
setup() { : >"$T/calls"; CALLS=$T/calls CC=$S/cc PATH=$S:$PATH "$ROOT/tools/setup" "$@"; }
calls() { is "$1" "$(cat "$T/calls")" "$2"; }

# A preprocessor that says cmocka's header is missing; everything else is there.
stub cc <<<'[ "$1" = -E ] && echo "MISSING cmocka.h"; exit 0'
stub id <<<'echo ${FAKE_UID:-0}'
stub apt-get <<<'echo "apt-get $*" >>"$CALLS"; [ "$1" != install ] || [ ! -e "$CALLS.broken" ]'
stub sudo <<<'[ -z "$NO_SUDO" ] || exit 1; shift; [ "$1" = true ] || { echo -n "sudo " >>"$CALLS"; "$@"; }'
install='apt-get install -y -q --no-install-recommends libcmocka-dev'

runs 0 "root installs what is missing" setup
err_has "says what and why" "Debian package libcmocka-dev: the unit tests"
calls "and asks for nothing else" "$install"
FAKE_UID=1000 runs 0 "others go through sudo" setup
calls "for the same" "sudo $install"
NO_SUDO=1 FAKE_UID=1000 runs 3 "without sudo it stops" setup
err_has "with the exact command" "run this first: sudo apt-get install -y libcmocka-dev"
calls "and runs nothing" ""
touch "$T/calls.broken"
runs 3 "an apt-get that fails is tried again after an update, then stops" setup
err_has "with the command" "apt-get failed; run: sudo apt-get install -y libcmocka-dev"
calls "in that order" "$install"$'\n'"apt-get update -q"$'\n'"$install"
rm "$T/calls.broken"

# A system other than Debian: PATH holds only the programs that the script itself uses.
mkdir "$T/bare"
for c in bash dirname sed grep tr ls make prove ar gcc readlink mkdir flock curl; do
    ln -s "$(command -v $c)" "$T/bare/" 2>/dev/null
done
ln -s "$S/cc" "$S/id" "$T/bare/"
PATH=$T/bare CC=cc runs 3 "no apt-get: names the packages" "$ROOT/tools/setup"
err_has "as such" "this system has no apt-get: libcmocka-dev"

stub cc <<<'[ "$1" = -E ] && printf "MISSING %s\n" microhttpd.h zlib.h; exit 0'
runs 0 "the libraries of hone serve and of report files" setup
calls "are Debian's" "${install% *} libmicrohttpd-dev zlib1g-dev"
stub cc <<<'exit 0' # nothing missing
runs 0 "nothing missing, nothing done" setup
calls "no calls" ""
err_empty "and nothing said"
runs 2 "an unknown part" setup bild

stub python3 <<<'[ "$3" != --version ] && { echo "pip $*" >>"$CALLS"; exit 1; }; exit 0'
DEPS=$T/deps runs 0 "no network: goes on without the wheels" setup
err_has "says what that costs" "could not get nvidia-cutlass: features that need it stay off"
is "asks pip for the pinned file only" "$(grep -c -- '--require-hashes' "$T/calls")" \
    "$(grep -c . "$T/calls")"
is "and leaves nothing half done" "$(find "$T/deps" -name 'fetch.*' -o -path '*stamps/*')" ""

stub python3 <<'SH'
echo "python3 $*" >>"$CALLS"
[ "$1" != -c ] || exit 1 # no ensurepip
[ "$2" != venv ] || { mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; }
SH
DEPS=$T/torch runs 0 "PyTorch gets an environment of its own" setup torch
calls "with the package that makes one" "python3 -c import ensurepip
apt-get install -y -q --no-install-recommends python3-venv
python3 -m venv $T/torch/torch
python3 -m pip install -q torch==2.9.1 numpy"
DEPS=$T/torch runs 0 "PyTorch that is there" setup torch
is "is not fetched again" "$(grep -c "pip install" "$T/calls")" 0
stub python3 <<<'exit 1'
DEPS=$T/torch2 runs 0 "PyTorch that cannot be had" setup torch
err_has "costs some tests" "could not get PyTorch: the tests that need it are skipped"
cp "$S/python3" "$S/python"
DEPS=$T/deps runs 0 "no pip" setup
err_has "says how to get it" "needs pip: sudo apt-get install -y python3-pip"

# An installed hone finds its worker and its headers, from anywhere.
if [ "${MODE:-release}" = release ]; then
    ok "make install" env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$ROOT" install \
        "DESTDIR=$T/dest" PREFIX=/opt/hone
    cd / && runs 0 "the installed hone runs" env -u HONE_WORKER "$T/dest/opt/hone/bin/hone" doctor --json
    cute=$(cd "$ROOT/.deps/cutlass/include" 2>/dev/null && pwd -P)
    [ -z "$cute" ] || out_has "with its own headers" "share/hone/cutlass/include"
    out_has "and its own worker" "$T/dest/opt/hone/bin/hone-worker"
    ok "and its manual" grep -q "hone\\\\-eval" "$T/dest/opt/hone/share/man/man1/hone-eval.1"
    ok "with subcommands" test -s "$T/dest/opt/hone/share/man/man1/hone-task-check.1"
    ok "and completions" grep -q "^complete -F _hone_gnn hone-gnn" "$T/dest/opt/hone/share/bash-completion/completions/hone-gnn"
    ok "and the Python package" env -u HONE_GNN_LIBRARY "PYTHONPATH=$T/dest/opt/hone/share/hone/python" \
        python3 -B -c 'import hone_gnn'
    ok "and the header of its library" sh -c 'printf "#include <hone_gnn.h>\nint main(void) { return hone_gnn_api() != HONE_GNN_API; }" |
        cc -x c - -o "$1/api" -I"$1/dest/opt/hone/include" -L"$1/dest/opt/hone/lib" -lhone_gnn &&
        LD_LIBRARY_PATH=$1/dest/opt/hone/lib "$1/api"' _ "$T"
    runs 0 "and its own tasks" "$T/dest/opt/hone/bin/hone" task show softmax
fi
done_testing
