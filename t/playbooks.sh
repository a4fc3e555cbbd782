#!/usr/bin/env bash
# The first kernel of every built-in playbook passes, under the sanitizer, on every smoke, check and
# held-out workload of each built-in task that it serves. Playbooks also serve tasks with other names.
# In `make test` every playbook writes its kernel, and some of these kernels run on the smoke workloads. `make soak`
# evaluates further settings of the products, convolutions and attention, which take half a minute to compile.
. "$(dirname "$0")/lib.sh"

share_cache
"$HONE" compile "$ROOT/kernels/vector_add.cu" >/dev/null 2>&1 || skip_all "no CUDA compiler here"

runs 0 "hone playbook list exits with 0" "$HONE" playbook list
awk '/^[a-z]/ { book = $1 } $1 == "tasks:" { for (i = 2; i <= NF; i++) print book, $i }' \
    <"$T/out" | grep -v '^generate ' >"$T/pairs" # t/generate.sh evaluates these
# judge TIER PLAYBOOK TASK [SETTING=VALUE...]: checks that the kernel of this point passes. `make test` writes every
# kernel, but evaluates only those with TIER quick, on the smoke workloads.
judge() {
    local scope=--skip-time
    case $TIER:$1 in
    quick:quick) scope=--smoke ;;
    quick:*) scope= ;;
    *:soak) in_tier soak || return 0 ;;
    *) in_tier rest || return 0 ;;
    esac
    runs 0 "$2 writes a kernel for ${3##*/} ${*:4}" "$HONE" playbook kernel "${@:2}"
    [ -n "$scope" ] || return 0
    cp "$T/out" kernel.cu
    runs 0 "the kernel of $2 for ${3##*/} ${*:4} passes" \
        "$HONE" eval --device emu "$scope" --skip-time --skip-baselines "$3" kernel.cu
}
quick_pairs=" rownorm:rmsnorm softmax:softmax transpose:transpose "
while read -r book task; do
    tier=rest
    case $quick_pairs in *" $book:$task "*) tier=quick ;; esac
    judge $tier "$book" "$task"
done <"$T/pairs"

# Each task of t/cases/playbooks/ was made for one playbook.
while read -r tier book task settings; do
    judge "$tier" "$book" "$ROOT/t/cases/playbooks/$task" $settings
done <<'TABLE'
rest broadcast spread unroll=2
rest broadcast channel_norm
rest reduce_row row_sum load=16
quick reduce_row row_argmax
rest softmax log_probs cluster=8 threads=256
rest softmax_of masked_scores threads=256
rest dwconv_any blur_down rows=4 cols=2
rest dwconv_any causal_conv rows=1 cols=4
rest conv_tf32 grouped_conv
soak conv_tf32 grouped_conv split=2 promote=128 bm=32
soak conv_tf32 widen bm=16 bn=64 wm=16 wn=32
rest conv_sm90 widen
soak conv_sm90 widen quads=1 bn=32
rest conv_sm90 widen direct=1
rest conv_sm90 widen pack=1
rest conv_sm90 skipping_conv
soak conv_sm90 skipping_conv quads=1 bn=8
rest reduce_over column_stats
rest reduce_row squared_error
rest reduce_row squared_error load=16 split=4096 blocks=528
rest reduce_of weighted_error
rest reduce_of weighted_error vec=1 unroll=8 split=4096
rest reduce_of weighted_error vec=1 unroll=1
rest loss cosine_loss
rest loss cosine_loss unroll=4 per=16 split=4096 few=0
rest gemm_sm80 batch_product
rest gemm_sm80 turned_product
soak gemm_sm80 turned_product bm=32 bn=256 warps=4
rest gemm_sm90 linear_silu bm=64 bn=64
rest gemm_sm90 batch_product bn=256 cluster=2
rest gemm_sm90 turned_product
rest gemm_f32 linear_f32 vec=4
soak gemm_f32 tall_product vec=4 chain=512
rest gemm_3tf32_sm80 linear_f32
rest gemm_3tf32_sm80 tall_product split=2
rest gemm_3tf32_sm90 linear_f32 flip=1
soak gemm_3tf32_sm90 tall_product split=4
soak gemm_3tf32_sm80 infinite_product split=2
rest gemm_3tf32_sm90 infinite_product
soak gemm_3tf32_sm90 infinite_product flip=1 groups=3 cols=64
soak gemm_3tf32_sm90 linear_f32 groups=1 cols=32
rest gemm_3tf32_sm90 infinite_product pack=3 turns=0
soak gemm_3tf32_sm90 upper_product run=2
soak gemm_3tf32_sm90 upper_product flip=1 run=0
rest gemm_3tf32_sm90 upper_product flip=1 run=4 pack=1
rest gemm_3tf32_sm80 shared_matrix
rest gemm_3tf32_sm90 shared_matrix
soak gemm_3tf32_sm90 one_matrix pack=3 split=2
soak gemm_3tf32_sm90 tall_product pack=1
rest gemm_3tf32_sm90 tall_product pack=2 flip=1 groups=1 split=4
rest gemm_f32 upper_product
rest matvec weigh
rest permute heads_first vec=8
rest transpose channels_last swizzle=1 vec=4
rest cumsum suffix_sum cluster=4 threads=128
rest cumsum sum_before
rest scan_over running_total vec=4
quick gather token_rows
rest scatter_add bucket_rows
rest softmax_over column_probs vec=4
rest elementwise pack_nibbles vec=8
rest broadcast dequantize
rest reduce_row peak
rest dwconv_any tap_bias cols=2
rest dwconv_any two_filters rows=1
rest rowwise row_scale
rest rowwise row_scale vec=1 per=8
rest rowwise row_scale hold=8 wide=256 long=32
rest rowwise row_scale hold=0 wide=256 long=32
rest rowwise column_rms
rest rowwise column_rms across=2 down=16 stream=1
rest rowwise column_rms across=1
rest rowwise whole_norm hold=0 wide=256
rest softmax log_probs hold=8 wide=256 threads=256 per=1
quick pool window_max
rest pool window_max wide=2 high=2 groups=4 cols=32
rest elementwise bucket_ids
rest broadcast add_in_place
rest reduce_over count_rows
quick generate rotary_halves
rest generate rotary_pairs
rest generate label_loss
rest generate pixel_loss
rest rowwise group_norm_silu
rest attention_sm80 causal_attention
soak attention_sm80 causal_attention rows=16 warps=8 keys=128 stages=4 tall=64
soak attention_sm80 causal_attention keys=32 stages=3 slots=2
rest attention_sm80 biased_attention
soak attention_sm80 biased_attention rows=16 keys=128 tall=64 slots=2
TABLE

