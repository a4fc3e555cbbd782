/*
 * check_result.c - collects the problems and notes of a check, and compares one element with its
 * truth.
 */
#include "task/check_result.h"

#include <math.h>
#include <stdarg.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "job/compare_core.h"

void check_say(struct problem_vec *v, const struct task *t, struct task_place at, const char *fmt,
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

void check_fail(struct task_check_result *r, const struct task *t, const struct err *err)
{
    r->machine = r->machine || err->kind == ERR_ENV || err->kind == ERR_SYSTEM;
    check_say(&r->problems, t, (struct task_place){0, 0}, "%s", err->msg);
}

double check_ratio(const struct task_tensor *t, double got, double want, double mag)
{
    struct compare_type type = compare_type_of((uint32_t)t->dtype);
    bool finite = isfinite(want);
    double slack = t->atol + t->rtol * (finite ? mag : 0);
    double ulp = finite ? compare_ulp(type, want) : 0;
    return compare_ratio(type, got, want, slack, slack + ulp / 2);
}

void task_check_result_release(struct task_check_result *r)
{
    problems_release(&r->problems);
    problems_release(&r->notes);
}
