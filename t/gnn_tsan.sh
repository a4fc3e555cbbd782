#!/usr/bin/env bash
# The threads of hone-gnn under ThreadSanitizer: the unit tests of the loader, of training, of ranks and of the library
# for C and Python. Only src/gnn, src/base and src/sys are compiled for it; the tests need little else.
. "$(dirname "$0")/lib.sh"
in_tier rest || skip_all "make test-all runs this"

cd "$ROOT" || exit 1
libraries=$(dirname "$HONE") # libhone.a and libgnn.a
read -r -a flags <"$libraries/flags"
cc=("${flags[@]}" -O1 -fsanitize=thread -w)
echo 'int main(void) { return 0; }' >"$T/empty.c"
if ! "${cc[@]}" -o "$T/empty" "$T/empty.c" 2>/dev/null || ! setarch -R "$T/empty"; then
    skip_all "no ThreadSanitizer here"
fi

object() { # object FILE.c: compiles the file
    "${cc[@]}" -c "$1" -o "$T/${1//\//_}.o"
}
export -f object
export T
rooms=(src/base src/sys src/gnn/{data,load,sample,ops,model,train,comm,api} src/gnn/trace.c src/gnn/pages.c)
declare -p cc >"$T/cc"
# shellcheck disable=SC2016
ok "the threaded code compiles for ThreadSanitizer" bash -c \
    'find "$@" -name "*.c" -print0 | xargs -0 -P2 -I{} bash -c ". $T/cc; object {}"' _ "${rooms[@]}"
for test in gnn_load gnn_train gnn_comm gnn_api; do
    ok "$test links for ThreadSanitizer" "${cc[@]}" -o "$T/$test" "t/unit/$test.c" "$T"/*.o -Wl,--start-group \
        "$libraries/libhone.a" "$libraries/libgnn.a" -Wl,--end-group -rdynamic -lcmocka -ljansson -lsqlite3 -lcrypto -lz \
        -ldl -lpthread -lm
    # ThreadSanitizer ends a process with 66 if it found a race. It needs addresses that are not drawn at random.
    TIER=quick runs 0 "$test passes without a data race" setarch -R "$T/$test"
done

# The checks above find races: this program has one.
cat >"$T/race.c" <<'C'
#include <pthread.h>
static int n;
static void *add(void *p) { for (int i = 0; i < 1000; i++) n++; return p; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, add, 0);
    pthread_create(&b, 0, add, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
C
ok "a program with a race compiles" "${cc[@]}" -o "$T/race" "$T/race.c" -lpthread
runs 66 "ThreadSanitizer finds the race of a program" setarch -R "$T/race"
done_testing
