/*
 * limiter.c - see limiter.h.
 *
 * A limit says how much may be used in a window, usually a minute. We divide a window into PARTS
 * parts of equal length. The log (`used` and `extra` of struct limit) counts the use in each part.
 */
#include "author/limits/limiter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "sys/file.h"
#include "sys/hash.h"
#include "sys/shared_state.h"

#define MAGIC 0x686f6e656c696d31 /* "honelim1" */
#define SEC_NS 1000000000ull

enum {
    TICKETS = 256, /* of all processes together */
    PARTS = 32,
    RING = PARTS + 2, /* entries of the log; part p is at p % RING */
    SALT = 32,
    BURST = 8,  /* a burst takes at most 1/BURST of a limit */
    CREDIT = 8, /* requests by which an idle run may catch up */
    OLD_DAYS = 30,
};
/* While requests go one at a time, the next one waits at most this long for the one under way. */
#define PROBE_NS (5 * SEC_NS)

enum stage { FREE, WAITING, GRANTED, SENT, ANSWERED };

struct ticket {
    uint32_t stage, member; /* `member`: index in state.members */
    uint64_t seq;
    uint64_t sent_ns;         /* time of the grant; from SENT on, the time when it was sent */
    uint64_t logged_at;       /* the part in which log_need() counted `need` */
    double need[LIMIT_KINDS]; /* the most that the request may take */
};

struct limit {
    double most; /* how much may be used in a window; 0 if not known */
    /* How much we may grant now. Grows with time, to spread requests over the window. */
    double pace;
    /* When a longer limit, such as a daily one, opens again; 0 if open. */
    uint64_t closed_until_ns;
    double used[RING]; /* what our requests used */
    /* The provider counts this much more than `used`, because it reserves tokens for longer
     * replies, and because other machines send requests too. */
    double extra[RING];
};

struct member {
    int64_t run;   /* 0 if this entry is free */
    double served; /* sum of the costs that charge() added */
};

struct state {
    /* `part`: the number of the current part, counted since time 0. `swept_ns`, `paced_ns`: when
     * sweep() and refill() were last done. */
    uint64_t seq, part, swept_ns, paced_ns, pause_until_ns;
    uint32_t learnt;  /* an answer has come */
    uint32_t careful; /* limiter_pause() was called, and no request has succeeded since */
    /* The largest `served` that a run had when its request was granted. A new run starts with this
     * value; with 0 it would be next until it had caught up with all others. */
    double clock;
    double longest_output; /* in tokens; shrinks by 2% with each shorter reply */
    struct limit limits[LIMIT_KINDS];
    struct member members[SHARED_STATE_MEMBERS];
    struct ticket tickets[TICKETS];
};

struct limiter {
    struct shared_state *shared;
    uint64_t window_ns;
    uint64_t (*now)(void);
};

/* ---- the file -------------------------------------------------------------------------------- */

/* Reads the user's salt, a random secret that goes into the names of the state files. Makes it if
 * there is none. If two processes make it at the same time, link() lets only the first succeed. */
static int read_salt(const char *dir, unsigned char salt[SALT], struct err *err)
{
    char *path = xasprintf("%s/salt", dir), *temp = xasprintf("%s/.salt.%d", dir, (int)getpid());
    struct strbuf text = STRBUF_INIT(SALT + 1);
    int rc = 0;
    if (!file_exists(path)) {
        if (getrandom(salt, SALT, 0) != SALT)
            rc = err_errno(err, "no random numbers");
        if (rc == 0)
            rc = file_write_mode(temp, salt, SALT, 0600, err);
        if (rc == 0 && link(temp, path) < 0 && errno != EEXIST)
            rc = err_errno(err, "'%s'", path);
        unlink(temp);
    }
    if (rc == 0)
        rc = file_read(path, SALT + 1, &text, err);
    if (rc == 0 && text.len != SALT)
        rc = err_set(err, ERR_ENV, "'%s' is damaged: remove it", path);
    if (rc == 0)
        memcpy(salt, text.buf, SALT);
    strbuf_release(&text);
    free(temp);
    free(path);
    return rc;
}

