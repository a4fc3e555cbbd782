#!/usr/bin/env bash
# Every attack of t/redteam/ must be caught, by the detector that is meant to catch it; with that
# detector switched off (hone-test, see docs/testing.md) the verdict must be another one: a detector
# nobody needs is not tested. And no honest kernel may be accused, however close it comes to an
# attack: atomics in any order, counters, queues, flags and locks in a workspace, barriers across the
# grid and in clusters, clocks, in-place outputs; and, where they are timed, tiles far apart, a path of
# their own for large sizes, provisional values, blocks of which one writes more than another.
# DEVICE=cuda runs the same on a GPU; ATTACKS="name name" runs a few.
. "$(dirname "$0")/lib.sh"
device=${DEVICE:-emu}
tester=$(dirname "$HONE")/hone-test

field() { sed -n 's/^  "'"$2"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' "$1" | head -1; }

judge() { # judge OUT PROGRAM SCOPE TASK FILE [options]; what only a part of the checks can see needs no more
    local out=$1 program=$2 scope=() task=$4 file=$5
    case $3 in smoke) scope=(--smoke) ;; check) scope=(--skip-time) ;; esac
    "$program" eval --json --device "$device" --skip-baselines --call-limit 2s "${scope[@]}" \
        "${@:6}" "$task" "$file" >"$out" 2>"$T/err"
}
here() { case $device in emu) echo "${1%|*}" ;; *) echo "${1#*|}" ;; esac; } # "on the emulator|on a GPU"
wanted() { [ -z "${ATTACKS-}" ] || case " $ATTACKS " in *" $1 "*) ;; *) return 1 ;; esac; }

while IFS=$'\t' read -r name task scope kind detector idea; do
    case $name in '#'*) continue ;; esac
    wanted "$name" || continue
    kind=$(here "$kind") detector=$(here "$detector")
    file=$ROOT/t/redteam/$name.cu
    judge "$T/v.json" "$HONE" "$scope" "$task" "$file"
    got="$(field "$T/v.json" kind) by $(field "$T/v.json" detector)"
    if [ "$got" = "$kind by $detector" ]; then pass "$name: $idea: $got"; else
        fail "$name: $idea: want $kind by $detector, got $got" "$(field "$T/v.json" summary) $(cat "$T/err")"
    fi
    case $detector in plan | compile)
        continue ;; # a kernel that cannot be built runs no further: nothing to be blind with
    esac
    [ -x "$tester" ] || { skip "$name without $detector" "hone-test is not built"; continue; }
    judge "$T/v.json" "$tester" "$scope" "$task" "$file" --disable-detector "$detector"
    blind="$(field "$T/v.json" kind) by $(field "$T/v.json" detector)"
    if [ -n "$(field "$T/v.json" kind)" ] && [ "$blind" != "$kind by $detector" ] &&
        [ "$(field "$T/v.json" kind)" != unjudged ]; then
        pass "$name without $detector: $blind"
    else
        fail "$name: without $detector the verdict is the same" "$blind $(cat "$T/err")"
    fi
done < <(cat "$ROOT/t/redteam/expect.tsv" "$ROOT/t/redteam/timed.tsv")

for honest in t/cases/honest/splitk_atomics:matmul_f32 t/cases/honest/splitk_last_block:matmul_f32 \
    t/cases/honest/grid_barrier:vector_add kernels/fused_add_rmsnorm:fused_add_rmsnorm \
    t/cases/honest/{work_queue,clock_backoff,cluster_exchange,streamk_flags,constant_table}:vector_add \
    t/cases/honest/{producer_leaves,nothing_past_the_end,peeled_vectors,padded_structs}:vector_add \
    t/cases/honest/lookback_scan:cumsum t/cases/honest/self_resetting_counter:vector_add:time \
    t/cases/honest/tile_edge:transpose t/cases/honest/padded_vectors:cumsum:check \
    t/cases/honest/{large_path,uneven_blocks,cluster_exchange,peeled_vectors}:vector_add:time kernels/softmax:softmax:time \
    kernels/fused_add_rmsnorm:fused_add_rmsnorm:time t/cases/honest/splitk_atomics:matmul_f32:time \
    t/cases/honest/wmma_global:matmul_f16:time; do
    IFS=: read -r file task scope <<<"$honest"
    wanted "$(basename "$file")" || continue
    judge "$T/v.json" "$HONE" "${scope:-smoke}" "$task" "$ROOT/$file.cu"
    is "honest: $(basename "$file")" "$(field "$T/v.json" kind)" pass
done
runs 2 "hone itself has no such switch" "$HONE" eval --disable-detector floor vector_add "$ROOT/kernels/vector_add.cu"
done_testing
