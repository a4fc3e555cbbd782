/*
 * train.c - `hone-gnn train`: trains a model, and says after each epoch how good it is.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/util.h"
#include "gnn/cmd/commands.h"
#include "gnn/cmd/model_options.h"
#include "gnn/cmd/options.h"
#include "gnn/cmd/train_record.h"
#include "gnn/cmd/train_report.h"
#include "gnn/comm/launch.h"
#include "gnn/gpu/devices.h"
#include "gnn/gpu/nccl.h"
#include "gnn/train/exposed.h"
#include "gnn/train/infer.h"
#include "gnn/train/train.h"
#include "sys/interrupt.h"
#include "sys/term.h"

/* While a run goes on, it writes its record (train_record.h) at most once in this time. */
#define RECORD_NS 300000000u

struct args {
    struct load_args load;
    struct model_args model;
    double lr;
    /* compute_threads is 0 if the user did not give it. */
    uint64_t epochs, save_every, compute_threads, ranks, gpus;
    uint64_t exposed; /* batches for --exposed; 0 = do not measure */
    const char *checkpoint, *eval, *eval_fanout, *report, *record, *trace, *device, *place, *cache;
    const char *precision, *products;
    bool resume, json, profile;
    uint64_t recorded_ns;
    struct progress progress;
};

/* The work of a rank. Each of several ranks is a process with its own copy. */
struct job {
    struct args *a;
    const struct dataset *data;
    struct train_options o;
    int64_t begun_s;        /* Unix time */
    struct exposed exposed; /* exposed.batches is 0 if nothing was measured */
    char device[16];
};

struct evaluation {
    struct loader_options load;
    struct id_list ids;
};

struct epoch_line {
    struct epoch_report r;
    struct infer_result eval;
    bool evaluated;
};

static double share(int64_t part, int64_t all)
{
    return all > 0 ? (double)part / (double)all : 0;
}

static void show_progress(void *ctx, int64_t epoch, int64_t batch, int64_t batches,
                          const struct gnn_loss *l)
{
    struct args *a = ctx;
    progress_show(&a->progress,
                  "epoch %" PRId64 ", batch %" PRId64 "/%" PRId64 ": loss %.4f, accuracy %.2f%%",
                  epoch + 1, batch, batches, l->sum / (double)MAX(l->rows, 1),
                  100 * share(l->correct, l->rows));
}

/* ---- output ---------------------------------------------------------------------------------- */

static void print_head(const struct trainer *t, struct args *a, int ranks)
{
    char together[32] = "";
    if (ranks > 1)
        snprintf(together, sizeof together, ", %d ranks", ranks);
    progress_say(&a->progress, "%s, %" PRId64 " weights, %s matrix products by %s%s",
                 a->model.model, trainer_program(t)->n_weights, precision_name(a->precision),
                 trainer_products(t), together);
    struct gpu_split s;
    bool split = feed_split(trainer_feed(t), &s);
    if (split)
        progress_say(&a->progress,
                     "%" PRId64 " of %" PRId64 " rows of features in the GPU's memory (%.1f MiB), "
                     "chosen in %.1f s; the others in the host's",
                     s.cached_rows, s.nodes, (double)s.cached_rows * (double)s.row_bytes / 0x1p20,
                     s.choose_s);
    printf("%5s %9s %9s %9s %10s %9s %9s %9s", "epoch", "loss", "train %", "eval %", "batches/s",
           "total s", "train s", "waited s");
    if (split)
        printf(" %9s %11s", "cached %", "fetched MiB");
    putchar('\n');
}