static void remove_old_files(const char *dir)
{
    struct name_vec names = VEC_INIT;
    if (dir_list(dir, &names, NULL) == 0)
        vec_each (char *, n, &names) {
            char *path = xasprintf("%s/%s", dir, *n);
            struct stat st;
            if (!str_eq(*n, "salt") && lstat(path, &st) == 0 &&
                st.st_mtime + OLD_DAYS * 86400L < time(NULL))
                unlink(path);
            free(path);
        }
    name_vec_release(&names);
}

static char *state_path(const struct limiter_config *cfg, struct err *err)
{
    struct strbuf dir = STRBUF_INIT(4096);
    unsigned char salt[SALT];
    char boot[64], name[HASH_HEX], *path = NULL;
    if (user_cache_dir(&dir, err) < 0)
        goto out;
    strbuf_adds(&dir, "/limits");
    if (mkdir(dir.buf, 0700) < 0 && errno != EEXIST) {
        err_errno(err, "'%s'", dir.buf);
        goto out;
    }
    if (read_salt(dir.buf, salt, err) < 0)
        goto out;
    shared_state_boot_id(boot);
    struct hash *h = hash_new();
    hash_bytes(h, salt, sizeof salt);
    hash_str(h, boot);
    hash_str(h, cfg->provider);
    hash_str(h, cfg->model);
    hash_str(h, cfg->key);
    hash_u64(h, cfg->window_ns);
    hash_finish(h, name);
    path = xasprintf("%s/%.32s", dir.buf, name);
    if (!file_exists(path))
        remove_old_files(dir.buf);
out:
    explicit_bzero(salt, sizeof salt);
    strbuf_release(&dir);
    return path;
}

/* ---- the log of what was used ---------------------------------------------------------------- */

static void advance(struct state *s, uint64_t part)
{
    if (part <= s->part)
        return;
    for (uint64_t p = MAX(s->part + 1, part > RING ? part - RING + 1 : 0); p <= part; p++)
        for (int k = 0; k < LIMIT_KINDS; k++)
            s->limits[k].used[p % RING] = s->limits[k].extra[p % RING] = 0;
    s->part = part;
}

static double sum_of(const struct state *s, const double log[RING])
{
    double sum = 0;
    for (uint64_t p = s->part > PARTS ? s->part - PARTS : 0; p <= s->part; p++)
        sum += log[p % RING];
    return sum;
}

static double coming_of(const struct state *s, int k)
{
    double sum = 0;
    for (size_t i = 0; i < TICKETS; i++) {
        const struct ticket *t = &s->tickets[i];
        if (t->stage == GRANTED || t->stage == SENT || (t->stage == ANSWERED && k == LIMIT_OUTPUT))
            sum += t->need[k];
    }
    return sum;
}

static double counted_of(const struct state *s, int k)
{
    const struct limit *m = &s->limits[k];
    return sum_of(s, m->used) + sum_of(s, m->extra) + coming_of(s, k);
}

/* Counts the ticket's need as used in the current part. Leaves out LIMIT_OUTPUT, because the
 * provider counts output tokens only as they are written. */
static void log_need(struct state *s, struct ticket *t)
{
    t->logged_at = s->part;
    for (int k = 0; k < LIMIT_KINDS; k++)
        if (k != LIMIT_OUTPUT)
            s->limits[k].used[s->part % RING] += t->need[k];
}

static double burst_of(const struct limit *m, enum limit_kind k)
{
    return MAX(m->most / BURST, k == LIMIT_REQUESTS ? 1 : 0);
}

static void refill(struct limiter *l, struct state *s, uint64_t now)
{
    double windows = now > s->paced_ns ? (double)(now - s->paced_ns) / (double)l->window_ns : 0;
    for (int k = 0; k < LIMIT_KINDS; k++) {
        struct limit *m = &s->limits[k];
        m->pace = MIN(m->pace + windows * m->most, burst_of(m, k));
    }
    s->paced_ns = MAX(s->paced_ns, now);
}

/* ---- members --------------------------------------------------------------------------------- */

