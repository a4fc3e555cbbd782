/*
 * check.c - checks a task's workloads, and whether its reference.c compiles. check_oracle.c checks
 * what reference.c computes.
 */
#include "task/check.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "sys/file.h"
#include "sys/proc.h"
#include "task/check_oracle.h"
#include "task/oracle.h"

static const struct task_place nowhere = {0, 0};

/* ---- workloads ------------------------------------------------------------------------------- */

static void check_smoke_size(const struct shape *s, struct task_check_result *r)
{
    for (size_t i = 0; i < s->task->tensors.n; i++)
        if (s->elems[i] > TASK_SMOKE_ELEMS)
            check_say(&r->problems, s->task, s->workload->place,
                      "a tensor of a smoke workload must have at most %d elements, but '%s' has "
                      "%llu",
                      TASK_SMOKE_ELEMS, s->task->tensors.items[i].name,
                      (unsigned long long)s->elems[i]);
}

/* Checks the key `bytes`, which says how many bytes every kernel must at least read and write. If
 * this number is too high, Hone takes an honest kernel for a cheat. We report only the first
 * workload that shows this; `told` and the result say whether one was reported. */
static bool check_bytes(const struct shape *s, bool told, struct task_check_result *r)
{
    const struct task *t = s->task;
    int64_t declared = t->bytes ? shape_eval(s, t->bytes, NULL) : 0;
    uint64_t most = 0;
    for (size_t i = 0; i < t->tensors.n; i++)
        most += s->elems[i] * dtype_bytes(t->tensors.items[i].dtype) *
                (uint64_t)(t->tensors.items[i].is_input + t->tensors.items[i].is_output);
    bool high = declared > 0 && (uint64_t)declared > most;
    if (high && !told)
        check_say(
            &r->problems, t, s->workload->place,
            "this workload: \"bytes\" is %lld, but reading each input and writing each output once "
            "takes only %llu",
            (long long)declared, (unsigned long long)most);
    return high || told;
}

static bool same_workload(const struct task *t, const struct task_workload *a,
                          const struct task_workload *b)
{
    for (size_t i = 0; i < t->axes.n; i++)
        if (a->axes[i].lo != b->axes[i].lo || a->axes[i].hi != b->axes[i].hi ||
            a->axes[i].multiple != b->axes[i].multiple)
            return false;
    for (size_t i = 0; i < t->tensors.n; i++)
        if ((a->offsets ? a->offsets[i] : a->offset_elems) !=
            (b->offsets ? b->offsets[i] : b->offset_elems))
            return false;
    return a->role == b->role && a->align_bytes == b->align_bytes;
}

static void check_duplicates(const struct task *t, struct task_check_result *r)
{
    for (size_t i = 1; i < t->workloads.n; i++)
        for (size_t k = 0; k < i; k++)
            if (same_workload(t, &t->workloads.items[i], &t->workloads.items[k])) {
                check_say(&r->problems, t, t->workloads.items[i].place,
                          "this workload is the same as the one in line %u",
                          t->workloads.items[k].place.line);
                break;
            }
}

/* Some held-out shapes must come from a range. If task.json listed every shape, an author could
 * write a kernel for just these. */
static void check_heldout_varies(const struct task *t, struct task_check_result *r)
{
    const struct task_workload *one = NULL;
    bool can_vary = false;
    for (size_t i = 0; i < t->axes.n; i++)
        can_vary |= !t->axes.items[i].is_const;
    vec_each (const struct task_workload, w, &t->workloads)
        for (size_t i = 0; w->role == ROLE_HELDOUT && i < t->axes.n; i++) {
            one = w;
            if (w->axes[i].lo < w->axes[i].hi)
                return;
        }
    if (one && can_vary)
        check_say(&r->problems, t, one->place,
                  "no held-out workload has a range, so every shape is known beforehand; give an "
                  "axis a range such as [1, 64]");
}

