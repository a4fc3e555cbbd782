/*
 * oracle-source DIR - prints the C text of a task's oracle, for the build: see src/task/oracle.h.
 */
#include <stdio.h>

#include "base/strbuf.h"
#include "task/oracle.h"

int main(int argc, char **argv)
{
    struct problem_vec problems = VEC_INIT;
    struct strbuf text = STRBUF_INIT(4 << 20);
    struct err err = ERR_INIT;
    struct task *t = argc == 2 ? task_load(argv[1], &problems) : NULL;

    if (argc != 2)
        fprintf(stderr, "usage: oracle-source DIR\n");
    vec_each (struct problem, p, &problems)
        fprintf(stderr, "%s\n", p->text);
    int rc = t ? oracle_source(t, &text, &err) : -1;
    if (t && rc < 0)
        fprintf(stderr, "%s: %s\n", argv[1], err.msg);
    if (rc == 0 && (fwrite(text.buf, 1, text.len, stdout) != text.len || fflush(stdout) != 0))
        rc = -1;
    strbuf_release(&text);
    task_free(t);
    problems_release(&problems);
    return rc < 0;
}
