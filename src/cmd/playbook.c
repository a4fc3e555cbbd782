/*
 * playbook.c - `hone playbook`: lists the built-in author's playbooks and prints their kernels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/eval_command.h"
#include "playbook/playbook.h"
#include "prompt/say.h"
#include "sys/json.h"

#define DIR_OPTION(dir) OPT_STR(0, "dir", dir, "DIR", "further playbooks: DIR/NAME/playbook.json")
#define NEWEST_ARCH 90 /* sm_90: no playbook needs a newer architecture */

/* Returns the names of the built-in tasks for which a playbook can write kernels. */
static json_t *fitting_tasks(const struct playbook *pb)
{
    struct arena mem = ARENA_INIT;
    const char **names;
    size_t n = task_builtin_names(&mem, &names);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        struct task *t = cmd_load_task(names[i]);
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(400);
        json_t *facts = t ? say_task_json(t) : NULL;
        if (facts && playbook_bind(pb, facts, NEWEST_ARCH, &b, &why)) {
            json_array_append_new(list, json_string(names[i]));
            pb_binding_release(&b);
        }
        json_decref(facts);
        strbuf_release(&why);
        task_free(t);
    }
    arena_release(&mem);
    return list;
}

static json_t *book_json(const struct playbook *pb)
{
    json_t *settings = json_array();
    for (uint32_t i = 0; i < pb->nsettings; i++) {
        const struct pb_setting *s = &pb->settings[i];
        json_t *values = json_array();
        for (uint32_t k = 0; k < s->n; k++)
            json_array_append_new(values, json_integer(s->values[k]));
        json_array_append_new(settings,
                              json_pack("{s:s, s:o, s:I, s:s}", "name", s->name, "values", values,
                                        "start", (json_int_t)s->values[s->start], "why", s->why));
    }
    return json_pack("{s:s, s:s, s:s, s:i, s:o, s:o}", "name", pb->name, "class", pb->class,
                     "about", pb->about, "arch", (int)pb->arch, "settings", settings, "tasks",
                     fitting_tasks(pb));
}

static void print_book(const json_t *j)
{
    size_t i, k;
    json_t *s, *v;
    printf("%s (%s, sm_%lld or newer)\n  %s\n", json_string_value(json_object_get(j, "name")),
           json_string_value(json_object_get(j, "class")),
           (long long)json_integer_value(json_object_get(j, "arch")),
           json_string_value(json_object_get(j, "about")));
    json_array_foreach(json_object_get(j, "settings"), i, s)
    {
        long long start = (long long)json_integer_value(json_object_get(s, "start"));
        printf("  %-12s", json_string_value(json_object_get(s, "name")));
        json_array_foreach(json_object_get(s, "values"), k, v)
        {
            long long x = (long long)json_integer_value(v);
            printf(x == start ? " [%lld]" : " %lld", x);
        }
        printf("   %s\n", json_string_value(json_object_get(s, "why")));
    }
    printf("  tasks:");
    json_array_foreach(json_object_get(j, "tasks"), i, v) printf(" %s", json_string_value(v));
    printf("\n");
}