/* "waited s" is the time that computing waited for batches. */
static void print_line(const struct epoch_line *e)
{
    const struct epoch_report *r = &e->r;
    char eval[16] = "-";
    if (e->evaluated)
        snprintf(eval, sizeof eval, "%.2f", 100 * share(e->eval.correct, e->eval.labelled));
    printf("%5" PRId64 " %9.4f %9.2f %9s %10.1f %9.2f %9.2f %9.3f", r->epoch + 1,
           r->loss.sum / (double)MAX(r->loss.rows, 1), 100 * share(r->loss.correct, r->loss.rows),
           eval, (double)(r->batches - r->first_batch) / MAX(r->wall_s, 1e-9), r->wall_s,
           r->train_s, r->wait_s);
    if (r->split)
        printf(" %9.2f %11.1f", 100 * share(r->input_nodes - r->host_rows, r->input_nodes),
               (double)r->host_bytes / 0x1p20);
    putchar('\n');
    fflush(stdout);
}

static json_t *integers(const int64_t *v, int n)
{
    json_t *j = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(j, json_integer(v[i]));
    return j;
}

static json_t *line_json(const struct epoch_line *e)
{
    const struct epoch_report *r = &e->r;
    json_t *j = json_pack(
        "{s:I,s:f,s:f,s:I,s:I,s:I,s:I,s:I,s:f,s:f,s:f,s:f,s:f}", "epoch", (json_int_t)r->epoch + 1,
        "loss", r->loss.sum / (double)MAX(r->loss.rows, 1), "accuracy",
        share(r->loss.correct, r->loss.rows), "batches", (json_int_t)r->batches, "first_batch",
        (json_int_t)r->first_batch, "seed_nodes", (json_int_t)r->seeds, "input_nodes",
        (json_int_t)r->input_nodes, "edges", (json_int_t)r->edges, "wall_s", r->wall_s, "train_s",
        r->train_s, "exposed_preparation_s", r->wait_s, "exposed_transfer_s", r->transfer_s,
        "checkpoint_s", r->save_s);
    json_object_set_new(j, "hop_nodes", integers(r->hop_nodes, r->hops + 1));
    json_object_set_new(j, "hop_edges", integers(r->hop_edges, r->hops));
    if (r->split)
        json_object_update_new(j, json_pack("{s:f,s:I,s:I}", "cache_hits",
                                            share(r->input_nodes - r->host_rows, r->input_nodes),
                                            "host_rows", (json_int_t)r->host_rows, "host_bytes",
                                            (json_int_t)r->host_bytes));
    if (e->evaluated)
        json_object_set_new(j, "eval_accuracy",
                            json_real(share(e->eval.correct, e->eval.labelled)));
    return j;
}

/* ---- the run --------------------------------------------------------------------------------- */

static int evaluation_init(struct evaluation *v, const struct args *a, const struct dataset *d,
                           const struct loader_options *load, struct err *err)
{
    *v = (struct evaluation){.load = *load};
    if (str_eq(a->eval, "none"))
        return 0;
    if (dataset_split(d, a->eval, &v->ids, err) < 0)
        return err_prefix(err, "--eval");
    if (fanouts_for(&v->load.sample, a->eval_fanout, err) < 0)
        return -1;
    if (d->made && !d->graph.offset && gpu_store_samples(&v->load.sample, err) < 0)
        return err_prefix(err, "--eval-fanout");
    return 0;
}

/* Returns a copy of the feed (feed.h) of the training. If the GPU cannot sample with the
 * evaluation's options, the copy has no `store`, and the host samples. */
static struct feed feed_for(const struct evaluation *v, const struct trainer *t)
{
    struct feed f = *trainer_feed(t);
    if (f.store && gpu_store_samples(&v->load.sample, NULL) < 0)
        f.store = NULL;
    return f;
}

/* Evaluates the model on the nodes v->ids. Each rank takes a share of them, and *e gets the sum
 * over the ranks. */
static int evaluate(const struct evaluation *v, const struct job *j, struct trainer *t,
                    struct epoch_line *e, struct err *err)
{
    if (v->ids.n == 0)
        return 0;
    struct feed feed = feed_for(v, t);
    if (infer_sampled(trainer_network(t), j->data, &feed, &v->load, v->ids, &e->eval, err) < 0)
        return err_prefix(err, "evaluation");
    double sums[] = {(double)e->eval.labelled, (double)e->eval.correct};
    if (comm_reduce(j->o.comm, sums, ARRAY_LEN(sums), NULL, 0, err) < 0)
        return -1;
    e->eval.labelled = (int64_t)sums[0];
    e->eval.correct = (int64_t)sums[1];
    e->evaluated = true;
    return 0;
}

