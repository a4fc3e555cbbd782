#include "task/check.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "job/compare_core.h"
#include "job/gen.h"
#include "sys/file.h"
#include "sys/interrupt.h"
#include "sys/proc.h"
#include "task/oracle.h"

#define COMPILE_NS (60ull * 1000 * 1000 * 1000)
#define ORACLE_SECONDS 60

static const struct task_place nowhere = {0, 0};

static void say(struct problem_vec *v, const struct task *t, struct task_place at, const char *fmt,
                ...) __attribute__((format(printf, 4, 5)));
static void say(struct problem_vec *v, const struct task *t, struct task_place at, const char *fmt,
                ...)
{
    struct strbuf sb = STRBUF_INIT(2200);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&sb, fmt, ap);
    va_end(ap);
    vec_push(v)->text = at.line ? xasprintf("%s:%u:%u: %s", t->file, at.line, at.column, sb.buf)
                                : xasprintf("%s: %s", t->file, sb.buf);
    strbuf_release(&sb);
}

/* ---- workloads ------------------------------------------------------------------------------- */

static void check_smoke_size(const struct shape *s, struct task_check_result *r)
{
    for (size_t i = 0; i < s->task->tensors.n; i++)
        if (s->elems[i] > TASK_SMOKE_ELEMS)
            say(&r->problems, s->task, s->workload->place,
                "a workload for smoke tests, but '%s' has %llu elements; at most %d",
                s->task->tensors.items[i].name, (unsigned long long)s->elems[i], TASK_SMOKE_ELEMS);
}

/* Checks `bytes`, the least traffic that the task declares. If it were too high, the judge would
 * say of an honest kernel that it is faster than possible. */
static void check_bytes(const struct shape *s, struct task_check_result *r)
{
    const struct task *t = s->task;
    int64_t declared = t->bytes ? shape_eval(s, t->bytes, NULL) : 0;
    uint64_t most = 0;
    for (size_t i = 0; i < t->tensors.n; i++)
        most += s->elems[i] * dtype_bytes(t->tensors.items[i].dtype) *
                (uint64_t)(t->tensors.items[i].is_input + t->tensors.items[i].is_output);
    if (declared > 0 && (uint64_t)declared > most)
        say(&r->problems, t, s->workload->place,
            "this workload: bytes says %lld, but reading every input and writing every output once "
            "moves %llu",
            (long long)declared, (unsigned long long)most);
}

static void check_workloads(const struct task *t, struct task_check_result *r)
{
    size_t count[ROLE_COUNT] = {0};
    for (size_t i = 0; i < t->workloads.n; i++) {
        const struct task_workload *w = &t->workloads.items[i];
        struct arena a = ARENA_INIT;
        struct shape s;
        count[w->role]++;
        if (shape_resolve(&s, t, w, 1, &a, NULL) == 0) {
            if (w->role == ROLE_SMOKE)
                check_smoke_size(&s, r);
            check_bytes(&s, r);
        }
        arena_release(&a);
    }
    for (int role = 0; role < ROLE_COUNT; role++)
        if (!count[role])
            say(t->is_definition ? &r->notes : &r->problems, t, t->workloads_place,
                "no workload of role \"%s\"", workload_role_name((enum workload_role)role));
}

/* ---- reference.c ----------------------------------------------------------------------------- */

static void compile_as(const struct task *t, const char *path, const char *const *argv,
                       const char *language, struct task_check_result *r)
{
    struct child_process c = CHILD_INIT;
    struct err err = ERR_INIT;
    c.argv = argv;
    c.merge = true;
    c.limit_ns = COMPILE_NS;
    c.limit_bytes = 2ull << 30;
    if (child_run(&c, &err) < 0)
        say(&r->notes, t, nowhere, "reference.c was not checked as %s: %s", language, err.msg);
    else if (c.end != CHILD_EXITED || c.code != 0)
        say(&r->problems, t, nowhere, "reference.c does not compile cleanly as %s:\n%.1500s",
            language, c.out.buf);
    child_release(&c);
}

static const char *compiler(const char *variable, const char *standard)
{
    const char *v = getenv(variable);
    return v && *v && !strchr(v, ' ') ? v : standard;
}

