/*
 * slurm.c - connects ranks that srun started, on one or several machines, through TCP.
 *
 * 1. Every rank listens on a free port. Rank 0 writes its addresses and a secret into the file
 *    .hone-gnn-JOB.STEP.RESTARTS in the working directory, which all machines share.
 * 2. The other ranks read the file, connect to rank 0 and send their own addresses. Rank 0 removes
 *    the file and sends every rank all addresses.
 * 3. Each rank r > 0 connects to the ranks 1 to r - 1.
 *
 * The first message of a connection holds the secret. Later data has no headers, because every rank
 * knows how many bytes a call moves.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "gnn/comm/transport.h"
#include "sys/file.h"
#include "sys/interrupt.h"

#define SECOND UINT64_C(1000000000)
#define MEET_NS (120 * SECOND) /* the longest wait for all ranks */
/* The longest wait for a connection, and for its first message. */
#define CONNECT_NS (5 * SECOND)
enum {
    SECRET = 32,                    /* characters */
    MAX_ADDRESSES = 400,            /* bytes of hello.where */
    MAX_GUESTS = 2 * COMM_MAX_RANKS /* connections whose first message has not come yet */
};

struct hello {
    char secret[SECRET];
    uint32_t rank;
    char where[MAX_ADDRESSES]; /* "BOOT-ID PORT ADDRESS..." */
};

struct slurm_comm {
    struct comm base;
    int *fd; /* fd[r] leads to rank r; -1 if r is this rank or not connected yet */
    struct hello own;
    int listener;
    float *parts; /* room for scatter(): a chunk from each rank */
    size_t part_reals;
    struct transfer *out, *in; /* for each rank: what to send to it, and to receive from it */
};

struct transfer {
    char *at;
    size_t left;
};

static struct slurm_comm *slurm_of(struct comm *c)
{
    return (struct slurm_comm *)c;
}

/* ---- moving bytes ---------------------------------------------------------------------------- */

static int rank_ended(int rank, int code, struct err *err)
{
    return err_set(err, ERR_SYSTEM, "rank %d ended%s%s", rank, code ? ": " : "",
                   code ? strerror(code) : "");
}

static int move_some(struct transfer *t, int fd, bool out, int rank, struct err *err)
{
    while (t->left) {
        ssize_t n = out ? send(fd, t->at, t->left, MSG_NOSIGNAL | MSG_DONTWAIT)
                        : recv(fd, t->at, t->left, MSG_DONTWAIT);
        if (n > 0) {
            t->at += n;
            t->left -= (size_t)n;
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            break;
        } else {
            return rank_ended(rank, n < 0 ? errno : 0, err);
        }
    }
    return 0;
}

/* Sends all of c->out and receives all of c->in at the same time. If each rank sent first and
 * received later, two could wait for each other for ever. */
static int exchange(struct slurm_comm *c, struct err *err)
{
    struct pollfd *p = xcalloc((size_t)c->base.ranks, sizeof *p);
    int rc = 0;
    memcpy(c->in[c->base.rank].at, c->out[c->base.rank].at, c->in[c->base.rank].left);
    for (bool busy = true; busy && rc == 0;) {
        busy = false;
        for (int r = 0; r < c->base.ranks && rc == 0; r++) {
            p[r] = (struct pollfd){.fd = -1};
            if (r == c->base.rank)
                continue;
            rc = move_some(&c->out[r], c->fd[r], true, r, err);
            if (rc == 0)
                rc = move_some(&c->in[r], c->fd[r], false, r, err);
            p[r].events = (short)((c->out[r].left ? POLLOUT : 0) | (c->in[r].left ? POLLIN : 0));
            p[r].fd = p[r].events ? c->fd[r] : -1;
            busy = busy || p[r].events;
        }
        if (rc == 0 && busy && poll(p, (nfds_t)c->base.ranks, -1) < 0 && errno != EINTR)
            rc = err_errno(err, "waiting for the other ranks");
    }
    free(p);
    return rc;
}

static struct transfer bytes(const void *at, size_t n)
{
    return (struct transfer){.at = (char *)at, .left = n};
}

