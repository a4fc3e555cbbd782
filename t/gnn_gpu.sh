#!/usr/bin/env bash
# `hone-gnn` with the code of the GPU, on the emulator: training and inference agree with the CPU. The
# build refuses a kernel that changed after its verdict was recorded.
. "$(dirname "$0")/lib.sh"

gnn=$(dirname "$HONE")/hone-gnn
"$gnn" make blocks -n 300 -e 1500 -c 4 --dim 12 --within 0.8 --noise 1 data >"$T/out" 2>&1 || {
    fail "make blocks writes a dataset" "$(cat "$T/out")"
    done_testing
}
field() { perl -MJSON::PP -0777 -e 'print '"$1"' for decode_json(<STDIN>)' <"$T/out"; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < (1e-4 * a) ^ 2) }'; }
small="--hidden 16 -f 4,3 -b 90 --lr 0.02 -e 2"

# In the run `emulator`, graph and features are on the GPU, which also samples. In `placed` they stay on the host.
for run in cpu emulator placed; do
    device=${run/placed/emulator} place=
    [ $run = placed ] && place="--place host"
    # shellcheck disable=SC2086
    runs 0 "sage trains ($run)" "$gnn" train $small --device $device $place -c $run.ckpt --json data
    declare "loss_$run=$(field '$_->{epochs}[1]{loss}')" "where_$run=$(field '$_->{products}')"
    for how in "-f 5" --full; do
        # shellcheck disable=SC2086
        runs 0 "sage predicts ($run, $how)" "$gnn" infer --device $device -c cpu.ckpt $how \
            --predictions "$run$how.tsv" data
    done
done
ok "the loss on the emulator agrees with the CPU: $loss_cpu, $loss_emulator" near "$loss_cpu" "$loss_emulator"
is "the sampler of the GPU gives the loss of the host's sampler" "$loss_emulator" "$loss_placed"
ok "the sampler of the GPU gives the weights of the host's sampler to the bit" cmp emulator.ckpt placed.ckpt
for how in "--ahead 0" "--ahead 1 --slots 1" "--ahead 8 --slots 2 -t 3"; do
    # shellcheck disable=SC2086
    runs 0 "sage trains with $how" "$gnn" train $small --device emulator --place host $how -c ahead.ckpt --json data
    ok "$how gives the same weights to the bit" cmp placed.ckpt ahead.ckpt
    rm -f ahead.ckpt
done
for how in "--place host" "--place host --ahead 0" "--place gpu" "--place split --cache 0.3"; do
    # shellcheck disable=SC2086
    runs 0 "train measures exposed times with $how" "$gnn" train $small -e 1 --eval none --device emulator $how \
        --exposed 1 --json data
    times=$(field 'join " ", @{$_->{exposed}}{qw(epoch_s train_s preparation_s transfer_s)}')
    ok "the parts of an epoch with $how add up" awk -v v="$times" \
        'BEGIN { n = split(v, a, " "); exit !(n == 4 && a[2] > 0 && (a[1] - a[2] - a[3] - a[4]) ^ 2 < 1e-12) }'
    copies=no && [ "${how#--place host}" != "$how" ] && copies=yes
    is "only a GPU that gets batches from the host has a transfer ($how)" \
        "$(awk '{ print $4 != 0 ? "yes" : "no" }' <<<"$times")" "$copies"
done
runs 2 "--ahead 9 is a usage error" "$gnn" train --device emulator --place host --ahead 9 data
err_has "the message gives the largest --ahead" "--ahead is a number from 0 to 8"
is "the emulator computes the products" "$where_emulator" "Hone's kernels on the emulator, WGMMA"
for how in "-f 5" --full; do
    differ=$(diff "cpu$how.tsv" "emulator$how.tsv" | grep -c '^<')
    ok "the predictions on the emulator agree with the CPU ($how): $differ of 60 differ" test "$differ" -le 1
done
runs 0 "a checkpoint of the emulator works on the CPU" "$gnn" infer -c emulator.ckpt data

for model in gat gin sage-ri; do
    # shellcheck disable=SC2086
    for device in cpu emulator; do
        runs 0 "$model trains on the $device" \
            "$gnn" train -m $model $small -e 1 --device $device --eval none -c $model.$device.ckpt --json data
        declare "loss_$device=$(field '$_->{epochs}[0]{loss}')"
    done
    ok "$model: the loss on the emulator agrees with the CPU: $loss_cpu, $loss_emulator" near "$loss_cpu" "$loss_emulator"
done

