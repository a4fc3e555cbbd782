/*
 * commands.h - declares all subcommands. Each is defined at the end of cmd/NAME.c.
 */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

#include "cmd/command.h"

extern const struct command cmd_bench;
extern const struct command cmd_cache;
extern const struct command cmd_compare;
extern const struct command cmd_compile;
extern const struct command cmd_diff;
extern const struct command cmd_doctor;
extern const struct command cmd_eval;
extern const struct command cmd_emu;
extern const struct command cmd_export;
extern const struct command cmd_import;
extern const struct command cmd_log;
extern const struct command cmd_mcp;
extern const struct command cmd_memory;
extern const struct command cmd_optimize;
extern const struct command cmd_playbook;
extern const struct command cmd_profile;
extern const struct command cmd_report;
extern const struct command cmd_resume;
extern const struct command cmd_runs;
extern const struct command cmd_serve;
extern const struct command cmd_show;
extern const struct command cmd_study;
extern const struct command cmd_task;
extern const struct command cmd_worker;
extern const struct command cmd_workers;

#endif