/* Returns how often each kernel ran and how long all its calls took: {"gather_half": {"calls": 10,
 * "ms": 0.8}}. */
static json_t *kernels_json(const struct trainer *t)
{
    const struct gnn_kernel_time *k = NULL;
    json_t *j = json_object();
    int n = trainer_kernel_times(t, &k);
    for (int i = 0; i < n; i++)
        if (k[i].calls > 0)
            json_object_set_new(
                j, k[i].name,
                json_pack("{s:I,s:f}", "calls", (json_int_t)k[i].calls, "ms", k[i].ms));
    return j;
}

static void print_kernels(const struct trainer *t)
{
    const struct gnn_kernel_time *k = NULL;
    int n = trainer_kernel_times(t, &k);
    for (int i = 0; i < n; i++)
        if (k[i].calls > 0)
            printf("%-20s %8" PRId64 " calls %10.1f us each\n", k[i].name, k[i].calls,
                   1e3 * k[i].ms / (double)k[i].calls);
}

/* Prints the times of an epoch: those of one batch, multiplied by the number of batches. The
 * parts are those of the paper on SALIENT (gnn/model/models.h). */
static void print_exposed(const struct exposed *e)
{
    double n = (double)e->epoch_batches;
    printf("an epoch of %" PRId64 " batches: %.3f s = train %.3f s + exposed preparation %.3f s"
           " + exposed transfer %.3f s (from %" PRId64 " batches, %" PRId64 " times)\n",
           e->epoch_batches, n * e->batch_s, n * e->train_s, n * e->preparation_s,
           n * e->transfer_s, e->batches, e->rounds);
}

static json_t *exposed_json(const struct exposed *e)
{
    double n = (double)e->epoch_batches;
    return json_pack("{s:I,s:I,s:I,s:f,s:f,s:f,s:f}", "batches", (json_int_t)e->batches, "rounds",
                     (json_int_t)e->rounds, "epoch_batches", (json_int_t)e->epoch_batches,
                     "epoch_s", n * e->batch_s, "train_s", n * e->train_s, "preparation_s",
                     n * e->preparation_s, "transfer_s", n * e->transfer_s);
}

static json_t *run_json(const struct job *j, const struct trainer *t, json_t *lines)
{
    json_t *run = json_pack("{s:s,s:o,s:I,s:s,s:s,s:i,s:O}", "model", j->a->model.model, "data",
                            json_text(j->data->manifest.name), "weights",
                            (json_int_t)trainer_program(t)->n_weights, "precision",
                            precision_name(j->a->precision), "products", trainer_products(t),
                            "ranks", comm_ranks(j->o.comm), "epochs", lines);
    if (j->o.comm)
        json_object_set_new(run, "nccl", json_boolean(j->o.nccl));
    struct gpu_split s;
    if (feed_split(trainer_feed(t), &s))
        json_object_set_new(run, "cache",
                            json_pack("{s:I,s:I,s:I,s:f}", "rows", (json_int_t)s.cached_rows,
                                      "all_rows", (json_int_t)s.nodes, "bytes",
                                      (json_int_t)s.cached_rows * (json_int_t)s.row_bytes,
                                      "choose_s", s.choose_s));
    if (j->a->profile)
        json_object_set_new(run, "kernels", kernels_json(t));
    if (j->exposed.batches > 0)
        json_object_set_new(run, "exposed", exposed_json(&j->exposed));
    return run;
}

