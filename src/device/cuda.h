/*
 * cuda.h - what the files of the CUDA backend share. Private to src/device/cuda*.c. src/cuda/ calls
 * the driver; names from there begin with cu_.
 *
 *     cuda.c        open, close, errors, the vtable
 *     cuda_mem.c    buffers: slabs, guard zones, data, poison, hashes, cache flushing
 *     cuda_run.c    modules, launches, tensor maps, time limits, clocks
 *     cuda_truth.c  the oracle and the comparison
 *     cuda_lib.c    cuBLASLt as a baseline
 *     cuda_peak.c   ceilings: the highest rates of the device
 *
 * There is one context (the GPU's primary one), one stream and one thread. A kernel that faults or
 * hangs makes the context unusable. Then `lost` and `lost_why` are set, and later operations fail.
 */
#ifndef DEVICE_CUDA_H
#define DEVICE_CUDA_H

#include <stdbool.h>

#include "cuda/context.h"
#include "cuda/hidden.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/module.h"
#include "cuda/nvml.h"
#include "cuda/stream.h"
#include "cuda/tensormap.h"
#include "device/device.h"

#define CUDA_GUARD_BYTES 65536u /* each guard zone */

/* Hone's own kernels (service.cu), called service kernels. */
#define CUDA_SERVICE(X) \
    X(fill)             \
    X(poison)           \
    X(fill_f64)         \
    X(hash)             \
    X(guard_fill)       \
    X(guard_check) X(compare) X(gate) X(empty) X(flush_write) X(flush_read) X(copy) X(fma32)

struct cuda_service {
    cu_module module;
#define X(name) cu_function name;
    CUDA_SERVICE(X)
#undef X
};

struct cuda_slab {
    cu_ptr base;
    uint64_t size;
    bool used;
    uint64_t addr, bytes; /* place and size of the buffer in the slab */
    uint64_t key;         /* decides the bytes of the guard zones */
};
VEC_DECL(cuda_slab_vec, struct cuda_slab);

/* A copy of a buffer, in memory that no kernel can reach before cuda_show(). */
struct device_hidden {
    struct device_hidden *next;
    struct cu_hidden memory;
    bool used; /* false after cuda_forget(); another copy may reuse it */
};

struct cuda_truth;
struct cublaslt;

struct cuda {
    struct device dev; /* must be first: cuda_of() casts */
    const struct cu_driver *cu;
    const struct job *job;
    cu_device device;
    cu_context ctx;
    cu_stream stream;
    cu_event begin, end; /* around the launches of a timed call */
    cu_event done;
    struct cuda_service svc;
    struct device_info info;
    struct nvml *nvml;
    struct cuda_slab_vec slabs;
    uint64_t live_bytes;
    uint64_t slab_bytes;
    struct device_hidden *hidden; /* all copies, used or not */
    uint64_t rng;
    cu_ptr slot; /* device memory for the answers of service kernels */
    /* Host memory that kernels can read and write. A gate is a kernel that holds back the stream.
     * It opens when the host writes its number to flags[0]. If it waits too long, it opens by
     * itself and writes its number to flags[1]. */
    volatile uint64_t *flags;
    cu_ptr flags_dev; /* address of `flags` for kernels */
    uint64_t epoch;   /* number of the newest gate */
    cu_ptr flush;     /* two buffers of flush_bytes bytes */
    uint64_t flush_bytes;
    bool timing; /* true between time_begin and time_end */
    enum result_status lost;
    char lost_why[2048];
    /* The program's own stdout, and the file that takes its place; or -1. */
    int saved_stdout, capture_fd;
    char *printed;
    struct cuda_truth *truth;
    struct cublaslt *lt;
    struct cuda_symbols *symbols; /* where the variables of each loaded file lie */
};

static inline struct cuda *cuda_of(struct device *d)
{
    return (struct cuda *)d;
}

/* In the next two functions, `rc` is a negated error number of the driver. Both functions set
 * d->lost if the context is no longer usable. Their messages say more than those of src/cuda/. So
 * we pass NULL as `err` to most functions of src/cuda/. */

/* Reports the failure of a driver call that Hone made for its own work. Writes "<what>: <reason>"
 * to err and returns -1. */
int cuda_fail(struct cuda *d, int rc, struct err *err, const char *what);
/* Reports an error that the candidate may have caused. Also writes "<what>: <reason>" to err, but
 * returns the candidate's status. */
enum result_status cuda_blame(struct cuda *d, int rc, struct err *err, const char *what);

