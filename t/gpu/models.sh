#!/usr/bin/env bash
# Runs in which models write kernels and a GPU judges them. The machine with the GPU needs no network: a model answers
# the prompts elsewhere, and the folder DIR travels between the two machines.
#   t/gpu/models.sh run DIR [SECONDS]   on the machine with the GPU: starts, or goes on with, the runs that DIR/runs lists;
#                                       stops them when each waits for a reply or has ended, at the latest after SECONDS
#   t/gpu/models.sh prompts DIR         lists the prompts without a reply: DIR/box/NNNN.prompt.md
#   t/gpu/models.sh state DIR           says how far each run is
# A line of DIR/runs is NAME TASK START STRATEGY [OPTION...]: a name, a task, the kernel to start from, a strategy, and
# further options of `hone optimize`. Paths are relative to DIR. The reply to a prompt is DIR/box/NNNN.reply.md.
# DEVICE=emu lets the emulator judge. With SPOOL=DIR, an empty folder, recorded runs go on up to their next evaluation
# on a machine without a GPU. So this machine can write the prompts of several calls, one after the other.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
HONE=$(realpath "${HONE:-$root/bin/hone}")
if [ $# -lt 2 ] || [ ! -f "$2/runs" ]; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
what=$1
cd "$2"

prompts() { # the first line of a prompt names its run
    for prompt in box/*.prompt.md; do
        [ ! -e "$prompt" ] || [ -e "${prompt%.prompt.md}.reply.md" ] || echo "$prompt: $(head -n 1 "$prompt")"
    done
}
state() {
    for log in *.log; do
        printf '%-24s %s\n' "$(basename "$log" .log)" "$(tail -n 1 "$log" | cut -c 1-150)"
    done
}
run() { # run SECONDS
    local end=$((SECONDS + $1)) quiet=0 pids=() on=(--on local) pid
    [ -z "${SPOOL-}" ] || on=(--on "spool:$SPOOL")
    mkdir -p box
    touch box/.keep # a run that ends removes an empty mailbox
    while read -r name task from strategy options; do
        case $name in '' | '#'*) continue ;; esac
        local command=(optimize "$task" --from "$from" --strategy "$strategy" --author mailbox:box
            --device "${DEVICE:-cuda}" --out "$name")
        # shellcheck disable=SC2206 # options are words
        command+=($options)
        [ ! -e "$name.db" ] || command=(resume last --author mailbox:box "${on[@]}")
        [ ! -e "$name.ended" ] || continue
        { "$HONE" "${command[@]}" --store "$name.db" >>"$name.log" 2>&1 </dev/null && touch "$name.ended"; } &
        pids+=($!)
    done <runs
    while [ $quiet -lt 3 ] && [ $SECONDS -lt "$end" ]; do
        sleep 1
        local alive=0 waiting
        for pid in "${pids[@]}"; do
            ! kill -0 "$pid" 2>/dev/null || alive=$((alive + 1))
        done
        waiting=$(prompts | sed 's/.*: run \([^,]*\),.*/\1/' | sort -u | wc -l)
        quiet=$((waiting >= alive ? quiet + 1 : 0))
    done
    for pid in "${pids[@]}"; do
        pkill -TERM -P "$pid" || true
    done
    wait
    state
}
case $what in
run) run "${3:-500}" ;;
prompts | state) "$what" ;;
*) echo "$what: unknown; $0 without arguments lists the commands" >&2; exit 2 ;;
esac
