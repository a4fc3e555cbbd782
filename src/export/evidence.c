/* evidence.c - finds a candidate's verdict in the store or in a file, and decides whether the
 * verdict allows export. */
#include "export/evidence.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "report/run_summary.h"
#include "sys/hash.h"
#include "sys/json.h"

#define MAX_SOURCE (16u << 20)

static void begin(struct evidence *e)
{
    *e = (struct evidence){.from = ""};
    strbuf_init(&e->source, MAX_SOURCE);
}

static void set_hashes(struct evidence *e)
{
    task_hash(e->task, e->task_sha);
    hash_hex(e->source.buf, e->source.len, e->source_sha);
}

static void set_verdict(struct evidence *e, struct verdict *v)
{
    if (e->has_verdict)
        verdict_release(&e->verdict);
    e->verdict = *v;
    e->has_verdict = true;
}

/* ---- does a verdict allow export? ------------------------------------------------------------ */

static bool has_role(const struct verdict *v, const char *role)
{
    vec_each (const struct verdict_workload, w, &v->workloads)
        if (str_eq(w->role, role) && w->ok && !str_eq(w->note, VERDICT_DID_NOT_RUN))
            return true;
    return false;
}

static int check_coverage(const struct evidence *e, const struct verdict *v, struct err *err)
{
    for (int role = 0; role < ROLE_COUNT; role++) {
        bool wanted = false;
        const char *name = workload_role_name((enum workload_role)role);
        vec_each (const struct task_workload, w, &e->task->workloads)
            wanted |= (int)w->role == role;
        if (wanted && role != ROLE_TIME && !has_role(v, name))
            return err_set(
                err, ERR_INPUT,
                "its verdict is from a shortened evaluation: no %s workload was checked; "
                "evaluate it without --smoke and --workload",
                name);
    }
    return 0;
}

int evidence_check(const struct evidence *e, const struct verdict *v, struct err *err)
{
    if (v->kind != V_PASS)
        return err_set(err, ERR_INPUT, "its verdict is %s: %.600s", verdict_kind_name(v->kind),
                       v->summary);
    if (!str_eq(v->source_sha, e->source_sha))
        return err_set(err, ERR_INPUT,
                       "the verdict is about another source: it names the SHA-256 %.12s, but this "
                       "source has %.12s",
                       v->source_sha, e->source_sha);
    if (!*v->task_sha)
        return err_set(err, ERR_INPUT,
                       "its verdict is from an older Hone and does not name the version of the "
                       "task; evaluate the kernel again");
    if (!str_eq(v->task_sha, e->task_sha))
        return err_set(err, ERR_INPUT,
                       "its verdict is for another version of task '%s': it names the hash %.12s, "
                       "but this task has %.12s; evaluate the kernel again",
                       e->task->name, v->task_sha, e->task_sha);
    return check_coverage(e, v, err);
}

/* ---- the store ------------------------------------------------------------------------------- */

static int load_verdict(struct store *s, const struct verdict_rec *rec, struct verdict *out,
                        struct err *err)
{
    struct strbuf text = STRBUF_INIT(MAX_SOURCE);
    json_t *j = NULL;
    int rc = store_blob_get(s, rec->json_sha, &text, err);
    if (rc == 0)
        j = json_read_text(text.buf, text.len, "verdict", NULL, err);
    if (!j || verdict_from_json(out, j, err) < 0)
        rc = -1;
    json_decref(j);
    strbuf_release(&text);
    return rc;
}

/* A run can have several verdicts about one source, because it evaluates its best kernel a second
 * time. Returns the first verdict that failed. If none failed, returns the last that passed.
 * Returns an unjudged verdict only if all verdicts about the source are unjudged, and NULL if there
 * are no verdicts about it. */
static const struct verdict_rec *deciding(const struct verdict_rec_vec *all, const char *source_sha)
{
    const struct verdict_rec *found = NULL;
    vec_each (const struct verdict_rec, r, all) {
        bool failed = !str_eq(r->kind, "pass") && !str_eq(r->kind, "unjudged");
        bool unjudged = str_eq(r->kind, "unjudged");
        if (!str_eq(r->source_sha, source_sha) || (found && unjudged))
            continue;
        found = r;
        if (failed)
            break;
    }
    return found;
}

