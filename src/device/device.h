/*
 * device.h - the interface of a device that runs kernels: one vtable with two implementations.
 * `cuda` is a GPU. `emu` is Hone's emulator, which runs kernels on the CPU.
 *
 *     struct device *d;
 *     if (cuda_open(&d, job, bundle_dir, err) < 0) ...
 *     d->ops->alloc(d, &spec, &addr, err);
 *     enum result_status st = d->ops->launch(d, mod, launch, args, err);
 *     d->ops->close(d);
 *
 * A candidate is the kernel file that Hone judges. An operation that the candidate's code can make
 * fail returns enum result_status. The others fail only because of Hone or of the machine, and
 * return 0 or -1. `alloc` is an exception: it also fails if the candidate asks for too much
 * workspace.
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

/* A buffer to allocate. Name, role and dimensions are for the emulator's messages. */
struct device_alloc {
    const char *name;
    uint64_t bytes;
    uint32_t align;
    uint64_t offset; /* bytes added to the aligned address; see struct job_buffer */
    uint32_t elem_bytes;
    enum job_buffer_role role;
    uint32_t rank;
    int64_t dims[8];
};

struct device_info {
    char name[128], driver[64]; /* "NVIDIA H200", "CUDA 12.4" */
    uint32_t sm;                /* 90 means sm_90 */
    uint32_t sms;               /* number of SMs */
    uint64_t mem_bytes, l2_bytes;
    uint32_t smem_per_block_optin; /* most shared memory of a block, in bytes */
};

struct device_health {
    /* Clock of the SMs now, and its maximum. 0 if unknown. */
    double clock_mhz, max_clock_mhz;
    uint64_t throttle; /* NVML's bits for the reasons of a low clock */
};

struct launch_stat {
    double time_ns; /* negative if the launches were not timed */
    /* If is_model is true: the range in which we expect the GPU's time. */
    double lo_ns, hi_ns;
    bool is_model; /* the cost model computed time_ns */
};

/* A sampled call (JOB_CALL_BLOCK_SAMPLE) runs only some of the blocks. It handles buffers in pieces
 * of DEVICE_PIECE bytes. */
#define DEVICE_PIECE 1024u

/* Blocks that run only for verification may take this many times the time limit of a call. */
#define DEVICE_VERIFY_LIMITS 10u

struct device_piece {
    uint64_t first; /* first element of the piece, numbered in the buffer */
    uint32_t elems; /* number of elements */
    uint8_t data[DEVICE_PIECE];
    uint8_t written[DEVICE_PIECE / 8]; /* one bit for each element, set if it was written */
};

VEC_DECL(piece_vec, struct device_piece);

/* An element that a sampled call wrote. */
struct device_place {
    uint64_t elem;
    /* Equal for elements that one block wrote; no other meaning. */
    uint32_t block;
};
VEC_DECL(place_vec, struct device_place);

/* The results of a sampled call in one buffer. */
struct device_written {
    struct piece_vec pieces; /* some of the written pieces, in the order of the buffer */
    /* Elements in the pieces, from as many different blocks as possible. */
    struct place_vec places;
    double seen; /* share of the buffer that this call wrote */
    double most; /* upper bound for the share that all blocks would write; may be infinite */
};