static bool check_source(const struct task *t, const char *dir, struct task_check_result *r)
{
    struct strbuf text = STRBUF_INIT(8u << 20);
    struct err err = ERR_INIT;
    char *path = xasprintf("%s/oracle.c", dir);
    size_t before = r->problems.n;
    if (oracle_source(t, &text, &err) < 0 || file_write(path, text.buf, text.len, &err) < 0) {
        say(&r->problems, t, nowhere, "%s", err.msg);
    } else {
        const char *cc[] = {compiler("CC", "cc"), "-std=c17", "-Wall", "-Werror",
                            "-fsyntax-only",      path,       NULL};
        const char *cxx[] = {compiler("CXX", "c++"), "-std=c++17", "-x", "c++", "-Wall", "-Werror",
                             "-fsyntax-only",        path,         NULL};
        compile_as(t, path, cc, "C17", r);
        compile_as(t, path, cxx, "C++17", r);
    }
    free(path);
    strbuf_release(&text);
    return r->problems.n == before;
}

/* ---- the oracle at one shape ----------------------------------------------------------------- */

struct truth {
    void *in[TASK_MAX_TENSORS];
    double *value[TASK_MAX_TENSORS], *mag[TASK_MAX_TENSORS];
    double *shared; /* all values and magnitudes, in memory shared with the child */
    size_t shared_bytes;
};

/* A NaN that no arithmetic produces: an element that still holds it was not written. */
static double unwritten(void)
{
    return compare_from_bits(0x7ff8dead0000beefu);
}

