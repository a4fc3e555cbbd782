/* make.c - functions that blocks.c, debian.c, rmat.c and gnn/import/ share. See make.h. */
#include "gnn/make/make.h"

#include <stdlib.h>

#include "base/util.h"
#include "gnn/sample/shuffle_core.h"
#include "sys/interrupt.h"

/* make_splits() shuffles the nodes with shuffle_at(), and gives it this number as the epoch. */
enum { SPLIT_EPOCH = 0x5511 };

struct writer_options make_writer_options(const struct make_options *o, const char *name)
{
    return (struct writer_options){.dir = o->dir,
                                   .name = name,
                                   .made_by = o->made_by,
                                   .nodes = o->nodes,
                                   .classes = o->classes,
                                   .edges = o->edges,
                                   .feature_dim = o->dim,
                                   .feature_type = o->type,
                                   .memory_bytes = o->memory_bytes,
                                   .replace = o->replace};
}

int make_splits(const struct make_options *o, struct writer *w, struct err *err)
{
    int64_t n = writer_manifest(w)->nodes;
    if (!(o->train >= 0 && o->valid >= 0 && o->train + o->valid <= 1))
        return err_set(err, ERR_USAGE,
                       "the shares %g for training and %g for validation must be at least 0 and "
                       "at most 1 together",
                       o->train, o->valid);
    int64_t train = (int64_t)(o->train * (double)n), valid = (int64_t)(o->valid * (double)n);
    for (int64_t i = 0; i < n; i++) {
        int32_t id = (int32_t)shuffle_at(o->seed, SPLIT_EPOCH, (uint32_t)n, (uint32_t)i);
        enum data_file f = i < train ? DATA_TRAIN : i < train + valid ? DATA_VALID : DATA_TEST;
        if (writer_put(w, f, &id, sizeof id, err) < 0)
            return -1;
        if (i % (1 << 20) == 0 && make_progress(o, "splits", i, n, err) < 0)
            return -1;
    }
    return 0;
}

int make_finish(struct writer *w, int rc, struct made *out, struct err *err)
{
    if (rc == 0)
        rc = writer_commit(w, err);
    if (rc == 0)
        *out = (struct made){*writer_manifest(w), writer_counts(w)};
    writer_free(w);
    return rc;
}

int make_progress(const struct make_options *o, const char *what, int64_t done, int64_t all,
                  struct err *err)
{
    if (o->progress)
        progress_show(o->progress, "%s: %.1f of %.1f M", what, (double)done / 1e6,
                      (double)all / 1e6);
    return interrupt_check(err);
}