/* Where the worker kept an output: in host memory or at a device address. The other is 0. */
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

    /* `alloc` puts guard zones around the buffer: bytes that no kernel may change. It fails with
     * ERR_LIMIT if memory runs out. `guards_ok` sets *ok to whether the zones are intact. If not,
     * *first_bad is the address of the first damaged byte. */
    int (*alloc)(struct device *d, const struct device_alloc *spec, uint64_t *addr,
                 struct err *err);
    int (*free)(struct device *d, uint64_t addr, struct err *err);
    int (*write)(struct device *d, uint64_t addr, const void *src, uint64_t n, struct err *err);
    int (*read)(struct device *d, void *dst, uint64_t addr, uint64_t n, struct err *err);
    /* Generates the data that b->gen and the seed define. */
    int (*fill_gen)(struct device *d, uint64_t addr, const struct job_buffer *b, uint64_t seed,
                    struct err *err);
    /* Fills the buffer with the bits of job/poison.h, which mark elements as unwritten. */
    int (*poison)(struct device *d, uint64_t addr, const struct job_buffer *b, uint64_t pattern,
                  struct err *err);
    int (*zero)(struct device *d, uint64_t addr, uint64_t n, struct err *err);
    int (*hash)(struct device *d, uint64_t addr, uint64_t n, uint64_t *out, struct err *err);
    int (*guards_ok)(struct device *d, uint64_t addr, bool *ok, uint64_t *first_bad,
                     struct err *err);
    int (*flush_l2)(struct device *d, struct err *err);

    /* Gives __device__ variables their initial values. Only cuda loads JOB_MODULE_LIBRARY. */
    enum result_status (*load)(struct device *d, const struct job_module *m, const char *bundle_dir,
                               struct device_module **out, struct err *err);
    void (*unload)(struct device *d, struct device_module *m);

    /* Sets *ok to whether __device__ variables still have their initial values. If not, *which is
     * the name of a changed variable; it lives as long as the module. May be NULL. */
    int (*globals_intact)(struct device *d, struct device_module *m, bool *ok, const char **which,
                          struct err *err);

    /* Whether globals_intact sees all state that could pass from call to call. NULL means no. */
    bool (*sealed)(struct device *d, struct device_module *m);

    enum result_status (*tensormap)(struct device *d, const struct job_tensormap *t, uint64_t addr,
                                    uint8_t out[128], struct err *err);
    /* args[i] points at l->args[i].size bytes. */
    enum result_status (*launch)(struct device *d, struct device_module *m,
                                 const struct job_launch *l, void *const *args, struct err *err);
    /* A plan's memsets and copies. `value` is a pattern of `width` bytes; `width` is 1, 2 or 4. */
    int (*set_memory)(struct device *d, uint64_t addr, uint64_t n, uint32_t value, uint32_t width,
                      struct err *err);
    int (*copy_memory)(struct device *d, uint64_t to, uint64_t from, uint64_t n, struct err *err);
    enum result_status (*sync)(struct device *d, uint64_t timeout_ns, struct err *err);
    /* They give the time of the launches between them. Call time_begin, the launches, time_end,
     * then sync. cuda holds the launches back until time_end, so that the GPU never waits for the
     * host. out->time_ns is negative if a launch failed, or if cuda could not hold the launches
     * back long enough. */
    int (*time_begin)(struct device *d, struct err *err);
    int (*time_end)(struct device *d, struct launch_stat *out, struct err *err);

    /* Starts a call. A sampled call generates a piece of a buffer when a block first touches the
     * piece. May be NULL. */
    void (*begin_call)(struct device *d, const struct job_call *call);

    /* `findings` and `counters` append what the device has recorded since their last call. A
     * finding is a message about a mistake of a kernel. The strings live until close. The text of
     * `printf_text` lives until the next `printf_text` or close. */
    void (*findings)(struct device *d, struct finding_vec *out);
    void (*counters)(struct device *d, struct counter_vec *out);
    const char *(*printf_text)(struct device *d);

    /* ---- optional functions: NULL if the device does not have them ---- */

    /* Sets *out to what a sampled call wrote to the buffer, in at most `max` pieces. `seed` chooses
     * the pieces. In a JOB_CALL_VERIFY call, every block that ran has a place in them, as far as
     * `max` allows. There are no pieces if blocks that did not run could have changed the results.
     * The caller releases the vectors. */
    int (*written)(struct device *d, uint64_t addr, uint64_t seed, uint32_t max,
                   struct device_written *out, struct err *err);
    /* Counts the blocks of a sampled call, and those that ran. */
    void (*blocks)(struct device *d, uint64_t *all, uint64_t *ran);

    /* `hide` copies a buffer to device memory that no kernel can reach, because no address maps to
     * it. It fails with ERR_LIMIT if less than `more` bytes would stay free. `show` gives the copy
     * an address; first unload all candidate modules. `forget` frees the copy. The worker hides
     * outputs of hide_from bytes or more; 0 = none. */
    uint64_t hide_from;
    int (*hide)(struct device *d, uint64_t addr, uint64_t more, struct device_hidden **out,
                struct err *err);
    int (*show)(struct device *d, struct device_hidden *h, uint64_t *addr, struct err *err);
    void (*forget)(struct device *d, struct device_hidden *h);

    /* The next four functions compute the truth, the right values of the outputs. The oracle is the
     * compiled code for this.
     * - truth_open loads the oracle. First unload all candidate modules.
     * - truth_compute generates a call's inputs again and runs the oracle, or only a sample of its
     *   units (job/unit_sample.h) if `c` asks for that. Where several answers are right, the oracle
     *   reads the candidate's outputs, `got`.
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

    /* Another process can open the memory around the buffer with the handle. *offset becomes the
     * buffer's offset in it, in bytes. */
    int (*share)(struct device *d, uint64_t addr, uint8_t handle[64], uint64_t *offset,
                 struct err *err);
    void (*health)(struct device *d, struct device_health *out);
    /* Makes a profiler that watches this process start or stop collecting. */
    void (*profile)(struct device *d, bool on);
    /* Makes the GPU raise its clocks before the first timed call. *empty_launch_ns becomes the
     * measured time of an empty launch. */
    int (*prepare_timing)(struct device *d, double *empty_launch_ns, struct err *err);
};

struct device {
    const struct device_ops *ops;
};

int cuda_open(struct device **out, const struct job *job, const char *bundle_dir, struct err *err);
int emu_open(struct device **out, const struct job *job, struct err *err);

#endif
