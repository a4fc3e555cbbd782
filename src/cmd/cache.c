/*
 * cache.c - `hone cache`: what the compile cache holds, and making it smaller.
 */
#include <stdio.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "compile/cache.h"
#include "sys/json.h"

static void print(const struct cache *c, const struct cache_stat *st, bool json)
{
    if (json) {
        json_t *j = json_pack(
            "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "dir", c->dir, "entries",
            (json_int_t)st->entries, "entry_bytes", (json_int_t)st->entry_bytes, "headers",
            (json_int_t)st->headers, "header_bytes", (json_int_t)st->header_bytes, "bad",
            (json_int_t)st->bad, "removed", (json_int_t)st->removed, "removed_bytes",
            (json_int_t)st->removed_bytes, "max_bytes", (json_int_t)c->max_bytes);
        json_print(stdout, j);
        json_decref(j);
        return;
    }
    printf("%s, at most %.1f GiB\n", c->dir, (double)c->max_bytes / (1u << 30));
    printf("  %llu entries, %.1f MiB\n", (unsigned long long)st->entries,
           (double)st->entry_bytes / (1u << 20));
    printf("  %llu precompiled headers, %.1f MiB\n", (unsigned long long)st->headers,
           (double)st->header_bytes / (1u << 20));
    if (st->bad)
        printf("  %llu damaged entries removed\n", (unsigned long long)st->bad);
    if (st->removed)
        printf("  %llu files, %.1f MiB removed\n", (unsigned long long)st->removed,
               (double)st->removed_bytes / (1u << 20));
}

/* Opens the cache, does one thing with it and prints what it holds then. */
static int with_cache(int (*act)(struct cache *, const void *, struct cache_stat *, struct err *),
                      const void *arg, bool json)
{
    struct err err = ERR_INIT;
    struct cache c;
    struct cache_stat st;
    if (cache_open(&c, NULL, &err) < 0)
        return cmd_fail(&err);
    int rc = act(&c, arg, &st, &err);
    if (rc == 0)
        print(&c, &st, json);
    cache_release(&c);
    return rc < 0 ? cmd_fail(&err) : HONE_OK;
}

static int look(struct cache *c, const void *verify, struct cache_stat *st, struct err *err)
{
    return cache_stat(c, *(const bool *)verify, st, err);
}

static int prune(struct cache *c, const void *max, struct cache_stat *st, struct err *err)
{
    uint64_t bytes = *(const uint64_t *)max;
    return cache_prune(c, bytes == UINT64_MAX ? c->max_bytes : bytes, st, err);
}

static int run_stat(int argc, const char **argv)
{
    bool json = false, verify = false;
    const struct option opts[] = {
        OPT_FLAG(0, "verify", &verify, "read every entry; remove damaged ones"),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {.usage = "hone cache stat [options]",
                                 .about = "Says what the compile cache holds.",
                                 .example = "hone cache stat --verify",
                                 .opts = opts};
    cmd_parse(&spec, &argc, argv);
    return argc ? cmd_usage(&spec, "unexpected '%s'", argv[0]) : with_cache(look, &verify, json);
}

static int run_prune(int argc, const char **argv)
{
    bool json = false;
    uint64_t max = UINT64_MAX;
    const struct option opts[] = {
        OPT_BYTES(0, "max", &max, "SIZE", "bytes to leave (default: HONE_CACHE_MAX, 8G)"),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {.usage = "hone cache prune [options]",
                                 .about = "Removes what was used longest ago.",
                                 .example = "hone cache prune --max 1G",
                                 .opts = opts};
    cmd_parse(&spec, &argc, argv);
    return argc ? cmd_usage(&spec, "unexpected '%s'", argv[0]) : with_cache(prune, &max, json);
}

static const struct command stat_command = {"stat", "what it holds", run_stat};
static const struct command prune_command = {"prune", "remove what was used longest ago",
                                             run_prune};
static const struct command *const parts[] = {&stat_command, &prune_command};

static int run(int argc, const char **argv)
{
    const struct option opts[] = {OPT_END()};
    const struct options spec = {.usage = "hone cache stat [options]\nhone cache prune [options]",
                                 .about = "The compile cache: results and precompiled headers.",
                                 .example = "hone cache stat\nhone cache prune --max 1G",
                                 .opts = opts,
                                 .stop_at_operand = true};
    cmd_parse(&spec, &argc, argv);
    if (argc == 0)
        return cmd_usage(&spec, "give stat or prune");
    return cmd_dispatch("cache", parts, ARRAY_LEN(parts), argc, argv);
}

const struct command cmd_cache = {"cache", "the compile cache: stat, prune", run};
