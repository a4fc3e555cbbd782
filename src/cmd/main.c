/*
 * main.c - the program `hone`. It has a table of commands and runs the command that argv names.
 */
#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/names.h"
#if __has_include("version.h")
#include "version.h" /* the Makefile writes it, from CHANGELOG.md and git */
#endif

#ifndef HONE_VERSION
#define HONE_VERSION "0"
#define HONE_COMMIT ""
#endif

const char hone_version[] = HONE_VERSION;
const char hone_commit[] = HONE_COMMIT;

#ifdef HONE_TESTING
const bool hone_testing = true;
#else
const bool hone_testing = false;
#endif

/* The commands, in the order in which --help lists them. */
static const struct command *const table[] = {
    &cmd_optimize, &cmd_bench,    &cmd_eval,    &cmd_emu,     &cmd_profile,
    &cmd_resume,   &cmd_runs,     &cmd_show,    &cmd_compare, &cmd_log,
    &cmd_diff,     &cmd_report,   &cmd_serve,   &cmd_export,  &cmd_import,
    &cmd_task,     &cmd_playbook, &cmd_memory,  &cmd_study,   &cmd_compile,
    &cmd_cache,    &cmd_worker,   &cmd_workers, &cmd_doctor,  &cmd_mcp,
};

int main(int argc, char **argv)
{
    const struct program p = {
        "hone",
        HONE_VERSION,
        "Writes fast GPU kernels for a task and verifies them.\n"
        "RUN is a run's name, a unique beginning of it, its last part (3f2a of\n"
        "softmax-refine-3f2a), its number in the list of `hone runs`, or `last`.\n"
        "TASK is a built-in task (`hone task list`), a task's folder, or its task.json.",
        table,
        ARRAY_LEN(table),
        cmd_names};
    return program_main(&p, argc, argv);
}