#define CUDA_TRY(d, call, err, what)                   \
    do {                                               \
        int rc_ = (call);                              \
        if (rc_ < 0)                                   \
            return cuda_fail((d), rc_, (err), (what)); \
    } while (0)

int cuda_service_launch(struct cuda *d, cu_function f, uint64_t n, void **args, struct err *err);
/* Waits until the stream is idle, at most timeout_ns (0: no limit). Returns 0, -CU_NOT_READY, or
 * another negated error. */
int cuda_wait(struct cuda *d, uint64_t timeout_ns);
uint64_t cuda_random(struct cuda *d);

/* cuda_mem.c */
int cuda_mem_open(struct cuda *d, struct err *err);
void cuda_mem_close(struct cuda *d);
void cuda_mem_trim(struct cuda *d);
int cuda_alloc(struct device *dev, const struct device_alloc *spec, uint64_t *addr,
               struct err *err);
int cuda_free(struct device *dev, uint64_t addr, struct err *err);
int cuda_hide(struct device *dev, uint64_t addr, uint64_t more, struct device_hidden **out,
              struct err *err);
int cuda_show(struct device *dev, struct device_hidden *h, uint64_t *addr, struct err *err);
void cuda_forget(struct device *dev, struct device_hidden *h);
int cuda_write(struct device *dev, uint64_t addr, const void *src, uint64_t n, struct err *err);
int cuda_read(struct device *dev, void *dst, uint64_t addr, uint64_t n, struct err *err);
int cuda_fill_gen(struct device *dev, uint64_t addr, const struct job_buffer *b, uint64_t seed,
                  struct err *err);
int cuda_poison(struct device *dev, uint64_t addr, const struct job_buffer *b, uint64_t pattern,
                struct err *err);
int cuda_zero(struct device *dev, uint64_t addr, uint64_t n, struct err *err);
int cuda_set_memory(struct device *dev, uint64_t addr, uint64_t n, uint32_t value, uint32_t width,
                    struct err *err);
int cuda_copy_memory(struct device *dev, uint64_t to, uint64_t from, uint64_t n, struct err *err);
int cuda_hash(struct device *dev, uint64_t addr, uint64_t n, uint64_t *out, struct err *err);
int cuda_guards_ok(struct device *dev, uint64_t addr, bool *ok, uint64_t *first_bad,
                   struct err *err);
int cuda_flush_l2(struct device *dev, struct err *err);
int cuda_share(struct device *dev, uint64_t addr, uint8_t handle[64], uint64_t *offset,
               struct err *err);

/* cuda_run.c */
enum result_status cuda_load(struct device *dev, const struct job_module *m, const char *dir,
                             struct device_module **out, struct err *err);
void cuda_unload(struct device *dev, struct device_module *m);
bool cuda_sealed(struct device *dev, struct device_module *m);
void cuda_symbols_free(struct cuda *d);
int cuda_globals_intact(struct device *dev, struct device_module *m, bool *ok, const char **which,
                        struct err *err);
enum result_status cuda_tensormap(struct device *dev, const struct job_tensormap *t, uint64_t addr,
                                  uint8_t out[128], struct err *err);
enum result_status cuda_launch(struct device *dev, struct device_module *m,
                               const struct job_launch *l, void *const *args, struct err *err);
enum result_status cuda_sync(struct device *dev, uint64_t timeout_ns, struct err *err);
int cuda_time_begin(struct device *dev, struct err *err);
int cuda_time_end(struct device *dev, struct launch_stat *out, struct err *err);
int cuda_prepare_timing(struct device *dev, double *empty_launch_ns, struct err *err);

/* cuda_truth.c */
int cuda_truth_open(struct device *dev, const char *dir, const char *oracle, struct err *err);
int cuda_truth_compute(struct device *dev, const struct job_case *c, const struct job_call *call,
                       const struct device_output *got, uint64_t sample_seed, struct err *err);
int cuda_truth_compare(struct device *dev, uint32_t buffer, struct device_output got,
                       uint64_t poison, struct compare_sum *out, struct err *err);
int cuda_truth_fetch(struct device *dev, uint32_t buffer, double *want, double *mag,
                     struct err *err);
void cuda_truth_close(struct cuda *d);

/* cuda_lib.c */
enum result_status cuda_lib_load(struct cuda *d, const char *spec, struct err *err);
enum result_status cuda_lib_launch(struct cuda *d, const char *spec, const struct job_launch *l,
                                   void *const *args, struct err *err);
void cuda_lib_close(struct cuda *d);

/* Reads at most `max` bytes. The caller frees *data. */
int cuda_read_file(const char *dir, const char *name, size_t max, char **data, size_t *len,
                   struct err *err);

#endif
