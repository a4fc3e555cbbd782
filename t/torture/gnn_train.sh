#!/usr/bin/env bash
# Kills `hone-gnn train` with SIGKILL at POINTS points (50), resumes it, and compares every bit of the checkpoint
# and every loss with those of a run without a kill. The points are spread evenly over the run. Every other point is
# inside the writing of a checkpoint (fake/kill_at.c). Four models take turns, and one of them also with two ranks.
. "$(dirname "$0")/../lib.sh"
points=${POINTS:-50}
gnn=$(dirname "$HONE")/hone-gnn

cc -std=gnu17 -D_GNU_SOURCE -Wall -O1 -shared -fPIC -o "$T/kill_at.so" "$ROOT/t/fake/kill_at.c" -ldl ||
    fail "fake/kill_at.c can be built"
"$gnn" make blocks -n 2000 -e 16000 -c 4 --dim 16 --within 0.8 --noise 1 data >/dev/null 2>&1 ||
    fail "make blocks writes a dataset"

cases=("sage" "gin" "sage --ranks 2" "gat" "sage-ri")
train() { # train CASE CHECKPOINT
    # shellcheck disable=SC2086
    "$gnn" train -m $1 --hidden 16 -f 8,5 -b 128 --lr 0.02 -e 3 -t 2 --compute-threads 2 \
        --save-every 2 -c "$2" --resume --eval none --json data
}
# losses FILE N: prints the losses of the last N epochs in FILE
losses() { perl -MJSON::PP -0777 -e 'my @e = @{decode_json(<STDIN>)->{epochs}};
    printf "%d %s\n", $_->{epoch}, unpack("H*", pack("d", $_->{loss})) for @e[-$ARGV[0]..-1]' "$2" <"$1"; }

# We train without a kill, and count the points of each run.
declare -A saves steps
for c in "${!cases[@]}"; do
    [ "$c" -lt "$points" ] || continue
    KILL_COUNT=$T/count LD_PRELOAD=$T/kill_at.so train "${cases[c]}" "whole$c.ckpt" >"whole$c.json" 2>"$T/err" ||
        fail "${cases[c]} trains without a kill" "$(cat "$T/err")"
    saves[$c]=$(awk '$1 == "save" && $2 > n {n = $2} END {print n}' "$T/count")
    steps[$c]=$(awk '$1 == "step" && $2 > n {n = $2} END {print n}' "$T/count")
    rm -f "$T/count"
done

bad=0 late=0
for ((i = 0; i < points; i++)); do
    c=$((i % ${#cases[@]})) turn=$((i / 2 + 1)) turns=$(((points + 1) / 2 + 1))
    if [ $((i % 2)) = 0 ]; then at=save:$((saves[$c] * turn / turns)); else at=step:$((steps[$c] * turn / turns)); fi
    if KILL_AT=$at LD_PRELOAD=$T/kill_at.so train "${cases[c]}" run.ckpt >/dev/null 2>&1; then
        late=$((late + 1))
    fi
    if ! train "${cases[c]}" run.ckpt >run.json 2>"$T/err"; then
        echo "# ${cases[c]}, $at: $(cat "$T/err")" >&2
        bad=$((bad + 1))
    elif ! cmp -s run.ckpt "whole$c.ckpt"; then
        echo "# ${cases[c]}, $at: other weights" >&2
        bad=$((bad + 1))
    else
        n=$(perl -MJSON::PP -0777 -e 'print scalar @{decode_json(<STDIN>)->{epochs}}' <run.json)
        if [ "$n" -gt 0 ] && [ "$(losses run.json "$n")" != "$(losses "whole$c.json" "$n")" ]; then
            echo "# ${cases[c]}, $at: other losses" >&2
            bad=$((bad + 1))
        fi
    fi
    left=$(find . -name 'run.ckpt?*')
    [ -z "$left" ] || { echo "# ${cases[c]}, $at: $left stays" >&2 && bad=$((bad + 1)); }
    rm -f run.ckpt run.ckpt.*
done
is "training resumes to the same bits after each of $points kills ($late came after its end)" "$bad" 0
ok "at least four of five kills hit a run in progress" [ "$late" -le $((points / 5)) ]
done_testing
