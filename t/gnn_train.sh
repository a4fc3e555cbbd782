#!/usr/bin/env bash
# `hone-gnn train` and `hone-gnn infer` on a small block model: accuracy, the same result with any
# number of threads, an interruption, refusals. t/kill_gnn.sh kills training and resumes it.
. "$(dirname "$0")/lib.sh"

gnn=$(dirname "$HONE")/hone-gnn
"$gnn" make blocks -n 3000 -e 30000 -c 4 --dim 16 --within 0.8 --noise 1 data >"$T/out" 2>&1 || {
    fail "make blocks writes a dataset" "$(cat "$T/out")"
    done_testing
}
small="--hidden 16 -f 8,5 -b 128 --lr 0.02"
field() { perl -MJSON::PP -0777 -e 'print '"$1"' for decode_json(<STDIN>)' <"$T/out"; }
above() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'; }

# ---- training and inference ----
for model in sage gat gin sage-ri; do
    # shellcheck disable=SC2086
    runs 0 "$model trains" "$gnn" train -m $model $small -e 5 -t 1 --compute-threads 1 \
        -c $model.ckpt --json data
    accuracy=$(field '$_->{epochs}[4]{eval_accuracy}')
    ok "$model learns: $accuracy" above "$accuracy" 0.85
    runs 0 "$model predicts with sampled neighbours" "$gnn" infer -c $model.ckpt --json data
    sampled=$(field '$_->{accuracy}')
    runs 0 "$model predicts with all neighbours" "$gnn" infer -c $model.ckpt --full --json data
    ok "$model: full inference is right often enough: $(field '$_->{accuracy}')" above "$(field '$_->{accuracy}')" 0.8
    ok "$model: sampled inference is right often enough: $sampled" above "$sampled" 0.85
done
runs 0 "infer --predictions writes a file" "$gnn" infer -c sage.ckpt --predictions p.tsv --split valid data
is "the file of predictions has a line for each node" "$(wc -l <p.tsv)" 600

# ---- a page and a trace ----
# shellcheck disable=SC2086
runs 0 "training writes a page and a trace" "$gnn" train $small -e 3 --ranks 2 --report page.html \
    --trace trace.json data
is "the page has a row for each epoch" "$(grep -c '^<tr><td>' page.html)" 3
is "the page has three curves and a time line" "$(grep -c '<svg ' page.html)" 4
is "the time line shows the last 8 updates" "$(grep -c '<title>update: ' page.html)" 8
for what in sample slice "forward, backward" "sum over ranks"; do
    ok "the time line shows work of the kind: $what" grep -q "<title>$what: [0-9.e-]* ms</title>" page.html
done
ok "the time line has lanes for the thread that trains and for those that prepare batches" \
    awk '/>trains<\/text>/ { a++ } />prepares batches<\/text>/ { b++ } END { exit !(a == 1 && b >= 1) }' page.html
ok "the page has no script and loads nothing from elsewhere" test "$(grep -ciE '<script|https?://|src=' page.html)" = 0
ok "the page is well-formed" perl -0777 -e '$_ = <STDIN>; for my $tag (qw(svg table tr p h2)) {
    my $begins = () = /<$tag[ >]/g; my $ends = () = m{</$tag>}g; exit 1 if $begins != $ends || !$begins }' <page.html
for file in trace.json trace.json.1; do
    ok "$file: each batch was sampled, and was trained and updated once" perl -MJSON::PP -0777 -e '
        my %n; my $t = decode_json(<STDIN>);
        for (grep { $_->{ph} eq "X" } @{$t->{traceEvents}}) {
            exit 1 if $_->{dur} < 0 || $_->{ts} < 0;
            $n{$_->{name}}{"$_->{args}{epoch}/$_->{args}{batch}"}++;
        }
        for my $what ("forward, backward", "update", "sum over ranks") {
            exit 1 if keys %{$n{$what}} != 3 * 15 || grep { $_ != 1 } values %{$n{$what}};
        }
        exit 1 if keys %{$n{sample}} < 3 * 15; exit 0' <$file
done

# ---- exposed times ----
# shellcheck disable=SC2086
runs 0 "train --exposed says what preparation adds to an epoch" "$gnn" train $small -e 1 --exposed 3 data
s='-?[0-9.]+ s'
is "the last line has the three parts of an epoch" "$(tail -1 "$T/out" | sed -E \
    "s/^an epoch of 15 batches: $s = train $s [+] exposed preparation $s [+] exposed transfer 0.000 s.*/parts/")" parts
