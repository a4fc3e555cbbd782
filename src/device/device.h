/*
 * device.h - the interface of a device that runs kernels: one vtable with two implementations,
 * `cuda` and `emu`.
 *
 * `cuda` is a GPU. `emu` is Hone's emulator, which runs kernels on the CPU. hone-worker uses the
 * vtable to run a job on either of them. The job's files are in one directory, the bundle.
 * emu/driver.c uses the vtable to run kernels on emu without a job. Addresses are opaque 64-bit
 * numbers: real on cuda, virtual on emu.
 *
 *     struct device *d;
 *     if (cuda_open(&d, job, bundle_dir, err) < 0) ...
 *     d->ops->alloc(d, &spec, &addr, err);
 *     enum result_status st = d->ops->launch(d, mod, launch, args, err);
 *     d->ops->close(d);
 *
 * A candidate is the kernel file that Hone judges. If the candidate's code can make an operation
 * fail, the operation returns enum result_status and explains a failure in err->msg. Operations
 * that fail only because of Hone or of the machine return int 0 or -1. There is one exception:
 * `alloc` also fails if the candidate's launch plan asks for too much workspace.
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

/* Describes a buffer to allocate. Name, role and dimensions are for the text of findings, the
 * emulator's messages about mistakes of a kernel. */
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
    char name[128], driver[64]; /* for example "NVIDIA H200" and "CUDA 12.4" */
    uint32_t sm;                /* 90 means sm_90 */
    uint32_t sms;               /* how many SMs the GPU has */
    uint64_t mem_bytes, l2_bytes;
    uint32_t smem_per_block_optin; /* the most shared memory that a block can have, in bytes */
};

struct device_health {
    /* The clock of the SMs now, and the highest that it can be. 0 if unknown. */
    double clock_mhz, max_clock_mhz;
    uint64_t throttle; /* NVML's bits for the reasons why the clock is low */
};

struct launch_stat {
    double time_ns; /* negative if the launches were not timed */
    /* If is_model is true: the interval in which we expect the time on the GPU. */
    double lo_ns, hi_ns;
    bool is_model; /* true if time_ns comes from the cost model, not from a measurement */
};

/* In a sampled call (JOB_CALL_BLOCK_SAMPLE) the emulator runs only some of the blocks. It handles
 * the buffers in pieces of this many bytes. */
#define DEVICE_PIECE 1024u

/* In a sampled call the emulator first runs the blocks that the cost model needs. If the worker
 * will verify the call, the emulator then runs more blocks. These additional blocks together may
 * take DEVICE_VERIFY_LIMITS times the time limit of a call. */
#define DEVICE_VERIFY_LIMITS 10u

/* A piece of a buffer. */
struct device_piece {
    uint64_t first;                    /* number of its first element in the buffer */
    uint32_t elems;                    /* number of elements in the piece */
    uint8_t data[DEVICE_PIECE];        /* the bytes of the elements */
    uint8_t written[DEVICE_PIECE / 8]; /* one bit for each element, set if it was written */
};

VEC_DECL(piece_vec, struct device_piece);

/* An element that a block of a sampled call wrote. */
struct device_place {
    uint64_t elem;
    /* Equal numbers mean that the same block wrote the elements. The number has no other meaning.
     */
    uint32_t block;
};
VEC_DECL(place_vec, struct device_place);

/* Describes what a sampled call wrote to one buffer. */
struct device_written {
    struct piece_vec pieces; /* some of the pieces that were written, in the order of the buffer */
    /* Elements in these pieces, written by as many different blocks as possible. */
    struct place_vec places;
    double seen; /* the share of the buffer that was written by the blocks that ran */
    double most; /* an upper bound for the share that all blocks would write; may be infinite */
};