static int run_list(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct playbook_shelf *s;
    const char *dir = NULL;
    bool json = false;
    const struct option opts[] = {
        DIR_OPTION(&dir),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {.usage = "hone playbook list [options]",
                                 .about = "Lists the playbooks, their settings (the value in [] is "
                                          "tried first) and the built-in tasks they serve.",
                                 .example = "hone playbook list",
                                 .opts = opts};
    cmd_parse(&spec, &argc, argv);
    if (argc)
        return cmd_usage(&spec, "unexpected '%s'", argv[0]);
    if (playbooks_open(&s, dir, &err) < 0)
        return cmd_fail(&err);
    json_t *all = json_array();
    vec_each (struct playbook, pb, &s->books)
        json_array_append_new(all, book_json(pb));
    if (json)
        json_print(stdout, all);
    for (size_t i = 0; !json && i < json_array_size(all); i++)
        print_book(json_array_get(all, i));
    json_decref(all);
    playbooks_close(s);
    return HONE_OK;
}

/* A point has one value for each setting of the playbook. Reads a text such as "threads=256" into
 * the point. */
static int take_setting(const struct playbook *pb, const char *arg, struct pb_point *p,
                        struct err *err)
{
    size_t n = strcspn(arg, "=");
    for (uint32_t i = 0; i < pb->nsettings; i++) {
        const struct pb_setting *s = &pb->settings[i];
        if (strlen(s->name) != n || memcmp(s->name, arg, n) != 0)
            continue;
        char *end = NULL;
        long long v = arg[n] ? strtoll(arg + n + 1, &end, 10) : 0;
        for (uint32_t k = 0; k < s->n && end && end != arg + n + 1 && !*end; k++)
            if (s->values[k] == v) {
                p->at[i] = (uint8_t)k;
                return 0;
            }
        return err_set(err, ERR_INPUT,
                       "'%s': that is not a value of this setting; `hone playbook list` "
                       "shows them",
                       arg);
    }
    return err_set(err, ERR_INPUT, "'%s': playbook %s has no such setting", arg, pb->name);
}

/* The arguments of `hone playbook kernel`. */
struct kernel_order {
    const char *name; /* the playbook's name */
    bool plain;       /* the kernel takes no part from another playbook */
    const char *when; /* a table of ranges, or NULL */
    int nset;
    const char **set; /* "threads=256" */
};

static int read_ranges(const struct bound_book *book, const struct kernel_order *o,
                       struct pb_ranges *out, struct err *err)
{
    if (o->when && o->nset)
        return err_set(err, ERR_USAGE, "'%s': with --when, the table has all settings", o->set[0]);
    if (o->when)
        return ranges_parse(book, o->when, strlen(o->when), 1, out, err);
    struct pb_point p = playbook_start(book->pb, book->binding);
    for (int i = 0; i < o->nset; i++)
        if (take_setting(book->pb, o->set[i], &p, err) < 0)
            return -1;
    *out = ranges_one(&p);
    if (!playbook_allows(book->pb, book->binding, &p))
        return err_set(err, ERR_INPUT,
                       "playbook %s does not allow these settings together for this task: see "
                       "`require` and `fits` in its playbook.json",
                       o->name);
    return 0;
}

static int make_kernel(const struct playbook_shelf *s, const struct task *t,
                       const struct kernel_order *o, struct strbuf *out, struct err *err)
{
    const char *name = o->name;
    const struct playbook *pb = NULL;
    vec_each (struct playbook, b, &s->books)
        if (str_eq(b->name, name))
            pb = b;
    if (!pb)
        return err_set(err, ERR_INPUT, "there is no playbook '%s': see `hone playbook list`", name);
    if (o->plain && !playbook_writes_graphs(pb))
        return err_set(err, ERR_USAGE, "--plain is for the playbook generate, not for %s", name);
    struct playbook alone = *pb;
    alone.shelf = NULL;
    if (o->plain)
        pb = &alone;
    struct pb_binding b;
    struct strbuf why = STRBUF_INIT(400);
    json_t *facts = say_task_json(t);
    int rc = 0;
    if (!playbook_bind(pb, facts, NEWEST_ARCH, &b, &why)) {
        rc = err_set(err, ERR_INPUT, "playbook %s does not fit '%s': %s", name, t->name, why.buf);
    } else {
        struct bound_book book = {pb, &b, facts};
        struct pb_ranges r;
        rc = read_ranges(&book, o, &r, err);
        if (rc == 0)
            rc = playbook_expand_ranges(pb, &b, &r, out, err);
        pb_binding_release(&b);
    }
    json_decref(facts);
    strbuf_release(&why);
    return rc;
}

static int run_kernel(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct playbook_shelf *s;
    const char *dir = NULL, *when = NULL;
    bool plain = false;
    const struct option opts[] = {
        DIR_OPTION(&dir),
        OPT_FLAG(
            0, "plain", &plain,
            "PLAYBOOK generate: write all launches from the task's graph; without --plain, the\n"
            "launches that fit another playbook, such as a product, are made by that one"),
        OPT_STR(0, "when", &when, "TABLE",
                "give ranges of shapes their own settings, such as\n"
                "'M <= 64: bm=32; else: bm=128'"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone playbook kernel [options] PLAYBOOK TASK [SETTING=VALUE...]",
        .about =
            "Prints a playbook's kernel for a task. A SETTING that you leave out has the value\n"
            "with which the built-in author begins: the one in [] in `hone playbook list`, or one\n"
            "that the playbook guesses from the sizes of the task.",
        .example = "hone playbook kernel softmax softmax threads=256 >k.cu",
        .opts = opts};
    cmd_parse(&spec, &argc, argv);
    if (argc < 2)
        return cmd_usage(&spec, "give a PLAYBOOK and a TASK");
    struct task *t = cmd_load_task(argv[1]);
    if (!t)
        return cmd_task_status(argv[1]);
    if (playbooks_open(&s, dir, &err) < 0) {
        task_free(t);
        return cmd_fail(&err);
    }
    struct strbuf out = STRBUF_INIT(4u << 20);
    const struct kernel_order order = {argv[0], plain, when, argc - 2, argv + 2};
    int rc = make_kernel(s, t, &order, &out, &err);
    if (rc == 0)
        fwrite(out.buf, 1, out.len, stdout);
    strbuf_release(&out);
    playbooks_close(s);
    task_free(t);
    return rc < 0 ? cmd_fail(&err) : HONE_OK;
}

static const struct command list_command = {"list", "list the playbooks", run_list};
static const struct command kernel_command = {"kernel", "print a kernel for a task", run_kernel};

static int run(int argc, const char **argv)
{
    static const struct command *const parts[] = {&list_command, &kernel_command};
    const struct option opts[] = {OPT_END()};
    const struct options spec = {
        .usage = "hone playbook list [options]\nhone playbook kernel [options] PLAYBOOK TASK ...",
        .about = "Playbooks are kernel templates with settings; `--author playbook` uses them.",
        .example = "hone playbook list\nhone playbook kernel softmax softmax threads=256 >k.cu",
        .opts = opts,
        .stop_at_operand = true};
    return cmd_forms("playbook", &spec, parts, ARRAY_LEN(parts), argc, argv);
}

const struct command cmd_playbook = {"playbook", "the templates of the built-in author", run};