static int truth_init(struct truth *x, const struct shape *s, struct err *err)
{
    const struct task *t = s->task;
    size_t outs = 0, k = 0;
    *x = (struct truth){.shared = NULL};
    for (size_t i = 0; i < t->tensors.n; i++)
        outs += t->tensors.items[i].is_output ? s->elems[i] : 0;
    x->shared_bytes = 2 * outs * sizeof(double);
    x->shared =
        mmap(NULL, x->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (x->shared == MAP_FAILED) {
        x->shared = NULL;
        return err_errno(err, "memory for the oracle");
    }
    for (size_t i = 0; i < 2 * outs; i++)
        x->shared[i] = unwritten();
    for (size_t i = 0; i < t->tensors.n; i++) {
        const struct task_tensor *tensor = &t->tensors.items[i];
        struct gen_spec spec;
        if (tensor->is_output) {
            x->value[i] = x->shared + k;
            x->mag[i] = x->shared + outs + k;
            k += s->elems[i];
        }
        if (!tensor->is_input)
            continue;
        if (shape_init(s, i, &spec, err) < 0)
            return -1;
        x->in[i] = xmalloc(s->elems[i] * dtype_bytes(tensor->dtype));
        gen_fill(&spec, tensor->dtype, 1, (uint32_t)i, 0, s->elems[i], x->in[i]);
    }
    return 0;
}

static void truth_release(struct truth *x, const struct task *t)
{
    for (size_t i = 0; i < t->tensors.n; i++)
        free(x->in[i]);
    if (x->shared)
        munmap(x->shared, x->shared_bytes);
}

/* Runs the oracle in a process of its own, because a reference.c may crash or run forever. */
static int run_in_child(const char *so, const struct shape *s, struct truth *x, struct err *err)
{
    char *note =
        mmap(NULL, sizeof err->msg, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (note == MAP_FAILED)
        return err_errno(err, "memory for the oracle");
    int status = 0, rc = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct err e = ERR_INIT;
        interrupt_default();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(ORACLE_SECONDS);
        if (oracle_run(so, s, x->in, x->value, x->mag, 1, &e) == 0)
            _exit(0);
        memcpy(note, e.msg, sizeof e.msg);
        _exit(1);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        if (interrupted())
            kill(pid, SIGKILL);
    if (pid < 0)
        err_errno(err, "running the oracle");
    else if (interrupt_check(err) < 0)
        rc = -1;
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        err_set(err, ERR_INPUT, "the oracle took more than %d s", ORACLE_SECONDS);
    else if (WIFSIGNALED(status))
        err_set(err, ERR_INPUT, "the oracle crashed: %s", strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        err_set(err, ERR_INPUT, "%s", *note ? note : "the oracle ended the process");
    else
        rc = 0;
    munmap(note, sizeof err->msg);
    return rc;
}

/* Checks that every element is written and every magnitude is valid. Sets *zero if an output of
 * zeros would fail. */
static void check_output(const struct shape *s, size_t i, const struct truth *x, const char *where,
                         bool *zero, struct task_check_result *r)
{
    const struct task_tensor *t = &s->task->tensors.items[i];
    struct compare_rule rule = {.rtol = t->rtol, .atol = t->atol, .dtype = (uint32_t)t->dtype};
    uint64_t missing = 0, odd = 0, first_missing = 0, first_odd = 0;
    const double *value = x->value[i], *mag = x->mag[i];
    if (!value || !mag)
        BUG("'%s' is no output", t->name);
    for (uint64_t k = 0; k < s->elems[i]; k++) {
        double v = value[k], m = mag[k];
        if (compare_to_bits(v) == compare_to_bits(unwritten())) {
            first_missing = missing++ ? first_missing : k;
            continue;
        }
        bool finite = isfinite(v);
        if (finite && !(m >= fabs(v) * (1 - 1e-9) && isfinite(m)))
            first_odd = odd++ ? first_odd : k;
        if (!finite || compare_element(&rule, 0, 1, v, m).zero_ratio > 1)
            *zero = true;
    }
    if (missing)
        say(&r->problems, s->task, s->workload->place,
            "%s: the oracle leaves %llu of %llu elements of '%s' unwritten, the first at %llu",
            where, (unsigned long long)missing, (unsigned long long)s->elems[i], t->name,
            (unsigned long long)first_missing);
    if (odd)
        say(&r->problems, s->task, s->workload->place,
            "%s: element %llu of '%s' is %g with magnitude %g; a magnitude is finite and at least "
            "the value (%llu such)",
            where, (unsigned long long)first_odd, t->name, x->value[i][first_odd],
            x->mag[i][first_odd], (unsigned long long)odd);
}

static void check_oracle_at(const struct task *t, size_t w, const char *so, bool *zero,
                            struct task_check_result *r)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct shape s;
    struct truth x;
    if (shape_resolve(&s, t, &t->workloads.items[w], 1, &a, &err) == 0) {
        const char *where = arena_printf(&a, "at %s", shape_text(&s, &a));
        if (truth_init(&x, &s, &err) < 0 || run_in_child(so, &s, &x, &err) < 0)
            say(&r->problems, t, s.workload->place, "%s: %s", where, err.msg);
        else
            for (size_t i = 0; i < t->tensors.n; i++)
                if (t->tensors.items[i].is_output)
                    check_output(&s, i, &x, where, &zero[i], r);
        truth_release(&x, t);
    }
    arena_release(&a);
}

static bool is_small(const struct task *t, const struct task_workload *w)
{
    struct arena a = ARENA_INIT;
    struct shape s;
    bool small = w->role == ROLE_SMOKE && shape_resolve(&s, t, w, 1, &a, NULL) == 0;
    for (size_t i = 0; small && i < t->tensors.n; i++)
        small = s.elems[i] <= TASK_SMOKE_ELEMS;
    arena_release(&a);
    return small;
}

static void check_oracle(const struct task *t, const char *dir, struct task_check_result *r)
{
    struct err err = ERR_INIT;
    bool zero[TASK_MAX_TENSORS] = {false};
    size_t ran = 0, before = r->problems.n;
    char *so = xasprintf("%s/oracle.so", dir);
    if (oracle_build(t, so, &err) < 0) {
        say(&r->problems, t, nowhere, "%s", err.msg);
    } else {
        for (size_t w = 0; w < t->workloads.n && r->problems.n == before; w++)
            if (is_small(t, &t->workloads.items[w])) {
                check_oracle_at(t, w, so, zero, r);
                ran++;
            }
        for (size_t i = 0; ran && r->problems.n == before && i < t->tensors.n; i++)
            if (t->tensors.items[i].is_output && !zero[i])
                say(&r->problems, t, t->tensors.items[i].place,
                    "an output '%s' of zeros would pass every smoke workload: the tolerance is too "
                    "loose or the data too small",
                    t->tensors.items[i].name);
    }
    free(so);
}

void task_check(const struct task *t, struct task_check_result *r)
{
    struct temp_dir dir = TEMP_DIR_INIT;
    struct err err = ERR_INIT;
    const char *base = strrchr(t->dir, '/') ? strrchr(t->dir, '/') + 1 : t->dir;
    if (*base && *base != '.' && !t->is_definition && !str_eq(base, t->name))
        say(&r->notes, t, nowhere, "the directory is called '%s', the task '%s'", base, t->name);
    for (size_t i = 0; i < t->unchecked.n; i++)
        say(&r->notes, t, nowhere, "constraint not checked: %s", t->unchecked.items[i]);
    vec_each (struct task_scalar, sc, &t->scalars)
        if (!sc->has_value)
            say(&r->notes, t, nowhere, "scalar '%s' has no value here; 1 is assumed", sc->name);
    check_workloads(t, r);
    if (!t->reference_c || !t->phases.n) {
        say(&r->notes, t, nowhere, "no C oracle: its truth needs the PyTorch sidecar");
        return;
    }
    if (temp_dir_make(&dir, &err) < 0) {
        say(&r->problems, t, nowhere, "%s", err.msg);
        return;
    }
    if (check_source(t, dir.path, r))
        check_oracle(t, dir.path, r);
    temp_dir_release(&dir);
}

void task_check_result_release(struct task_check_result *r)
{
    problems_release(&r->problems);
    problems_release(&r->notes);
}
