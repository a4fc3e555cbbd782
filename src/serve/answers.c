/* answers.c - keeps answers of the server in a small table. The answer to a new query takes the
 * next place of the table in turn. See answers.h. */
#include "serve/answers.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "serve/respond.h"
#include "sys/loop.h"

enum { KEPT = 64 };
#define FRESH_NS (2 * SEC)

struct kept {
    struct view_query q;
    struct MHD_Response *response; /* NULL = no answer is kept here */
    uint64_t made_ns;
};

struct answers {
    const struct mhd *m;
    struct store *s;
    int64_t version, training; /* store_version() and view_training_version() of the answers */
    size_t next;               /* the next element of `kept` to replace, modulo KEPT */
    struct kept kept[KEPT];
};

struct answers *answers_new(const struct mhd *m, struct store *s)
{
    struct answers *a = xcalloc(1, sizeof *a);
    a->m = m;
    a->s = s;
    return a;
}

static void drop(struct answers *a, struct kept *k)
{
    if (k->response)
        a->m->destroy_response(k->response);
    k->response = NULL;
}

void answers_free(struct answers *a)
{
    for (size_t i = 0; a && i < KEPT; i++)
        drop(a, &a->kept[i]);
    free(a);
}

static bool same_query(const struct view_query *x, const struct view_query *y)
{
    return x->kind == y->kind && x->n == y->n && str_eq(x->run, y->run) && str_eq(x->role, y->role);
}

static struct kept *find_kept(struct answers *a, const struct view_query *q)
{
    for (size_t i = 0; i < KEPT; i++)
        if (a->kept[i].response && same_query(&a->kept[i].q, q))
            return &a->kept[i];
    return NULL;
}

struct MHD_Response *answers_get(struct answers *a, const struct view_query *q, struct err *err)
{
    struct strbuf text = STRBUF_INIT(VIEW_MAX_BYTES + 1);
    int64_t version, training = view_training_version(a->s);
    if (store_version(a->s, &version, err) < 0)
        return NULL;
    for (size_t i = 0; i < KEPT && (version != a->version || training != a->training); i++)
        drop(a, &a->kept[i]);
    a->version = version;
    a->training = training;
    struct kept *k = find_kept(a, q);
    if (k && now_ns() - k->made_ns < FRESH_NS)
        return k->response;
    if (view_text(a->s, q, &text, err) == 0) {
        if (!k)
            k = &a->kept[a->next++ % KEPT];
        drop(a, k);
        *k = (struct kept){.q = *q, .made_ns = now_ns()};
        k->response = respond_make(a->m, "application/json", text.buf, text.len);
    } else {
        k = NULL;
    }
    strbuf_release(&text);
    return k ? k->response : NULL;
}
