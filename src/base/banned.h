/*
 * banned.h - functions that are too easy to misuse; using one is a compile error. Use strbuf.h,
 * snprintf or arena_printf instead.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <string.h>

#pragma GCC poison strcpy strcat strncpy strncat strtok sprintf vsprintf gets

#endif