static int verdict_of_run(struct evidence *e, struct store *s, int64_t run, struct err *err)
{
    struct verdict_rec_vec all = VEC_INIT;
    struct arena mem = ARENA_INIT;
    struct verdict v;
    int rc = store_verdict_list(s, run, &all, &mem, err);
    const struct verdict_rec *r = rc == 0 ? deciding(&all, e->source_sha) : NULL;
    if (r && (rc = load_verdict(s, r, &v, err)) == 0)
        set_verdict(e, &v);
    vec_release(&all);
    arena_release(&mem);
    return rc;
}

int evidence_search(struct evidence *e, struct store *s, struct err *err)
{
    struct run_rec_vec runs = VEC_INIT;
    struct arena mem = ARENA_INIT;
    struct evidence trial = *e;
    bool found = false;
    if (store_run_list(s, &runs, &mem, err) < 0)
        return -1;
    vec_each (const struct run_rec, r, &runs) {
        struct err why = ERR_INIT;
        trial.has_verdict = false;
        if (verdict_of_run(&trial, s, r->id, &why) < 0 || !trial.has_verdict)
            continue;
        bool good = evidence_check(e, &trial.verdict, &why) == 0;
        if (good && (!found || (e->verdict.time_is_model && !trial.verdict.time_is_model))) {
            set_verdict(e, &trial.verdict);
            e->from = arena_printf(&e->arena, "%s, verdict of run %s", e->from, r->name);
            found = true;
        } else {
            verdict_release(&trial.verdict);
        }
    }
    vec_release(&runs);
    arena_release(&mem);
    return found;
}

/* Returns the task as it was when the run began, or the task of that name if the run's
 * record has no task hash. The caller frees it. */
static struct task *task_of_run(const struct run_summary *m, struct store *s, struct err *err)
{
    struct strbuf was = STRBUF_INIT(TASK_MAX_SNAPSHOT);
    struct problem_vec problems = VEC_INIT;
    struct task *t = NULL;
    if (!*m->task_sha)
        t = task_find(m->run.task, &problems);
    else if (store_blob_get(s, m->task_sha, &was, err) == 0)
        t = task_from_snapshot(was.buf, was.len, m->run.name, &problems);
    if (!t)
        err_set(err, ERR_INPUT, "the task of run %s cannot be loaded: %s", m->run.name,
                problems.n ? problems.items[0].text : "the store has no copy of it");
    problems_release(&problems);
    strbuf_release(&was);
    return t;
}

int evidence_from_run(struct evidence *e, struct store *s, const char *which, struct err *err)
{
    struct run_summary m;
    begin(e);
    const char *colon = strrchr(which, ':');
    const char *run = colon ? arena_strndup(&e->arena, which, (size_t)(colon - which)) : which;
    if (run_summary_load(&m, s, run, err) < 0)
        return -1;
    int rc = -1;
    const struct node_rec *n = NULL;
    if (!colon && m.run.best < 0)
        err_set(err, ERR_INPUT, "run %s has no kernel that passes (%u judged)", m.run.name,
                m.judged);
    else
        n = run_summary_candidate(&m, colon ? colon + 1 : "best", err);
    if (n && (e->task = task_of_run(&m, s, err)) &&
        store_blob_get(s, n->source_sha, &e->source, err) == 0) {
        set_hashes(e);
        e->from = arena_printf(&e->arena, "run %s, candidate %llu", m.run.name,
                               (unsigned long long)n->index);
        rc = verdict_of_run(e, s, m.run.id, err);
    }
    run_summary_release(&m);
    return rc;
}

/* ---- files ----------------------------------------------------------------------------------- */

void evidence_from_file(struct evidence *e, struct task *t, const char *source, size_t len,
                        const char *path)
{
    begin(e);
    e->task = t;
    strbuf_add(&e->source, source, len);
    e->from = arena_strdup(&e->arena, path);
    set_hashes(e);
}

int evidence_read_verdict(struct evidence *e, const char *path, struct err *err)
{
    struct verdict v;
    json_t *j = json_read_file(path, NULL, err);
    int rc = j ? verdict_from_json(&v, j, err) : -1;
    json_decref(j);
    if (rc < 0)
        return err_prefix(err, "the verdict in %s", path);
    set_verdict(e, &v);
    return 0;
}

void evidence_release(struct evidence *e)
{
    if (e->has_verdict)
        verdict_release(&e->verdict);
    task_free(e->task);
    strbuf_release(&e->source);
    arena_release(&e->arena);
}