/* Writes the whole page again, so that a browser can reload it. */
static int write_report(const struct job *j, const struct trainer *t, json_t *lines,
                        struct err *err)
{
    if (!j->a->report || comm_rank(j->o.comm) > 0)
        return 0;
    json_t *run = run_json(j, t, lines);
    json_t *timeline = trace_newest(j->o.load.trace);
    int rc = train_report_write(j->a->report, run, timeline, err);
    json_decref(timeline);
    json_decref(run);
    return rc;
}

/* Writes the record of the run for `hone serve`. `why` says why the run ended early; it is "" if
 * the run goes on or is done. */
static int write_record(const struct job *j, const struct trainer *t, json_t *lines,
                        const char *state, const char *why, struct err *err)
{
    bool running = str_eq(state, "running");
    if (!j->a->record || comm_rank(j->o.comm) > 0 ||
        (running && now_ns() - j->a->recorded_ns < RECORD_NS))
        return 0;
    j->a->recorded_ns = now_ns();
    json_t *run = run_json(j, t, lines);
    struct train_record r = {.run = run,
                             .state = state,
                             .reason = why,
                             .device = j->a->device ? j->a->device : "cpu",
                             .begun_s = j->begun_s,
                             .planned = (int64_t)j->a->epochs,
                             .trace = j->o.load.trace};
    int rc = train_record_write(j->a->record, &r, err);
    json_decref(run);
    return rc;
}

/* Rank 0 writes FILE, rank r > 0 writes FILE.r. */
static int write_trace(const struct job *j, struct err *err)
{
    int rank = comm_rank(j->o.comm);
    char *path = rank ? xasprintf("%s.%d", j->a->trace, rank) : xstrdup(j->a->trace);
    int rc = trace_write(j->o.load.trace, path, err);
    free(path);
    return rc;
}

static int run_epochs(const struct job *j, const struct evaluation *v, struct trainer *t,
                      json_t *lines, struct err *err)
{
    struct args *a = j->a;
    int rc = 0, rank = comm_rank(j->o.comm);
    while (rc == 0 && trainer_epochs_done(t) < (int64_t)a->epochs) {
        struct epoch_line e = {0};
        rc = trainer_epoch(t, &e.r, err);
        if (rc == 0)
            rc = evaluate(v, j, t, &e, err);
        progress_end(&a->progress);
        if (rc == 0)
            json_array_append_new(lines, line_json(&e));
        if (rc == 0 && rank == 0 && !a->json)
            print_line(&e);
        if (rc == 0)
            rc = write_report(j, t, lines, err);
        if (rc == 0)
            rc = write_record(j, t, lines, "running", "", err);
        infer_result_release(&e.eval);
    }
    return rc;
}

/* Measures what --exposed asks for. A run does this last, because the measurement changes the
 * weights. */
static int measure_exposed(struct job *j, struct trainer *t, json_t *lines, struct err *err)
{
    if (j->a->exposed == 0)
        return 0;
    int64_t n = (int64_t)MIN(j->a->exposed, (uint64_t)INT32_MAX);
    if (exposed_measure(t, n, &j->exposed, err) < 0)
        return err_prefix(err, "--exposed");
    if (!j->a->json)
        print_exposed(&j->exposed);
    return write_report(j, t, lines, err);
}

static int run_recorded(struct job *j, const struct evaluation *v, struct trainer *t, json_t *lines,
                        struct err *err)
{
    if (write_record(j, t, lines, "running", "", err) < 0)
        return -1;
    if (run_epochs(j, v, t, lines, err) == 0 && measure_exposed(j, t, lines, err) == 0)
        return write_record(j, t, lines, "done", "", err);
    write_record(j, t, lines, interrupted() ? "stopped" : "failed", err->msg, NULL);
    return -1;
}

/* Chooses the GPU of a rank, and whether NCCL averages the gradients. `local` is the rank's number
 * on this machine. HONE_GNN_NCCL=none averages in host memory, HONE_GNN_NCCL=always uses NCCL even
 * on the emulator. */
