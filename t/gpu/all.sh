#!/usr/bin/env bash
# Runs checks that need a GPU, part by part. Prints a line for each part at the end.
#   HONE=bin/hone OUT=results [LIMIT=SECONDS] t/gpu/all.sh [PART...]
# A part is the name of a script beside this one, in quotes if it has arguments ("noise 40 200ms"), or
# redteam. OUT gets PART.txt (the output of the part) and details.tar.gz. After LIMIT seconds in all, the
# script ends the part that runs, starts no other, and says so in the table. Exits 77 where there is no GPU.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
export HONE=${HONE:-$root/bin/hone}
out=${OUT:-$(mktemp -d)} limit=${LIMIT:-86400}
[ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
[ $# -gt 0 ] || set -- cuda fidelity redteam noise overhead profile torture clock optimize kernels
mkdir -p "$out/details" || exit 1

# Compiles beforehand what several parts need: our kernels, and the baselines of torch.compile.
export TORCHINDUCTOR_CACHE_DIR=${TORCHINDUCTOR_CACHE_DIR:-/tmp/hone-inductor}
case " $* " in *" optimize"* | *" kernels"*)
    (cd kernels && ls *.cu | xargs -P 4 -I{} timeout 200 "$HONE" compile {} >/dev/null 2>&1) &
    timeout 120 python3 t/gpu/prewarm.py attention_f16 conv3x3_bn_relu mlp_swiglu \
        $(ls tasks | grep -v -x -e attention_f16 -e conv3x3_bn_relu -e mlp_swiglu) 2>"$out/details/prewarm"
    wait
    export PREWARMED=1
    echo "prewarm $SECONDS s" ;;
esac

table=
for part in "$@"; do
    set -- $part
    name=$1 start=$SECONDS script=t/gpu/$1.sh left=$((limit - SECONDS))
    shift
    [ "$name" = redteam ] && { script=t/redteam.sh; export DEVICE=cuda; }
    if [ $left -le 5 ]; then
        rc=out-of-time
    else
        mkdir -p "$out/details/$name"
        OUT=$out/details/$name timeout "$left" "$script" "$@" >"$out/$name.txt" 2>&1
        rc=$?
        [ $rc = 124 ] && rc=cut-off
        printf '\n==== %s\n' "$part"
        case $name in redteam) grep -v '^ok' "$out/$name.txt" ;; *) tail -40 "$out/$name.txt" ;; esac | cut -c1-200
    fi
    table+=$(printf '%-40s %-12s %5d s' "$part" "$rc" $((SECONDS - start)))$'\n'
done
find "$out/details" -name '*.db*' -delete
tar czf "$out/details.tar.gz" -C "$out" details && rm -rf "$out/details"
printf '\n%-40s %-12s %7s\n%s' part exit time "$table"
