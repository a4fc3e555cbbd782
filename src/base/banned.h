/*
 * banned.h - functions whose misuse is too easy; using one is a compile error.
 * strbuf.h, snprintf and arena_printf are what to use instead.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <string.h>

#pragma GCC poison strcpy strcat strncpy strncat strtok sprintf vsprintf gets

#endif
