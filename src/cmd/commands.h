/*
 * commands.h - every subcommand's one entry, each defined at the end of cmd/NAME.c.
 */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include "cmd/command.h"

extern const struct command cmd_compile;
extern const struct command cmd_doctor;
extern const struct command cmd_eval;
extern const struct command cmd_worker;

#endif
