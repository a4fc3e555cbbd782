/*
 * learn.c - keeps the outcomes of a run as lessons. See memory.h.
 *
 * Some settings have a guess: the playbook computes their first value from the sizes of the task
 * (playbook/book/guess.c). If a candidate has the guessed value, the lesson does not name the
 * setting. A setting that the lesson does not name counts as guessed, so in a run with other sizes
 * it has another value.
 */
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "memory/lesson.h"
#include "memory/memory.h"
#include "playbook/playbook.h"
#include "task/snapshot.h"

/* A move may contain a label such as "[softmax 2.0.1]". Returns the label's playbook and sets *p to
 * the label's point, or returns NULL. */
static const struct playbook *book_of(const struct playbook_shelf *shelf, const char *move,
                                      struct pb_point *p)
{
    vec_each (struct playbook, pb, &shelf->books)
        if (playbook_uncode(pb, move, p))
            return pb;
    return NULL;
}

/* Does p have the guessed value of the setting? `start` has all guessed values; it is NULL if they
 * are not known. */
static bool is_guessed(const struct playbook *pb, uint32_t setting, const struct pb_point *p,
                       const struct pb_point *start)
{
    return start && pb->settings[setting].guess && p->at[setting] == start->at[setting];
}

/* Appends the settings of p that do not have their guessed values, as in "vec=4 threads=256". If
 * all settings have their guessed values, appends all of them: a point must have a text. */
static void point_text(const struct playbook *pb, const struct pb_point *p,
                       const struct pb_point *start, struct strbuf *out)
{
    bool all = true;
    for (uint32_t i = 0; i < pb->nsettings; i++)
        all &= is_guessed(pb, i, p, start);
    for (uint32_t i = 0; i < pb->nsettings; i++)
        if (all || !is_guessed(pb, i, p, start))
            strbuf_addf(out, "%s%s=%lld", out->len ? " " : "", pb->settings[i].name,
                        (long long)pb->settings[i].values[p->at[i]]);
}

/* Sets *start to the point with all guessed values. Returns false if they cannot be computed. */
static bool find_start(const struct memory_run *run, const struct playbook *pb,
                       struct pb_point *start)
{
    struct pb_binding b = PB_BINDING_INIT;
    struct strbuf no = STRBUF_INIT(200);
    bool fits = run->facts && playbook_bind(pb, run->facts, run->arch, &b, &no);
    if (fits)
        *start = playbook_start(pb, &b);
    if (fits)
        pb_binding_release(&b);
    strbuf_release(&no);
    return fits;
}

/* Writes the move without the label at its end. Returns false if the move is too long. We do not
 * cut it, because a part of a move can have another meaning. */
static bool move_text(const char *move, char out[LESSON_TEXT])
{
    const char *label = strrchr(move, '[');
    size_t n = label ? (size_t)(label - move) : strlen(move);
    char bare[LESSON_TEXT * 2];
    snprintf(bare, sizeof bare, "%.*s", (int)MIN(n, sizeof bare - 1), move);
    return n < sizeof bare && lesson_clean(bare, out);
}

static double best_time(const struct memory_outcome *o, size_t n)
{
    double best = 0;
    for (size_t i = 0; i < n; i++)
        if (o[i].gain < 0 && o[i].time_ns > 0 && (best <= 0 || o[i].time_ns < best))
            best = o[i].time_ns;
    return best;
}

/* Makes a lesson of an outcome. `best` is the best time of the run. `text` holds the lesson's text.
 * Returns false if the candidate has no point, the move is too long, or lesson_bad_field() finds a
 * bad field. */
static bool make_lesson(const struct memory_run *run, const struct memory_outcome *o,
                        const struct playbook_shelf *shelf, double best, struct strbuf *text,
                        struct lesson_rec *l)
{
    struct pb_point p, start;
    const struct playbook *pb = book_of(shelf, o->move, &p);
    char words[LESSON_TEXT];
    l->playbook = pb ? pb->name : "";
    strbuf_clear(text);
    if (o->gain < 0) { /* this is a point, not a move */
        if (!pb)
            return false;
        point_text(pb, &p, find_start(run, pb, &start) ? &start : NULL, text);
        l->kind = LESSON_POINT;
        l->gain = o->time_ns > 0 ? best / o->time_ns : 0;
    } else {
        if (!move_text(o->move, words))
            return false;
        strbuf_adds(text, words);
        l->kind = o->kind;
        l->gain = MIN(o->gain, LESSON_MAX_GAIN);
    }
    l->text = text->buf;
    return !lesson_bad_field(l);
}

int memory_learn(struct store *s, const struct memory_run *run, const struct memory_outcome *o,
                 size_t n, struct err *err)
{
    struct arena mem = ARENA_INIT;
    struct playbook_shelf *shelf = NULL;
    struct strbuf text = STRBUF_INIT(4096);
    struct task_traits t;
    char sha[TASK_HASH], gpu[LESSON_NAME];
    double best = best_time(o, n);
    if (best <= 0) /* nothing was timed */
        return 0;
    if (playbooks_open(&shelf, run->books, err) < 0)
        return -1;
    int rc = store_begin(s, err);
    bool begun = rc == 0;
    task_traits(&t, run->task, &mem);
    task_hash(run->task, sha);
    lesson_make_name(run->gpu, gpu);
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct lesson_rec l = {.run = run->name,
                               .task = run->task->name,
                               .task_sha = sha,
                               .class = t.class,
                               .ops = t.ops,
                               .sizes = t.sizes,
                               .marks = t.marks,
                               .gpu = gpu,
                               .measured = run->measured};
        if (make_lesson(run, &o[i], shelf, best, &text, &l))
            rc = store_lesson_put(s, &l, err);
    }
    if (rc == 0)
        rc = store_lesson_trim(s, MEMORY_MAX, err);
    if (begun)
        rc = store_end(s, rc == 0, err);
    playbooks_close(shelf);
    strbuf_release(&text);
    arena_release(&mem);
    return rc;
}
