/*
 * row.h - one row of a campaign's table: a task, its run, and how the best kernel compares.
 *
 *     struct campaign_table t;
 *     if (campaign_table_load(&t, store, "cutegen19-3f2a", hone_commit, err) < 0) ...
 *     t.rows.items[0].ratio.mid
 *     campaign_table_release(&t);
 *
 * Everything comes from the store. So a campaign that still runs, or that ran on another machine,
 * is loaded in the same way.
 *
 * A ratio is a baseline's time divided by the kernel's, both from one evaluation. The times of a
 * measured row come from a GPU; such a row is compared with the fastest PyTorch baseline. The times
 * of a modelled row are estimates of the emulator. Such a row is compared with the first baseline
 * of the task, because PyTorch does not run on the emulator.
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
    ROW_PASS,    /* the run is done, and a kernel passes */
    ROW_NO_PASS, /* the run is done, and no kernel passes */
    ROW_FAILED,  /* there was no run, or the run failed */
    ROW_STATES
};
extern const char *const row_state_names[ROW_STATES];

/* A ratio has an interval. A measured row is a win if the whole interval is above 1, a loss if it
 * is below 1, and otherwise a tie. A modelled row has no standing. */
enum row_standing { ROW_NONE, ROW_WIN, ROW_LOSS, ROW_TIE, ROW_STANDINGS };
extern const char *const row_standing_names[ROW_STANDINGS];

struct row_baseline {
    const char *who; /* the baseline's name, such as "torch" or "naive" */
    double ns;       /* the geometric mean of its times over the timed shapes */
    struct verdict_ratio ratio;
};

struct campaign_row {
    uint64_t index;
    const char *label, *operand, *run; /* `run` is the run's name; "" if there is none */
    enum row_state state;
    const char *reason; /* why the row has this state */
    int64_t at_ms;      /* when the state last changed */
    const char *hone;   /* the version of Hone that made the row, such as "0.3.0 1a2b3c4d5e6f" */
    bool is_old;        /* a version of Hone other than this one made the row */
    struct work_kind kind;
    const char *precision, *gpu;
    bool is_model; /* the times are modelled, not measured */
    /* The best kernel's time: the geometric mean over the timed shapes; 0 if there is none. */
    double ours_ns;
    unsigned shapes; /* how many timed shapes there are */
    VEC(struct row_baseline) baselines;
    /* The ratio to the baseline that the row is compared with. ratio.who is NULL if there is no
     * such baseline. */
    struct verdict_ratio ratio;
    enum row_standing standing;
    double roofline_pct; /* how many percent of a ceiling the best kernel reaches: see verdict.h */
    double known_ns;     /* PyTorch's time from the table of known times; 0 if there is none */
    unsigned judged, passes; /* how many candidates were judged, and how many of them passed */
    uint64_t tokens;
    bool usd_unknown; /* some author calls have no known price, and are not in `usd` */
    double usd, wall_s;
};

struct campaign_table {
    struct arena arena;
    struct campaign_rec campaign;
    VEC(struct campaign_row) rows;
};

/* Loads the table of the campaign that `which` names, as for store_campaign_find(). `hone` is the
 * version of this program, or NULL; is_old is true for rows of other versions. If `hone` is NULL,
 * is_old is false for all rows. */
int campaign_table_load(struct campaign_table *t, struct store *s, const char *which,
                        const char *hone, struct err *err);
void campaign_table_release(struct campaign_table *t);
/* Loads one row. Strings live in the arena; the caller releases `baselines`. */
int campaign_row_load(struct campaign_row *r, struct store *s, const struct entry_rec *e,
                      const char *hone, struct arena *a, struct err *err);
/* Sets `ratio` and `standing` (win, loss or tie) from is_model and baselines. */
void campaign_row_compare(struct campaign_row *r);

#endif