/* Where the worker kept the bytes of an output: in the host's memory, or at an address of the
 * device. The other member is 0. Both are 0 if the buffer is not an output. */
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

    /* Memory. `alloc` surrounds the buffer with guard zones: bytes that no kernel may change. It
     * fails with ERR_LIMIT if there is not enough memory. On cuda it places the buffer at random,
     * so the address nearly always differs from the addresses of earlier calls. `guards_ok` sets
     * *ok to whether the guard zones are intact. If they are not, it sets *first_bad to the address
     * of the first damaged byte. */
    int (*alloc)(struct device *d, const struct device_alloc *spec, uint64_t *addr,
                 struct err *err);
    int (*free)(struct device *d, uint64_t addr, struct err *err);
    int (*write)(struct device *d, uint64_t addr, const void *src, uint64_t n, struct err *err);
    int (*read)(struct device *d, void *dst, uint64_t addr, uint64_t n, struct err *err);
    /* Fills the buffer with the random data that b->gen and the seed define. */
    int (*fill_gen)(struct device *d, uint64_t addr, const struct job_buffer *b, uint64_t seed,
                    struct err *err);
    /* Fills every element with the bits of job/poison.h. An element that still has these bits after
     * a call was not written. On emu it also marks the bytes as unwritten for the sanitizer. */
    int (*poison)(struct device *d, uint64_t addr, const struct job_buffer *b, uint64_t pattern,
                  struct err *err);
    int (*zero)(struct device *d, uint64_t addr, uint64_t n, struct err *err);
    int (*hash)(struct device *d, uint64_t addr, uint64_t n, uint64_t *out, struct err *err);
    int (*guards_ok)(struct device *d, uint64_t addr, bool *ok, uint64_t *first_bad,
                     struct err *err);
    int (*flush_l2)(struct device *d, struct err *err);

    /* Code. Loading a module again resets its __device__ variables to their initial values. Every
     * device loads JOB_MODULE_KERNEL. Only cuda loads JOB_MODULE_LIBRARY too. */
    enum result_status (*load)(struct device *d, const struct job_module *m, const char *bundle_dir,
                               struct device_module **out, struct err *err);
    void (*unload)(struct device *d, struct device_module *m);

    /* Sets *ok to whether the module's __device__ variables still have the values that they had
     * after loading. If not, sets *which to the name of a variable that changed. The name lives as
     * long as the module. If this function is NULL, the worker assumes that the variables are
     * intact. */
    int (*globals_intact)(struct device *d, struct device_module *m, bool *ok, const char **which,
                          struct err *err);

    /* Returns whether globals_intact checks all state that the module could carry from call to
     * call. If so, the worker need not load the module afresh for each timed call. If this function
     * is NULL, the answer is no. */
    bool (*sealed)(struct device *d, struct device_module *m);

    /* Writes to `out` the tensor map that `t` describes, for a tensor at `addr`. */
    enum result_status (*tensormap)(struct device *d, const struct job_tensormap *t, uint64_t addr,
                                    uint8_t out[128], struct err *err);
    /* Starts a kernel. args[i] points at l->args[i].size bytes. */
    enum result_status (*launch)(struct device *d, struct device_module *m,
                                 const struct job_launch *l, void *const *args, struct err *err);
    /* A plan may also launch memsets and copies. The next two functions run them in order with the
     * kernels, and they are timed like kernels. `value` is a pattern of `width` bytes; `width` is
     * 1, 2 or 4. */
    int (*set_memory)(struct device *d, uint64_t addr, uint64_t n, uint32_t value, uint32_t width,
                      struct err *err);
    int (*copy_memory)(struct device *d, uint64_t to, uint64_t from, uint64_t n, struct err *err);
    /* Waits until all launches are done, at most timeout_ns. */
    enum result_status (*sync)(struct device *d, uint64_t timeout_ns, struct err *err);
    /* time_begin and time_end determine the time of the launches between them: cuda measures it
     * with events, emu computes it with the cost model. Call time_begin, then the launches,
     * time_end, and sync. cuda holds the launches back until time_end, so that the GPU never waits
     * for the host between two launches. out->time_ns is negative if a launch failed or hangs, or
     * if cuda could not hold the launches back long enough. After a failure, sync returns the
     * reason. */
    int (*time_begin)(struct device *d, struct err *err);
    int (*time_end)(struct device *d, struct launch_stat *out, struct err *err);

    /* Starts a call. The worker calls it before all other operations of the call. The call's flags
     * say whether to collect counters, and whether to run only a sample of the blocks. In a
     * JOB_CALL_BLOCK_SAMPLE call the device generates a piece of a buffer's data when a block first
     * touches the piece. This function may be NULL. */
    void (*begin_call)(struct device *d, const struct job_call *call);

    /* `findings` and `counters` append to `out` everything that the device has recorded since they
     * were called last. The strings in `out` live until close. `printf_text` returns all text that
     * kernels have printed since the device was opened. The text lives until the next call of
     * `printf_text` or until close. */
    void (*findings)(struct device *d, struct finding_vec *out);
    void (*counters)(struct device *d, struct counter_vec *out);
    const char *(*printf_text)(struct device *d);

    /* ---- optional functions: NULL if the device does not have them ---- */

    /* Call it after a JOB_CALL_BLOCK_SAMPLE call. It sets *out to what the call wrote to the buffer
     * at addr, with at most `max` pieces. `seed` decides which pieces it takes at random. In a
     * JOB_CALL_VERIFY call, the device chooses the pieces so that every block that ran has a place
     * in them, as far as `max` allows. If blocks that did not run could have changed what was
     * written, *out has no pieces. The caller releases the vectors. */
    int (*written)(struct device *d, uint64_t addr, uint64_t seed, uint32_t max,
                   struct device_written *out, struct err *err);
    /* Call it after a JOB_CALL_BLOCK_SAMPLE call. It sets *all to the number of blocks in the
     * call's launches, and *ran to how many of these blocks ran. */
    void (*blocks)(struct device *d, uint64_t *all, uint64_t *ran);

    /* The next three functions keep a copy of a buffer on the device. `hide` copies the buffer to
     * memory that no kernel can reach, because no address maps to it. It fails with ERR_LIMIT if
     * the device would then have no room for another `more` bytes. `show` gives the copy an
     * address. All candidate modules must be unloaded before that. `forget` frees the copy. The
     * worker hides only outputs of hide_from bytes or more, because copying such outputs to the
     * host takes long. If hide_from is 0, the worker hides no output. */
    uint64_t hide_from;
    int (*hide)(struct device *d, uint64_t addr, uint64_t more, struct device_hidden **out,
                struct err *err);
    int (*show)(struct device *d, struct device_hidden *h, uint64_t *addr, struct err *err);
    void (*forget)(struct device *d, struct device_hidden *h);

    /* The next four functions compute the truth, the right values of the outputs, on the device.
     * The oracle is the compiled code that computes them. It has phases, which run one after the
     * other. A phase consists of independent units; a unit often computes one output element. If
     * the four functions are NULL, the worker runs the oracle's shared object on the CPU.
     * - truth_open loads the oracle. All candidate modules must be unloaded before that.
     * - truth_compute generates a call's inputs again and runs the oracle's phases. If the case `c`
     * (one shape of the job) asks for a sample of the units, it runs only the units of the sample.
     * `got` has the candidate's outputs of the call. The oracle reads them if several answers are
     * right.
     * - truth_compare compares the bytes of a kept output with the truth.
     * - truth_fetch copies the truth and the magnitudes (job/compare_core.h) to the host. */
    int (*truth_open)(struct device *d, const char *bundle_dir, const char *oracle,
                      struct err *err);
    int (*truth_compute)(struct device *d, const struct job_case *c, const struct job_call *call,
                         const struct device_output *got, uint64_t sample_seed, struct err *err);
    int (*truth_compare)(struct device *d, uint32_t buffer, struct device_output got,
                         uint64_t poison, struct compare_sum *out, struct err *err);
    int (*truth_fetch)(struct device *d, uint32_t buffer, double *want, double *mag,
                       struct err *err);

    /* Writes to `handle` a handle with which another process can open the memory that holds the
     * buffer at addr. Sets *offset to the buffer's offset in that memory. */
    int (*share)(struct device *d, uint64_t addr, uint8_t handle[64], uint64_t *offset,
                 struct err *err);
    void (*health)(struct device *d, struct device_health *out);
    /* Tells a profiler that watches this process to start or stop collecting. */
    void (*profile)(struct device *d, bool on);
    /* Call it before the first timed call. It makes the GPU raise its clocks, and sets
     * *empty_launch_ns to the measured time of an empty launch. */
    int (*prepare_timing)(struct device *d, double *empty_launch_ns, struct err *err);
};

struct device {
    const struct device_ops *ops;
};

/* Each backend has one entry function. */
int cuda_open(struct device **out, const struct job *job, const char *bundle_dir, struct err *err);
int emu_open(struct device **out, const struct job *job, struct err *err);

#endif