static void forget_member(struct state *s, unsigned member)
{
    for (size_t i = 0; i < TICKETS; i++) {
        struct ticket *t = &s->tickets[i];
        if (t->stage == FREE || t->member != member)
            continue;
        if (t->stage == SENT) /* the provider may have counted the request */
            log_need(s, t);
        t->stage = FREE;
    }
    s->members[member] = (struct member){0};
}

static void sweep(struct limiter *l, struct state *s, uint64_t now)
{
    if (now < s->swept_ns + MIN(SEC_NS, l->window_ns / 4))
        return;
    s->swept_ns = now;
    for (unsigned m = 0; m < SHARED_STATE_MEMBERS; m++)
        if (s->members[m].run && !shared_state_is_alive(l->shared, m))
            forget_member(s, m);
}

static struct state *begin(struct limiter *l, uint64_t now)
{
    struct state *s = shared_state_begin(l->shared);
    advance(s, now / (l->window_ns / PARTS));
    sweep(l, s, now);
    refill(l, s, now);
    return s;
}

/* ---- who is next --------------------------------------------------------------------------- */

static double cost_of(const struct state *s, const struct ticket *t)
{
    double most = 0;
    for (int k = 0; k < LIMIT_KINDS; k++)
        if (s->limits[k].most > 0)
            most = MAX(most, t->need[k] / s->limits[k].most);
    return most > 0 ? most : 1e-3;
}

static void charge(struct state *s, unsigned member, double cost)
{
    int64_t run = s->members[member].run;
    for (unsigned m = 0; m < SHARED_STATE_MEMBERS; m++)
        if (s->members[m].run == run)
            s->members[m].served += cost;
}

static bool is_before(const struct state *s, const struct ticket *a, const struct ticket *b)
{
    double x = s->members[a->member].served, y = s->members[b->member].served;
    return x < y || (x <= y && a->seq < b->seq);
}

static struct ticket *first_waiting(struct state *s)
{
    struct ticket *best = NULL;
    for (size_t i = 0; i < TICKETS; i++) {
        struct ticket *t = &s->tickets[i];
        if (t->stage == WAITING && (!best || is_before(s, t, best)))
            best = t;
    }
    return best;
}

/* Returns the kind of limit that blocks the ticket, or LIMIT_KINDS if none does. If that limit is
 * closed, *until becomes the time when it opens, else 0. A request that needs more than a whole
 * limit may go when no other request counts against that limit. */
static int blocked_by(const struct state *s, const struct ticket *t, uint64_t now, uint64_t *until)
{
    for (int k = 0; k < LIMIT_KINDS; k++) {
        const struct limit *m = &s->limits[k];
        double need = MIN(t->need[k], m->most);
        *until = now < m->closed_until_ns ? m->closed_until_ns : 0;
        if (m->most > 0 &&
            (*until || m->most - counted_of(s, k) < need || m->pace < MIN(need, burst_of(m, k))))
            return k;
    }
    return LIMIT_KINDS;
}

/* Returns true if requests go one at a time now, and one is under way; then no other may be sent.
 * Requests go one at a time before the first answer, and after a pause until a request succeeds. */
static bool is_probing(const struct state *s, uint64_t now)
{
    if (s->learnt && !s->careful)
        return false;
    for (size_t i = 0; i < TICKETS; i++) {
        const struct ticket *t = &s->tickets[i];
        if ((t->stage == GRANTED || t->stage == SENT) && now < t->sent_ns + PROBE_NS)
            return true;
    }
    return false;
}

static void schedule(struct state *s, uint64_t now)
{
    uint64_t until;
    struct ticket *t;
    while (now >= s->pause_until_ns && !is_probing(s, now) && (t = first_waiting(s)) &&
           blocked_by(s, t, now, &until) == LIMIT_KINDS) {
        t->stage = GRANTED;
        t->sent_ns = now;
        s->clock = MAX(s->clock, s->members[t->member].served);
        charge(s, t->member, cost_of(s, t));
        for (int k = 0; k < LIMIT_KINDS; k++)
            s->limits[k].pace -= t->need[k];
    }
}

