/*
 * row.h - one row of a campaign's table: a task, its run, and how the best kernel compares.
 *
 *     struct campaign_table t;
 *     if (campaign_table_load(&t, store, "cutegen19-3f2a", hone_commit, err) < 0) ...
 *     t.rows.items[0].ratio.mid
 *     campaign_table_release(&t);
 *
 * A ratio is a baseline's time divided by the kernel's, both from one evaluation. A measured row is
 * compared with the fastest PyTorch baseline. A modelled row, with times of the emulator, is
 * compared with the task's first baseline, because the emulator cannot run PyTorch.
 */
#ifndef CAMPAIGN_ROW_H
#define CAMPAIGN_ROW_H

#include "base/arena.h"
#include "base/err.h"
#include "campaign/kind.h"
#include "store/store.h"
#include "verdict/verdict.h"

enum row_state {
    ROW_WAITING,
    ROW_RUNNING,
    ROW_STOPPED, /* goes on when the campaign is resumed */
    ROW_PASS,    /* done, and a kernel passes */
    ROW_NO_PASS, /* done, and no kernel passes */
    ROW_FAILED,  /* no run, or the run failed */
    ROW_STATES
};
extern const char *const row_state_names[ROW_STATES];

/* A measured row is a win if the whole interval of its ratio is above 1, a loss if it is below
 * 1. */
enum row_standing { ROW_NONE, ROW_WIN, ROW_LOSS, ROW_TIE, ROW_STANDINGS };
extern const char *const row_standing_names[ROW_STANDINGS];

struct row_baseline {
    const char *who; /* such as "torch" or "naive" */
    double ns;       /* geometric mean over the timed shapes */
    struct verdict_ratio ratio;
};

struct campaign_row {
    uint64_t index;
    const char *label, *operand, *run; /* `run`: the run's name, or "" if it has none yet */
    enum row_state state;
    const char *reason;
    int64_t at_ms;    /* when the state last changed */
    const char *hone; /* the version that made the row, such as "0.3.0 1a2b3c4d5e6f" */
    bool is_old;      /* made by another version than this one */
    struct work_kind kind;
    const char *precision, *gpu;
    bool is_model;
    double ours_ns; /* time of the best kernel, geometric mean over the timed shapes; or 0 */
    unsigned shapes;
    VEC(struct row_baseline) baselines;
    /* PyTorch eager and torch.compile with PyTorch's default settings, cudnn.benchmark off. If the
     * task has no convolution, this setting changes nothing: then `who` is "torch" or
     * "torch.compile", because one run stands for both settings. `who` is NULL if there is no such
     * time. */
    struct row_baseline default_eager, default_compile;
    const char *program_note; /* why a user's PyTorch program gave no ratio, or "" */
    /* The ratio to the baseline of the comparison; `who` is NULL if there is none. */
    struct verdict_ratio ratio;
    enum row_standing standing;
    double roofline_pct; /* of the best kernel (verdict.h) */
    double known_ns;     /* PyTorch's known time, or 0 */
    unsigned judged, passes;
    uint64_t tokens;
    bool usd_unknown; /* `usd` leaves out calls whose price is unknown */
    double usd, wall_s;
};

struct campaign_table {
    struct arena arena;
    struct campaign_rec campaign;
    VEC(struct campaign_row) rows;
};

/* `which` is as for store_campaign_find(). `hone` is the version of this program. If it is NULL,
 * is_old is false. */
int campaign_table_load(struct campaign_table *t, struct store *s, const char *which,
                        const char *hone, struct err *err);
void campaign_table_release(struct campaign_table *t);
/* Strings live in the arena; the caller releases `baselines`. */
int campaign_row_load(struct campaign_row *r, struct store *s, const struct entry_rec *e,
                      const char *hone, struct arena *a, struct err *err);
void campaign_row_compare(struct campaign_row *r);

#endif