static void set_gpu_rank(struct job *j, int local)
{
    const char *nccl = getenv("HONE_GNN_NCCL");
    bool cuda = str_eq(j->a->device, "cuda");
    if (cuda) {
        snprintf(j->device, sizeof j->device, "cuda:%d", local);
        j->o.device = j->device;
    }
    j->o.nccl = nccl && str_eq(nccl, "none")     ? false
                : nccl && str_eq(nccl, "always") ? true
                                                 : cuda && nccl_is_here();
}

static int train_rank(void *ctx, struct comm *c, struct err *err)
{
    struct job *j = ctx;
    struct trainer *t;
    struct evaluation v;
    bool first = comm_rank(c) == 0;
    j->o.comm = c;
    j->o.load.rank = comm_rank(c);
    j->o.load.ranks = comm_ranks(c);
    j->o.progress = first ? show_progress : NULL;
    if (c && j->a->device && !str_eq(j->a->device, "cpu"))
        set_gpu_rank(j, comm_local_rank(c));
    j->begun_s = time(NULL);
    j->o.load.trace = j->a->trace || j->a->record || j->a->report
                          ? trace_new(comm_rank(c), j->a->trace != NULL)
                          : NULL;
    trace_name(j->o.load.trace, "trains");
    if (evaluation_init(&v, j->a, j->data, &j->o.load, err) < 0 ||
        trainer_open(&t, j->data, &j->o, err) < 0)
        return -1;
    json_t *lines = json_array();
    if (first && !j->a->json)
        print_head(t, j->a, comm_ranks(c));
    int rc = run_recorded(j, &v, t, lines, err);
    if (rc == 0 && first && j->a->json) {
        json_t *run = run_json(j, t, lines);
        json_print(stdout, run);
        json_decref(run);
    }
    if (rc == 0 && first && !j->a->json)
        print_kernels(t);
    json_decref(lines);
    trainer_close(t);
    if (rc == 0 && j->a->trace)
        rc = write_trace(j, err);
    trace_free(j->o.load.trace);
    return rc;
}

static int threads_of(const struct args *a, int ranks)
{
    return a->compute_threads ? (int)a->compute_threads
                              : (int)MAX(1, (int64_t)processors() / MAX(1, ranks));
}

static int train_here(struct job *j, struct err *err)
{
    struct comm *c;
    int64_t reals;
    int ranks = (int)MAX(j->a->ranks, j->a->gpus);
    j->o.threads = threads_of(j->a, ranks);
    if (ranks == 1 && j->a->gpus == 0)
        return train_rank(j, NULL, err);
    if (trainer_shared_reals(j->data, &j->o, &reals, err) < 0 ||
        comm_open_shared(&c, ranks, reals, err) < 0)
        return -1;
    int rc = launch_ranks(c, train_rank, j, err);
    comm_close(c);
    return rc;
}

static int train(struct args *a, const struct dataset *d, const struct loader_options *load,
                 struct comm *joined, struct err *err)
{
    struct job j = {.a = a,
                    .data = d,
                    .o = {.load = *load,
                          .lr = a->lr,
                          .checkpoint = a->checkpoint,
                          .checkpoint_batches = (int64_t)a->save_every,
                          .resume = a->resume,
                          .device = a->device,
                          .precision = a->precision,
                          .products = a->products,
                          .ahead = (int)a->load.ahead,
                          .profile = a->profile,
                          .ctx = a}};
    if (model_args_parse(&a->model, &j.o.model, err) < 0 ||
        place_args_parse(a->place, a->cache, &j.o.place, &j.o.cache, err) < 0)
        return -1;
    if (!joined)
        return train_here(&j, err);
    j.o.threads = threads_of(a, 1); /* mpirun and srun give each rank its processors */
    return train_rank(&j, joined, err);
}

/* Returns whether the device, and not the CPU, makes the data of --make. With --gpus, this process
 * must not use a GPU before it forks the ranks. So the CPU makes data that belongs in host
 * memory. */
