/*
 * checkpoint.h - saves and restores the state of a training run in one file.
 *
 *     checkpoint_save("run.ckpt", &setting, &position, network, err);
 *
 *     struct checkpoint c;
 *     if (checkpoint_read(&c, "run.ckpt", err) < 0) ...
 *     if (model_build(&c.setting.model, &program, err) < 0 ||
 *         checkpoint_fits(&c, &program, err) < 0) ...
 *     if (checkpoint_restore(&c, network, err) < 0) ...
 *     checkpoint_release(&c);
 *
 * A save replaces the file as a whole: a process that is killed at any moment leaves the old file
 * or the new file. Reading checks sizes and a checksum, so a damaged file is an error. The file has
 * everything that later steps depend on. So a run that continues from the file gives the same bits
 * as a run that was never interrupted.
 */
#ifndef GNN_TRAIN_CHECKPOINT_H
#define GNN_TRAIN_CHECKPOINT_H

#include "base/err.h"
#include "base/strbuf.h"
#include "gnn/data/manifest.h"
#include "gnn/model/models.h"
#include "gnn/model/network.h"
#include "gnn/sample/sampler.h"

/* Everything that decides the result of training. */
struct train_setting {
    struct gnn_model_config model;
    struct sample_options sample; /* sample.seed is also the seed of the weights and of dropout */
    int64_t batch_size;
    double lr;
    uint64_t data; /* checksum over the checksums of the dataset's files */
    char data_name[128];
};

/* How far training is. */
struct train_position {
    int64_t epoch, batch;       /* the epoch and the number of the next batch, both from 0 */
    struct gnn_loss epoch_loss; /* the loss over the batches of this epoch so far */
};

struct checkpoint {
    struct train_setting setting;
    struct train_position position;
    int64_t steps;      /* how many training steps were done */
    struct strbuf text; /* the file */
    size_t state_at;    /* where the state of the network begins in `text` */
};

uint64_t dataset_fingerprint(const struct manifest *m);

int checkpoint_save(const char *path, const struct train_setting *s, const struct train_position *p,
                    struct gnn_network *n, struct err *err);
int checkpoint_read(struct checkpoint *c, const char *path, struct err *err);
/* Fails if the file does not hold the state of this model. */
int checkpoint_fits(const struct checkpoint *c, const struct gnn_program *p, struct err *err);
/* Fails if checkpoint_fits() refuses the network's program. */
int checkpoint_restore(const struct checkpoint *c, struct gnn_network *n, struct err *err);
void checkpoint_release(struct checkpoint *c);

/* Tells the network how many neighbours the training takes. Inference with more neighbours scales
 * sums over them down to that number. After training with replacement it does not, because such
 * training takes the same number at every node, whatever the node's degree is. */
void train_setting_fanouts(const struct train_setting *s, struct gnn_network *n);
/* Fails if two settings differ, and says where: "the checkpoint has hidden width 64, not 32". */
int train_setting_match(const struct train_setting *saved, const struct train_setting *now,
                        struct err *err);

#endif
