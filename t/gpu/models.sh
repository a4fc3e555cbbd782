#!/usr/bin/env bash
# Runs in which models write the kernels here, and a GPU on another machine judges them. The two machines share no
# folder: bundles and results travel as tar files.
#   t/gpu/models.sh start DIR           start, or go on with, the runs that DIR/runs lists
#   t/gpu/models.sh state DIR           what each run waits for: a reply, or the GPU
#   t/gpu/models.sh pack DIR IN.tar     pack the bundles that wait for the GPU
#   hone-worker --tar IN.tar OUT.tar    on the machine with the GPU
#   t/gpu/models.sh deliver DIR OUT.tar put the results back
#   t/gpu/models.sh stop DIR            stop the runs; `start` goes on with them
# A line of DIR/runs is NAME TASK START STRATEGY [OPTION...]: a name, a task, the kernel to start from, a strategy, and
# further options of `hone optimize`. Prompts appear as DIR/box/NNNN.prompt.md; a reply is DIR/box/NNNN.reply.md.
# DEVICE=emu lets an emulator play the GPU.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=$(realpath "${HONE:-$root/bin/hone}")
if [ $# -lt 2 ] || [ ! -f "$2/runs" ]; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
what=$1 dir=$(realpath "$2") spool=$(realpath "$2")/spool
export HONE_SPOOL_LEASE_S=1000000 # nobody but this script takes bundles from the spool

start() {
    mkdir -p "$dir/box"
    [ -d "$spool" ] || mkdir -m 700 "$spool"
    while read -r name task from strategy options; do
        case $name in '' | '#'*) continue ;; esac
        local run=(optimize "$task" --from "$from" --strategy "$strategy" --author "mailbox:$dir/box"
            --device "${DEVICE:-cuda}" --on "spool:$spool" --out "$dir/$name")
        # shellcheck disable=SC2206 # options are words
        run+=($options)
        [ ! -e "$dir/$name.db" ] || run=(resume last --on "spool:$spool")
        setsid nohup "$HONE" "${run[@]}" --store "$dir/$name.db" >>"$dir/$name.log" 2>&1 </dev/null &
        echo $! >"$dir/$name.pid"
    done <"$dir/runs"
}
state() {
    for log in "$dir"/*.log; do
        printf '%-24s %s\n' "$(basename "$log" .log)" "$(tail -n 1 "$log" | cut -c 1-120)"
    done
}
stop() {
    for pid in "$dir"/*.pid; do
        kill -TERM "$(cat "$pid")" 2>/dev/null || true
        rm -f "$pid"
    done
}
pack() { # pack IN.tar
    tar -cf "$1" -C "$spool" todo
    tar -tf "$1" | grep -c '/job.bin$' | sed 's/$/ bundles/'
}
deliver() { # deliver OUT.tar: a bundle with its result moves from todo/ to done/, as if a worker had run it
    local at n=0
    at=$(mktemp -d)
    tar -xf "$1" -C "$at"
    for result in "$at"/done/*/result.bin; do
        id=$(basename "$(dirname "$result")")
        bundle=$(echo "$spool/todo/$id".g*)
        [ -d "$bundle" ] || { echo "$id: no such bundle" >&2; continue; }
        cp "$result" "$bundle/result.bin"
        mv "$bundle" "$spool/done/$id"
        n=$((n + 1))
    done
    rm -r "$at"
    echo "$n results"
}
case $what in
start | state | stop) "$what" ;;
pack | deliver) [ $# -eq 3 ] && "$what" "$3" ;;
*) echo "$what: unknown; $0 without arguments lists the commands" >&2; exit 2 ;;
esac
