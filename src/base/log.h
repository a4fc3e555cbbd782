/*
 * log.h - messages about Hone's own work, on stderr, filtered by HONE_LOG.
 *
 *     log_info("compile", "cache hit %s", key);
 *
 * HONE_LOG=debug shows everything. HONE_LOG=author:debug,emu:info sets levels for two areas; an
 * area is the first argument of a call, such as "compile" in the call above. The levels are error,
 * warn, info and debug. The default is warn. Results of commands go to stdout, never to the log.
 * API keys never reach the log.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

bool log_enabled(const char *area, enum log_level level);
void log_at(const char *area, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(area, ...) log_at(area, LOG_ERROR, __VA_ARGS__)
#define log_warn(area, ...) log_at(area, LOG_WARN, __VA_ARGS__)
#define log_info(area, ...) log_at(area, LOG_INFO, __VA_ARGS__)
#define log_debug(area, ...) log_at(area, LOG_DEBUG, __VA_ARGS__)

#endif
