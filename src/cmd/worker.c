/*
 * worker.c - `hone worker`: executes the program hone-worker from the folder of this program.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "sched/sched.h"

static int run(int argc, const char **argv)
{
    const struct option opts[] = {OPT_END()};
    const struct options spec = {
        .usage = "hone worker BUNDLE_DIR\nhone worker --spool DIR [--once]",
        .about = "Runs hone-worker, the program that executes kernels. `hone worker --help` lists\n"
                 "its other forms.",
        .example = "hone worker --spool /shared/spool",
        .opts = opts,
    };
    if (cmd_is_described())
        cmd_parse(&spec, &argc, argv);
    struct err err = ERR_INIT;
    struct strbuf path = STRBUF_INIT(4096);
    if (sched_find_worker(&path, &err) < 0)
        return cmd_fail(&err);
    argv[0] = path.buf;
    execv(path.buf, (char *const *)argv);
    err_errno(&err, "running %s", path.buf);
    return cmd_fail(&err);
}

const struct command cmd_worker = {"worker", "run bundles: one, or those of a spool directory",
                                   run};
