/*
 * commands.h - declares the subcommands of `hone-gnn`. Each is defined at the end of
 * gnn/cmd/NAME.c; sys/command.h says how to write one. A new subcommand also needs an entry in the
 * table of main.c.
 */
#ifndef GNN_CMD_COMMANDS_H
#define GNN_CMD_COMMANDS_H

#include "sys/command.h"

extern const struct command gnn_cmd_bench;
extern const struct command gnn_cmd_import;
extern const struct command gnn_cmd_infer;
extern const struct command gnn_cmd_inspect;
extern const struct command gnn_cmd_make;
extern const struct command gnn_cmd_sample;
extern const struct command gnn_cmd_train;

#endif