static int gather(struct comm *c, const double *mine, double *all, struct err *err)
{
    struct slurm_comm *s = slurm_of(c);
    size_t n = COMM_MAX_SUMS * sizeof *mine;
    for (int r = 0; r < c->ranks; r++) {
        s->out[r] = bytes(mine, n);
        s->in[r] = bytes(all + (ptrdiff_t)r * COMM_MAX_SUMS, n);
    }
    return exchange(s, err);
}

static int scatter(struct comm *c, const float *x, int64_t n, const float **part, struct err *err)
{
    struct slurm_comm *s = slurm_of(c);
    size_t own = (size_t)(chunk_at(c, n, c->rank + 1) - chunk_at(c, n, c->rank));
    if (own * (size_t)c->ranks > s->part_reals) {
        s->part_reals = own * (size_t)c->ranks;
        s->parts = xrealloc(s->parts, s->part_reals * sizeof *s->parts);
    }
    for (int r = 0; r < c->ranks; r++) {
        int64_t first = chunk_at(c, n, r), last = chunk_at(c, n, r + 1);
        s->out[r] = bytes(x + first, (size_t)(last - first) * sizeof *x);
        part[r] = s->parts + (size_t)r * own;
        s->in[r] = bytes(part[r], own * sizeof *x);
    }
    return exchange(s, err);
}

static int share(struct comm *c, const float *chunk, float *x, int64_t n, struct err *err)
{
    struct slurm_comm *s = slurm_of(c);
    size_t own = (size_t)(chunk_at(c, n, c->rank + 1) - chunk_at(c, n, c->rank));
    for (int r = 0; r < c->ranks; r++) {
        int64_t first = chunk_at(c, n, r), last = chunk_at(c, n, r + 1);
        s->out[r] = bytes(chunk, own * sizeof *x);
        s->in[r] = bytes(x + first, (size_t)(last - first) * sizeof *x);
    }
    return exchange(s, err);
}

static void close_slurm(struct comm *c)
{
    struct slurm_comm *s = slurm_of(c);
    for (int r = 0; r < c->ranks; r++)
        if (s->fd[r] >= 0)
            close(s->fd[r]);
    if (s->listener >= 0)
        close(s->listener);
    free(s->fd);
    free(s->out);
    free(s->in);
    free(s->parts);
    free(s);
}

static const struct transport slurm_transport = {gather, scatter, share, close_slurm};

/* ---- addresses ------------------------------------------------------------------------------- */

static void machine_id(char out[64])
{
    struct strbuf text = STRBUF_INIT(64);
    snprintf(out, 64, "unknown");
    if (file_read("/proc/sys/kernel/random/boot_id", 63, &text, NULL) == 0)
        sscanf(text.buf, "%63s", out);
    strbuf_release(&text);
}

/* Listens on a free port and sets *port to its number. Uses IPv4 if there is no IPv6. */
static int open_listener(struct slurm_comm *s, unsigned *port, struct err *err)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    struct sockaddr_in four = {.sin_family = AF_INET};
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } got;
    memset(&got, 0, sizeof got);
    socklen_t len = sizeof got;
    int off = 0;
    s->listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->listener < 0 ||
        setsockopt(s->listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) < 0 ||
        bind(s->listener, (struct sockaddr *)&six, sizeof six) < 0) {
        if (s->listener >= 0)
            close(s->listener);
        s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (s->listener < 0 || bind(s->listener, (struct sockaddr *)&four, sizeof four) < 0)
            return err_errno(err, "cannot open a port");
    }
    if (listen(s->listener, s->base.ranks) < 0 || getsockname(s->listener, &got.any, &len) < 0)
        return err_errno(err, "cannot listen on a port");
    *port = ntohs(got.any.sa_family == AF_INET6 ? got.six.sin6_port : got.four.sin_port);
    return 0;
}

/* Writes this rank's hello.where: the boot id, the port, and the addresses that other machines can
 * reach. */
static int describe(char out[MAX_ADDRESSES], unsigned port, struct err *err)
{
    char machine[64], text[NI_MAXHOST];
    struct ifaddrs *all;
    if (getifaddrs(&all) < 0)
        return err_errno(err, "cannot list the network addresses");
    machine_id(machine);
    int n = snprintf(out, MAX_ADDRESSES, "%s %u", machine, port);
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK))
            continue;
        bool four = i->ifa_addr->sa_family == AF_INET;
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)i->ifa_addr;
        if (!four && (i->ifa_addr->sa_family != AF_INET6 || IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)))
            continue;
        size_t size = four ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        if (getnameinfo(i->ifa_addr, (socklen_t)size, text, sizeof text, NULL, 0, NI_NUMERICHOST) ==
                0 &&
            (size_t)n + strlen(text) + 2 < MAX_ADDRESSES)
            n += snprintf(out + n, MAX_ADDRESSES - (size_t)n, " %s", text);
    }
    freeifaddrs(all);
    return 0;
}