static void check_workloads(const struct task *t, struct task_check_result *r)
{
    check_duplicates(t, r);
    check_heldout_varies(t, r);
    size_t count[ROLE_COUNT] = {0};
    bool told = false;
    for (size_t i = 0; i < t->workloads.n; i++) {
        const struct task_workload *w = &t->workloads.items[i];
        struct arena a = ARENA_INIT;
        struct shape s;
        count[w->role]++;
        if (shape_resolve(&s, t, w, 1, &a, NULL) == 0) {
            if (w->role == ROLE_SMOKE && !t->no_small_shape)
                check_smoke_size(&s, r);
            told = check_bytes(&s, told, r);
        }
        arena_release(&a);
    }
    for (int role = 0; role < ROLE_COUNT; role++)
        if (!count[role])
            check_say(t->is_definition ? &r->notes : &r->problems, t, t->workloads_place,
                      "no workload of role \"%s\"", workload_role_name((enum workload_role)role));
}

/* ---- reference.c ----------------------------------------------------------------------------- */

/* The macros of hone_ref.h turn the name x of a tensor into HD_x. If the compiler does not know
 * HD_x, reports once that the task has no tensor x. Returns false for any other message. */
static bool tell_unknown_tensor(const struct task *t, const char *text, struct task_check_result *r)
{
    const char *error = strstr(text, "error:"), *at = error ? strstr(error, "HD_") : NULL;
    if (!at || memchr(error, '\n', (size_t)(at - error)))
        return false;
    at += 3;
    size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    const char *place = strstr(at, "reference.c:");
    unsigned long line = place ? strtoul(place + strlen("reference.c:"), NULL, 10) : 0;
    struct strbuf known = STRBUF_INIT(2000);
    vec_each (const struct task_tensor, x, &t->tensors)
        strbuf_addf(&known, "%s%s", known.len ? ", " : "", x->name);
    if (!r->problems.n || !strstr(r->problems.items[r->problems.n - 1].text, "has no tensor"))
        check_say(&r->problems, t, nowhere,
                  "reference.c:%lu: the task has no tensor '%.*s'; it has %s", line, (int)n, at,
                  known.buf);
    strbuf_release(&known);
    return true;
}

/* Reports that the compiler was killed, or that it failed without a message. */
static void tell_compiler_end(const struct task *t, const struct child_process *c,
                              const char *language, struct task_check_result *r)
{
    struct strbuf how = STRBUF_INIT(256);
    child_describe(c, &how);
    check_say(&r->problems, t, nowhere, "reference.c could not be checked as %s: %s: %s", language,
              c->argv[0], how.buf);
    strbuf_release(&how);
}

static void compile_as(const struct task *t, const char *path, const char *const *argv,
                       const char *language, struct task_check_result *r)
{
    struct child_process c = CHILD_INIT;
    struct err err = ERR_INIT;
    char *dir = xasprintf("TMPDIR=%.*s", (int)(strrchr(path, '/') - path), path);
    c.argv = argv;
    c.env = (const char *[]){dir, NULL};
    c.merge = true;
    c.limit_ns = ORACLE_COMPILE_NS;
    c.limit_cpu_ns = ORACLE_COMPILE_CPU_NS;
    c.limit_bytes = 2ull << 30;
    if (child_run(&c, &err) < 0)
        check_say(&r->notes, t, nowhere, "reference.c was not checked as %s: %s", language,
                  err.msg);
    else if (c.end != CHILD_EXITED || (c.code != 0 && !c.out.len))
        tell_compiler_end(t, &c, language, r);
    else if (c.code != 0 && !tell_unknown_tensor(t, c.out.buf, r))
        check_say(&r->problems, t, nowhere, "reference.c does not compile cleanly as %s:\n%.1500s",
                  language, c.out.buf);
    child_release(&c);
    free(dir);
}

static const char *compiler(const char *variable, const char *standard)
{
    const char *v = getenv(variable);
    return v && *v && !strchr(v, ' ') ? v : standard;
}

/* Reports each use of hone-> in reference.c, because Hone can check only accesses that go through
 * the macros. */