# ---- inference counts neighbours as training did ----
# The models were trained with 4 and 3 sampled neighbours. The GPU looks up the degrees of nodes; with --place host the
# degrees come with the batch.
for model in gat gin; do
    for run in cpu emulator "emulator --place host"; do
        # shellcheck disable=SC2086
        runs 0 "$model predicts ($run)" "$gnn" infer --device $run -c $model.cpu.ckpt -f 2,2 --predictions "$model.$run.tsv" data
    done
    differ=$(diff "$model.cpu.tsv" "$model.emulator.tsv" | grep -c '^<')
    ok "$model: the predictions on the emulator agree with the CPU: $differ of 60 differ" test "$differ" -le 1
    ok "$model: both places give the same predictions" cmp "$model.emulator.tsv" "$model.emulator --place host.tsv"
done

# ---- features split between the GPU and the host ----
for cache in 0 0.3 1 2K default; do
    size="--cache $cache"
    [ $cache = default ] && size=
    # shellcheck disable=SC2086
    runs 0 "sage trains with split features (cache $cache)" \
        "$gnn" train $small --device emulator --place split $size -c split.$cache.ckpt --json data
    is "split features give the same loss (cache $cache)" "$(field '$_->{epochs}[1]{loss}')" "$loss_placed"
    declare "rows_${cache/./_}=$(field '$_->{cache}{rows}')" "hits_${cache/./_}=$(field '$_->{epochs}[1]{cache_hits}')" \
        "bytes_${cache/./_}=$(field '$_->{epochs}[1]{host_bytes}')" "inputs=$(field '$_->{epochs}[1]{input_nodes}')"
    ok "split features give the same weights to the bit (cache $cache)" cmp emulator.ckpt split.$cache.ckpt
done
is "a cache of size 0 has no rows" "$rows_0" 0
is "a cache of 0.3 has 3 rows in 10" "$rows_0_3" 90
is "a cache of 2K has the rows that fit: 24 bytes each" "$rows_2K" 85
is "by default, the cache of small data has all rows" "$rows_default" 300
is "without a cache, all input rows come from the host: 24 bytes each" "$bytes_0" $((24 * inputs))
is "with all rows cached, none comes from the host" "$bytes_1 $hits_1" "0 1"
ok "the cached rows are needed more often than others: $hits_0_3" awk -v h="$hits_0_3" 'BEGIN { exit !(h > 0.32 && h < 0.9) }'
# shellcheck disable=SC2086
runs 0 "train prints how many rows are cached" "$gnn" train $small --device emulator --place split --cache 0.3 data
err_has "train says how many rows are cached" "90 of 300 rows of features in the GPU's memory"
out_has "train prints the shares of cached rows" "cached % fetched MiB"
runs 0 "sage predicts with split features" "$gnn" infer --device emulator --place split --cache 0.5 -c cpu.ckpt -f 5 \
    --predictions split.tsv data
out_has "infer says how many rows are cached" "150 rows of features in the GPU's memory"
ok "split features give the same predictions" cmp "emulator-f 5.tsv" split.tsv
for model in gat gin; do
    # shellcheck disable=SC2086
    runs 0 "$model trains with split features" "$gnn" train -m $model $small -e 1 --device emulator --eval none \
        --place split --cache 0.4 -c $model.split.ckpt data
    ok "$model: split features give the same weights to the bit" cmp $model.emulator.ckpt $model.split.ckpt
done
runs 0 "make blocks writes float32 features" \
    "$gnn" make blocks -n 200 -e 900 -c 3 --dim 10 --type float32 --within 0.8 --noise 1 single
for place in gpu "split --cache 0.5"; do
    # shellcheck disable=SC2086
    runs 0 "sage trains on float32 features (place $place)" \
        "$gnn" train $small --device emulator --place $place --eval none -c "single.${place%% *}.ckpt" single
done
ok "split float32 features give the same weights to the bit" cmp single.gpu.ckpt single.split.ckpt
for bad in 1.5 -1 x 5Q nan; do
    runs 2 "--cache $bad is a usage error" "$gnn" train --device emulator --place split --cache $bad data
    err_has "the message says what --cache takes ($bad)" "--cache is a share from 0 to 1, or a size such as 512M or 20G, not '$bad'"