static bool makes_on_device(const struct args *a, const struct sample_options *o)
{
    return data_on_device(a->device) && !(a->gpus > 0 && made_data_on_host(a->place, o));
}

static int check_args(const struct args *a, struct err *err)
{
    if (a->resume && !a->checkpoint)
        return err_set(err, ERR_USAGE, "--resume needs --checkpoint FILE");
    if (a->save_every && !a->checkpoint)
        return err_set(err, ERR_USAGE, "--save-every needs --checkpoint FILE");
    if (a->exposed && (a->ranks > 1 || a->gpus > 1 || comm_wanted()))
        return err_set(err, ERR_USAGE,
                       "--exposed measures one process: leave out --ranks, --gpus, "
                       "mpirun and srun");
    if (a->exposed && a->profile)
        return err_set(err, ERR_USAGE,
                       "--exposed needs kernels that overlap, and --profile runs them one by one");
    if (a->compute_threads > LOADER_MAX_THREADS)
        return err_set(err, ERR_USAGE, "at most %d threads", LOADER_MAX_THREADS);
    if (a->ranks > COMM_MAX_RANKS || a->gpus > COMM_MAX_RANKS)
        return err_set(err, ERR_USAGE, "at most %d ranks", COMM_MAX_RANKS);
    if (a->ranks > 1 && comm_wanted())
        return err_set(err, ERR_USAGE,
                       "--ranks starts ranks by itself; under mpirun or srun leave it out");
    bool gpu = a->device && !str_eq(a->device, "cpu");
    if (a->ranks > 1 && gpu)
        return err_set(err, ERR_USAGE,
                       "--ranks starts processes on the CPU; use --gpus N for N GPUs");
    if (a->gpus > 0 && (a->ranks > 1 || comm_wanted()))
        return err_set(err, ERR_USAGE,
                       "--gpus starts ranks by itself; leave out --ranks, mpirun and srun");
    if (a->gpus > 0 && !(gpu && (str_eq(a->device, "cuda") || str_eq(a->device, "emulator"))))
        return err_set(err, ERR_USAGE, "--gpus needs --device cuda");
    if (a->epochs > INT32_MAX)
        return err_set(err, ERR_USAGE, "at most %d epochs", INT32_MAX);
    return place_args_check(a->place, a->cache, err);
}

