/*
 * device.h - a device that runs kernels: one vtable for `cuda`, a GPU, and `emu`, Hone's emulator.
 *
 *     struct device *d;
 *     if (cuda_open(&d, job, bundle_dir, err) < 0) ...
 *     d->ops->alloc(d, &spec, &addr, err);
 *     enum result_status st = d->ops->launch(d, mod, launch, args, err);
 *     d->ops->close(d);
 *
 * An operation that the candidate's code can make fail returns enum result_status. The others
 * return 0 or -1 and fail only because of Hone or of the machine. But `alloc` also fails if the
 * candidate asks for too much workspace.
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "job/compare_core.h"
#include "job/job.h"
#include "job/result.h"

struct device;
struct device_module;
struct device_hidden;

/* Name, role and dimensions are for the emulator's messages. */
struct device_alloc {
    const char *name;
    uint64_t bytes;
    uint32_t align;
    uint64_t offset; /* bytes added to the aligned address (struct job_buffer) */
    uint32_t elem_bytes;
    enum job_buffer_role role;
    uint32_t rank;
    int64_t dims[8];
};

struct device_info {
    char name[128], driver[64];
    uint32_t sm; /* 90 means sm_90 */
    uint32_t sms;
    uint64_t mem_bytes, l2_bytes;
    uint32_t smem_per_block_optin; /* most shared memory of a block, in bytes */
};

struct device_health {
    double clock_mhz, max_clock_mhz; /* of the SMs; 0 if unknown */
    uint64_t throttle;               /* NVML's bits for the reasons of a low clock */
};

struct launch_stat {
    double time_ns;      /* negative if the launches were not timed */
    double lo_ns, hi_ns; /* if is_model: range in which we expect the GPU's time */
    bool is_model;
};

/* A sampled call (JOB_CALL_BLOCK_SAMPLE) runs only some blocks. It handles buffers in pieces of
 * this many bytes. */
#define DEVICE_PIECE 1024u

/* Blocks that run only for verification may take this many times the time limit of a call. */
#define DEVICE_VERIFY_LIMITS 10u

struct device_piece {
    uint64_t first; /* its first element, numbered in the buffer */
    uint32_t elems;
    uint8_t data[DEVICE_PIECE];
    uint8_t written[DEVICE_PIECE / 8]; /* one bit for each element */
};

VEC_DECL(piece_vec, struct device_piece);

struct device_place {
    uint64_t elem;
    uint32_t block; /* equal for elements of one block; no other meaning */
};
VEC_DECL(place_vec, struct device_place);

/* The elements of one buffer that a sampled call wrote. */
struct device_written {
    struct piece_vec pieces; /* some of the written ones, in the order of the buffer */
    struct place_vec places; /* elements in the pieces, from as many blocks as possible */
    double seen;             /* share of the buffer that this call wrote */
    double most;             /* upper bound for the share that all blocks write; may be infinite */
};

/* An output that the worker kept: in host memory, or at a device address. The other member is 0. */
struct device_output {
    const void *host;
    uint64_t addr;
};

VEC_DECL(finding_vec, struct result_finding);
VEC_DECL(counter_vec, struct result_counter);

struct device_ops {
    const char *name;
    void (*close)(struct device *d);
    int (*info)(struct device *d, struct device_info *out, struct err *err);

    /* `alloc` puts guard zones around the buffer; it fails with ERR_LIMIT if memory runs out.
     * `guards_ok` sets *first_bad to the first damaged byte. */
    int (*alloc)(struct device *d, const struct device_alloc *spec, uint64_t *addr,
                 struct err *err);
    int (*free)(struct device *d, uint64_t addr, struct err *err);
    int (*write)(struct device *d, uint64_t addr, const void *src, uint64_t n, struct err *err);
    int (*read)(struct device *d, void *dst, uint64_t addr, uint64_t n, struct err *err);
    int (*fill_gen)(struct device *d, uint64_t addr, const struct job_buffer *b, uint64_t seed,
                    struct err *err);
    /* Fills the buffer with the bits that job/poison.h defines. */
    int (*poison)(struct device *d, uint64_t addr, const struct job_buffer *b, uint64_t pattern,
                  struct err *err);
    int (*zero)(struct device *d, uint64_t addr, uint64_t n, struct err *err);
    int (*hash)(struct device *d, uint64_t addr, uint64_t n, uint64_t *out, struct err *err);
    int (*guards_ok)(struct device *d, uint64_t addr, bool *ok, uint64_t *first_bad,
                     struct err *err);
    int (*flush_l2)(struct device *d, struct err *err);

    /* __device__ variables get their initial values. Only cuda loads JOB_MODULE_LIBRARY. */
    enum result_status (*load)(struct device *d, const struct job_module *m, const char *bundle_dir,
                               struct device_module **out, struct err *err);
    void (*unload)(struct device *d, struct device_module *m);

