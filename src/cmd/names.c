/* names.c - prints the names that a shell can complete: tasks, runs, authors, and the values of
 * options. */
#include "cmd/names.h"

#include "agent/agent.h"
#include "author/author.h"
#include "base/util.h"
#include "cmd/optimize_run.h"
#include "export/export.h"

static void print_tasks(FILE *out)
{
    struct arena mem = ARENA_INIT;
    const char **names;
    size_t n = task_builtin_names(&mem, &names);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s\tbuilt-in task\n", names[i]);
    arena_release(&mem);
}

/* Reads the default store. Prints nothing if there is none. */
static void print_runs(FILE *out)
{
    struct arena mem = ARENA_INIT;
    struct run_rec_vec list = VEC_INIT;
    struct store *s = NULL;
    if (store_open_read(&s, cmd_store_path(NULL), NULL) == 0 &&
        store_run_list(s, &list, &mem, NULL) == 0 && list.n) {
        fprintf(out, "last\tthe newest run\n");
        vec_each (struct run_rec, r, &list)
            fprintf(out, "%s\t%s\n", r->name, r->state);
    }
    vec_release(&list);
    arena_release(&mem);
    store_close(s);
}

static void print_authors(FILE *out)
{
    const struct author_ops *a;
    for (size_t i = 0; (a = author_nth(i)); i++)
        fprintf(out, "%s%s\t%s\n", a->scheme, str_eq(a->scheme, "playbook") ? "" : ":", a->about);
}

static bool print_words(const char *const *words, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s\n", words[i]);
    return true;
}

static bool print_values(const char *option, FILE *out)
{
    static const char *const compilers[] = {"nvrtc", "nvcc"}, *const devices[] = {"emu", "cuda"};
    static const char *const places[] = {"local", "local:all", "slurm", "spool:"};
    if (str_eq(option, "dialect"))
        return print_words(dialect_names, DIALECTS, out);
    if (str_eq(option, "compiler"))
        return print_words(compilers, ARRAY_LEN(compilers), out);
    if (str_eq(option, "device"))
        return print_words(devices, ARRAY_LEN(devices), out);
    if (str_eq(option, "on"))
        return print_words(places, ARRAY_LEN(places), out);
    if (str_eq(option, "strategy")) {
        for (size_t i = 0; strategy_table[i]; i++)
            fprintf(out, "%s\t%s\n", strategy_table[i]->name, strategy_table[i]->about);
        return true;
    }
    if (str_eq(option, "as")) {
        for (size_t i = 0; i < nexport_formats; i++)
            fprintf(out, "%s\n", export_formats[i]->name);
        return true;
    }
    return false;
}

bool cmd_names(const char *placeholder, const char *option, FILE *out)
{
    if (str_eq(placeholder, "TASK"))
        print_tasks(out);
    else if (str_eq(placeholder, "RUN"))
        print_runs(out);
    else if (str_eq(placeholder, "WHO"))
        print_authors(out);
    else
        return print_values(option, out);
    return true;
}
