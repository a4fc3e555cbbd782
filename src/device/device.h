/*
 * device.h - a device that runs kernels: one vtable for `cuda`, a GPU, and `emu`, Hone's emulator.
 *
 *     struct device *d;
 *     if (cuda_open(&d, job, bundle_dir, err) < 0) ...
 *     d->ops->alloc(d, &spec, &addr, err);
 *     enum result_status st = d->ops->launch(d, mod, launch, args, err);
 *     d->ops->close(d);
 *
 * If the candidate's code can be the reason why an operation fails, the operation returns enum
 * result_status. The other operations return 0 or -1, and fail only because of Hone or of the
 * machine. The exception is `alloc`: it also fails if the candidate asks for too much workspace.
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

/* `name` is for messages. elem_bytes, role, rank and dims are only for the emulator, which names
 * elements in its messages and checks how kernels use the buffer. */
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
    uint64_t first; /* index, in the buffer, of the piece's first element */
    uint32_t elems;
    uint8_t data[DEVICE_PIECE];
    uint8_t written[DEVICE_PIECE / 8]; /* a bit for each element: 1 if the call wrote it */
};

VEC_DECL(piece_vec, struct device_piece);

struct device_place {
    uint64_t elem;
    /* Two elements have the same number here if the same block wrote them. The number has no other
     * meaning. */
    uint32_t block;
};
VEC_DECL(place_vec, struct device_place);

/* The part of one buffer that a sampled call wrote. */
struct device_written {
    struct piece_vec pieces; /* some of the pieces that the call wrote to, by ascending address */
    struct place_vec places; /* written elements of these pieces, by as many blocks as possible */
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
     * If a guard zone is damaged, `guards_ok` sets *ok to false, and *first_bad to the address of
     * the first damaged byte. */
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

    /* Loads a module and gives its __device__ variables their initial values. Only `cuda` can load
     * a JOB_MODULE_LIBRARY. */
    enum result_status (*load)(struct device *d, const struct job_module *m, const char *bundle_dir,
                               struct device_module **out, struct err *err);
    void (*unload)(struct device *d, struct device_module *m);

    /* Sets *ok to whether all __device__ variables have their initial values. If not, *which is the
     * name of one that has changed; the string lives as long as the module. This operation may be
     * NULL. */
    int (*globals_intact)(struct device *d, struct device_module *m, bool *ok, const char **which,
                          struct err *err);

    /* Returns whether globals_intact checks all state of the module that one call could leave for
     * the next. If this operation is NULL, it does not. */
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
    /* To time launches: call time_begin, make the launches, call time_end, then sync. `cuda` holds
     * the launches back until time_end, so that the GPU never waits for the host. out->time_ns is
     * negative if a launch failed, or was not held back long enough. */
    int (*time_begin)(struct device *d, struct err *err);
    int (*time_end)(struct device *d, struct launch_stat *out, struct err *err);

    /* Tells the device which call comes next. In a sampled call, the device fills each piece of a
     * buffer only when the piece is first accessed. This operation may be NULL. */
    void (*begin_call)(struct device *d, const struct job_call *call);

    /* `findings` appends the findings, and `counters` the counters, that are new since the same
     * operation was last called. Their strings live until `close`. The text that `printf_text`
     * returns lives until `printf_text` is called again. */
    void (*findings)(struct device *d, struct finding_vec *out);
    void (*counters)(struct device *d, struct counter_vec *out);
    const char *(*printf_text)(struct device *d);

    /* ---- optional functions: NULL if the device does not have them ---- */

    /* Finds the elements of a buffer that a sampled call wrote, in at most `max` pieces that `seed`
     * chooses. In a JOB_CALL_VERIFY call, out->places has an element of every block that ran, as
     * far as `max` allows. There are no pieces if blocks that did not run could have changed the
     * results. The caller releases the vectors. */
    int (*written)(struct device *d, uint64_t addr, uint64_t seed, uint32_t max,
                   struct device_written *out, struct err *err);
    /* Sets *all to the number of blocks of the sampled call, and *ran to how many of them ran. */
    void (*blocks)(struct device *d, uint64_t *all, uint64_t *ran);

    /* `hide` copies a buffer to device memory that no kernel can reach. It fails with ERR_LIMIT if
     * less than `more` bytes would stay free. `show` gives the copy an address; unload all
     * candidate modules before you call it. `forget` gives up the copy, whose memory may then hold
     * another copy. The worker hides outputs of hide_from bytes or more. If hide_from is 0, it
     * hides none. */
    uint64_t hide_from;
    int (*hide)(struct device *d, uint64_t addr, uint64_t more, struct device_hidden **out,
                struct err *err);
    int (*show)(struct device *d, struct device_hidden *h, uint64_t *addr, struct err *err);
    void (*forget)(struct device *d, struct device_hidden *h);

    /* The oracle and the truth.
     * - truth_open loads the oracle. Unload all candidate modules before you call it.
     * - truth_compute generates a call's inputs again and runs the oracle, or a sample of its
     *   units (job/unit_sample.h) if `c` asks for that. `got` are the candidate's outputs. The
     *   oracle reads those for which several answers are right.
     * - truth_compare compares a kept output with the truth.
     * - truth_fetch copies the truth and the magnitudes (job/compare_core.h) to the host. */
    int (*truth_open)(struct device *d, const char *bundle_dir, const char *oracle,
                      struct err *err);
    int (*truth_compute)(struct device *d, const struct job_case *c, const struct job_call *call,
                         const struct device_output *got, uint64_t sample_seed, struct err *err);
    int (*truth_compare)(struct device *d, uint32_t buffer, struct device_output got,
                         uint64_t poison, struct compare_sum *out, struct err *err);
    int (*truth_fetch)(struct device *d, uint32_t buffer, double *want, double *mag,
                       struct err *err);

    /* Makes a handle with which another process can open the memory that holds the buffer. The
     * buffer begins *offset bytes after the start of that memory. */
    int (*share)(struct device *d, uint64_t addr, uint8_t handle[64], uint64_t *offset,
                 struct err *err);
    void (*health)(struct device *d, struct device_health *out);
    /* Tells a profiler that watches this process to start collecting, or to stop if !on. */
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
