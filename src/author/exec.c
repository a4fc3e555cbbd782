/*
 * exec.c - the author that asks a program, which reads a prompt from standard input and prints a
 * reply.
 *
 * The program runs in an empty temporary directory, away from the task's files and the store. Its
 * standard error appears only in error messages.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "author/author.h"
#include "base/tokens.h"
#include "base/util.h"
#include "sys/file.h"
#include "sys/loop.h"
#include "sys/proc.h"

struct command {
    struct author_call *call;
    struct temp_dir dir;
    struct strbuf prompt;
    const char *argv[4];
    struct child_process child;
    bool ended;
};

static int open_exec(struct author *a, const char *arg, struct err *err)
{
    if (!*arg)
        return err_set(err, ERR_USAGE, "name a command, as in exec:'my-model --flag'");
    const char *word = arg + strspn(arg, " \t");
    size_t n = strcspn(word, " \t");
    if (*word != '/' && memchr(word, '/', n)) {
        char *name = xstrndup(word, n), *full = realpath(name, NULL);
        err_set(err, ERR_USAGE,
                "the command runs in an empty directory, so '%s' is not found there: name it, and "
                "the files that it needs, by full paths%s%s",
                name, full ? ", as in exec:" : "", full ? full : "");
        free(name);
        free(full);
        return -1;
    }
    /* Checks only plain words: the shell may read a special character as something else. */
    if (*word == '/' && n == strcspn(word, " \t'\"\\$`*?[~;&|<>()")) {
        char *name = xstrndup(word, n);
        bool runs = access(name, X_OK) == 0;
        if (!runs)
            err_set(err, ERR_USAGE, "'%s' %s", name,
                    access(name, F_OK) == 0 ? "is not executable: chmod +x makes it so"
                                            : "does not exist");
        free(name);
        if (!runs)
            return -1;
    }
    a->priv = loop_new();
    return 0;
}

static void close_exec(struct author *a)
{
    loop_free(a->priv);
}

static void on_end(struct child_process *child, void *ctx)
{
    ((struct command *)ctx)->ended = true;
}

static int start(struct author_call *c, struct err *err)
{
    struct command *x = xcalloc(1, sizeof *x);
    x->call = c;
    x->dir = (struct temp_dir)TEMP_DIR_INIT;
    strbuf_init(&x->prompt, 16u << 20);
    strbuf_addf(&x->prompt, "%s%s", c->stable, c->turn);
    x->child = (struct child_process)CHILD_INIT;
    c->priv = x;
    if (x->prompt.truncated)
        return err_set(err, ERR_LIMIT, "the prompt is larger than 16 MiB");
    if (temp_dir_make(&x->dir, err) < 0)
        return -1;
    x->argv[0] = "/bin/sh";
    x->argv[1] = "-c";
    x->argv[2] = c->author->model;
    x->child.argv = x->argv;
    x->child.dir = x->dir.path;
    x->child.input = x->prompt.buf;
    x->child.input_len = x->prompt.len;
    x->child.max_out = AUTHOR_MAX_REPLY + 1;
    x->child.max_err = 16 << 10;
    x->child.limit_ns = c->author->cfg.total_ns;
    x->child.grace_ns = 1000000000u;
    x->child.on_end = on_end;
    x->child.ctx = x;
    return child_start(&x->child, c->author->priv, err);
}

static void judge(struct author_call *c, struct command *x)
{
    struct child_process *p = &x->child;
    struct strbuf how = STRBUF_INIT(1024);
    child_describe(p, &how);
    if (p->end != CHILD_EXITED || p->code != 0) {
        size_t end = p->err.len;
        while (end && isspace((unsigned char)p->err.buf[end - 1]))
            end--;
        size_t n = MIN(end, 600);
        bool missing = p->end == CHILD_EXITED && (p->code == 126 || p->code == 127);
        author_fail(c, ERR_ENV, "the command ended with %s%s%.*s%s", how.buf,
                    n ? "; it said: " : "", (int)n, p->err.buf + end - n,
                    missing ? " (it runs in an empty directory: name files by full paths)" : "");
    } else if (strspn(p->out.buf, " \t\r\n") == p->out.len) {
        author_fail(c, ERR_LIMIT, "the command printed nothing");
    } else {
        strbuf_add(&c->reply.text, p->out.buf, p->out.len);
        c->reply.in_tokens = estimate_tokens(x->prompt.buf, x->prompt.len);
        c->reply.out_tokens = estimate_tokens(p->out.buf, p->out.len);
        c->reply.estimated = true;
        author_succeed(c, "stop");
    }
    strbuf_release(&how);
}

static void step(struct author_call *c)
{
    struct command *x = c->priv;
    if (!x->ended)
        loop_step(c->author->priv, 0, NULL);
    if (x->child.out.len > AUTHOR_MAX_REPLY) /* end() kills the command */
        author_fail(c, ERR_LIMIT, "the command printed more than %u bytes", AUTHOR_MAX_REPLY);
    else if (x->ended)
        judge(c, x);
}

static void wait_loop(struct author *a, uint64_t timeout_ns)
{
    loop_step(a->priv, timeout_ns, NULL);
}

static void end(struct author_call *c)
{
    struct command *x = c->priv;
    child_release(&x->child);
    temp_dir_release(&x->dir);
    strbuf_release(&x->prompt);
    free(x);
    c->priv = NULL;
}

const struct author_ops author_exec = {
    .scheme = "exec",
    .usage = "exec:CMD",
    .about = "a program: prompt on its stdin, reply on its stdout, run in an empty directory",
    .open = open_exec,
    .close = close_exec,
    .start = start,
    .step = step,
    .wait = wait_loop,
    .end = end,
};
