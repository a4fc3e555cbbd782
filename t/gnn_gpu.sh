#!/usr/bin/env bash
# `hone-gnn` with the code of the GPU, on the emulator: training and inference agree with the CPU. The
# build refuses a kernel that changed after its verdict was recorded.
. "$(dirname "$0")/lib.sh"

gnn=$(dirname "$HONE")/hone-gnn
"$gnn" make blocks -n 300 -e 1500 -c 4 --dim 12 --within 0.8 --noise 1 data >"$T/out" 2>&1 || {
    fail "a block model can be made" "$(cat "$T/out")"
    done_testing
}
field() { perl -MJSON::PP -0777 -e 'print '"$1"' for decode_json(<STDIN>)' <"$T/out"; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < (1e-4 * a) ^ 2) }'; }
small="--hidden 16 -f 4,3 -b 90 --lr 0.02 -e 2"

# "emulator" has graph and features on the GPU and samples there; "placed" leaves them on the host.
for run in cpu emulator placed; do
    device=${run/placed/emulator} place=
    [ $run = placed ] && place="--place host"
    # shellcheck disable=SC2086
    runs 0 "sage trains ($run)" "$gnn" train $small --device $device $place -c $run.ckpt --json data
    declare "loss_$run=$(field '$_->{epochs}[1]{loss}')" "where_$run=$(field '$_->{products}')"
    for how in "-f 5" --full; do
        # shellcheck disable=SC2086
        runs 0 "and predicts there ($how)" "$gnn" infer --device $device -c cpu.ckpt $how \
            --predictions "$run$how.tsv" data
    done
done
ok "the losses agree: $loss_cpu, $loss_emulator" near "$loss_cpu" "$loss_emulator"
is "the GPU's sampler gives the same batches" "$loss_emulator" "$loss_placed"
ok "so the weights have the same bits" cmp emulator.ckpt placed.ckpt
is "the emulator computes the products" "$where_emulator" "Hone's kernels on the emulator"
for how in "-f 5" --full; do
    differ=$(diff "cpu$how.tsv" "emulator$how.tsv" | grep -c '^<')
    ok "the predictions agree ($how): $differ of 60 differ" test "$differ" -le 1
done
runs 0 "a checkpoint of the emulator works on the CPU" "$gnn" infer -c emulator.ckpt data

for model in gat gin sage-ri; do
    # shellcheck disable=SC2086
    for device in cpu emulator; do
        runs 0 "$model trains on the $device" "$gnn" train -m $model $small -e 1 --device $device --eval none --json data
        declare "loss_$device=$(field '$_->{epochs}[0]{loss}')"
    done
    ok "the losses agree: $loss_cpu, $loss_emulator" near "$loss_cpu" "$loss_emulator"
done

# ---- data that is made ----
made="--make papers:scale=0.000005,members=40,dim=32,classes=7"
for run in cpu emulator "emulator --place host" "emulator --precision tf32" "emulator --products wgmma"; do
    # shellcheck disable=SC2086
    runs 0 "a made graph ($run)" "$gnn" train --device $run $made --hidden 32 -f 3,2 -b 4 -e 1 --eval none --json
    declare "loss_${run//[^a-z0-9]/_}=$(field '$_->{epochs}[0]{loss}')"
done
ok "gives the loss of the CPU" near "$loss_cpu" "$loss_emulator"
is "wherever it is made" "$loss_emulator" "$loss_emulator___place_host"
ok "TF32 comes near" awk -v a="$loss_cpu" -v b="$loss_emulator___precision_tf32" \
    'BEGIN { exit !(a != b && (a - b) ^ 2 < (1e-2 * a) ^ 2) }'
ok "products with WGMMA give the loss of the CPU" near "$loss_cpu" "$loss_emulator___products_wgmma"
# shellcheck disable=SC2086
runs 0 "the times of kernels" "$gnn" train --device emulator $made --hidden 32 -f 3,2 -b 4 -e 1 --eval none --profile
out_has "are printed" "make_graph                  1 calls"