done
runs 2 "--cache without --place split is a usage error" "$gnn" train --device emulator --place gpu --cache 0.5 data
err_has "the message says that --cache needs --place split" "--cache needs --place split"
runs 2 "--place split on the CPU is a usage error" "$gnn" train --place split data
err_has "the message says that --place split needs a GPU" "--place split needs --device cuda"
runs 2 "--place split with labor is a usage error" "$gnn" train --device emulator --place split --sampler labor -f 4,3 data
err_has "the message about labor suggests --place host" "use --place host"
printf 'MemTotal: 100 kB\nMemAvailable: 6 kB\n' >meminfo # the features take 7.2 kB
runs 3 "split features that the host's memory cannot hold are refused" \
    env HONE_MEMINFO=meminfo "$gnn" train --device emulator --place split --cache 0 --hidden 2 -f 4,3 data
err_has "the message suggests a larger cache" "choose a larger --cache"

# ---- graphs that --make generates ----
made="--make papers:scale=0.000005,members=40,dim=32,classes=7"
for run in cpu emulator "emulator --place host" "emulator --place split --cache 0.2" "emulator --precision tf32" \
    "emulator --products mma" "cpu --precision fp16" "emulator --precision fp16"; do
    # shellcheck disable=SC2086
    runs 0 "sage trains on a generated graph ($run)" \
        "$gnn" train --device $run $made --hidden 32 -f 3,2 -b 4 -e 1 --eval none --json
    declare "loss_${run//[^a-z0-9]/_}=$(field '$_->{epochs}[0]{loss}')"
done
ok "on a generated graph, the emulator gives the loss of the CPU" near "$loss_cpu" "$loss_emulator"
is "a graph generated on the host gives the same loss as one generated on the GPU" \
    "$loss_emulator" "$loss_emulator___place_host"
is "split features of a generated graph give the same loss" \
    "$loss_emulator" "$loss_emulator___place_split___cache_0_2"
ok "on a generated graph, TF32 gives almost the loss of the CPU" \
    awk -v a="$loss_cpu" -v b="$loss_emulator___precision_tf32" \
    'BEGIN { exit !(a != b && (a - b) ^ 2 < (1e-2 * a) ^ 2) }'
ok "on a generated graph, fp16 gives the same loss on the emulator and the CPU" \
    near "$loss_cpu___precision_fp16" "$loss_emulator___precision_fp16"
ok "on a generated graph, fp16 gives almost the loss of fp32" \
    awk -v a="$loss_cpu" -v b="$loss_cpu___precision_fp16" \
    'BEGIN { exit !(a != b && (a - b) ^ 2 < (1e-2 * a) ^ 2) }'
ok "on a generated graph, mma.sync gives the loss of the CPU" near "$loss_cpu" "$loss_emulator___products_mma"
# The GPU samples neither with labor nor with fanout `all`. Then --place auto leaves a generated graph to the host.
for how in "-f 3,2 --sampler labor" "-f all,2"; do
    for place in "auto" "host"; do
        # shellcheck disable=SC2086
        runs 0 "sage trains on a generated graph with $how, place $place" \
            "$gnn" train --device emulator $made --hidden 32 $how -b 4 -e 1 --eval none --json --place $place
        declare "loss_$place=$(field '$_->{epochs}[0]{loss}')"
    done
    is "auto and host give the same loss ($how)" "$loss_auto" "$loss_host"
    # shellcheck disable=SC2086
    runs 2 "--place gpu with $how is a usage error" \
        "$gnn" train --device emulator $made --hidden 32 $how -b 4 -e 1 --eval none --place gpu
done
# shellcheck disable=SC2086
runs 0 "train --gpus with a sampler that the GPU does not know makes the graph on the CPU" \
    "$gnn" train --device emulator --gpus 1 $made --hidden 32 -f 3,2 --sampler labor -b 4 -e 1 --eval none
# shellcheck disable=SC2086
runs 0 "train --profile exits with 0" "$gnn" train --device emulator $made --hidden 32 -f 3,2 -b 4 -e 1 --eval none --profile
out_has "train --profile prints the calls of each kernel" "make_graph                  1 calls"