# shellcheck disable=SC2086
"$gnn" train $small -e 2 -c plain.ckpt data >/dev/null 2>&1
# shellcheck disable=SC2086
"$gnn" train $small -e 2 -c measured.ckpt --exposed 3 data >/dev/null 2>&1
ok "--exposed does not change the checkpoint" cmp plain.ckpt measured.ckpt
runs 2 "--exposed with several ranks is a usage error" "$gnn" train $small --ranks 2 --exposed 3 data
err_has "the message says what to leave out" "leave out --ranks"
runs 2 "--exposed with --profile is a usage error" "$gnn" train --profile --exposed 3 data

# ---- a record for `hone serve` ----
record() { perl -MJSON::PP -0777 -e 'my $r = decode_json(<STDIN>); print '"$1" <out/training/run.json; }
# shellcheck disable=SC2086
runs 0 "training writes a record, and its folder" "$gnn" train $small -e 3 --ranks 2 --record out/training/run.json data
is "the record says how the run went" "$(record '"$r->{state} $r->{epochs_done}/$r->{planned_epochs} $r->{model} $r->{data} $r->{ranks}"')" \
    "done 3/3 sage blocks 2"
is "the record has every epoch" "$(record 'join " ", map { $_->{epoch} } @{$r->{epochs}}')" "1 2 3"
is "the time line of the record has every update" "$(record 'scalar grep { $r->{timeline}{work}[$_->[1]] eq "update" } @{$r->{timeline}{spans}}')" 45
is "updates are in the thread that trains" "$(record 'join " ", keys %{{map { $r->{timeline}{threads}[$_->[0]] => 1 }
    grep { $r->{timeline}{work}[$_->[1]] eq "update" } @{$r->{timeline}{spans}}}}')" trains
runs 3 "train fails if the record cannot be written" "$gnn" train $small -e 1 --record /proc/none/run.json data
err_has "the message names the record that cannot be written" "/proc/none"
runs 3 "train fails if the page cannot be written" "$gnn" train $small -e 1 --report nowhere/page.html data
err_has "the message names the page that cannot be written" "nowhere/page.html"

# ---- the checkpoint does not depend on threads or on --resume ----
result() { sha256sum <"$1" | cut -d' ' -f1; }
# shellcheck disable=SC2086
runs 0 "three threads train" "$gnn" train -m sage $small -e 5 -t 3 --compute-threads 3 \
    -c threads.ckpt --eval none data
is "the number of threads does not change a bit of the checkpoint" "$(result threads.ckpt)" "$(result sage.ckpt)"
# shellcheck disable=SC2086
runs 0 "gin trains two epochs" "$gnn" train -m gin $small -e 2 -c parts.ckpt --eval none data
# shellcheck disable=SC2086
runs 0 "gin resumes and trains three more epochs" "$gnn" train -m gin $small -e 5 -c parts.ckpt --resume --eval none data
is "two and three epochs give the checkpoint of five" "$(result parts.ckpt)" "$(result gin.ckpt)"

# ---- products in half precision ----
# shellcheck disable=SC2086
runs 0 "sage trains in fp16" "$gnn" train -m sage $small -e 5 -t 1 --compute-threads 1 --precision fp16 -c half.ckpt --json data
is "train --json says the precision" "$(field '$_->{precision}')" fp16
ok "sage learns in fp16: $(field '$_->{epochs}[4]{eval_accuracy}')" above "$(field '$_->{epochs}[4]{eval_accuracy}')" 0.85
# shellcheck disable=SC2086
runs 0 "three threads train in fp16" "$gnn" train -m sage $small -e 5 -t 3 --compute-threads 3 --precision fp16 \
    -c half3.ckpt --eval none data