# ---- refusals ----
runs 2 "an unknown graph to make" "$gnn" train --make cats
err_has "is named" "--make knows papers, not 'cats'"
runs 2 "a scale of 0" "$gnn" train --make papers:scale=0
err_has "is refused" "scale is a number from 1e-09 to 1.3, not '0'"
runs 2 "an unknown key" "$gnn" train --make papers:size=1
err_has "is refused with a list" "has no 'size=1': scale, local, members"
runs 2 "a DIR and a graph to make" "$gnn" train --make papers data
err_has "are one too many" "give a DIR or --make, not both"
runs 2 "TF32 on the CPU" "$gnn" train --precision tf32 data
err_has "is refused" "--precision tf32 needs --device cuda"
runs 2 "WGMMA on the CPU" "$gnn" train --products wgmma data
err_has "is refused" "--products needs --device cuda"
runs 2 "unknown instructions" "$gnn" infer --device emulator -c cpu.ckpt --products fma data
err_has "are refused" "--products is mma or wgmma"
runs 2 "an unknown precision" "$gnn" train --device emulator --precision fp8 data
err_has "is refused" "--precision is fp32 or tf32"
runs 2 "an unknown device" "$gnn" train --device gpu data
err_has "lists the devices" "cpu, cuda, cuda:N or emulator"
runs 2 "fanouts that the GPU cannot sample" "$gnn" train --device emulator --place gpu -f all,3 data
err_has "are refused" "use --place host"
runs 2 "an unknown place" "$gnn" train --device emulator --place cloud data
err_has "lists the places" "host, gpu or auto"
runs 2 "data on the GPU without a GPU" "$gnn" train --place gpu data
err_has "names the option" "--place gpu needs --device cuda"
runs 2 "ranks on a GPU" "$gnn" train --ranks 2 --device emulator data
err_has "are refused" "several ranks train on --device cpu only"

# ---- the build check ----
mkdir tree && cp -r "$ROOT/kernels" tree && mkdir tree/tools && cp "$ROOT/tools/gnn-kernels" tree/tools
runs 0 "the recorded kernels are those of the tree" tree/tools/gnn-kernels check
echo "// changed" >>tree/kernels/gnn/adam_step/kernel.cu
runs 1 "a changed kernel" tree/tools/gnn-kernels check
err_has "is named" "kernels/gnn/adam_step/kernel.cu or a file that it includes changed: its recorded verdict"
err_has "with the command that judges it again" "tools/gnn-kernels record adam_step"
cp tree/kernels/gnn/verdicts.tsv before.tsv
runs 1 "judging another kernel alone" env HONE="$HONE" tree/tools/gnn-kernels record mark_nodes
err_has "is refused: it would record what was not judged" "judge these kernels too: tools/gnn-kernels record mark_nodes adam_step"
ok "and leaves the table as it was" cmp before.tsv tree/kernels/gnn/verdicts.tsv
cp "$ROOT/kernels/gnn/adam_step/kernel.cu" tree/kernels/gnn/adam_step
echo "// changed" >>tree/kernels/gnn/parts/dropout.cuh
runs 1 "a changed part" tree/tools/gnn-kernels check
err_has "counts for the kernels with it" "kernels/gnn/product_tf32/kernel.cu or a file that it includes changed"
ok "and for no others" sh -c "! grep -q kernels/gnn/product_nt/ '$T/err'"
cp "$ROOT/kernels/gnn/parts/dropout.cuh" tree/kernels/gnn/parts
sed -i 's/1e-06/1e-02/' tree/kernels/gnn/product/task.json tree/kernels/gnn/adam_step/task.json
sed -i 's/"rtol": 1e-6/"rtol": 1e-2/' tree/kernels/gnn/adam_step/task.json
runs 1 "a changed task" tree/tools/gnn-kernels check
err_has "is named" "kernels/gnn/adam_step: the task changed"
cp "$ROOT/kernels/gnn/adam_step/task.json" tree/kernels/gnn/adam_step
cp "$ROOT/kernels/gnn/product/task.json" tree/kernels/gnn/product
mkdir tree/kernels/gnn/new && cp "$ROOT"/kernels/gnn/adam_step/* tree/kernels/gnn/new
runs 1 "a kernel without a verdict" tree/tools/gnn-kernels check
err_has "is named" "kernels/gnn/new has no recorded passing verdict"
rm -r tree/kernels/gnn/new && echo >>tree/kernels/gnn/exported.tar.gz
runs 1 "another archive" tree/tools/gnn-kernels check
err_has "is refused" "is not the archive that was recorded"
done_testing