# ---- refusals ----
runs 2 "--make with an unknown graph is a usage error" "$gnn" train --make cats
err_has "the message about an unknown graph lists the known ones" "--make knows papers, not 'cats'"
runs 2 "--make with scale 0 is a usage error" "$gnn" train --make papers:scale=0
err_has "the message about the scale gives the allowed numbers" "scale is a number from 1e-09 to 1.3, not '0'"
runs 2 "--make with an unknown key is a usage error" "$gnn" train --make papers:size=1
err_has "the message about an unknown key lists the keys" "has no 'size=1': scale, local, members"
runs 2 "a DIR together with --make is a usage error" "$gnn" train --make papers data
err_has "the message says that DIR and --make exclude each other" "give a DIR or --make, not both"
runs 2 "--precision tf32 on the CPU is a usage error" "$gnn" train --precision tf32 data
err_has "the message says that --precision tf32 needs a GPU" "--precision tf32 needs --device cuda"
runs 2 "--products wgmma on the CPU is a usage error" "$gnn" train --products wgmma data
err_has "the message says that --products needs a GPU" "--products needs --device cuda"
runs 2 "--products with an unknown value is a usage error" "$gnn" infer --device emulator -c cpu.ckpt --products fma data
err_has "the message lists the values of --products" "--products is mma or wgmma"
runs 2 "--precision with an unknown value is a usage error" "$gnn" train --device emulator --precision fp8 data
err_has "the message lists the values of --precision" "--precision is fp32, tf32 or fp16"
runs 2 "--device with an unknown device is a usage error" "$gnn" train --device gpu data
err_has "the message lists the devices" "cpu, cuda, cuda:N or emulator"
runs 2 "--place gpu with fanout all is a usage error" "$gnn" train --device emulator --place gpu -f all,3 data
err_has "the message about fanout all suggests --place host" "use --place host"
runs 2 "--place with an unknown place is a usage error" "$gnn" train --device emulator --place cloud data
err_has "the message lists the places" "host, gpu, split or auto"
runs 2 "--place gpu on the CPU is a usage error" "$gnn" train --place gpu data
err_has "the message says that --place gpu needs a GPU" "--place gpu needs --device cuda"
runs 2 "--ranks on a GPU is a usage error" "$gnn" train --ranks 2 --device emulator data
err_has "the message names --gpus" "use --gpus N for N GPUs"

# ---- tools/gnn-kernels check, which the build runs ----
mkdir tree && cp -r "$ROOT/kernels" tree && mkdir tree/tools && cp "$ROOT/tools/gnn-kernels" tree/tools
runs 0 "the verdicts of the source tree belong to its kernels" tree/tools/gnn-kernels check
echo "// changed" >>tree/kernels/gnn/adam_step/kernel.cu
runs 1 "a changed kernel is refused" tree/tools/gnn-kernels check
err_has "the message names the changed kernel" \
    "kernels/gnn/adam_step/kernel.cu or a file that it includes changed: its recorded verdict"
err_has "the message gives the command that judges the kernel again" "tools/gnn-kernels record adam_step"
cp tree/kernels/gnn/verdicts.tsv before.tsv
runs 1 "recording one kernel is refused while another one has changed" \
    env HONE="$HONE" tree/tools/gnn-kernels record mark_nodes
err_has "the message names the changed kernel that must be judged too" \
    "judge these kernels too: tools/gnn-kernels record mark_nodes adam_step"
ok "a refused recording leaves the table of verdicts unchanged" cmp before.tsv tree/kernels/gnn/verdicts.tsv
cp "$ROOT/kernels/gnn/adam_step/kernel.cu" tree/kernels/gnn/adam_step
echo "// changed" >>tree/kernels/gnn/parts/dropout.cuh
runs 1 "a changed header is refused" tree/tools/gnn-kernels check
err_has "the message names a kernel that includes the header" \
    "kernels/gnn/product_tf32/kernel.cu or a file that it includes changed"
ok "the message does not name a kernel without the header" sh -c "! grep -q kernels/gnn/product_nt/ '$T/err'"
cp "$ROOT/kernels/gnn/parts/dropout.cuh" tree/kernels/gnn/parts
sed -i 's/1e-06/1e-02/' tree/kernels/gnn/product/task.json tree/kernels/gnn/adam_step/task.json
sed -i 's/"rtol": 1e-6/"rtol": 1e-2/' tree/kernels/gnn/adam_step/task.json
runs 1 "a changed task is refused" tree/tools/gnn-kernels check
err_has "the message names the changed task" "kernels/gnn/adam_step: the task changed"
cp "$ROOT/kernels/gnn/adam_step/task.json" tree/kernels/gnn/adam_step
cp "$ROOT/kernels/gnn/product/task.json" tree/kernels/gnn/product
mkdir tree/kernels/gnn/new && cp "$ROOT"/kernels/gnn/adam_step/* tree/kernels/gnn/new
runs 1 "a kernel without a verdict is refused" tree/tools/gnn-kernels check
err_has "the message names the kernel without a verdict" "kernels/gnn/new has no recorded passing verdict"
rm -r tree/kernels/gnn/new && echo >>tree/kernels/gnn/exported.tar.gz
runs 1 "an archive that differs from the recorded one is refused" tree/tools/gnn-kernels check
err_has "the message says that the archive is not the recorded one" "is not the archive that was recorded"
done_testing
