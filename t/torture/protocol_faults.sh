#!/usr/bin/env bash
# Plants faults in the spool's protocol, one at a time, and runs the simulated cluster of t/unit/cluster.c with each. The
# simulator must notice every fault. A fault is a change of one line of src/spool.
. "$(dirname "$0")/../lib.sh"
MODE=${MODE:-release}
cd "$ROOT" || exit 1
[ -e "build/$MODE/libhone.a" ] || make -s "build/$MODE/libhone.a" || exit 1
export CLUSTER=${CLUSTER:-"10 1000 30"}

# plant NAME FILE OLD NEW: replaces the one occurrence of OLD in FILE, and checks that the simulator notices it
plant() {
    local name="the simulator notices: $1" file=$2
    rm -rf "$T/src" && mkdir -p "$T/src" && cp -r src/spool "$T/src/"
    OLD=$3 NEW=$4 perl -0777 -i -pe '$n = s/\Q$ENV{OLD}\E/$ENV{NEW}/g; END { exit($n != 1) }' "$T/src/spool/$file" || {
        fail "$name" "the line to change does not occur once in src/spool/$file: $3"
        return
    }
    if ! ${CC:-cc} -std=gnu17 -D_GNU_SOURCE -O2 -w -iquote "$T/src" -iquote src -o "$T/faulty" t/unit/cluster.c "$T"/src/spool/*.c \
        "build/$MODE/libhone.a" -lcmocka -ljansson -lsqlite3 -lcrypto -lz -ldl -lpthread -lm 2>"$T/err"; then
        fail "$name" "$(cat "$T/err")"
    elif timeout 600 "$T/faulty" >"$T/out" 2>"$T/err"; then
        fail "$name" "$(cat "$T/out")"
    else
        pass "$name ($(sed -n 's/^ERROR: *//p' "$T/err" | head -1))"
    fi
}

plant "a watcher takes bundles of workers that live" watch.c 'if (count && count != x->count) {' 'if (0) {'
plant "a watcher counts time in which it was suspended" watch.c 'MIN(now - w->last_ns, w->lease_ns / 4)' '(now - w->last_ns)'
plant "a bundle is put back under the same name" watch.c 'n.taken++;' ';'
plant "a worker does not look whether a claim succeeded that was reported as failed" fs_disk.c '== 0 || fs->ops->exists(fs, to)' '== 0'
plant "a put that was reported as failed is repeated" run.c 'if (rc < 0 && r->fs->ops->exists(r->fs, from))' 'if (rc < 0)'
plant "a result of another job is accepted" run.c '&& res.nonce == nonce' ''
plant "the end of a run removes bundles of others" run.c 'if (is_ours(r, *p) && strlen(*p)' 'if (strlen(*p)'
plant "a bundle is given up as lost too early" run.c 'x->missing_ns <= 2 * r->lease_ns' 'x->missing_ns <= r->lease_ns / 10'
plant "nobody looks for workers that died" watch.c 'x->quiet_ns += passed;' ''
done_testing
