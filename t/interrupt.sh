#!/usr/bin/env bash
# After Ctrl-C, every command that takes a while ends at once with status 130 and leaves no process
# and no file.
. "$(dirname "$0")/lib.sh"
mkdir "$T/tmp" && export TMPDIR=$T/tmp

# after SECONDS COMMAND...: runs COMMAND and sends one SIGINT after SECONDS, as a terminal would
after() {
    local late=$1
    shift
    # a shell lets background jobs ignore SIGINT, and the tests may run as a background job
    perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' \
        timeout --foreground --preserve-status -s INT "$late" "$@"
}
left() { # prints the processes whose command line names the directory of this test
    local p
    for p in /proc/[0-9]*; do
        [ "${p#/proc/}" != $$ ] && tr '\0' ' ' <"$p/cmdline" | grep -F -- "$T/"
    done 2>/dev/null
}
gone() { # gone DESCRIPTION: checks that no temporary file and no process is left
    is "$1: Ctrl-C leaves no temporary file" "$(find "$T/tmp" -mindepth 1 | head -3)" ""
    for ((i = 0; i < 40; i++)); do # supervisors end when their sockets close
        [ -n "$(left)" ] || break
        sleep 0.1
    done
    is "$1: Ctrl-C leaves no process" "$(left)" ""
}
quick() { # quick DESCRIPTION START_NS: checks that less than 8 s have passed since START_NS
    local ms=$((($(date +%s%N) - $2) / 1000000))
    if [ $ms -lt 8000 ]; then pass "$1: ends within 8 s"; else fail "$1: ends within 8 s" "$ms ms"; fi
}

one() { # one DESCRIPTION SECONDS COMMAND...: interrupts COMMAND after SECONDS and checks how it ends
    local what=$1 start
    shift
    start=$(date +%s%N)
    runs 130 "$what: Ctrl-C gives the exit status 130" after "$@"
    quick "$what" "$start"
    gone "$what"
}

# This kernel takes long to compile, because it uses very many instances of a template.
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
one "hone compile" 1 "$HONE" compile "$T/slow.cu"
one "hone eval that compiles" 1 "$HONE" eval --device emu vector_add "$T/slow.cu"

# This kernel runs for a long time on the emulator.
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
one "hone emu that runs a kernel" 2 "$HONE" emu vector_add "$T/spin.cu"

# This worker writes files into its bundle without end.
cat >"$T/writer" <<'SH'
#!/usr/bin/env bash
while :; do : >"${!#}/$RANDOM"; done
SH
chmod +x "$T/writer"
HONE_WORKER=$T/writer one "hone eval that waits for a worker" 1.5 "$HONE" eval --device emu vector_add "$T/spin.cu"
one "hone task check" 0.5 "$HONE" task check --all

mkdir "$T/spool"
runs 130 "hone worker: Ctrl-C gives the exit status 130" after 1 "$HONE" worker --spool "$T/spool"

done_testing