    /* Whether __device__ variables have their initial values. If not, *which names one and lives as
     * long as the module. This operation may be NULL. */
    int (*globals_intact)(struct device *d, struct device_module *m, bool *ok, const char **which,
                          struct err *err);

    /* Whether globals_intact sees all state that could pass from call to call. NULL means no. */
    bool (*sealed)(struct device *d, struct device_module *m);

    enum result_status (*tensormap)(struct device *d, const struct job_tensormap *t, uint64_t addr,
                                    uint8_t out[128], struct err *err);
    enum result_status (*launch)(struct device *d, struct device_module *m,
                                 const struct job_launch *l, void *const *args, struct err *err);
    /* A plan's memsets and copies. `value` is a pattern of `width` bytes: 1, 2 or 4. */
    int (*set_memory)(struct device *d, uint64_t addr, uint64_t n, uint32_t value, uint32_t width,
                      struct err *err);
    int (*copy_memory)(struct device *d, uint64_t to, uint64_t from, uint64_t n, struct err *err);
    enum result_status (*sync)(struct device *d, uint64_t timeout_ns, struct err *err);
    /* Call time_begin, the launches, time_end, then sync. cuda holds the launches back until
     * time_end, so that the GPU never waits for the host. out->time_ns is negative if a launch
     * failed, or was not held back long enough. */
    int (*time_begin)(struct device *d, struct err *err);
    int (*time_end)(struct device *d, struct launch_stat *out, struct err *err);

    /* Says which call comes next. In a sampled call, the device fills each piece of a buffer at its
     * first access. May be NULL. */
    void (*begin_call)(struct device *d, const struct job_call *call);

    /* `findings` and `counters` append those that are new since the last call. Their strings live
     * until close; the text of `printf_text` until its next call. */
    void (*findings)(struct device *d, struct finding_vec *out);
    void (*counters)(struct device *d, struct counter_vec *out);
    const char *(*printf_text)(struct device *d);

    /* ---- optional functions: NULL if the device does not have them ---- */

    /* Finds the elements of a buffer that a sampled call wrote, in at most `max` pieces that `seed`
     * chooses. In a JOB_CALL_VERIFY call, every block that ran has a place in them, as far as `max`
     * allows. There are no pieces if other blocks could have changed the results. The caller
     * releases the vectors. */
    int (*written)(struct device *d, uint64_t addr, uint64_t seed, uint32_t max,
                   struct device_written *out, struct err *err);
    /* The blocks of a sampled call, and those that ran. */
    void (*blocks)(struct device *d, uint64_t *all, uint64_t *ran);

    /* `hide` copies a buffer to device memory that no kernel can reach. It fails with ERR_LIMIT if
     * less than `more` bytes would stay free. `show` gives the copy an address; unload all
     * candidate modules before. `forget` frees the copy. The worker hides outputs of at least
     * hide_from bytes; 0 = none. */
    uint64_t hide_from;
    int (*hide)(struct device *d, uint64_t addr, uint64_t more, struct device_hidden **out,
                struct err *err);
    int (*show)(struct device *d, struct device_hidden *h, uint64_t *addr, struct err *err);
    void (*forget)(struct device *d, struct device_hidden *h);

    /* The oracle and the truth.
     * - truth_open loads the oracle. Unload all candidate modules before.
     * - truth_compute generates a call's inputs again and runs the oracle, or a sample of its
     *   units (job/unit_sample.h) if `c` asks for that. Where several answers are right, the
     *   oracle reads the candidate's outputs, `got`.
     * - truth_compare compares a kept output.
     * - truth_fetch copies the truth and the magnitudes (job/compare_core.h) to the host. */
    int (*truth_open)(struct device *d, const char *bundle_dir, const char *oracle,
                      struct err *err);
    int (*truth_compute)(struct device *d, const struct job_case *c, const struct job_call *call,
                         const struct device_output *got, uint64_t sample_seed, struct err *err);
    int (*truth_compare)(struct device *d, uint32_t buffer, struct device_output got,
                         uint64_t poison, struct compare_sum *out, struct err *err);
    int (*truth_fetch)(struct device *d, uint32_t buffer, double *want, double *mag,
                       struct err *err);

    /* With the handle, another process can open the memory around the buffer, at *offset bytes. */
    int (*share)(struct device *d, uint64_t addr, uint8_t handle[64], uint64_t *offset,
                 struct err *err);
    void (*health)(struct device *d, struct device_health *out);
    /* Makes a profiler that watches this process start (`on`) or stop collecting. */
    void (*profile)(struct device *d, bool on);
    /* Makes the GPU raise its clocks before the first timed call, and times an empty launch. */
    int (*prepare_timing)(struct device *d, double *empty_launch_ns, struct err *err);
};

struct device {
    const struct device_ops *ops;
};

int cuda_open(struct device **out, const struct job *job, const char *bundle_dir, struct err *err);
int emu_open(struct device **out, const struct job *job, struct err *err);

#endif
