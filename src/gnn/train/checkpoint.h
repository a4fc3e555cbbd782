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
 * If the process is killed while it saves, either the old or the new file remains. A run that
 * continues from the file gives the same bits as a run without interruption.
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

struct train_position {
    int64_t epoch, batch;       /* the next batch; both count from 0 */
    struct gnn_loss epoch_loss; /* over the batches of this epoch so far */
};

struct checkpoint {
    struct train_setting setting;
    struct train_position position;
    int64_t steps;
    struct strbuf text; /* the file */
    size_t state_at;    /* where the network's state begins in `text` */
};

/* Returns the checksum for train_setting.data. */
uint64_t dataset_fingerprint(const struct manifest *m);

int checkpoint_save(const char *path, const struct train_setting *s, const struct train_position *p,
                    struct gnn_network *n, struct err *err);
int checkpoint_read(struct checkpoint *c, const char *path, struct err *err);
/* Fails if the file does not hold the state of this model. */
int checkpoint_fits(const struct checkpoint *c, const struct gnn_program *p, struct err *err);
int checkpoint_restore(const struct checkpoint *c, struct gnn_network *n, struct err *err);
void checkpoint_release(struct checkpoint *c);

/* Tells the network how many neighbours of a node training takes (network_trained_with()), so that
 * inference can scale its sums to this number. Training with replacement takes the same number of
 * neighbours at every node. After such training, the network is told 0, and inference scales
 * nothing. */
void train_setting_fanouts(const struct train_setting *s, struct gnn_network *n);
/* Fails if the settings differ. The error says what differs: "the checkpoint has hidden width 64,
 * not 32". */
int train_setting_match(const struct train_setting *saved, const struct train_setting *now,
                        struct err *err);

#endif
