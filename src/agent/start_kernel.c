/* start_kernel.c - starts a run from a kernel that the user gives. */
#include <stdlib.h>
#include <string.h>

#include "agent/roles.h"
#include "base/util.h"
#include "prompt/say.h"

/* If `n` passes, *out becomes `n`. Otherwise has `n` repaired; *out becomes a repair that passes,
 * or NULL. */
static int accept_or_repair(struct agent *a, struct node *n, struct node **out, struct err *err)
{
    *out = node_passes(n) ? n : NULL;
    return *out ? 0 : repair_node(a, n, out, err);
}

int start_from_source(struct agent *a, const char *source, const char *name, struct node **out,
                      struct err *err)
{
    struct node *n = agent_grow(a, NULL, source, "given", "first", "first", name);
    int rc = agent_judge(a, &n, 1, err);
    *out = NULL;
    return rc ? rc : accept_or_repair(a, n, out, err);
}

static void say_error(const struct verdict *v, struct strbuf *out)
{
    static const char mark[] = "kernel.cu:";
    const char *place = str_starts(v->detail, mark) ? v->detail : v->summary, *text = v->summary;
    if (str_starts(place, mark))
        strbuf_addf(out, "line %lu: ", strtoul(place + strlen(mark), NULL, 10));
    if (str_starts(text, mark) && strchr(text, ' '))
        text = strchr(text, ' ') + 1;
    strbuf_addf(out, "%.*s", (int)strcspn(text, "\n"), text);
}

/* The built-in author changes settings and fills in templates, but cannot repair code. If it is the
 * debugger and the file cannot be built, the run stops, because the file would fail with all other
 * settings too. */
static int stop_if_broken(struct agent *a, const struct node *n)
{
    struct strbuf why = STRBUF_INIT(4096);
    enum verdict_kind kind = n->verdict.kind;
    bool broken = kind == V_REJECTED || kind == V_COMPILE_ERROR || kind == V_PLAN_ERROR;
    if (!broken || !str_eq(author_scheme(agent_author(a, AUTHOR_DEBUG)), "playbook"))
        return 0;
    say_error(&n->verdict, &why);
    agent_stop(a,
               "your file %s %s (%.400s); the built-in author cannot mend it: correct the file, or "
               "name a model with --author",
               a->cfg->from_name,
               kind == V_COMPILE_ERROR ? "does not compile"
               : kind == V_PLAN_ERROR  ? "has a wrong launch plan"
                                       : "is refused",
               why.buf);
    strbuf_release(&why);
    return 1;
}

int judge_given_file(struct agent *a, struct node **out, struct err *err)
{
    *out = agent_grow(a, NULL, a->cfg->from, "given", "first", "first", a->cfg->from_name);
    int rc = agent_judge(a, out, 1, err);
    return rc ? rc : stop_if_broken(a, *out);
}

/* Asks the porter to turn the file of --from, which has host code in place of a plan, into a
 * candidate. *out becomes a node that passes, or NULL. */
static int port(struct agent *a, struct node **out, struct err *err)
{
    struct strbuf earlier = STRBUF_INIT(64 << 10);
    int rc = 0;
    *out = NULL;
    for (uint32_t t = 0; t < a->cfg->tries && rc == 0 && !*out; t++) {
        struct writing w;
        struct node *n = NULL;
        struct situation s = {.given = a->cfg->from, .earlier = earlier.buf};
        rc = role_write(a, &w, AUTHOR_PORT, "port", "port", &s, NULL, -1, err);
        if (rc == 0) {
            w.any_dialect = true;
            rc = writings_try(a, &w, 1, "port", &n, err);
            writing_release(&w);
        }
        if (rc == 0)
            rc = accept_or_repair(a, n, out, err);
        if (rc == 0 && !*out) {
            say_verdict_short(&n->verdict, &earlier);
            strbuf_adds(&earlier, "\n");
        }
    }
    strbuf_release(&earlier);
    return rc;
}

int start_from_file(struct agent *a, struct node **out, struct err *err)
{
    struct node *n;
    if (!strstr(a->cfg->from, "hone-plan"))
        return port(a, out, err);
    *out = NULL;
    int rc = judge_given_file(a, &n, err);
    return rc ? rc : accept_or_repair(a, n, out, err);
}
