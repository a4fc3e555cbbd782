/*
 * scale.c - submits one bundle N times to a spool and prints the time for all, divided by N, in
 * seconds. A bundle is a directory with one job, and a spool is a directory from which workers take
 * bundles (src/sched/sched.h). Workers must already serve the spool. bench/scale.sh runs this
 * program.
 *
 *     build/release/bench/scale BUNDLE_DIR N SPOOL_DIR
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "sched/sched.h"

static int pass_through(struct sched *s, const char *bundle, unsigned n, struct err *err)
{
    struct sched_done d;
    uint64_t ticket;
    for (unsigned i = 0; i < n; i++)
        if (sched_submit(s, bundle, UINT64_C(60000000000), NULL, &ticket, err) < 0)
            return -1;
    while (n) {
        int rc = sched_wait(s, UINT64_C(1000000000), &d, err);
        if (rc < 0)
            return -1;
        if (rc && !d.have_result)
            return err_set(err, ERR_SYSTEM, "a bundle has no result: %s", d.note);
        n -= rc > 0;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct sched *s;
    if (argc != 4 || atoi(argv[2]) < 1) {
        fputs("usage: scale BUNDLE_DIR N SPOOL_DIR\n", stderr);
        return 2;
    }
    unsigned n = (unsigned)atoi(argv[2]);
    int rc = sched_spool_open(&s, argv[3], &err);
    uint64_t begun = now_ns();
    if (rc == 0) {
        rc = pass_through(s, argv[1], n, &err);
        sched_close(s);
    }
    if (rc < 0) {
        fprintf(stderr, "scale: %s\n", err.msg);
        return 1;
    }
    printf("%.6f\n", (double)(now_ns() - begun) / 1e9 / n);
    return 0;
}
