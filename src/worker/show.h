/* show.h - prints a result as text, one fact in each line, for people and for tests. */
#ifndef WORKER_SHOW_H
#define WORKER_SHOW_H

#include <stdio.h>

#include "base/err.h"

/* Prints a result.bin or progress.bin. */
int show_result(const char *path, FILE *out, struct err *err);

#endif
