/*
 * command.h - helpers that the subcommands of `hone` share. sys/command.h says how to write a
 * subcommand. Declare it in commands.h, and add it to the table of main.c.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "sys/command.h"

/* The cap on a kernel file, in bytes. The compile service has a lower cap, and its own message. */
enum { CMD_MAX_SOURCE = 128 << 20 };

/* True only in the program `hone-test` (docs/testing.md), which can switch off a detector. */
extern const bool hone_testing;
extern const char hone_version[]; /* "0.3.0" */
/* The commit of this program: "1a2b3c4d5e6f", with "+" if files had changed; "" = unknown. */
extern const char hone_commit[];

/* The help of options that several commands have. */
#define CMD_DEVICE_HELP                                                                  \
    "what runs the kernels: emu (the emulator, on the CPU), cuda (the GPUs of this\n"    \
    "machine if they are one model, else GPU 0; one job runs on one free GPU), cuda:N\n" \
    "(GPU N); default: cuda if this machine has a GPU or --on is remote, else emu"
#define CMD_ON_HELP                                                                        \
    "local (default): this machine, on the GPUs of --device. local:0,2: each job on one\n" \
    "of these GPUs; local:all: on any GPU (neither beside cuda:N). Hone does not check\n"  \
    "that these are one model. With emu: as many jobs at a time as numbers are listed,\n"  \
    "else as there are cores.\n"                                                           \
    "Remote: spool:DIR (of `hone worker --spool DIR`) or slurm[:KEY=VALUE,...] with the\n" \
    "keys partition, account, time, max-workers, ... (docs/scale.md)"
#define CMD_GPU_HELP                                                                       \
    "the GPU's data sheet: a100, b200, h100, h200, l4, rtx4090 or a JSON file (default:\n" \
    "that of the local GPU if kernels run on it, else h200: also with emu and a remote\n"  \
    "--on). It sets the emulator's times, the least time that Hone believes, and the\n"    \
    "roofline (but Hone measures that of a local GPU)"
#define CMD_ALL_HELP "list every wrong workload, not only the first few"
#define CMD_ARCH_HELP                                                                    \
    "compile for this architecture: sm_75 ... sm_121a (default: that of the local GPU\n" \
    "in use, else that of --gpu)"
#define CMD_COMPILER_HELP "nvrtc or nvcc (default: nvrtc if it is installed, else nvcc)"
#define CMD_MEASURE_HELP                                                                   \
    "on a GPU: time the kernel and its baselines for at most about TIME, all shapes\n"     \
    "together (default 2s): less if the medians are known to 1%, more if a few calls of\n" \
    "each take longer (up to 11; a baseline of over 50 ms gets one)"
#define CMD_VARIANTS_HELP                                                                  \
    "on a GPU: also time these variants of PyTorch; `all`, or some of them with commas:\n" \
    "max-autotune: torch.compile in its mode max-autotune, a further baseline;\n"          \
    "high: products in TF32, its result is not judged;\n"                                  \
    "channels-last: inputs in channels-last layout, converted before the timed call;\n"    \
    "channels-last-timed: converted in the timed call;\n"                                  \
    "frozen-weights: weights are constants that the compiler prepares beforehand. The\n"   \
    "last four only run beside: their times and ratios are shown, but Hone does not\n"     \
    "compare the kernel with them"

/* Reads a kernel file. If the file is too large for any compiler, the error's kind is ERR_INPUT:
 * the file is at fault, not the machine. */
int cmd_read_source(const char *path, struct strbuf *out, struct err *err);
/* Prints an author's text. On a terminal, replaces control characters by '?'. */
void cmd_print_foreign(const char *text, size_t len);

#endif