static int run(int argc, const char **argv)
{
    struct args a = {.load = LOAD_ARGS_INIT,
                     .model = MODEL_ARGS_INIT,
                     .lr = 0.003,
                     .epochs = 10,
                     .ranks = 1,
                     .eval = "valid",
                     .eval_fanout = "20"};
    const struct option opts[] = {
        MODEL_OPTIONS(&a.model),
        OPT_GROUP("Training"),
        OPT_POS_UINT('e', "epochs", &a.epochs, "N",
                     "train until N epochs are done, those before --resume included (default 10)"),
        OPT_POS_REAL(0, "lr", &a.lr, "RATE", "learning rate of Adam (default 0.003)"),
        SAMPLE_OPTIONS(&a.load),
        OPT_STR(0, "eval", &a.eval, "SPLIT",
                "the split to evaluate after each epoch: valid (default), test, train or none"),
        OPT_STR(0, "eval-fanout", &a.eval_fanout, "K,K,...",
                "--fanout of the evaluation; one number serves all hops (default 20)"),
        OPT_STR('c', "checkpoint", &a.checkpoint, "FILE",
                "save the model and the state of the training here, after each epoch and at\n"
                "Ctrl-C; FILE must not exist, unless with --resume (default: do not save)"),
        OPT_POS_UINT(0, "save-every", &a.save_every, "N",
                     "save also after every N batches of an epoch (default: only after epochs)"),
        OPT_FLAG(0, "resume", &a.resume,
                 "continue from the file of --checkpoint; data, model, --lr, --fanout, --sampler,\n"
                 "--batch and --seed must be as before; begin if the file does not exist"),
        OPT_GROUP("Output"),
        OPT_STR(0, "report", &a.report, "FILE",
                "write an HTML page with curves, times and a time line after each epoch"),
        OPT_STR(0, "record", &a.record, "FILE",
                "write the run as JSON after each epoch; `hone serve` shows the files of the\n"
                "folder training/ beside its store, such as hone-out/training/NAME.json"),
        OPT_STR(0, "trace", &a.trace, "FILE",
                "write what each thread did, as JSON for Perfetto or chrome://tracing; rank R > 0\n"
                "writes FILE.R"),
        OPT_POS_UINT(0, "exposed", &a.exposed, "N",
                     "after the last epoch, train with N batches with and without preparation and\n"
                     "transfer, and say how much longer these stages make an epoch (default: do\n"
                     "not). Keeps N batches in memory"),
        OPT_FLAG(0, "profile", &a.profile,
                 "--device cuda: print the time of each kernel, measured one by one; slower"),
        OPT_FLAG(0, "json", &a.json, "print JSON at the end, in place of a line for each epoch"),
        MACHINE_OPTIONS(&a.load, &a.compute_threads, "; ranks share them", &a.device, &a.place,
                        &a.cache, &a.precision, &a.products),
        OPT_POS_UINT(0, "ranks", &a.ranks, "N",
                     "start N processes that train together on the CPU, each with a share of "
                     "every\nbatch (default 1); not under mpirun or srun"),
        OPT_POS_UINT(
            0, "gpus", &a.gpus, "N",
            "--device cuda (not cuda:N): start N processes that train on the GPUs 0 to N-1,\n"
            "each with a share of every batch (--batch is the sum). NCCL averages their\n"
            "gradients; without NCCL they go through CPU memory (default: one process, on the\n"
            "GPU of --device); not under mpirun or srun"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone-gnn train [options] DIR\nhone-gnn train [options] --make papers:scale=0.01",
        .about =
            "Trains a model on the CPU or a GPU. Weights and gradients are float32; --precision\n"
            "is about products. On the CPU the result depends on the data, the options and the\n"
            "seed; numbers of threads and interruptions do not change it. A GPU gives the same\n"
            "result apart from rounding.\n"
            "In the table, \"waited s\" is the time that computing waited for batches. With\n"
            "--place split, \"cached %\" is the share of the input rows that were in the GPU's\n"
            "memory, and \"fetched MiB\" is the size of the others.\n\n"
            "Several processes train one model with --ranks N, or if mpirun or srun starts them.\n"
            "Each computes with a share of every batch; they average their gradients.",
        .example = "hone-gnn train -m sage --hidden 64 -e 5 data/debian\n"
                   "hone-gnn train -m gat --heads 4 -c gat.ckpt --resume data/debian\n"
                   "mpirun -n 4 hone-gnn train data/debian\n"
                   "srun -n 4 hone-gnn train data/debian",
        .opts = opts};
    struct err err = ERR_INIT;
    struct dataset d;
    struct loader_options load;
    struct comm *joined = NULL;
    cmd_parse(&spec, &argc, argv);
    if (load_args_check(&a.load, argc))
        return cmd_usage(&spec, "%s", load_args_check(&a.load, argc));
    if (check_args(&a, &err) < 0 || load_args_parse(&a.load, &load, &err) < 0 ||
        (comm_wanted() && comm_join(&joined, &err) < 0) ||
        load_args_open(&a.load, argv[0], makes_on_device(&a, &load.sample), &d, &err) < 0)
        return cmd_fail(&err);
    if (fetch_made_data(&d, a.device, a.place, &load.sample, &err) < 0) {
        dataset_release(&d);
        return cmd_fail(&err);
    }
    progress_init(&a.progress, stderr);
    int rc = train(&a, &d, &load, joined, &err);
    progress_end(&a.progress);
    dataset_release(&d);
    if (rc == 0)
        comm_close(joined);
    return rc < 0 ? cmd_fail(&err) : HONE_OK;
}

const struct command gnn_cmd_train = {"train", "train a model", run};
