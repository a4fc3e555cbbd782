/*
 * mailbox.c - the author that writes each prompt to a file and waits for the reply in another file.
 * People, or programs that start later, write the replies.
 *
 * A prompt is DIR/NNNN.prompt.md, where NNNN is a free number. We link it there from a temporary
 * file, so nobody sees an incomplete prompt, and several runs may share DIR. The reply is
 * DIR/NNNN.reply.md; whoever answers should rename a finished file to this name. A resumed run
 * finds its prompt by the prompt's first line.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "author/author.h"
#include "base/tokens.h"
#include "base/util.h"
#include "sys/file.h"

/* A reply is complete once it has not changed for SETTLE_NS, or is at least 2 s old. */
#define SETTLE_NS 400000000ull

struct letter {
    char *reply_path;
    /* Size and date of the reply's file, and since when they have not changed. */
    off_t size;
    struct timespec mtime;
    uint64_t same_since_ns;
};

static int open_mailbox(struct author *a, const char *arg, struct err *err)
{
    if (!*arg)
        return err_set(err, ERR_USAGE, "name a directory, as in mailbox:DIR");
    if (dir_make(arg, err) < 0)
        return -1;
    a->priv = xstrdup(arg);
    return 0;
}

/* Removes the mailbox if it is empty: otherwise rmdir() fails. So a run that Hone refuses at its
 * beginning leaves no mailbox behind. */
static void close_mailbox(struct author *a)
{
    rmdir(a->priv);
    free(a->priv);
}

/* Returns the number NNNN of a file NNNN.prompt.md or NNNN.reply.md. `suffix` is the part after the
 * number. Returns -1 for any other name. */
static long letter_number(const char *name, const char *suffix)
{
    char *end;
    if (name[0] < '0' || name[0] > '9')
        return -1;
    long n = strtol(name, &end, 10);
    return str_eq(end, suffix) && n >= 0 && n < 100000000 ? n : -1;
}

static void first_line(const struct author_call *c, char *out, size_t n)
{
    snprintf(out, n, "<!-- hone: run %s, role %s, call %llu -->", c->run, c->role,
             (unsigned long long)c->index);
}

static bool has_first_line(const char *dir, const char *name, const char *want)
{
    char path[4096], line[512] = "";
    snprintf(path, sizeof path, "%s/%s", dir, name);
    /* O_NONBLOCK: open() must not wait for a pipe. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, line, sizeof line - 1);
    close(fd);
    return n > 0 && str_starts(line, want);
}

/* Returns the number of the prompt with the first line `want`. If `want` is NULL, returns the
 * highest number in use. Returns -1 if there is none. The number of a reply without a prompt is in
 * use too: a new prompt with this number would get an old reply. */
static long scan(const char *dir, const char *want)
{
    long best = -1;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        long n = letter_number(e->d_name, ".prompt.md");
        if (n < 0 && !want)
            n = letter_number(e->d_name, ".reply.md");
        if (n > best && (!want || has_first_line(dir, e->d_name, want)))
            best = n;
    }
    if (d)
        closedir(d);
    return best;
}

/* Gives the file `tmp` the name NNNN.prompt.md, with the first free number from `n` on. Returns
 * this number. */
