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
job() { # job COUNT N: y has COUNT elements, the kernel is told N
    cat >job.json <<JSON
{ "buffers": { "x": {"dtype": "float32", "count": 1000, "from": "x.bin"},
               "y": {"dtype": "float32", "count": $1, "role": "inout", "init": {"dist": "const", "value": 1}, "to": "y.bin"} },
  "launches": [ {"kernel": "axpy", "grid": [4], "block": [256], "args": ["x", "y", {"f32": 2}, $2]} ] }
JSON
}
# 1000 The output must be 1000 times 3.0f.
for _ in $(seq 1000); do printf '\0\0\100\100'; done >x.bin

job 1000 1000
runs 0 "a bare PTX file runs" "$HONE" emu --ptx axpy.ptx --job job.json
out_has "and is clean" "without findings"
out_has "with counters" "global_load_sectors"
is "y = 2 * 3 + 1" "$(od -An -tf4 -N 8 y.bin | tr -s ' ')" " 7 7"
is "all of it is written" "$(od -An -v -tf4 -w4 y.bin | sort | uniq -c | tr -s ' ')" " 1000 7"
runs 2 "--ptx and --workload" "$HONE" emu --ptx axpy.ptx --job job.json --workload smoke:0
err_has "--ptx refuses --workload" "--workload needs a TASK and a KERNEL.cu"
runs 0 "as JSON, without the sanitizer" "$HONE" emu --json --no-sanitize --ptx axpy.ptx --job job.json
out_has "a verdict" '"kind": "pass"'

job 990 1000
runs 1 "an access past the end is a finding" "$HONE" emu --ptx axpy.ptx --job job.json
out_has "which names the buffer" "y[990]"
is "it is a fault, as it is for a candidate" "$(head -1 "$T/out")" "fault"

job 1000 1000
sed -i 's/"role": "inout"/"role": "input"/; s/, "to": "y.bin"//' job.json
runs 1 "a write to an input" "$HONE" emu --ptx axpy.ptx --job job.json
is "is a cheat, as it is for a candidate" "$(head -1 "$T/out")" "cheat"

job 1000 1000
sed -i 's/"axpy"/"axpi"/' job.json
runs 1 "a kernel that is not there" "$HONE" emu --ptx axpy.ptx --job job.json
out_has "is named" "axpi"
sed -i 's/axpi/axpy/; s/, 1000\]}/]}/' job.json
runs 1 "too few arguments" "$HONE" emu --ptx axpy.ptx --job job.json

cat >printf.json <<'JSON'
{ "buffers": { "x": {"dtype": "float32", "count": 1024}, "y": {"dtype": "float32", "count": 1024, "role": "output"},
               "ws": {"dtype": "float32", "count": 1024, "role": "workspace"}, "cnt": {"dtype": "int32", "count": 256} },
  "launches": [ {"kernel": "good_printf", "grid": [4], "block": [256], "args": ["x", "y", "ws", "cnt", {"i64": 1024}]} ] }
JSON
runs 0 "a kernel that prints" "$HONE" emu --ptx "$ROOT/t/cases/emu/kernels.ptx" --job printf.json
out_has "is heard" "hello 42  3.14 str 123456789012 %"

bad() { # bad NAME WHAT < json
    cat >bad.json
    runs 2 "refused: $1" "$HONE" emu --ptx axpy.ptx --job bad.json
    err_has "$1: says why" "$2"
}
bad "not JSON" "bad.json:" <<<'{'
bad "an unknown key" "bufers" <<<'{"bufers": {}, "launches": []}'
bad "no such type" "float31" <<<'{"buffers": {"x": {"dtype": "float31", "count": 3}}, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": []}]}'
bad "a negative count" "out of range" <<<'{"buffers": {"x": {"dtype": "int32", "count": -1}}, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": []}]}'
bad "an argument from nowhere" "'z'" <<<'{"buffers": {}, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": ["z"]}]}'
bad "nothing to launch" "launch" <<<'{"buffers": {}, "launches": []}'
bad "an initialised output" "output" <<<'{"buffers": {"x": {"dtype": "int32", "count": 1, "role": "output", "init": {"dist": "zeros"}}}, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": []}]}'
bad "a map without a buffer" "'q'" <<<'{"buffers": {}, "tensormaps": {"t": {"buffer": "q", "dims": [64], "box": [64]}}, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": ["t"]}]}'
runs 2 "--job without --ptx" "$HONE" emu --job bad.json
runs 3 "no such PTX file" "$HONE" emu --ptx nowhere.ptx --job job.json
done_testing