/* ---- connections ----------------------------------------------------------------------------- */

/* With these options, the system notices within about 90 s that the other machine is gone. */
static void set_options(int fd)
{
    int one = 1, idle = 30, every = 10, probes = 6, most_ms = 90000;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof most_ms);
}

/* Waits until fd is ready for `events`. Returns false if the time `until` comes first, or after
 * Ctrl-C. */
static bool wait_fd(int fd, short events, uint64_t until)
{
    while (!interrupted() && now_ns() < until) {
        struct pollfd p = {.fd = fd, .events = events};
        if (poll(&p, 1, 100) > 0)
            return true;
    }
    return false;
}

static bool move_all(int fd, void *data, size_t n, bool out, uint64_t until)
{
    struct transfer t = bytes(data, n);
    while (t.left)
        if (!wait_fd(fd, out ? POLLOUT : POLLIN, until) || move_some(&t, fd, out, 0, NULL) < 0)
            return false;
    return true;
}

static int connect_address(const char *address, const char *port)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *a;
    int code = 0;
    socklen_t len = sizeof code;
    if (getaddrinfo(address, port, &hints, &a) != 0)
        return -1;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool ok = fd >= 0 && (connect(fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS) &&
              wait_fd(fd, POLLOUT, now_ns() + CONNECT_NS) &&
              getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) == 0 && code == 0;
    freeaddrinfo(a);
    if (!ok && fd >= 0)
        close(fd);
    return ok ? fd : -1;
}

static int connect_rank(struct slurm_comm *s, const char *where)
{
    char text[MAX_ADDRESSES], machine[64], *at = text, *word;
    const char *port = NULL;
    int fd = -1;
    machine_id(machine);
    snprintf(text, sizeof text, "%s", where);
    for (int i = 0; fd < 0 && (word = strsep(&at, " \n")); i++) {
        if (i == 1)
            port = word;
        if (i == 1 && str_starts(where, machine))
            fd = connect_address("127.0.0.1", port);
        if (i > 1 && *word)
            fd = connect_address(word, port);
    }
    if (fd >= 0 && !move_all(fd, &s->own, sizeof s->own, true, now_ns() + CONNECT_NS)) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0)
        set_options(fd);
    return fd;
}

/* A connection whose first message is not complete. */
struct guest {
    int fd;
    struct hello hello;
    struct transfer left;
    uint64_t until_ns;
};
VEC_DECL(guests, struct guest);

/* Keeps the connection if the secret is right and the rank is above `own`, else closes it. Returns
 * true if the rank was not connected before. */
static bool take_guest(struct slurm_comm *s, const struct guest *g, int own,
                       char (*where)[MAX_ADDRESSES])
{
    const struct hello *h = &g->hello;
    if (memcmp(h->secret, s->own.secret, SECRET) != 0 || h->rank <= (uint32_t)own ||
        h->rank >= (uint32_t)s->base.ranks) {
        close(g->fd);
        return false;
    }
    set_options(g->fd);
    bool missing = s->fd[h->rank] < 0;
    if (!missing)
        close(s->fd[h->rank]); /* the rank gave up its older connection */
    s->fd[h->rank] = g->fd;
    if (where) {
        memcpy(where[h->rank], h->where, MAX_ADDRESSES);
        where[h->rank][MAX_ADDRESSES - 1] = '\0';
    }
    return missing;
}

static int hear_guests(struct slurm_comm *s, struct guests *guests, int own,
                       char (*where)[MAX_ADDRESSES])
{
    int found = 0;
    for (size_t i = 0; i < guests->n;) {
        struct guest *g = &guests->items[i];
        g->left.at = (char *)(&g->hello + 1) - g->left.left; /* the array may have moved */
        bool bad = move_some(&g->left, g->fd, false, 0, NULL) < 0 || now_ns() > g->until_ns;
        if (g->left.left && !bad) {
            i++;
            continue;
        }
        if (g->left.left)
            close(g->fd);
        else
            found += take_guest(s, g, own, where);
        *g = guests->items[--guests->n];
    }
    return found;
}