static long link_into_place(const char *dir, const char *tmp, long n, struct err *err)
{
    for (int tries = 0; tries < 100000; tries++, n++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%04ld.prompt.md", dir, n);
        if (link(tmp, path) == 0)
            return n;
        if (errno == EEXIST)
            continue;
        /* The file system may have no hard links: rename, but never over an existing file. */
        if (renameat2(AT_FDCWD, tmp, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
            return n;
        if (errno != EEXIST)
            return err_errno(err, "cannot place '%s'", path);
    }
    return err_set(err, ERR_SYSTEM, "no free number in mailbox '%s'", dir);
}

static long post(const char *dir, const struct author_call *c, struct err *err)
{
    char line[512], tmp[4096];
    struct strbuf sb = STRBUF_INIT(16u << 20);
    first_line(c, line, sizeof line);
    strbuf_addf(&sb, "%s\n\n%s%s", line, c->stable, c->turn);
    snprintf(tmp, sizeof tmp, "%s/.prompt.%ld.%s.%llu.tmp", dir, (long)getpid(), c->role,
             (unsigned long long)c->index);
    long n = -1;
    if (sb.truncated)
        err_set(err, ERR_LIMIT, "the prompt is larger than 16 MiB");
    else if (dir_make(dir, err) < 0) /* another run that ended may have removed the empty mailbox */
        n = -1;
    else if (file_write(tmp, sb.buf, sb.len, err) == 0)
        n = link_into_place(dir, tmp, scan(dir, NULL) + 1, err);
    unlink(tmp);
    strbuf_release(&sb);
    return n;
}

static void say_awaited(struct author_call *c, const char *why)
{
    const struct letter *l = c->priv;
    snprintf(c->waits_for, sizeof c->waits_for, "the file %s, the reply to %s.prompt.md%s",
             l->reply_path, c->handle, why);
}

static int start(struct author_call *c, struct err *err)
{
    const char *dir = c->author->priv;
    char line[512];
    long n = -1;
    first_line(c, line, sizeof line);
    if (c->resume)
        n = scan(dir, line);
    if (n < 0)
        n = post(dir, c, err);
    if (n < 0)
        return -1;
    struct letter *l = xcalloc(1, sizeof *l);
    snprintf(c->handle, sizeof c->handle, "%04ld", n);
    l->reply_path = xasprintf("%s/%04ld.reply.md", dir, n);
    c->priv = l;
    say_awaited(c, "");
    return 0;
}

static void take_reply(struct author_call *c, struct letter *l)
{
    struct err err = ERR_INIT;
    if (file_read(l->reply_path, AUTHOR_MAX_REPLY, &c->reply.text, &err) < 0) {
        author_fail(c, err.kind, "%s", err.msg);
        return;
    }
    c->reply.in_tokens =
        estimate_tokens(c->stable, strlen(c->stable)) + estimate_tokens(c->turn, strlen(c->turn));
    c->reply.out_tokens = estimate_tokens(c->reply.text.buf, c->reply.text.len);
    c->reply.estimated = true;
    author_succeed(c, "stop");
}

static void step(struct author_call *c)
{
    struct letter *l = c->priv;
    struct stat st;
    uint64_t now = now_ns();
    if (stat(l->reply_path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        bool same = st.st_size == l->size && st.st_mtim.tv_sec == l->mtime.tv_sec &&
                    st.st_mtim.tv_nsec == l->mtime.tv_nsec;
        struct timespec wall;
        clock_gettime(CLOCK_REALTIME, &wall);
        double age = difftime(wall.tv_sec, st.st_mtim.tv_sec);
        if (!same) {
            l->size = st.st_size;
            l->mtime = st.st_mtim;
            l->same_since_ns = now;
        }
        if (age >= 2 || (same && now - l->same_since_ns >= SETTLE_NS))
            take_reply(c, l);
    } else if (now - c->started_ns > c->author->cfg.wait_ns) {
        author_fail(c, ERR_LIMIT, "no reply at '%s' within %.0f s", l->reply_path,
                    (double)c->author->cfg.wait_ns / 1e9);
    } else {
        bool there = stat(l->reply_path, &st) == 0;
        say_awaited(c, !there                ? ""
                       : S_ISREG(st.st_mode) ? ", which is empty so far"
                                             : ", which is not a file");
    }
}

static void wait_a_moment(struct author *a, uint64_t timeout_ns)
{
    poll(NULL, 0, (int)(MIN(timeout_ns, 200000000u) / 1000000));
}

static void end(struct author_call *c)
{
    struct letter *l = c->priv;
    free(l->reply_path);
    free(l);
    c->priv = NULL;
}

const struct author_ops author_mailbox = {
    .scheme = "mailbox",
    .usage = "mailbox:DIR",
    .about = "Hone writes NNNN.prompt.md and waits for NNNN.reply.md",
    .open = open_mailbox,
    .close = close_mailbox,
    .start = start,
    .step = step,
    .wait = wait_a_moment,
    .end = end,
};
