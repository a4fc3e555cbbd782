/*
 * names.h - the names that a shell can complete (`names` of struct program, sys/command.h).
 */
#ifndef CMD_NAMES_H
#define CMD_NAMES_H

#include <stdbool.h>
#include <stdio.h>

bool cmd_names(const char *placeholder, const char *option, FILE *out);

#endif
