/* slurm_spec.c - reads the options of `--on slurm:...`. See slurm_spec.h. */
#include "sched/slurm_spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static const char *const passed[] = {"partition", "account", "qos",  "constraint",
                                     "gres",      "time",    "cpus", "mem"};

static int read_count(const char *key, const char *text, unsigned most, unsigned *out,
                      struct err *err)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (!*text || *end || n < 1 || n > most)
        return err_set(err, ERR_USAGE, "--on slurm: %s=%s is not a number from 1 to %u", key, text,
                       most);
    *out = (unsigned)n;
    return 0;
}

/* The value becomes one argument of sbatch. Only characters that sbatch itself uses are allowed, so
 * that a mistake gets a clear error. */
static int pass_on(struct slurm_spec *s, const char *key, const char *value, struct arena *a,
                   struct err *err)
{
    size_t n = 0;
    if (!*value || strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "_-.:=&|[]()*@+/!") != strlen(value))
        return err_set(
            err, ERR_USAGE,
            "--on slurm: '%s' is not a value of %s: use letters, digits and _-.:=&|[]()*@+/!",
            value, key);
    while (s->options[n])
        n++;
    const char *option = str_eq(key, "cpus") ? "cpus-per-task" : key;
    s->options[n] = arena_printf(a, "--%s=%s", option, value);
    if (str_eq(key, "gres"))
        s->gres = value;
    if (str_eq(key, "time"))
        s->time = value;
    return 0;
}

static int set(struct slurm_spec *s, const char *key, const char *value, struct arena *a,
               struct err *err)
{
    if (str_eq(key, "max-workers"))
        return read_count(key, value, 10000, &s->most, err);
    if (str_eq(key, "idle"))
        return read_count(key, value, 86400, &s->idle_s, err);
    if (str_eq(key, "dir")) {
        s->dir = value;
        return *value == '/' ? 0
                             : err_set(err, ERR_USAGE,
                                       "--on slurm: dir=%s is not a full path: all nodes must see "
                                       "the directory under this name",
                                       value);
    }
    for (size_t i = 0; i < ARRAY_LEN(passed); i++)
        if (str_eq(key, passed[i]))
            return pass_on(s, key, value, a, err);
    return err_set(err, ERR_USAGE,
                   "--on slurm: unknown key '%s': use partition, account, qos, constraint, gres, "
                   "time, cpus, mem, max-workers, idle, dir, prolog",
                   key);
}

static bool given_twice(const char *seen, const char *key, struct arena *a)
{
    return strstr(seen, arena_printf(a, ",%s,", key)) != NULL;
}

int slurm_spec_read(struct slurm_spec *out, const char *text, struct arena *a, struct err *err)
{
    *out = (struct slurm_spec){.most = 8, .idle_s = 120};
    const char *seen = ",";
    while (*text) {
        size_t n = strcspn(text, "=,");
        const char *key = arena_printf(a, "%.*s", (int)n, text);
        if (text[n] != '=')
            return err_set(err, ERR_USAGE, "--on slurm: '%s' needs a value: write %s=VALUE", key,
                           key);
        if (given_twice(seen, key, a))
            return err_set(err, ERR_USAGE, "--on slurm: %s is given twice", key);
        seen = arena_printf(a, "%s%s,", seen, key);
        text += n + 1;
        if (str_eq(key, "prolog")) {
            out->prolog = arena_strdup(a, text);
            return strchr(text, '\n') ? err_set(err, ERR_USAGE, "--on slurm: prolog is one line")
                                      : 0;
        }
        n = strcspn(text, ",");
        if (set(out, key, arena_printf(a, "%.*s", (int)n, text), a, err) < 0)
            return -1;
        text += n + (text[n] == ',');
    }
    return 0;
}