static void say_limit(const struct limit *m, int k, struct limiter_wait *why)
{
    snprintf(why->text, sizeof why->text, "its turn: the provider allows %.0f %s a minute%s",
             m->most, limit_kind_names[k],
             k == LIMIT_REQUESTS ? "" : ", and counts each reply as the longest possible one");
}

static void explain(const struct state *s, const struct ticket *t, uint64_t now,
                    struct limiter_wait *why)
{
    why->until_ns = 0;
    int k = blocked_by(s, t, now, &why->until_ns);
    if (now < s->pause_until_ns) {
        why->until_ns = s->pause_until_ns;
        snprintf(why->text, sizeof why->text,
                 "the provider, which asked for a pause of another %.0f s",
                 (double)(s->pause_until_ns - now) / 1e9);
    } else if (k < LIMIT_KINDS) {
        say_limit(&s->limits[k], k, why);
    } else {
        snprintf(why->text, sizeof why->text, "its turn: an earlier call goes first");
    }
}

/* ---- the interface ------------------------------------------------------------------------- */

struct limiter *limiter_open(const struct limiter_config *cfg)
{
    struct limiter *l = xcalloc(1, sizeof *l);
    struct err err = ERR_INIT;
    char *path = state_path(cfg, &err);
    l->window_ns = MAX(cfg->window_ns ? cfg->window_ns : 60 * SEC_NS, PARTS);
    l->now = cfg->now ? cfg->now : now_ns;
    if (!path || shared_state_open(&l->shared, path, MAGIC, sizeof(struct state), &err) < 0) {
        log_warn("author", "%s; other processes do not share this provider's limits", err.msg);
        shared_state_open(&l->shared, NULL, MAGIC, sizeof(struct state), NULL);
    }
    free(path);
    struct state *s = begin(l, l->now());
    unsigned me = shared_state_member(l->shared);
    forget_member(s, me);
    int64_t run = cfg->run ? cfg->run : getpid();
    s->members[me] = (struct member){.run = run, .served = s->clock};
    for (unsigned m = 0; m < SHARED_STATE_MEMBERS; m++)
        if (m != me && s->members[m].run == run)
            s->members[me].served = s->members[m].served;
    shared_state_end(l->shared, true);
    return l;
}

void limiter_close(struct limiter *l)
{
    if (!l)
        return;
    struct state *s = begin(l, l->now());
    forget_member(s, shared_state_member(l->shared));
    shared_state_end(l->shared, true);
    shared_state_close(l->shared);
    free(l);
}

int limiter_queue(struct limiter *l, const double need[LIMIT_KINDS])
{
    uint64_t now = l->now();
    struct state *s = begin(l, now);
    size_t i = 0;
    while (i < TICKETS && s->tickets[i].stage != FREE)
        i++;
    if (i < TICKETS) {
        struct ticket *t = &s->tickets[i];
        *t = (struct ticket){
            .stage = WAITING, .member = shared_state_member(l->shared), .seq = ++s->seq};
        memcpy(t->need, need, sizeof t->need);
        /* An idle run was charged less. It may catch up by CREDIT requests only. */
        double floor = s->clock - CREDIT * cost_of(s, t) - s->members[t->member].served;
        if (floor > 0)
            charge(s, t->member, floor);
        schedule(s, now);
    }
    shared_state_end(l->shared, true);
    return i < TICKETS ? (int)i : -1;
}

bool limiter_is_granted(struct limiter *l, int ticket, struct limiter_wait *why)
{
    uint64_t now = l->now();
    struct state *s = begin(l, now);
    struct ticket *t = &s->tickets[ticket];
    if (t->stage == WAITING)
        schedule(s, now);
    bool granted = t->stage == GRANTED;
    if (granted) {
        t->stage = SENT;
        t->sent_ns = now;
    } else if (why) {
        explain(s, t, now, why);
    }
    shared_state_end(l->shared, true);
    return granted;
}

/* Lowers our count to `taken`, the provider's count, which is smaller. To do so, lowers `extra` in
 * parts before `end`, the oldest parts first: the latest parts stay in the window longest. */
