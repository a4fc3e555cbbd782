/* optimize_check.c - checks before a run begins that it can produce a candidate, and that its
 * strategy uses the options (optimize_check.h). */
#include "cmd/optimize_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "playbook/playbook.h"
#include "prompt/say.h"

static const char *author_of(const struct run_config *c, enum author_role role)
{
    return c->authors[role] ? c->authors[role] : c->authors[AUTHOR_CODE];
}

static bool is_playbook(const char *spec)
{
    return str_eq(spec, "playbook") || str_starts(spec, "playbook:");
}

static int open_shelf(const struct run_config *c, struct playbook_shelf **out, struct err *err)
{
    const char *spec = c->authors[AUTHOR_CODE], *dir = strchr(spec, ':');
    if (playbooks_open(out, dir ? dir + 1 : NULL, err) < 0)
        return err_prefix(err, "author '%s'", spec);
    return 0;
}

/* Checks the table of ranges in the user's file, because the built-in author goes on from the
 * table's settings. If the table's playbook does not fit the task, the table is only a comment. */
static int check_table(const struct run_config *c, const struct task *t, struct err *err)
{
    struct playbook_shelf *shelf;
    struct ranges_place at;
    int rc = 0;
    if (!is_playbook(c->authors[AUTHOR_CODE]) || !ranges_find(c->from, &at))
        return 0;
    if (open_shelf(c, &shelf, err) < 0)
        return -1;
    json_t *facts = say_task_json(t);
    vec_each (struct playbook, pb, &shelf->books) {
        struct pb_binding b;
        struct pb_ranges r;
        struct strbuf no = STRBUF_INIT(200);
        if (str_eq(pb->name, at.book) &&
            playbook_bind(pb, facts, playbook_arch(c->arch), &b, &no)) {
            const struct bound_book book = {pb, &b, facts};
            rc = ranges_parse(&book, at.text, at.len, at.line, &r, err);
            pb_binding_release(&b);
        }
        strbuf_release(&no);
    }
    json_decref(facts);
    playbooks_close(shelf);
    return rc < 0 ? err_prefix(err, "%s", c->from_name) : 0;
}

static int check_from(const struct run_config *c, const struct task *t, struct err *err)
{
    if (str_eq(c->strategy, "sample") || str_eq(c->strategy, "reflect"))
        return err_set(err, ERR_USAGE,
                       "--from is for the strategies refine, team and search; %s starts from "
                       "nothing",
                       c->strategy);
    if (!strstr(c->from, "hone-plan") && is_playbook(author_of(c, AUTHOR_PORT)))
        return err_set(err, ERR_USAGE,
                       "%s has no launch plan, so Hone must port its host code first, and porting "
                       "needs a model: name one with --author or --author-port. Without a model, "
                       "write the plan into the file's first comment (docs/plan.md)",
                       c->from_name);
    return check_table(c, t, err);
}

/* Checks that the built-in author can write a kernel for the task. */
static int check_playbooks(const struct run_config *c, const struct task *t, struct err *err)
{
    struct playbook_shelf *shelf;
    struct strbuf why = STRBUF_INIT(4096);
    uint32_t arch = str_starts(c->arch, "sm_") ? (uint32_t)strtoul(c->arch + 3, NULL, 10) : 90;
    bool fits = false;
    if (open_shelf(c, &shelf, err) < 0)
        return -1;
    json_t *facts = say_task_json(t);
    vec_each (struct playbook, pb, &shelf->books) {
        struct pb_binding b;
        struct strbuf no = STRBUF_INIT(200);
        bool bound = playbook_bind(pb, facts, arch, &b, &no);
        if (bound)
            pb_binding_release(&b);
        else if (str_eq(pb->class, task_class_name(t->class)))
            strbuf_addf(&why, "%s%s: %s", why.len ? "; " : "", pb->name, no.buf);
        fits |= bound;
        strbuf_release(&no);
    }
    json_decref(facts);
    playbooks_close(shelf);
    if (!fits)
        err_set(err, ERR_INPUT,
                "the built-in author cannot write a kernel for '%s', because no playbook fits it "
                "(%s). %s a model write the kernel (--author), give a kernel of yours to tune "
                "(--from), or add a playbook (docs/playbooks.md)",
                t->name, why.len ? why.buf : "there is none for its class",
                t->torch_src || t->graph_json || t->reference_py
                    ? "Let"
                    : "Add \"torch\": \"EXPRESSION\" to task.json, the PyTorch expression that "
                      "computes the outputs (docs/task.md). Or let");
    strbuf_release(&why);
    return fits ? 0 : -1;
}

/* Checks that the task has a simple kernel, with which the strategy `team` begins. */
static int check_base(const struct task *t, struct err *err)
{
    struct strbuf simple = STRBUF_INIT(1 << 20);
    struct err why = ERR_INIT;
    int rc = task_simple_kernel(t, &simple, &why);
    strbuf_release(&simple);
    if (rc < 0)
        err_set(err, ERR_INPUT,
                "the strategy team starts from an existing kernel, and there is none for '%s' "
                "(%s): give one with --from FILE",
                t->name, why.msg);
    return rc;
}

int optimize_check(const struct run_config *c, const struct task *t, struct err *err)
{
    if (*c->from)
        return check_from(c, t, err);
    if (str_eq(c->strategy, "team"))
        return check_base(t, err);
    return is_playbook(c->authors[AUTHOR_CODE]) ? check_playbooks(c, t, err) : 0;
}

/* ---- options of other strategies ------------------------------------------------------------- */

int option_uses_check(const struct option_use *uses, size_t n, const char *strategy,
                      struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct option_use *u = &uses[i];
        /* strstr() is enough, because no strategy's name is a part of another's. */
        if (u->given && !strstr(u->strategies, strategy))
            return err_set(err, ERR_USAGE, "%s is for the %s %s; %s has no use for it", u->option,
                           strchr(u->strategies, ' ') ? "strategies" : "strategy", u->strategies,
                           strategy);
    }
    return 0;
}

int ablation_check(const char *setting, const char *strategy, struct err *err)
{
    const struct option_use uses[] = {
        {"--ablate anchors=", str_starts(setting, "anchors="), "search"},
        {"--ablate context=", str_starts(setting, "context="), "search"},
        {"--ablate select=", str_starts(setting, "select="), "search"},
        {"--ablate restore=", str_starts(setting, "restore="), "refine"},
    };
    return option_uses_check(uses, ARRAY_LEN(uses), strategy, err);
}