static void check_macros(const struct task *t, struct task_check_result *r)
{
    unsigned line = 1;
    for (const char *p = t->reference_c; *p; p++) {
        line += *p == '\n';
        if (str_starts(p, "hone->") &&
            (p == t->reference_c || (!isalnum((unsigned char)p[-1]) && p[-1] != '_')))
            check_say(&r->problems, t, nowhere,
                      "reference.c:%u: reference.c must not use hone->, because Hone cannot check "
                      "such accesses; use IN, OUT, OUT_VALUE, SCRATCH, AX and SC",
                      line);
    }
}

enum { QUICK_BYTES = 200000 };

static bool check_source(const struct task *t, const char *dir, struct task_check_result *r)
{
    struct strbuf text = STRBUF_INIT(ORACLE_MAX_BYTES);
    struct err err = ERR_INIT;
    char *path = xasprintf("%s/oracle.c", dir);
    size_t before = r->problems.n;
    check_macros(t, r);
    if (oracle_source(t, &text, &err) < 0 || file_write(path, text.buf, text.len, &err) < 0) {
        check_fail(r, t, &err);
    } else {
        /* -O2 also finds variables that are read before they are set. For a long text that Hone
         * wrote, -O2 takes too long. */
        bool quick = t->graph_json && text.len > QUICK_BYTES;
        const char *cc[] = {compiler("CC", "cc"),
                            "-std=c17",
                            "-Wall",
                            "-Werror",
                            quick ? "-fsyntax-only" : "-O2",
                            "-c",
                            "-o",
                            "/dev/null",
                            path,
                            NULL};
        const char *cxx[] = {compiler("CXX", "c++"), "-std=c++17", "-x", "c++", "-Wall", "-Werror",
                             "-fsyntax-only",        path,         NULL};
        compile_as(t, path, cc, "C17", r);
        compile_as(t, path, cxx, "C++17", r);
    }
    free(path);
    strbuf_release(&text);
    return r->problems.n == before;
}

/* Adds a note for each float output without an error budget. A budget of 0 counts as none: its
 * author may want no error at all, but 0 switches the check off. */
static void check_budgets(const struct task *t, struct task_check_result *r)
{
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_output && dtype_is_float(x->dtype) && !(x->budget > 0) && !t->is_definition)
            check_say(&r->notes, t, x->place,
                      "'%s' has no error budget, so a kernel may compute it in a lower precision "
                      "wherever rtol and atol allow that: give it a \"budget\" above 0",
                      x->name);
}

void task_check(const struct task *t, struct task_check_result *r)
{
    struct temp_dir dir = TEMP_DIR_INIT;
    struct err err = ERR_INIT;
    const char *base = strrchr(t->dir, '/') ? strrchr(t->dir, '/') + 1 : t->dir;
    if (*base && *base != '.' && !t->is_definition && !str_eq(base, t->name))
        check_say(&r->notes, t, nowhere,
                  "the directory is called '%s', but the task is called '%s'", base, t->name);
    for (size_t i = 0; i < t->unchecked.n; i++)
        check_say(&r->notes, t, nowhere, "constraint not checked: %s", t->unchecked.items[i]);
    vec_each (struct task_scalar, sc, &t->scalars)
        if (!sc->has_value)
            check_say(&r->notes, t, nowhere, "scalar '%s' has no value here; 1 is assumed",
                      sc->name);
    check_budgets(t, r);
    check_workloads(t, r);
    if (!t->reference_c || !t->phases.n) {
        check_say(&r->notes, t, nowhere,
                  "the task has no oracle in C, so only PyTorch can compute its truth");
        return;
    }
    if (temp_dir_make(&dir, &err) < 0) {
        check_fail(r, t, &err);
        return;
    }
    if ((r->oracle_so && file_exists(r->oracle_so)) || check_source(t, dir.path, r))
        check_oracle(t, dir.path, r);
    temp_dir_release(&dir);
}