static void trim_extra(const struct state *s, struct limit *m, double taken, uint64_t end)
{
    uint64_t first = s->part > PARTS ? s->part - PARTS : 0;
    for (uint64_t p = MIN(end, s->part + 1); p > first; p--) {
        double *extra = &m->extra[(p - 1) % RING], used = m->used[(p - 1) % RING];
        double keep = MIN(*extra, MAX(taken - used, 0));
        m->pace += *extra - keep;
        *extra = keep;
        taken -= used + *extra;
    }
}

/* Takes over the limit that an answer told, and corrects `extra` by the provider's count. The
 * request was sent in `sent_part`, so the provider's numbers say nothing about later parts. */
static void take_told(struct state *s, int k, const struct limit_told *told, uint64_t sent_part,
                      uint64_t now, uint64_t window_ns)
{
    struct limit *m = &s->limits[k];
    if (!(m->most > 0))
        m->pace = told->limit;
    m->most = told->limit;
    if (told->remaining < 0)
        return;
    double taken = MAX(told->limit - told->remaining, 0), ours = counted_of(s, k);
    if (taken > ours) {
        m->extra[s->part % RING] += taken - ours;
    } else {
        trim_extra(s, m, taken, sent_part);
    }
    m->closed_until_ns = 0;
    if (told->remaining < 1 && told->reset_s * 1e9 > 1.5 * (double)window_ns)
        m->closed_until_ns = now + (uint64_t)MIN(told->reset_s * 1e9, 1e17);
}

void limiter_answered(struct limiter *l, int ticket, bool ok,
                      const struct limit_told told[LIMIT_KINDS])
{
    uint64_t now = l->now();
    struct state *s = begin(l, now);
    struct ticket *t = &s->tickets[ticket];
    if (t->stage == SENT) {
        log_need(s, t);
        t->stage = ANSWERED;
        s->learnt = 1;
        s->careful = ok ? 0 : s->careful;
        for (int k = 0; k < LIMIT_KINDS; k++)
            if (told[k].limit > 0)
                take_told(s, k, &told[k], t->sent_ns / (l->window_ns / PARTS), now, l->window_ns);
        schedule(s, now);
    }
    shared_state_end(l->shared, true);
}

/* Replaces the ticket's need in the log by `used`, what the request really used. */
static void settle(struct state *s, const struct ticket *t, const double used[LIMIT_KINDS])
{
    for (int k = LIMIT_TOKENS; k < LIMIT_KINDS; k++) {
        struct limit *m = &s->limits[k];
        double spare = MAX(t->need[k] - used[k], 0);
        if (k == LIMIT_OUTPUT) {
            m->pace += spare;
            m->used[s->part % RING] += used[k];
        } else if (s->part - t->logged_at <= PARTS) {
            m->used[t->logged_at % RING] += used[k] - t->need[k];
            m->extra[t->logged_at % RING] += spare;
        }
    }
    s->longest_output = MAX(used[LIMIT_OUTPUT], s->longest_output * 0.98);
}

void limiter_end(struct limiter *l, int ticket, const double used[LIMIT_KINDS])
{
    uint64_t now = l->now();
    struct state *s = begin(l, now);
    struct ticket *t = &s->tickets[ticket];
    if (t->stage == SENT) /* the provider may have counted the request */
        log_need(s, t);
    if (t->stage == ANSWERED && used)
        settle(s, t, used);
    t->stage = FREE;
    schedule(s, now);
    shared_state_end(l->shared, true);
}

void limiter_pause(struct limiter *l, uint64_t pause_ns)
{
    uint64_t now = l->now();
    struct state *s = begin(l, now);
    s->pause_until_ns = MAX(s->pause_until_ns, now + pause_ns);
    s->careful = 1;
    shared_state_end(l->shared, true);
}

double limiter_expected_output(struct limiter *l, double most)
{
    const struct state *s = begin(l, l->now());
    double expected = s->longest_output > 0 ? MIN(most, 2 * s->longest_output) : most;
    shared_state_end(l->shared, true);
    return expected;
}
