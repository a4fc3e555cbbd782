/*
 * cache.c - `hone cache`: shows what the compile cache holds, and makes it smaller.
 */
#include <stdio.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "compile/cache.h"
#include "sys/json.h"

static void print(const struct cache *c, const struct cache_stat *st)
{
    const struct {
        struct cache_part part;
        const char *what;
    } parts[] = {{st->entries, "results"},
                 {st->headers, "precompiled headers"},
                 {st->families, "precompiled headers of families"},
                 {st->temps, "temporary files"}};
    printf("%s: %.2f GiB of at most %.2f GiB\n", c->dir, (double)st->total_bytes / (1u << 30),
           (double)c->max_bytes / (1u << 30));
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        printf("  %10.1f MiB  %llu %s\n", (double)parts[i].part.bytes / (1u << 20),
               (unsigned long long)parts[i].part.n, parts[i].what);
    if (st->bad)
        printf("  %llu damaged, removed\n", (unsigned long long)st->bad);
    if (st->removed)
        printf("  %llu removed, %.1f MiB\n", (unsigned long long)st->removed,
               (double)st->removed_bytes / (1u << 20));
}

static void print_json(const struct cache *c, const struct cache_stat *st)
{
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"max_bytes", c->max_bytes},
                   {"total_bytes", st->total_bytes},
                   {"entries", st->entries.n},
                   {"entry_bytes", st->entries.bytes},
                   {"headers", st->headers.n},
                   {"header_bytes", st->headers.bytes},
                   {"families", st->families.n},
                   {"family_bytes", st->families.bytes},
                   {"temps", st->temps.n},
                   {"temp_bytes", st->temps.bytes},
                   {"bad", st->bad},
                   {"removed", st->removed},
                   {"removed_bytes", st->removed_bytes}};
    json_t *j = json_pack("{s:o}", "dir", json_text(c->dir));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        json_object_set_new(j, numbers[i].key, json_integer((json_int_t)numbers[i].value));
    json_print(stdout, j);
    json_decref(j);
}

/* Opens the cache, calls `act` and prints what the cache then holds. */
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
        (json ? print_json : print)(&c, &st);
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
        OPT_FLAG(0, "verify", &verify, "read every entry and header; remove damaged ones"),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {.usage = "hone cache stat [options]",
                                 .about = "Shows what the compile cache holds.",
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
        OPT_BYTES(0, "max", &max, "SIZE",
                  "the most the cache may keep (default: HONE_CACHE_MAX, else 8G)"),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {.usage = "hone cache prune [options]",
                                 .about = "Removes the entries that were used longest ago.",
                                 .example = "hone cache prune --max 1G",
                                 .opts = opts};
    cmd_parse(&spec, &argc, argv);
    return argc ? cmd_usage(&spec, "unexpected '%s'", argv[0]) : with_cache(prune, &max, json);
}

static const struct command stat_command = {"stat", "what it holds", run_stat};
static const struct command prune_command = {"prune", "remove entries used longest ago", run_prune};
static const struct command *const parts[] = {&stat_command, &prune_command};

static int run(int argc, const char **argv)
{
    const struct option opts[] = {OPT_END()};
    const struct options spec = {.usage = "hone cache stat [options]\nhone cache prune [options]",
                                 .about = "The compile cache: results and precompiled headers.",
                                 .example = "hone cache stat\nhone cache prune --max 1G",
                                 .opts = opts,
                                 .stop_at_operand = true};
    return cmd_forms("cache", &spec, parts, ARRAY_LEN(parts), argc, argv);
}

const struct command cmd_cache = {"cache", "the compile cache: stat, prune", run};