static void await_guests(const struct slurm_comm *s, const struct guests *guests)
{
    struct pollfd *p = xcalloc(guests->n + 1, sizeof *p);
    p[0] = (struct pollfd){.fd = s->listener, .events = POLLIN};
    for (size_t i = 0; i < guests->n; i++)
        p[i + 1] = (struct pollfd){.fd = guests->items[i].fd, .events = POLLIN};
    poll(p, (nfds_t)guests->n + 1, 100);
    free(p);
}

/* Waits until every rank above `own` is connected. `where` gets their addresses, and may be
 * NULL. */
static int accept_ranks(struct slurm_comm *s, int own, char (*where)[MAX_ADDRESSES], uint64_t until,
                        struct err *err)
{
    int missing = s->base.ranks - 1 - own;
    struct guests guests = VEC_INIT;
    while (missing && !interrupted() && now_ns() < until) {
        await_guests(s, &guests);
        int fd = guests.n < MAX_GUESTS
                     ? accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)
                     : -1;
        if (fd >= 0)
            *vec_push(&guests) = (struct guest){.fd = fd,
                                                .left = bytes(NULL, sizeof(struct hello)),
                                                .until_ns = now_ns() + CONNECT_NS};
        missing -= hear_guests(s, &guests, own, where);
    }
    vec_each (struct guest, g, &guests)
        close(g->fd);
    vec_release(&guests);
    if (missing)
        return err_set(err, ERR_ENV,
                       "%d of %d ranks did not appear: all nodes must share the working directory "
                       "and reach each other's ports",
                       missing, s->base.ranks);
    return 0;
}

/* ---- meeting --------------------------------------------------------------------------------- */

static char *meeting_file(void)
{
    const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID"),
               *restart = getenv("SLURM_RESTART_COUNT");
    return xasprintf(".hone-gnn-%s.%s.%s", job ? job : "0", step ? step : "0",
                     restart ? restart : "0");
}

static int make_secret(char secret[SECRET], struct err *err)
{
    unsigned char raw[SECRET / 2];
    char hex[SECRET + 1];
    if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw)
        return err_errno(err, "getrandom");
    for (size_t i = 0; i < sizeof raw; i++)
        snprintf(hex + 2 * i, 3, "%02x", raw[i]);
    memcpy(secret, hex, SECRET);
    return 0;
}

static int write_meeting_file(const struct slurm_comm *s, const char *path, struct err *err)
{
    char *text = xasprintf("%.*s %s\n", SECRET, s->own.secret, s->own.where);
    int rc = file_write_mode(path, text, strlen(text), 0600, err);
    free(text);
    return rc < 0 ? err_prefix(err, "rank 0 tells the others its address in a file of the working "
                                    "directory, which all nodes must share")
                  : 0;
}

static int meet_as_first(struct slurm_comm *s, const char *path, uint64_t until, struct err *err)
{
    char(*where)[MAX_ADDRESSES] = xcalloc((size_t)s->base.ranks, sizeof *where);
    memcpy(where[0], s->own.where, MAX_ADDRESSES);
    int rc = make_secret(s->own.secret, err);
    if (rc == 0)
        rc = write_meeting_file(s, path, err);
    if (rc == 0)
        rc = accept_ranks(s, 0, where, until, err);
    unlink(path);
    for (int r = 1; r < s->base.ranks && rc == 0; r++)
        if (!move_all(s->fd[r], where, (size_t)s->base.ranks * sizeof *where, true, until))
            rc = rank_ended(r, 0, err);
    free(where);
    return rc;
}

/* Reads the secret, and writes the addresses of rank 0 to `where`. Returns false if the file is
 * missing, not complete, or owned by another user. */
static bool read_meeting_file(struct slurm_comm *s, const char *path, char where[MAX_ADDRESSES])
{
    struct strbuf text = STRBUF_INIT(1000);
    struct stat st;
    bool ok = stat(path, &st) == 0 && st.st_uid == geteuid() &&
              file_read(path, 999, &text, NULL) == 0 && text.len > SECRET + 1 &&
              text.buf[text.len - 1] == '\n' && text.buf[SECRET] == ' ';
    if (ok) {
        memcpy(s->own.secret, text.buf, SECRET);
        snprintf(where, MAX_ADDRESSES, "%s", text.buf + SECRET + 1);
    }
    strbuf_release(&text);
    return ok;
}

