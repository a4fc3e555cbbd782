#!/usr/bin/env bash
# Self-contained builds for both architectures. The build for the other architecture runs under qemu, if qemu is
# installed.
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1

for arch in x86_64 aarch64; do
    ok "make dist ARCH=$arch succeeds" make dist ARCH=$arch
    bin=$(echo dist/hone-*-$arch/bin)
    is "$arch: the three programs are there" "$(ls "$bin" | tr '\n' ' ')" "hone hone-gnn hone-worker "
    run=()
    if [ $arch != "$(uname -m)" ]; then
        if ! command -v qemu-$arch-static >/dev/null; then
            skip "$arch: the programs run" "no qemu-$arch-static"
            continue
        fi
        run=(qemu-$arch-static -L /usr/$arch-linux-gnu)
    fi
    runs 0 "$arch: hone --version exits with 0" "${run[@]}" "$bin/hone" --version
    if "$HONE" help | grep -q '^  task '; then
        runs 0 "$arch: all built-in tasks are good" "${run[@]}" "$bin/hone" task check --all
    fi
done
done_testing