# Built-in tasks in bfloat16, which rounds eight times as coarsely as float16.
while read -r book task settings; do
    mkdir -p "bf16/$task" && cp "$ROOT/tasks/$task/reference.c" "bf16/$task/"
    sed -e 's/float16/bfloat16/g' -e 's/"rtol": 0.001/"rtol": 0.008/' -e 's/"rtol": 0,/"rtol": 0.004,/' \
        -e 's/"atol": 1e-7/"atol": 1e-3/' "$ROOT/tasks/$task/task.json" >"bf16/$task/task.json"
    judge rest "$book" "./bf16/$task" $settings
done <<'TABLE'
rownorm rmsnorm
rownorm fused_add_rmsnorm early=1 stream=1
gated silu_and_mul
merge merge_attn_states unroll=2
TABLE

in_tier quick || done_testing
# A playbook serves a task by its operation, not by its name.
mkdir -p squash && cp "$ROOT/tasks/sigmoid/reference.c" squash/
sed -e 's/"name": "sigmoid"/"name": "squash"/' -e 's/"op_type": "[a-z]*"/"op_type": "sigmoid"/' \
    "$ROOT/tasks/sigmoid/task.json" >squash/task.json
runs 0 "a run on the task sigmoid under another name passes" \
    "$HONE" optimize ./squash --author playbook --device emu --steps 1 --skip-baselines --out o --store s.db
out_has "the run says that the playbooks wrote the kernel" "written by playbook"

# The task of `hone task new`, a typical first task of a user: a bias that broadcasts, and a scalar.
runs 0 "hone task new writes a task" "$HONE" task new fresh
runs 0 "a run on the new task passes" "$HONE" optimize fresh -n 1 --steps 1 --device emu --skip-baselines --out o --store s.db
out_has "the kernels of the playbooks for the new task pass" "2 pass, 0 fail"

# Expressions in other spellings, in tasks whose names say nothing, and another expression under the name of a
# built-in task.
respell() { # respell TASK NAME TORCH: writes the built-in TASK as NAME, with the expression TORCH
    mkdir -p "$2" && cp "$ROOT/tasks/$1/reference.c" "$2/"
    sed -e "s|\"name\": \"$1\"|\"name\": \"$2\"|" -e "s|\"op_type\": \"[a-z_]*\"|\"op_type\": \"$2\"|" \
        -e "s|\"torch\": \".*\"|\"torch\": \"$3\"|" "$ROOT/tasks/$1/task.json" >"$2/task.json"
}
respell rmsnorm thing 'w * (x / torch.sqrt(torch.mean(torch.square(x), dim=-1, keepdim=True) + eps))'
runs 0 "the playbook rownorm fits an RMS norm that is written out" "$HONE" playbook kernel rownorm ./thing
respell silu_and_mul other '(h := x.size(-1) // 2, x[:, :h] * torch.sigmoid(x[:, :h]) * x[:, h:])[-1]'
runs 0 "the playbook gated fits silu_and_mul in another spelling" "$HONE" playbook kernel gated ./other
respell fused_add_rmsnorm fused_add_rmsnorm \
    '(s := x.float() - r.float(), ((s * torch.rsqrt(s.square().mean(-1, keepdim=True) + eps) * w).to(x.dtype), s.to(x.dtype)))[-1]'
runs 1 "the playbook rownorm does not fit another expression under the name fused_add_rmsnorm" "$HONE" playbook kernel rownorm ./fused_add_rmsnorm
err_has "the message says that the expression is not a form of fused_add_rmsnorm" "not a form of 'fused_add_rmsnorm'"

runs 1 "a kernel of a playbook that does not fit is refused" "$HONE" playbook kernel softmax matmul_f16
err_has "the message says that the playbook does not fit" "does not fit"
runs 1 "an unknown setting is refused" "$HONE" playbook kernel softmax softmax thraeds=1
err_has "the message says that there is no such setting" "no such setting"
runs 1 "an unknown playbook is refused" "$HONE" playbook kernel sotfmax softmax
err_has "the message names the command that lists the playbooks" "hone playbook list"
done_testing