/* Connects to rank 0, and receives the addresses of all ranks into `where`. Tries until rank 0
 * answers, because the file may be left over from an earlier rank 0. */
static int find_first(struct slurm_comm *s, const char *path, char (*where)[MAX_ADDRESSES],
                      uint64_t until, struct err *err)
{
    while (!interrupted() && now_ns() < until) {
        if (read_meeting_file(s, path, where[0]) && (s->fd[0] = connect_rank(s, where[0])) >= 0) {
            if (move_all(s->fd[0], where, (size_t)s->base.ranks * sizeof *where, false, until))
                return 0;
            close(s->fd[0]);
            s->fd[0] = -1;
        }
        poll(NULL, 0, 100);
    }
    char *cwd = getcwd(NULL, 0);
    err_set(err, ERR_ENV,
            "rank %d found no rank 0: its address must appear in %s/%s. Run srun in a directory "
            "that all nodes share",
            s->base.rank, cwd ? cwd : ".", path);
    free(cwd);
    return -1;
}

static int meet_first(struct slurm_comm *s, const char *path, uint64_t until, struct err *err)
{
    char(*where)[MAX_ADDRESSES] = xcalloc((size_t)s->base.ranks, sizeof *where);
    int rc = find_first(s, path, where, until, err);
    for (int r = 1; r < s->base.rank && rc == 0; r++) {
        where[r][MAX_ADDRESSES - 1] = '\0';
        while ((s->fd[r] = connect_rank(s, where[r])) < 0 && now_ns() < until && !interrupted())
            poll(NULL, 0, 100);
        if (s->fd[r] < 0)
            rc = err_set(err, ERR_ENV, "rank %d cannot reach rank %d at %s", s->base.rank, r,
                         where[r]);
    }
    if (rc == 0)
        rc = accept_ranks(s, s->base.rank, NULL, until, err);
    free(where);
    return rc;
}

/* ---- opening --------------------------------------------------------------------------------- */

bool comm_slurm_wanted(void)
{
    /* A script of sbatch has SLURM_PROCID too, but not SLURM_STEP_NUM_TASKS. */
    return getenv("SLURM_PROCID") && comm_env_number("SLURM_STEP_NUM_TASKS") > 1;
}

int comm_open_slurm(struct comm **out, struct err *err)
{
    long rank = comm_env_number("SLURM_PROCID"), ranks = comm_env_number("SLURM_STEP_NUM_TASKS");
    uint64_t until = now_ns() + MEET_NS;
    unsigned port = 0;
    if (ranks > COMM_MAX_RANKS)
        return err_set(err, ERR_USAGE, "at most %d ranks, not %ld", COMM_MAX_RANKS, ranks);
    if (rank < 0 || rank >= ranks)
        return err_set(
            err, ERR_ENV,
            "SLURM_PROCID is '%s', which is not a rank of SLURM_STEP_NUM_TASKS=%ld: start "
            "the ranks with srun",
            getenv("SLURM_PROCID"), ranks);
    struct slurm_comm *s = xcalloc(1, sizeof *s);
    s->base = (struct comm){.t = &slurm_transport, .rank = (int)rank, .ranks = (int)ranks};
    s->listener = -1;
    s->own.rank = (uint32_t)rank;
    s->fd = xcalloc((size_t)ranks, sizeof *s->fd);
    s->out = xcalloc((size_t)ranks, sizeof *s->out);
    s->in = xcalloc((size_t)ranks, sizeof *s->in);
    for (long r = 0; r < ranks; r++)
        s->fd[r] = -1;
    char *path = meeting_file();
    int rc = open_listener(s, &port, err);
    if (rc == 0)
        rc = describe(s->own.where, port, err);
    if (rc == 0)
        rc = rank == 0 ? meet_as_first(s, path, until, err) : meet_first(s, path, until, err);
    free(path);
    if (rc < 0) {
        close_slurm(&s->base);
        return -1;
    }
    close(s->listener); /* nobody else may connect */
    s->listener = -1;
    *out = &s->base;
    return 0;
}