err_has "train says the precision" "fp16 matrix products"
is "the number of threads does not change a bit in fp16" "$(result half3.ckpt)" "$(result half.ckpt)"
ok "fp16 and fp32 give different weights" test "$(result half.ckpt)" != "$(result sage.ckpt)"
runs 0 "sage predicts in fp16" "$gnn" infer -c half.ckpt --precision fp16 data
out_has "infer says the precision" "fp16 products"
"$gnn" make debian debian >/dev/null 2>&1 || fail "make debian writes a dataset"
for precision in fp32 fp16; do
    runs 0 "sage trains on Debian's packages in $precision" "$gnn" train --hidden 32 -f 5,5 -b 1024 --lr 0.02 -e 2 \
        --precision $precision --json debian
    declare "accuracy_$precision=$(field '$_->{epochs}[1]{eval_accuracy}')" "loss_$precision=$(field '$_->{epochs}[1]{loss}')"
done
ok "fp16 is as accurate as fp32 on Debian's packages: $accuracy_fp16, $accuracy_fp32" \
    awk -v a="$accuracy_fp16" -v b="$accuracy_fp32" 'BEGIN { exit !(b > 0.6 && (a - b) ^ 2 < 0.01 ^ 2) }'
ok "fp16 gives almost the loss of fp32: $loss_fp16, $loss_fp32" \
    awk -v a="$loss_fp16" -v b="$loss_fp32" 'BEGIN { exit !(a != b && (a - b) ^ 2 < (0.01 * b) ^ 2) }'

# ---- an interruption ----
# At a signal, train saves a checkpoint and ends.
# shellcheck disable=SC2086
"$gnn" train -m sage $small -e 100000 -c stopped.ckpt --eval none \
    --record out/training/run.json data >"$T/epochs" 2>/dev/null &
pid=$!
for ((i = 0; i < 100; i++)); do [ "$(wc -l <"$T/epochs")" -ge 3 ] && break || sleep 0.1; done
kill -TERM $pid # not SIGINT, which bash lets its background jobs ignore
wait $pid
is "a signal ends training with 130" $? 130
is "the record says that training was stopped" "$(record '$r->{state}')" stopped
# shellcheck disable=SC2086
runs 0 "infer reads the checkpoint of the interrupted training" "$gnn" infer -c stopped.ckpt data

# ---- refusals ----
refused() { # refused STATUS DESCRIPTION MESSAGE OPTION...: checks that hone-gnn fails with MESSAGE
    local status=$1 what=$2 words=$3
    shift 3
    runs "$status" "$what is refused" "$gnn" "$@"
    err_has "the message about $what gives the reason" "$words"
}
refused 2 "an unknown model" "did you mean 'sage'" train -m sagee data
refused 2 "a number of heads that does not divide the width" "heads that divide" train -m gat --hidden 16 --heads 3 data
refused 2 "dropout 1" "below 1" train --dropout 1 data
refused 2 "a negative dropout" "from 0" train --dropout -0.2 data
refused 2 "too many layers" "more than 8" train -f 2,2,2,2,2,2,2,2,2 data
refused 2 "fanout 0" "anout" train -f 0,5 data
refused 2 "an existing checkpoint" "--resume" train -c sage.ckpt data
# shellcheck disable=SC2086
refused 2 "a checkpoint of another width" "hidden width 16, not 32" train $small --hidden 32 \
    -c sage.ckpt --resume data
refused 2 "an unknown split" "--eval" train --eval valdi data
refused 2 "--resume without a file" "needs --checkpoint" train --resume data
refused 2 "infer without a checkpoint" "give -c FILE" infer data
refused 1 "a file that is not a checkpoint" "not a checkpoint" infer -c p.tsv data
head -c 5000 sage.ckpt >cut.ckpt
refused 1 "a cut checkpoint" "damaged" infer -c cut.ckpt data
refused 2 "fanouts for another depth" "2 layers" infer -c sage.ckpt -f 5,5,5 data
"$gnn" make blocks -n 500 -e 2000 -c 4 --dim 8 other >/dev/null 2>&1
refused 1 "data with other features" "needs 16 features, the data has 8" infer -c sage.ckpt other
"$gnn" make blocks -n 500 -e 2000 -c 4 --dim 0 bare >/dev/null 2>&1
refused 1 "data without features" "no features" train bare
runs 0 "train accepts a batch larger than the dataset" "$gnn" train $small -b 100000 -e 1 data
runs 0 "train accepts hidden width 1 and one layer" "$gnn" train --hidden 1 -f 3 -e 1 data
# shellcheck disable=SC2086
refused 3 "a checkpoint in a directory that does not exist" "cannot write" train $small -e 1 \
    -c nowhere/x.ckpt data
done_testing
