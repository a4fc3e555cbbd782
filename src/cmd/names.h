/*
 * names.h - prints the names that a shell can complete. sys/command.h describes cmd_names(), as the
 * member `names` of struct program.
 */
#ifndef CMD_NAMES_H
#define CMD_NAMES_H

#include <stdbool.h>
#include <stdio.h>

bool cmd_names(const char *placeholder, const char *option, FILE *out);

#endif
