/* start_kernel.c - starts a run from a kernel that the user gives. */
#include <string.h>

#include "agent/roles.h"
#include "base/util.h"
#include "prompt/say.h"

int start_from_source(struct agent *a, const char *source, const char *name, struct node **out,
                      struct err *err)
{
    struct node *n = agent_grow(a, NULL, source, "given", "first", "first", name);
    int rc = agent_judge(a, &n, 1, err);
    *out = NULL;
    if (rc == 0 && node_passes(n))
        *out = n;
    else if (rc == 0)
        rc = repair_node(a, n, out, err);
    return rc;
}

/* Asks the porter to turn a file with its own host code into device code and a plan. The result
 * must pass like any candidate. */
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
        if (rc == 0 && node_passes(n))
            *out = n;
        else if (rc == 0)
            rc = repair_node(a, n, out, err);
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
    if (!strstr(a->cfg->from, "hone-plan"))
        return port(a, out, err);
    return start_from_source(a, a->cfg->from, a->cfg->from_name, out, err);
}
