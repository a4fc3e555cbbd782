/* study.c - tests the rows of a study: which rows of a file belong to it, and the tables and the
 * plot made of them. Also tests the arms of studies. */
#include "study/study.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "study/scores.h"
#include "sys/file.h"

static struct err err;
static struct temp_dir tmp;

static struct study new_study(uint32_t budget, const char *author)
{
    struct study s = {.dir = tmp.path, .author = author, .seeds = 2, .budget = budget, .jobs = 1};
    assert_int_equal(study_add_task(&s, "softmax", &err), 0);
    return s;
}

static const struct study_arm *arm(const char *name)
{
    const struct study_arm *a = study_arms;
    while (!str_eq(a->name, name))
        a++;
    return a;
}

static void add_row(const struct study *s, const char *name, unsigned seed, const char *curve)
{
    struct strbuf line = STRBUF_INIT(4096);
    char *path = xasprintf("%s/study.tsv", s->dir);
    strbuf_addf(&line, "%s\tsoftmax\t%u\t", name, seed);
    study_setup(s, arm(name), s->tasks.items[0].task, &line);
    strbuf_addf(&line, "\t%s", curve);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs(line.buf, f);
    fclose(f);
    free(path);
    strbuf_release(&line);
}

static size_t count_rows(const struct study *s)
{
    struct arena mem = ARENA_INIT;
    struct study_row_vec rows = VEC_INIT;
    assert_int_equal(study_read_rows(s, &rows, &mem, &err), 0);
    size_t n = rows.n;
    vec_release(&rows);
    arena_release(&mem);
    return n;
}

static void rows_belong_to_one_setup(void **state)
{
    struct study s = new_study(2, "noisy"), longer = new_study(3, "noisy");
    struct study other = new_study(2, "noisy:idle=0"), wider = new_study(2, "noisy");
    assert_int_equal(study_add_task(&wider, "rmsnorm", &err), 0);
    add_row(&s, "refine", 1, "200.0,100.0\n");
    add_row(&s, "playbook, with memory", 1, "200.0,100.0\n");
    assert_int_equal(count_rows(&s), 2);
    assert_int_equal(count_rows(&longer), 0);
    assert_int_equal(count_rows(&other), 1); /* only the row of the author `playbook` */
    assert_int_equal(count_rows(&wider), 2); /* rmsnorm is no sibling of softmax */
    study_release(&wider);
    wider = new_study(2, "noisy");
    wider.tasks.items[0].sibling[0]->name = "another";
    assert_int_equal(count_rows(&wider), 1); /* the row with memory had other lessons */
    add_row(&s, "search", 1, "100.0,1");     /* this row is cut off: its line has no end */
    assert_int_equal(count_rows(&s), 2);
    study_release(&s);
    study_release(&longer);
    study_release(&other);
    study_release(&wider);
}

/* A column without a measurement is empty. If rows are missing, the table says how many of the
 * needed rows there are. */
static void tables_say_only_what_was_measured(void **state)
{
    struct study s = new_study(2, "noisy");
    struct strbuf text = STRBUF_INIT(1u << 20);
    char *path = xasprintf("%s/study.tsv", s.dir);
    remove(path);
    free(path);
    add_row(&s, "search", 1, "200.0,100.0\n");
    add_row(&s, "search", 2, "100.0,100.0\n");
    add_row(&s, "search", 2, "100.0,100.0\n"); /* the same row once more */
    add_row(&s, "sample", 1, "200.0,200.0\n");
    s.only = "search";
    assert_int_equal(study_table(&s, &text, &err), 0);
    assert_null(strstr(text.buf, "not complete"));
    assert_non_null(
        strstr(text.buf, "| search | 2 | 100.0 [100.0, 100.0] | 87.5 [75.0, 100.0] | |"));
    assert_null(strstr(text.buf, "+0.0"));
    s.only = "search;refine";
    strbuf_clear(&text);
    assert_int_equal(study_table(&s, &text, &err), 0);
    assert_non_null(strstr(text.buf, "it has 2 of 4 runs"));
    strbuf_release(&text);
    study_release(&s);
}

/* Each line of the plot has a colour of its own. */
static void arms_have_their_own_colours(void **state)
{
    struct study s = new_study(2, "noisy");
    struct strbuf svg = STRBUF_INIT(1u << 20);
    char seen[64][8];
    size_t n = 0;
    s.seeds = 1;
    for (const struct study_arm *a = study_arms; a->name; a++)
        add_row(&s, a->name, 1, "200.0,100.0\n");
    assert_int_equal(study_plot(&s, &svg, &err), 0);
    static const char line[] = "<polyline fill=\"none\" stroke=\"";
    for (const char *p = svg.buf; (p = strstr(p, line)) && n < ARRAY_LEN(seen); n++) {
        p += sizeof line - 1;
        snprintf(seen[n], sizeof seen[n], "%.7s", p);
        for (size_t k = 0; k < n; k++)
            assert_string_not_equal(seen[k], seen[n]);
    }
    assert_true(n > 10);
    strbuf_release(&svg);
    study_release(&s);
}

static const struct study_arm *with_option(const char *option)
{
    const struct study_arm *a = study_arms;
    while (a->name && !(a->option && str_eq(a->option, option)))
        a++;
    return a->name ? a : NULL;
}

/* An arm can set the options that `hone optimize` has, and no others. */
static void options_reach_the_run(void **state)
{
    struct run_config c;
    run_config_init(&c);
    for (const struct study_arm *a = study_arms; a->name; a++)
        assert_int_equal(a->option ? study_set_option(&c, a->option, &err) : 0, 0);
    assert_non_null(with_option("repairs=0"));
    assert_int_equal(study_set_option(&c, "repairs=0", &err), 0);
    assert_int_equal(c.repairs, 0);
    assert_int_equal(study_set_option(&c, "tries=1", &err), 0);
    assert_int_equal(c.tries, 1);
    assert_int_equal(study_set_option(&c, "wave=4", &err), 0);
    assert_int_equal(c.wave, 4);
    assert_int_equal(study_set_option(&c, "steps=1000", &err), 0);
    assert_int_equal(c.steps, 1000);
    static const char *const bad[] = {"", "repairs", "repairs=", "wave=2x", "seed=3", "tries=5000"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(study_set_option(&c, bad[i], &err), -1);
}

/* Every strategy that improves a kernel step by step uses memory. So each of these strategies has
 * an arm with memory. */
static void strategies_have_an_arm_with_memory(void **state)
{
    static const char *const names[] = {"refine", "team", "search"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        bool found = false;
        for (const struct study_arm *a = study_arms; a->name; a++)
            found |= a->memory && !a->author && str_eq(a->strategy, names[i]);
        assert_true(found);
    }
}

static int set_up(void **state)
{
    tmp = (struct temp_dir)TEMP_DIR_INIT;
    return temp_dir_make(&tmp, NULL);
}

static int tear_down(void **state)
{
    temp_dir_release(&tmp);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_belong_to_one_setup),
        cmocka_unit_test(tables_say_only_what_was_measured),
        cmocka_unit_test(arms_have_their_own_colours),
        cmocka_unit_test(options_reach_the_run),
        cmocka_unit_test(strategies_have_an_arm_with_memory),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
