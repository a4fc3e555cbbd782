#!/usr/bin/env bash
# `hone emu --ptx FILE --job JSON` runs a PTX file without a task; the JSON describes its buffers.
. "$(dirname "$0")/lib.sh"

cat >axpy.ptx <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<8>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.f32 %f0, [a];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p ret;
    mul.wide.u32 %rd3, %r4, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.f32 %f1, [%rd1];
    ld.global.f32 %f2, [%rd2];
    fma.rn.f32 %f3, %f0, %f1, %f2;
    st.global.f32 [%rd2], %f3;
    ret;
}
PTX
job() { # job COUNT N: writes job.json, in which y has COUNT elements and the kernel's argument n is N
    cat >job.json <<JSON
{ "buffers": { "x": {"dtype": "float32", "count": 1000, "from": "x.bin"},
               "y": {"dtype": "float32", "count": $1, "role": "inout", "init": {"dist": "const", "value": 1}, "to": "y.bin"} },
  "launches": [ {"kernel": "axpy", "grid": [4], "block": [256], "args": ["x", "y", {"f32": 2}, $2]} ] }
JSON
}
# x is 1000 times 3.0f.
for _ in $(seq 1000); do printf '\0\0\100\100'; done >x.bin

job 1000 1000
runs 0 "a bare PTX file runs" "$HONE" emu --ptx axpy.ptx --job job.json
out_has "the PTX file runs without findings" "without findings"
out_has "the output has counters" "global_load_sectors"
is "the kernel computes y = 2 * 3 + 1" "$(od -An -tf4 -N 8 y.bin | tr -s ' ')" " 7 7"
is "all 1000 elements of y are written" "$(od -An -v -tf4 -w4 y.bin | sort | uniq -c | tr -s ' ')" " 1000 7"
runs 2 "--ptx with --workload is a usage error" "$HONE" emu --ptx axpy.ptx --job job.json --workload smoke:0
err_has "the message says that --workload needs a task and a kernel" "--workload needs a TASK and a KERNEL.cu"
runs 0 "hone emu --json --skip-sanitizer exits with 0" "$HONE" emu --json --skip-sanitizer --ptx axpy.ptx --job job.json
out_has "--json prints a verdict" '"kind": "pass"'

job 990 1000
runs 1 "an access past the end of a buffer fails" "$HONE" emu --ptx axpy.ptx --job job.json
out_has "the finding names the buffer and the index" "y[990]"
is "an access past the end of a buffer gets the verdict fault" "$(head -1 "$T/out")" "fault"

job 1000 1000
sed -i 's/"role": "inout"/"role": "input"/; s/, "to": "y.bin"//' job.json
runs 1 "a write to an input fails" "$HONE" emu --ptx axpy.ptx --job job.json
is "a write to an input gets the verdict cheat" "$(head -1 "$T/out")" "cheat"

job 1000 1000
sed -i 's/"axpy"/"axpi"/' job.json
runs 1 "a job with a kernel that the PTX file does not have fails" "$HONE" emu --ptx axpy.ptx --job job.json
out_has "the message names the missing kernel" "axpi"
sed -i 's/axpi/axpy/; s/, 1000\]}/]}/' job.json
runs 1 "a launch with too few arguments fails" "$HONE" emu --ptx axpy.ptx --job job.json

cat >stuck.ptx <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry stuck(.param .u64 y)
{
    bar.sync 1, 96;
    ret;
}
PTX
cat >stuck.json <<'JSON'
{ "buffers": { "y": {"dtype": "float32", "count": 4, "role": "output"} },
  "launches": [ {"kernel": "stuck", "grid": [1], "block": [64], "args": ["y"]} ] }
JSON
runs 1 "a barrier that waits for too many threads fails" "$HONE" emu --ptx stuck.ptx --job stuck.json
out_has "warps that wait at the same instruction are named together" "warps 0-1 (64 threads, the first is 0) at "

cat >printf.json <<'JSON'
{ "buffers": { "x": {"dtype": "float32", "count": 1024}, "y": {"dtype": "float32", "count": 1024, "role": "output"},
               "ws": {"dtype": "float32", "count": 1024, "role": "workspace"}, "cnt": {"dtype": "int32", "count": 256} },
  "launches": [ {"kernel": "good_printf", "grid": [4], "block": [256], "args": ["x", "y", "ws", "cnt", {"i64": 1024}]} ] }
JSON
runs 0 "a kernel that calls printf passes" "$HONE" emu --ptx "$ROOT/t/cases/emu/kernels.ptx" --job printf.json
out_has "the output has the text that the kernel printed" "hello 42  3.14 str 123456789012 %"

bad() { # bad NAME MESSAGE < JOB: checks that Hone refuses JOB with MESSAGE
    cat >bad.json
    runs 2 "a job with $1 is refused" "$HONE" emu --ptx axpy.ptx --job bad.json
    err_has "the message about a job with $1 gives the reason" "$2"
}
bad "broken JSON" "bad.json:" <<<'{'
bad "an unknown key" "bufers" <<<'{"bufers": {}, "launches": []}'
bad "an unknown dtype" \
    "float31" <<<'{"buffers": {"x": {"dtype": "float31", "count": 3}}, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": []}]}'
bad "a negative count" "out of range" <<<'{"buffers": {"x": {"dtype": "int32", "count": -1}}, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": []}]}'
bad "an unknown argument" "'z'" <<<'{"buffers": {}, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": ["z"]}]}'
bad "no launch" "launch" <<<'{"buffers": {}, "launches": []}'
bad "an initialised output" "output" <<<'{"buffers": {"x": {"dtype": "int32", "count": 1, "role": "output", "init": {"dist": "zeros"}}}, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": []}]}'
bad "a tensor map of an unknown buffer" \
    "'q'" <<<'{"buffers": {}, "tensormaps": {"t": {"buffer": "q", "dims": [64], "box": [64]}}, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": ["t"]}]}'
runs 2 "--job without --ptx is a usage error" "$HONE" emu --job bad.json
runs 3 "a PTX file that does not exist is an error" "$HONE" emu --ptx nowhere.ptx --job job.json
done_testing
