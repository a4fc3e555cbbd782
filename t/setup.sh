#!/usr/bin/env bash
# tools/setup and make install. They do not change this machine, because apt-get, sudo, id, cc and python3 are stubs
# that record their arguments.
. "$(dirname "$0")/lib.sh"
S=$T/stubs
mkdir "$S"
stub() { # stub NAME < SCRIPT: writes the stub NAME
    { echo '#!/bin/bash'; cat; } >"$S/$1"
    chmod +x "$S/$1"
}
setup() { : >"$T/calls"; CALLS=$T/calls CC=$S/cc PATH=$S:$PATH "$ROOT/tools/setup" "$@"; } # setup PART...
calls() { is "$1" "$(cat "$T/calls")" "$2"; } # calls DESCRIPTION WANTED: checks the calls of the stubs

# This cc says that the header of cmocka is missing, and everything else is there.
stub cc <<<'[ "$1" = -E ] && echo "MISSING cmocka.h"; exit 0'
stub id <<<'echo ${FAKE_UID:-0}'
stub apt-get <<<'echo "apt-get $*" >>"$CALLS"; [ "$1" != install ] || [ ! -e "$CALLS.broken" ]'
stub sudo <<<'[ -z "$NO_SUDO" ] || exit 1; shift; [ "$1" = true ] || { echo -n "sudo " >>"$CALLS"; "$@"; }'
install='apt-get install -y -q --no-install-recommends libcmocka-dev'

runs 0 "as root, tools/setup installs a missing package" setup
err_has "tools/setup says which package it installs, and why" "Debian package libcmocka-dev: the unit tests"
calls "tools/setup installs only the missing package" "$install"
FAKE_UID=1000 runs 0 "as another user, tools/setup succeeds" setup
calls "as another user, tools/setup installs the package with sudo" "sudo $install"
NO_SUDO=1 FAKE_UID=1000 runs 3 "without sudo, tools/setup stops" setup
err_has "without sudo, tools/setup prints the command to run" "run this first: sudo apt-get install -y libcmocka-dev"
calls "without sudo, tools/setup calls no apt-get" ""
touch "$T/calls.broken"
runs 3 "tools/setup stops if apt-get fails" setup
err_has "tools/setup prints the command that failed" "apt-get failed; run: sudo apt-get install -y libcmocka-dev"
calls "tools/setup tries apt-get again after an update" "$install"$'\n'"apt-get update -q"$'\n'"$install"
rm "$T/calls.broken"

# A system other than Debian: PATH has only the programs that tools/setup itself uses.
mkdir "$T/bare"
for c in bash dirname sed grep tr ls make prove ar gcc readlink mkdir flock curl; do
    ln -s "$(command -v $c)" "$T/bare/" 2>/dev/null
done
ln -s "$S/cc" "$S/id" "$T/bare/"
PATH=$T/bare CC=cc runs 3 "without apt-get, tools/setup stops" "$ROOT/tools/setup"
err_has "without apt-get, tools/setup names the missing packages" "this system has no apt-get: libcmocka-dev"

stub cc <<<'[ "$1" = -E ] && printf "MISSING %s\n" microhttpd.h zlib.h; exit 0'
runs 0 "tools/setup installs the libraries of hone serve and of report files" setup
calls "tools/setup asks for Debian's packages of these libraries" "${install% *} libmicrohttpd-dev zlib1g-dev"
stub cc <<<'exit 0' # now nothing is missing
runs 0 "tools/setup succeeds if nothing is missing" setup
calls "tools/setup calls nothing if nothing is missing" ""
err_empty "tools/setup prints nothing if nothing is missing"
runs 2 "an unknown part is a usage error" setup bild

stub python3 <<<'[ "$3" != --version ] && { echo "pip $*" >>"$CALLS"; exit 1; }; exit 0'
DEPS=$T/deps runs 0 "without a network, tools/setup succeeds" setup
err_has "without a network, tools/setup names the features that stay off" \
    "could not get nvidia-cutlass: features that need it stay off"
is "tools/setup lets pip install only files with a pinned hash" "$(grep -c -- '--require-hashes' "$T/calls")" \
    "$(grep -c . "$T/calls")"
is "a failed download leaves no files" "$(find "$T/deps" -name 'fetch.*' -o -path '*stamps/*')" ""

stub python3 <<'SH'
echo "python3 $*" >>"$CALLS"
[ "$1" != -c ] || exit 1 # no ensurepip
[ "$2" != venv ] || { mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; }
SH
DEPS=$T/torch runs 0 "tools/setup torch succeeds" setup torch
calls "tools/setup torch makes an environment and installs PyTorch into it" "python3 -c import ensurepip
apt-get install -y -q --no-install-recommends python3-venv
python3 -m venv $T/torch/torch
python3 -m pip install -q torch==2.9.1 numpy einops==0.8.2"
DEPS=$T/torch runs 0 "tools/setup torch succeeds if PyTorch is there" setup torch
is "tools/setup torch does not install PyTorch twice" "$(grep -c "pip install" "$T/calls")" 0
stub python3 <<<'exit 1'
DEPS=$T/torch2 runs 0 "tools/setup torch succeeds if PyTorch cannot be installed" setup torch
err_has "tools/setup torch says that some tests are skipped" "could not get PyTorch: the tests that need it are skipped"
cp "$S/python3" "$S/python"
DEPS=$T/deps runs 0 "tools/setup succeeds without pip" setup
err_has "tools/setup says how to install pip" "needs pip: sudo apt-get install -y python3-pip"

# An installed hone finds its worker and its headers from any directory.
if [ "${MODE:-release}" = release ]; then
    ok "make install succeeds" env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$ROOT" install \
        "DESTDIR=$T/dest" PREFIX=/opt/hone
    cd / && runs 0 "the installed hone runs" env -u HONE_WORKER "$T/dest/opt/hone/bin/hone" doctor --json
    cute=$(cd "$ROOT/.deps/cutlass/include" 2>/dev/null && pwd -P)
    [ -z "$cute" ] || out_has "the installed hone uses its own headers" "share/hone/cutlass/include"
    out_has "the installed hone uses its own worker" "$T/dest/opt/hone/bin/hone-worker"
    ok "make install installs manual pages" grep -q "hone\\\\-eval" "$T/dest/opt/hone/share/man/man1/hone-eval.1"
    ok "make install installs manual pages of subcommands" test -s "$T/dest/opt/hone/share/man/man1/hone-task-check.1"
    ok "make install installs completions" \
        grep -q "^complete -F _hone_gnn hone-gnn" "$T/dest/opt/hone/share/bash-completion/completions/hone-gnn"
    ok "make install installs the Python package" env -u HONE_GNN_LIBRARY "PYTHONPATH=$T/dest/opt/hone/share/hone/python" \
        python3 -B -c 'import hone_gnn'
    ok "make install installs the library of hone-gnn and its header" \
        sh -c 'printf "#include <hone_gnn.h>\nint main(void) { return hone_gnn_api() != HONE_GNN_API; }" |
        cc -x c - -o "$1/api" -I"$1/dest/opt/hone/include" -L"$1/dest/opt/hone/lib" -lhone_gnn &&
        LD_LIBRARY_PATH=$1/dest/opt/hone/lib "$1/api"' _ "$T"
    runs 0 "the installed hone has its own tasks" "$T/dest/opt/hone/bin/hone" task show softmax
fi
done_testing
