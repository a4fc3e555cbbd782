/*
 * workers.c - `hone workers`: lists the workers of spools, directories in which jobs wait. A living
 * worker increments a count in a file (spool/beat.h). The command reads each count twice, and calls
 * a worker silent if its count has not changed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "spool/beat.h"
#include "sys/file.h"
#include "sys/interrupt.h"
#include "sys/json.h"

struct listed {
    const char *spool;
    char *name;
    struct spool_beat first, last; /* the two readings */
};
VEC_DECL(listed_vec, struct listed);

/* Time between the readings. A worker increments its count at least every 2 s. */
static const struct timespec between = {.tv_sec = 2, .tv_nsec = 500000000};

static int read_spool(const char *dir, struct listed_vec *out, struct err *err)
{
    struct spool_fs *fs;
    struct spool_names names = VEC_INIT;
    char *workers = xasprintf("%s/workers", dir);
    bool is_spool = file_is_dir(workers);
    free(workers);
    if (!is_spool)
        return err_set(err, ERR_INPUT, "%s is not a spool: it has no folder workers/", dir);
    if (spool_fs_open(&fs, dir, err) < 0)
        return -1;
    fs->ops->list(fs, "workers", &names);
    vec_each (char *, p, &names) {
        struct listed *w = vec_push(out);
        w->spool = dir;
        w->name = xstrdup(*p);
        spool_beat_read(fs, *p, &w->first);
    }
    spool_names_release(&names);
    spool_fs_close(fs);
    return 0;
}

static void read_again(struct listed *w)
{
    struct spool_fs *fs;
    if (spool_fs_open(&fs, w->spool, NULL) < 0)
        return;
    if (spool_beat_read(fs, w->name, &w->last) < 0)
        w->name[0] = '\0'; /* the worker has left */
    spool_fs_close(fs);
}

/* Appends the spools of this user's runs on Slurm. */
static void find_spools(struct str_vec *out, struct arena *a)
{
    struct strbuf base = STRBUF_INIT(4096);
    struct name_vec names = VEC_INIT;
    if (user_cache_dir(&base, NULL) == 0) {
        strbuf_adds(&base, "/slurm");
        dir_list(base.buf, &names, NULL);
    }
    for (size_t i = 0; i < names.n; i++) {
        const char *dir = arena_printf(a, "%s/%s/spool", base.buf, names.items[i]);
        if (file_is_dir(dir))
            *vec_push(out) = dir;
    }
    name_vec_release(&names);
    strbuf_release(&base);
}

static const char *state_of(const struct listed *w)
{
    return w->last.count == w->first.count ? "silent" : w->last.note;
}

static void print_text(const struct listed_vec *list)
{
    size_t n = 0;
    vec_each (const struct listed, w, list) {
        if (!*w->name)
            continue;
        if (!n++)
            printf("%-34s %-32s %6s  %s\n", "worker", "state", "done", "bundle");
        printf("%-34s %-32s %6" PRIu64 "  %s\n", w->name, state_of(w), w->last.done,
               *w->last.claim ? w->last.claim : "-");
    }
    if (!n)
        puts("no workers");
}

static void print_as_json(const struct listed_vec *list)
{
    json_t *all = json_array();
    vec_each (const struct listed, w, list)
        if (*w->name)
            json_array_append_new(
                all, json_pack("{s:o, s:o, s:o, s:I, s:o}", "spool", json_text(w->spool), "worker",
                               json_text(w->name), "state", json_text(state_of(w)), "done",
                               (json_int_t)w->last.done, "bundle", json_text(w->last.claim)));
    json_print(stdout, all);
    json_decref(all);
}

static int run(int argc, const char **argv)
{
    bool json = false;
    const struct option opts[] = {OPT_FLAG(0, "json", &json, "print JSON"), OPT_END()};
    const struct options spec = {
        .usage = "hone workers [--json] [SPOOL_DIR...]",
        .about = "Lists the workers of spools: host, GPU, state, finished bundles. Without a\n"
                 "directory, lists those of your runs with --on slurm. Takes about 3 seconds,\n"
                 "because a worker shows only every 2 seconds that it lives.",
        .example = "hone workers /shared/spool",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    struct err err = ERR_INIT;
    struct arena mem = ARENA_INIT;
    struct str_vec dirs = VEC_INIT;
    struct listed_vec list = VEC_INIT;
    int rc = 0;
    for (int i = 0; i < argc; i++)
        *vec_push(&dirs) = argv[i];
    if (!argc)
        find_spools(&dirs, &mem);
    for (size_t i = 0; i < dirs.n && rc == 0; i++)
        rc = read_spool(dirs.items[i], &list, &err);
    if (rc == 0 && list.n) {
        nanosleep(&between, NULL);
        rc = interrupt_check(&err);
    }
    vec_each (struct listed, w, &list)
        read_again(w);
    if (rc == 0)
        (json ? print_as_json : print_text)(&list);
    vec_each (struct listed, w, &list)
        free(w->name);
    vec_release(&list);
    vec_release(&dirs);
    arena_release(&mem);
    return rc < 0 ? cmd_fail(&err) : HONE_OK;
}

const struct command cmd_workers = {"workers", "list the workers of spools", run};
