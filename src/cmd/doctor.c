/*
 * doctor.c - what this machine has, and what each missing thing would enable.
 */
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/commands.h"

static int run(int argc, const char **argv)
{
    const struct option opts[] = {OPT_END()};
    const struct options spec = {
        .usage = "hone doctor",
        .about = "Says what this machine has, and what each missing thing would enable.",
        .example = "hone doctor",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc)
        return cmd_usage(&spec, "unexpected '%s'", argv[0]);
    return HONE_OK;
}

const struct command cmd_doctor = {"doctor", "what this machine has, and what is missing", run};
