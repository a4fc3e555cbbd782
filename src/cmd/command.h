/*
 * command.h - helpers that the subcommands of `hone` share. sys/command.h says how to write a
 * subcommand; declare it in commands.h and add it to the table of main.c.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "sys/command.h"

/* The cap on a kernel file, in bytes. The compile service has a lower cap. If a file is between the
 * two caps, the user sees the message of the service. */
enum { CMD_MAX_SOURCE = 128 << 20 };

/* True only in the program `hone-test` (docs/testing.md), which can switch a detector off. */
extern const bool hone_testing;
extern const char hone_version[]; /* "0.3.0" */
/* The commit that this program was built from: "1a2b3c4d5e6f", with "+" if files had changed; "" =
 * unknown. */
extern const char hone_commit[];

/* The help of options that several commands have. */
#define CMD_DEVICE_HELP                                                                  \
    "what runs the kernels: emu (the emulator), cuda (all GPUs if they are one model,\n" \
    "else GPU 0), cuda:N; default: cuda if a GPU is here or --on is remote, else emu"
#define CMD_ON_HELP                                                                        \
    "where they run: local (this machine, default), local:all (all its GPUs), local:0,2\n" \
    "(these GPUs; on the emulator two bundles at once), or remote: spool:DIR,\n"           \
    "slurm[:KEY=VALUE,...] (docs/scale.md)"
#define CMD_GPU_HELP                                                                     \
    "the data sheet of the emulator, of the least time that a kernel can take, and of\n" \
    "a roofline that is not measured: a100, b200, h100, h200, l4, rtx4090 or a JSON\n"   \
    "file (default: that of the local GPU in use, else h200)"
#define CMD_ALL_HELP "list every wrong workload, not only the first few"
#define CMD_ARCH_HELP                                                                    \
    "compile for this architecture: sm_75 ... sm_121a (default: that of the local GPU\n" \
    "in use, else that of --gpu)"
#define CMD_COMPILER_HELP "nvrtc or nvcc (default: nvrtc if it is there)"
#define CMD_MEASURE_HELP                                                             \
    "on a GPU: how long to time the kernel and its baselines, all shapes together\n" \
    "(default 2s)"

/* Reads a kernel file. If the file is too large for any compiler, the error's kind is
 * ERR_INPUT, because the file is at fault and not the machine. */
int cmd_read_source(const char *path, struct strbuf *out, struct err *err);
/* Prints text from an author. If stdout is a terminal, replaces control characters by '?'. */
void cmd_print_foreign(const char *text, size_t len);

#endif
