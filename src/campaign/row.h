/*
 * row.h - one row of a campaign's table: a task, its run, and how the best kernel compares.
 *
 *     struct campaign_table t;
 *     if (campaign_table_load(&t, store, "cutegen19-3f2a", hone_commit, err) < 0) ...
 *     t.rows.items[0].ratio.mid
 *     campaign_table_release(&t);
 *
 * Everything comes from the store, so a table of a campaign that is running, or that was made on
 * another machine, is loaded in the same way.
 *
 * A ratio is a baseline's time divided by the kernel's, both from one evaluation. A measured row is
 * compared with the fastest PyTorch baseline, a modelled row with the first baseline of the task,
 * since PyTorch does not run on the emulator.
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
    ROW_STOPPED, /* the task goes on when the campaign is resumed */
    ROW_PASS,    /* done: a kernel passes */
    ROW_NO_PASS, /* done: no kernel passes */
    ROW_FAILED,  /* there was no run, or the run failed */
    ROW_STATES
};
extern const char *const row_state_names[ROW_STATES];

/* A win or a loss is a ratio whose interval excludes 1. */
enum row_standing { ROW_NONE, ROW_WIN, ROW_LOSS, ROW_TIE, ROW_STANDINGS };
extern const char *const row_standing_names[ROW_STANDINGS];

struct row_baseline {
    const char *who;
    double ns; /* geometric mean over the timed shapes */
    struct verdict_ratio ratio;
};

struct campaign_row {
    uint64_t index;
    const char *label, *operand, *run; /* run: "" = none */
    enum row_state state;
    const char *reason;
    int64_t at_ms;
    const char *hone; /* the version of Hone that made the row: "0.3.0 1a2b3c4d5e6f" */
    bool is_old;      /* another version of Hone than this one made the row */
    struct work_kind kind;
    const char *precision, *gpu;
    bool is_model;
    double ours_ns; /* geometric mean over the timed shapes; 0 = none */
    unsigned shapes;
    VEC(struct row_baseline) baselines;
    /* the ratio to the baseline that the row is compared with; ratio.who is NULL if there is
     * none */
    struct verdict_ratio ratio;
    enum row_standing standing;
    double roofline_pct;
    double known_ns; /* PyTorch's time from the table of known times; 0 = none */
    unsigned judged, passes;
    uint64_t tokens;
    bool usd_unknown;
    double usd, wall_s;
};

struct campaign_table {
    struct arena arena;
    struct campaign_rec campaign;
    VEC(struct campaign_row) rows;
};

/* Loads the table of the campaign that `which` names, as for store_campaign_find(). `hone` is the
 * version of this program; rows of other versions get is_old. If `hone` is NULL, no row gets
 * is_old. */
int campaign_table_load(struct campaign_table *t, struct store *s, const char *which,
                        const char *hone, struct err *err);
void campaign_table_release(struct campaign_table *t);
/* Loads one row. Strings live in the arena; the caller releases `baselines`. */
int campaign_row_load(struct campaign_row *r, struct store *s, const struct entry_rec *e,
                      const char *hone, struct arena *a, struct err *err);
/* Sets `ratio` and `standing` (win, loss or tie) from is_model and baselines. */
void campaign_row_compare(struct campaign_row *r);

#endif
