#!/usr/bin/env bash
# Tests that Hone judges as it should on this GPU: it catches each attack of t/redteam/ and finds each planted bug of
# t/cases/planted/, and the corrected twin of each bug and each kernel of kernels/ pass.
#   HONE=bin/hone OUT=results [JOBS=14] t/gpu/evidence.sh [STEP...]
# A step is redteam, planted or kernels, or NAME=SECONDS to change its limit. A row is an attack, a bug or a kernel.
# JOBS rows run at a time. hone-test must lie beside HONE (docs/testing.md). OUT gets STEP.err and STEP.tap; the step
# kernels writes the table kernels.txt in place of STEP.tap. Each step prints a line: how many checks passed, failed or
# were skipped, and how long it took. TIER, ATTACKS, PLANTED and KERNELS choose rows. DEVICE=emu tries the script
# without a GPU. Exits 77 where there is no GPU, 1 if a check fails or a step does not end in time.
set -u
cd "$(dirname "$0")/../.." || exit 1
export HONE=${HONE:-$PWD/bin/hone} DEVICE=${DEVICE:-cuda} JOBS=${JOBS:-14} TIER=${TIER:-all}
case $HONE in /*) ;; *) HONE=$PWD/$HONE ;; esac
out=${OUT:-$(mktemp -d)}
[ "$DEVICE" = emu ] || [ -e /dev/nvidiactl ] || { echo "no GPU"; exit 77; }
[ -x "$HONE" ] || { echo "no program $HONE" >&2; exit 1; }
[ -x "${HONE%/*}/hone-test" ] || echo "no ${HONE%/*}/hone-test: attacks are not judged without their detectors"
[ $# -gt 0 ] || set -- redteam=280 planted=120 kernels=170
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1

# summary FILE: prints how many lines of TAP passed, failed, were skipped
summary() {
    awk '/^ok.*# SKIP/ { skipped++; next } /^ok/ { good++ } /^not ok/ { bad++ } /^1\.\.[0-9]/ { planned = 1 }
        END { printf "%d passed, %d failed, %d skipped%s", good, bad, skipped, planned ? "" : ", not complete" }' "$1"
}
# Like summary, for the table of kernels.sh: its first column names the kernel, the second the verdict.
kernels_summary() {
    awk '/^#/ { ended = 1; next } NR > 1 && $2 != "warning:" { seen[$1] = 1; if ($2 != "pass") bad[$1] = 1 }
        END { printf "%d passed, %d failed%s", length(seen) - length(bad), length(bad), ended ? "" : ", not complete" }' "$1"
}

status=0
for step in "$@"; do
    name=${step%%=*} limit=280 start=$SECONDS
    case $step in *=*) limit=${step#*=} ;; esac
    case $name in
    redteam | planted) file=$name.tap command=("t/$name.sh") ;;
    kernels) file=kernels.txt command=(t/gpu/kernels.sh --skip-baselines --measure-time=200ms ${KERNELS-}) ;;
    *) echo "no step '$name'; the steps are redteam, planted, kernels" >&2; exit 1 ;;
    esac
    OUT=$out/$name timeout "$limit" "${command[@]}" >"$out/$file" 2>"$out/$name.err"
    rc=$?
    if [ $name = kernels ]; then told=$(kernels_summary "$out/$file"); else told=$(summary "$out/$file"); fi
    case $rc in 0) ;; 124) status=1 told+="; ended by its limit" ;; *) status=1 told+="; exit status $rc" ;; esac
    printf '%-8s %4d s of %d: %s\n' "$name" $((SECONDS - start)) "$limit" "$told"
    [ $rc = 0 ] || { grep -h -v -e '^ok' -e '^1\.\.' "$out/$file" | grep -v ' pass ' | head -20 | cut -c1-200; tail -5 "$out/$name.err"; }
done
echo "$SECONDS s in all, $JOBS rows at a time, $("$HONE" --version | head -1)"
exit $status
