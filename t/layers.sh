#!/usr/bin/env bash
# The rooms of src/ include downwards only, and tools/check-layers reports other includes.
. "$(dirname "$0")/lib.sh"

runs 0 "tools/check-layers accepts src/" "$ROOT/tools/check-layers"
is "tools/check-layers prints nothing about src/" "$(cat "$T/out")" ""

# planted FILE INCLUDE REASON [REPORTED]: checks that tools/check-layers refuses a copy of src/ in which FILE also
# includes INCLUDE; the report names REPORTED (default: FILE)
planted() {
    rm -rf "$T/src"
    cp -r "$ROOT/src" "$T/src"
    mkdir -p "$(dirname "$T/src/$1")"
    printf '#include "%s"\n' "$2" >>"$T/src/$1"
    runs 1 "$1 may not include $2" "$ROOT/tools/check-layers" "$T/src"
    out_has "the report about $1 gives the reason: $3" "$3"
    out_has "the report about $1 names the file" "$T/src/${4-$1}"
}
planted base/err.c sys/file.h "that is upwards"
planted task/load.c eval/eval.h "that is upwards"
planted check/decide_verdict.c measure/gpu.h "siblings do not include each other"
planted eval/eval.c device/device.h "only the worker may"
planted worker/verify.c task/task.h "worker/ includes only:"
planted emu/ptx/parse.c emu/core/core.h "that is upwards"
planted emu/inst/alu.c emu/async/async.h "siblings do not include each other"
planted emu/core/warp.c emu/device_emu.h "that is upwards"
planted base/strbuf.h base/expr.h "files include each other in a circle: base/" base
planted new_room/file.c base/err.h "room new_room/ is not in tools/layers"
planted emu/new_room/file.c emu/core/core.h "room emu/new_room/ is not in tools/layers"

# A circle that tools/layers lists is allowed. If the files have no such circle any more, the listing is refused.
mkdir -p "$T/two/base"
echo '#include "base/b.h"' >"$T/two/base/a.h"
echo '#include "base/a.h"' >"$T/two/base/b.c"
echo 'column base' >"$T/order"
runs 1 "a circle of two files is refused" "$ROOT/tools/check-layers" "$T/two" "$T/order"
echo 'circle base/a base/b: a test wants them so' >>"$T/order"
runs 0 "a listed circle is accepted" "$ROOT/tools/check-layers" "$T/two" "$T/order"
rm "$T/two/base/b.c"
runs 1 "a listed circle that does not exist is refused" "$ROOT/tools/check-layers" "$T/two" "$T/order"
out_has "the report says that the listed circle does not exist" "there is no such circle any more: base/a base/b"
echo 'circle base/a base/b:' >"$T/order"
runs 1 "a listed circle without a reason is refused" "$ROOT/tools/check-layers" "$T/two" "$T/order"
out_has "the report shows the line without a reason" "cannot read: circle base/a base/b"
done_testing
