#!/usr/bin/env bash
# After Ctrl-C, every command that takes a while ends at once with status 130 and leaves no process
# and no file.
. "$(dirname "$0")/lib.sh"
mkdir "$T/tmp" && export TMPDIR=$T/tmp

# after SECONDS COMMAND...: runs COMMAND and sends one SIGINT after SECONDS, as a terminal would
after() {
    local late=$1
    shift
    # if the tests run in the background, the shell has made SIGINT ignored
    perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' \
        timeout --foreground --preserve-status -s INT "$late" "$@"
}
left() { # processes whose command line names this test's directory
    local p
    for p in /proc/[0-9]*; do
        [ "${p#/proc/}" != $$ ] && tr '\0' ' ' <"$p/cmdline" | grep -F -- "$T/"
    done 2>/dev/null
}
gone() { # gone DESCRIPTION: no file, no process
    is "$1: no temporary files" "$(find "$T/tmp" -mindepth 1 | head -3)" ""
    for ((i = 0; i < 40; i++)); do # supervisors end when their sockets close
        [ -n "$(left)" ] || break
        sleep 0.1
    done
    is "$1: no processes" "$(left)" ""
}
quick() { # quick DESCRIPTION START_NS
    local ms=$((($(date +%s%N) - $2) / 1000000))
    if [ $ms -lt 8000 ]; then pass "$1 in time"; else fail "$1 in time" "$ms ms"; fi
}

one() { # one DESCRIPTION SECONDS COMMAND...
    local what=$1 start
    shift
    start=$(date +%s%N)
    runs 130 "$what" after "$@"
    quick "$what" "$start"
    gone "$what"
}

# Both kernels take long to compile, because their templates expand without end.
cat >"$T/slow.cu" <<'CU'
/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N,256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
template <int I, int J> struct deep { static constexpr int v = (deep<I - 1, J>::v + deep<I - 1, 2 * J>::v + deep<I - 1, 2 * J + 1>::v) & 7; };
template <int J> struct deep<0, J> { static constexpr int v = J & 3; };
extern "C" __global__ void k(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i] + deep<18, 1>::v;
}
CU
one "compile" 1 "$HONE" compile "$T/slow.cu"
one "eval, compiling" 1 "$HONE" eval --device emu vector_add "$T/slow.cu"

# A kernel that runs for long on the emulator.
cat >"$T/spin.cu" <<'CU'
/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N,256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
extern "C" __global__ void k(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (volatile int k = 0; k < 100000000; k++)
        ;
    if (i < n)
        c[i] = a[i] + b[i];
}
CU
"$HONE" compile "$T/spin.cu" >/dev/null 2>&1
one "emu, running" 2 "$HONE" emu vector_add "$T/spin.cu"

# A worker that writes into its directory without end.
cat >"$T/writer" <<'SH'
#!/usr/bin/env bash
while :; do : >"${!#}/$RANDOM"; done
SH
chmod +x "$T/writer"
HONE_WORKER=$T/writer one "eval, running" 1.5 "$HONE" eval --device emu vector_add "$T/spin.cu"
one "task check" 0.5 "$HONE" task check --all

mkdir "$T/spool"
runs 130 "worker" after 1 "$HONE" worker --spool "$T/spool"

done_testing
