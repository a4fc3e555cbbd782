/* repair.c - repairs a candidate that failed: asks for a diagnosis, then for an edit. */
#include <stdlib.h>
#include <string.h>

#include "agent/roles.h"
#include "base/util.h"
#include "prompt/fold.h"
#include "prompt/say.h"
#include "source/dialect.h"

/* More errors than this need a diagnosis, which may find their common cause. */
enum { SIMPLE_ERRORS = 3 };

/* Returns true if the compiler, or the check of the plan, found only a few errors, and none of them
 * in a header. Then the messages say plainly what to change. */
static bool is_simple(const struct verdict *v)
{
    static const char mark[] = ": error: ";
    unsigned errors = 0;
    if (v->kind != V_COMPILE_ERROR && v->kind != V_PLAN_ERROR)
        return false;
    for (const char *line = v->detail; *line;) {
        size_t n = strcspn(line, "\n");
        const char *error = memmem(line, n, mark, strlen(mark));
        if (error && memchr(line, '/', (size_t)(error - line)))
            return false;
        errors += error != NULL;
        line += n + (line[n] == '\n');
    }
    return errors <= SIMPLE_ERRORS;
}

static int diagnose(struct agent *a, const struct situation *s, char **out, struct err *err)
{
    struct ask q;
    if (role_ask(a, &q, AUTHOR_DEBUG, "diagnose", "diagnose", s, -1, err) < 0)
        return -1;
    int rc = agent_ask(a, &q, 1, err);
    if (rc == 0)
        *out = xstrdup(q.ok ? q.reply : "");
    ask_release(&q);
    return rc;
}

/* Asks for a repair of `failed` and judges it. *out becomes the new candidate. Asks for a diagnosis
 * first, unless this is the first repair and the error is simple. Appends the diagnosis and the
 * verdict to `earlier`, which the next prompt shows. */
static int repair_once(struct agent *a, struct node *failed, struct strbuf *earlier,
                       struct node **out, struct err *err)
{
    struct situation s = {.node = failed, .step = a->step, .earlier = earlier->buf};
    struct writing w;
    char *words = NULL;
    int rc = earlier->len || !is_simple(&failed->verdict) ? diagnose(a, &s, &words, err) : 0;
    if (rc)
        return rc;
    s.advice = words;
    rc = role_write(a, &w, AUTHOR_DEBUG, "repair", "repair", &s, failed, -1, err);
    if (rc == 0) {
        w.any_dialect = !dialect_is_cute(failed->source, strlen(failed->source), NULL);
        rc = writings_try(a, &w, 1, "repair", out, err);
        writing_release(&w);
    }
    if (rc == 0) {
        strbuf_adds(earlier, words ? "Diagnosis: " : "No diagnosis.");
        fold_text(words ? words : "", words ? strlen(words) : 0, 400, earlier);
        strbuf_adds(earlier, "\nThe edit that followed gave: ");
        say_verdict_short(&(*out)->verdict, earlier);
        strbuf_adds(earlier, "\n\n");
    }
    free(words);
    return rc;
}

int repair_node(struct agent *a, struct node *failed, struct node **out, struct err *err)
{
    struct strbuf earlier = STRBUF_INIT(64 << 10);
    struct node *base = failed;
    int rc = 0;
    *out = NULL;
    for (int32_t k = 0; k < a->cfg->repairs && rc == 0; k++) {
        struct node *n = NULL;
        if (!base->source[0])
            break; /* there is no file to repair */
        rc = repair_once(a, base, &earlier, &n, err);
        if (rc)
            break;
        if (node_passes(n)) {
            *out = n;
            break;
        }
        /* Go on from the better of `base` and its repair `n`. For example, a kernel with wrong
         * results is nearer to passing than one that does not compile. */
        if (n->source[0] && n->verdict.kind >= base->verdict.kind)
            base = n;
    }
    strbuf_release(&earlier);
    return rc;
}
