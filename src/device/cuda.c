/* cuda.c - opens and closes a GPU, explains the driver's errors, captures kernels' printf. */
#include "device/cuda.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "job/poison.h"

/* In bytes: the cap on a cubin, bounds of the driver's buffer for kernels' printf, and the heap for
 * kernels' malloc(). */
enum { CUBIN_MAX = 256 << 20, PRINTF_MIN = 64 << 10, PRINTF_MAX = 4 << 20, HEAP_BYTES = 8 << 20 };

/* ---- errors ---------------------------------------------------------------------------------- */

/* Gives each error of the driver its meaning for the code that was running. */
static const struct {
    cu_result r;
    enum result_status st;
    bool sticky; /* afterwards the context cannot be used any more */
    const char *words;
} meanings[] = {
    {CU_INVALID_VALUE, RESULT_PLAN, false, "the launch was refused: a value is out of range"},
    {CU_OUT_OF_MEMORY, RESULT_OOM, false, "out of device memory"},
    {CU_INVALID_IMAGE, RESULT_LOAD_FAILED, false, "the module is not a valid image"},
    {CU_NO_BINARY_FOR_GPU, RESULT_LOAD_FAILED, false, "the module was built for another GPU"},
    {CU_INVALID_PTX, RESULT_LOAD_FAILED, false, "the PTX does not assemble"},
    {CU_UNSUPPORTED_PTX_VERSION, RESULT_LOAD_FAILED, false, "the PTX is newer than the driver"},
    {CU_SHARED_OBJECT_SYMBOL_NOT_FOUND, RESULT_LOAD_FAILED, false,
     "the module needs a symbol that is not there (device-side launches need a library that is "
     "not linked)"},
    {CU_NOT_FOUND, RESULT_LOAD_FAILED, false, "not found in the module"},
    {CU_LAUNCH_OUT_OF_RESOURCES, RESULT_PLAN, false,
     "too many threads per block for the kernel's registers"},
    {CU_COOPERATIVE_TOO_LARGE, RESULT_PLAN, false,
     "a cooperative grid must fit on the device at once; this one does not"},
    {CU_INVALID_CLUSTER_SIZE, RESULT_PLAN, false,
     "the cluster does not fit: it has too many blocks, or they need too much shared memory"},
    {CU_ILLEGAL_ADDRESS, RESULT_FAULT, true, "illegal address: an access outside every allocation"},
    {CU_MISALIGNED_ADDRESS, RESULT_FAULT, true, "misaligned address"},
    {CU_INVALID_ADDRESS_SPACE, RESULT_FAULT, true,
     "an address of one memory space was used in another"},
    {CU_INVALID_PC, RESULT_FAULT, true, "the program counter left the kernel"},
    {CU_ILLEGAL_INSTRUCTION, RESULT_FAULT, true, "illegal instruction"},
    {CU_HARDWARE_STACK_ERROR, RESULT_FAULT, true, "stack overflow or corruption"},
    {CU_ASSERT, RESULT_FAULT, true, "a device-side assert failed"},
    {CU_LAUNCH_FAILED, RESULT_FAULT, true,
     "the kernel was stopped: trap, stack or shared-memory fault"},
    {CU_TENSOR_MEMORY_LEAK, RESULT_FAULT, true, "tensor memory was not given back"},
    {CU_LAUNCH_TIMEOUT, RESULT_HANG, true, "the driver's own time limit was reached"},
    {CU_ECC_UNCORRECTABLE, RESULT_MACHINE, true, "uncorrectable memory error of the GPU"},
    {CU_CONTAINED, RESULT_MACHINE, true, "a contained hardware error of the GPU"},
};

static void mark_lost(struct cuda *d, enum result_status st, const char *why)
{
    if (d->lost == RESULT_OK) {
        d->lost = st;
        snprintf(d->lost_why, sizeof d->lost_why, "%s", why);
    }
}

enum result_status cuda_blame(struct cuda *d, int rc, struct err *err, const char *what)
{
    for (size_t i = 0; i < ARRAY_LEN(meanings); i++)
        if (meanings[i].r == -rc) {
            err_set(err, ERR_INPUT, "%s%s%s (%s)", what, *what ? ": " : "", meanings[i].words,
                    cu_error_text(d->cu, rc));
            if (meanings[i].sticky)
                mark_lost(d, meanings[i].st, err ? err->msg : meanings[i].words);
            return meanings[i].st;
        }
    err_set(err, ERR_ENV, "%s%s%s", what, *what ? ": " : "", cu_error_text(d->cu, rc));
    mark_lost(d, RESULT_MACHINE, cu_error_text(d->cu, rc));
    return RESULT_MACHINE;
}

int cuda_fail(struct cuda *d, int rc, struct err *err, const char *what)
{
    cuda_blame(d, rc, err, what);
    if (err && rc == -CU_OUT_OF_MEMORY)
        err->kind = ERR_LIMIT;
    return -1;
}

/* ---- files and stdout ------------------------------------------------------------------------ */

int cuda_read_file(const char *dir, const char *name, size_t max, char **data, size_t *len,
                   struct err *err)
{
    char *path = xasprintf("%s/%s", dir, name), *buf = NULL;
    int rc = -1, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        err_errno(err, "cannot open %s", path);
    else if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > max || st.st_size == 0)
        err_set(err, ERR_INPUT, "%s: not a file of 1 to %zu bytes", path, max);
    else {
        size_t n = (size_t)st.st_size, at = 0;
        ssize_t got = 1;
        buf = xmalloc(n + 1);
        while (at < n && (got = read(fd, buf + at, n - at)) > 0)
            at += (size_t)got;
        buf[n] = '\0';
        if (at < n)
            err_errno(err, "cannot read %s", path);
        else
            rc = 0, *data = buf, *len = n, buf = NULL;
    }
    if (fd >= 0)
        close(fd);
    free(buf);
    free(path);
    return rc;
}

/* Kernels' printf goes to stdout. We redirect stdout to a file in memory that cannot grow, so that
 * a kernel that prints gigabytes fills neither disk nor memory. A write that crosses the end of the
 * file may stop up to a page before it. So the file is some pages larger than the limit. */
static void capture_stdout(struct cuda *d)
{
    enum { SPARE = 64 << 10 };
    off_t size = (off_t)MIN(d->job->limits.printf_bytes, (uint64_t)PRINTF_MAX) + SPARE;
    d->saved_stdout = d->capture_fd = -1;
    int fd = memfd_create("hone-printf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return;
    fflush(stdout);
    if (ftruncate(fd, size) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0 &&
        (d->saved_stdout = fcntl(1, F_DUPFD_CLOEXEC, 3)) >= 0 && dup2(fd, 1) == 1)
        d->capture_fd = fd;
    else
        close(fd);
}

static const char *cuda_printf_text(struct device *dev)
{
    struct cuda *d = cuda_of(dev);
    fflush(stdout);
    off_t n = d->capture_fd < 0 ? 0 : lseek(d->capture_fd, 0, SEEK_CUR);
    n = MIN(n, (off_t)MIN(d->job->limits.printf_bytes, (uint64_t)PRINTF_MAX));
    if (n <= 0)
        return "";
    free(d->printed);
    d->printed = xcalloc((size_t)n + 1, 1);
    if (pread(d->capture_fd, d->printed, (size_t)n, 0) < 0)
        d->printed[0] = '\0';
    return d->printed;
}

static void release_stdout(struct cuda *d)
{
    fflush(stdout);
    __fpurge(stdout); /* drop output that did not fit */
    clearerr(stdout);
    if (d->saved_stdout >= 0) {
        dup2(d->saved_stdout, 1);
        close(d->saved_stdout);
    }
    if (d->capture_fd >= 0)
        close(d->capture_fd);
}

/* ---- launching Hone's own kernels, waiting --------------------------------------------------- */

int cuda_service_launch(struct cuda *d, cu_function f, uint64_t n, void **args, struct err *err)
{
    uint64_t blocks = MAX((n + 255) / 256, UINT64_C(1));
    unsigned grid = (unsigned)MIN(blocks, (uint64_t)d->info.sms * 8);
    if (d->lost != RESULT_OK)
        return err_set(err, ERR_ENV, "the GPU cannot be used any more after this error: %s",
                       d->lost_why);
    CUDA_TRY(d, cu_launch_1d(d->cu, f, grid, 256, 0, d->stream, args, NULL), err,
             "launching a service kernel");
    return 0;
}

int cuda_wait(struct cuda *d, uint64_t timeout_ns)
{
    /* This also makes the driver write out the text of the kernels' printf. timeout_ns does not
     * cover that part; the worker's watchdog does. */
    return cu_stream_sync_within(d->cu, d->stream, d->done, timeout_ns, NULL);
}

uint64_t cuda_random(struct cuda *d)
{
    return d->rng = poison_mix(d->rng);
}

/* ---- open and close -------------------------------------------------------------------------- */

static int attribute(struct cuda *d, int which)
{
    int v = 0;
    cu_device_attribute(d->cu, d->device, which, &v, NULL);
    return v;
}

static void describe(struct cuda *d)
{
    size_t total = 0;
    struct device_info *i = &d->info;
    int v = d->cu->version;
    cu_device_name(d->cu, d->device, i->name, sizeof i->name, NULL);
    snprintf(i->driver, sizeof i->driver, "CUDA %d.%d", v / 1000, v % 1000 / 10);
    cu_device_memory(d->cu, d->device, &total, NULL);
    i->sm = (uint32_t)(attribute(d, CU_ATTR_CC_MAJOR) * 10 + attribute(d, CU_ATTR_CC_MINOR));
    i->sms = (uint32_t)attribute(d, CU_ATTR_SM_COUNT);
    i->mem_bytes = total;
    i->l2_bytes = (uint64_t)attribute(d, CU_ATTR_L2_BYTES);
    i->smem_per_block_optin = (uint32_t)attribute(d, CU_ATTR_SMEM_OPTIN);
}

static int open_context(struct cuda *d, struct err *err)
{
    int n = 0;
    CUDA_TRY(d, cu_device_count(d->cu, &n, NULL), err, "counting GPUs");
    if (d->job->ordinal >= n)
        return err_set(err, ERR_ENV, "there is no GPU %d: this machine has %d", d->job->ordinal, n);
    CUDA_TRY(d, cu_device_get(d->cu, d->job->ordinal, &d->device, NULL), err, "opening the GPU");
    /* This flag keeps the driver from shrinking local memory after a launch. Otherwise a later
     * launch would have to enlarge it again, and the stream would wait. */
    CUDA_TRY(d, cu_context_open(d->cu, d->device, CU_CTX_LMEM_TO_MAX, &d->ctx, NULL), err,
             "making a context");
    size_t fifo =
        (size_t)MAX((uint64_t)PRINTF_MIN, MIN(d->job->limits.printf_bytes, (uint64_t)PRINTF_MAX));
    cu_context_limit(d->cu, CU_LIMIT_PRINTF_FIFO, fifo, NULL);
    cu_context_limit(d->cu, CU_LIMIT_MALLOC_HEAP, HEAP_BYTES, NULL);
    CUDA_TRY(d, cu_stream_create(d->cu, &d->stream, NULL), err, "making a stream");
    CUDA_TRY(d, cu_event_create(d->cu, &d->begin, NULL), err, "making an event");
    CUDA_TRY(d, cu_event_create(d->cu, &d->end, NULL), err, "making an event");
    CUDA_TRY(d, cu_event_create(d->cu, &d->done, NULL), err, "making an event");
    return 0;
}

static int open_service(struct cuda *d, const char *dir, struct err *err)
{
    char *data;
    size_t len;
    if (!*d->job->service)
        return err_set(err, ERR_INPUT, "a job for a GPU must name the service cubin");
    if (cuda_read_file(dir, d->job->service, CUBIN_MAX, &data, &len, err) < 0)
        return -1;
    int rc = cu_module_load(d->cu, data, &d->svc.module, NULL);
    free(data);
    CUDA_TRY(d, rc, err, "loading the service cubin");
#define X(name)                                                                                   \
    CUDA_TRY(d, cu_module_function(d->cu, d->svc.module, "hone_" #name, &d->svc.name, NULL), err, \
             "looking up the service kernel hone_" #name);
    CUDA_SERVICE(X)
#undef X
    return 0;
}

static int open_flags(struct cuda *d, struct err *err)
{
    void *p = NULL;
    CUDA_TRY(d, cu_pinned_alloc(d->cu, 4096, &p, NULL), err, "allocating pinned memory");
    d->flags = p;
    d->flags[0] = d->flags[1] = 0;
    CUDA_TRY(d, cu_pinned_address(d->cu, p, &d->flags_dev, NULL), err, "mapping pinned memory");
    return 0;
}

static void cuda_close(struct device *dev)
{
    struct cuda *d = cuda_of(dev);
    /* the driver frees a lost context when the process ends */
    if (d->ctx && d->lost == RESULT_OK) {
        cuda_truth_close(d);
        cuda_lib_close(d);
        cuda_mem_close(d);
        if (d->flags)
            cu_pinned_free(d->cu, (void *)d->flags);
        if (d->svc.module)
            cu_module_unload(d->cu, d->svc.module);
        cu_event events[] = {d->begin, d->end, d->done};
        for (size_t i = 0; i < ARRAY_LEN(events); i++)
            if (events[i])
                cu_event_destroy(d->cu, events[i]);
        if (d->stream)
            cu_stream_destroy(d->cu, d->stream);
        cu_context_close(d->cu, d->device);
    }
    nvml_close(d->nvml);
    cuda_symbols_free(d);
    release_stdout(d);
    vec_release(&d->slabs);
    free(d->printed);
    free(d);
}

static int cuda_info(struct device *dev, struct device_info *out, struct err *err)
{
    *out = cuda_of(dev)->info;
    return 0;
}

static void cuda_health(struct device *dev, struct device_health *out)
{
    nvml_read(cuda_of(dev)->nvml, &out->clock_mhz, &out->max_clock_mhz, &out->throttle);
}

static void cuda_profile(struct device *dev, bool on)
{
    const struct cuda *d = cuda_of(dev);
    if (on)
        cu_profiler_start(d->cu);
    else
        cu_profiler_stop(d->cu);
}

static void cuda_findings(struct device *dev, struct finding_vec *out)
{
}

static void cuda_counters(struct device *dev, struct counter_vec *out)
{
}

static const struct device_ops cuda_ops = {
    .name = "cuda",
    .close = cuda_close,
    .info = cuda_info,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .write = cuda_write,
    .read = cuda_read,
    .fill_gen = cuda_fill_gen,
    .poison = cuda_poison,
    .zero = cuda_zero,
    .hash = cuda_hash,
    .guards_ok = cuda_guards_ok,
    .flush_l2 = cuda_flush_l2,
    .load = cuda_load,
    .unload = cuda_unload,
    .globals_intact = cuda_globals_intact,
    .sealed = cuda_sealed,
    .tensormap = cuda_tensormap,
    .launch = cuda_launch,
    .set_memory = cuda_set_memory,
    .copy_memory = cuda_copy_memory,
    .sync = cuda_sync,
    .time_begin = cuda_time_begin,
    .time_end = cuda_time_end,
    .findings = cuda_findings,
    .counters = cuda_counters,
    .printf_text = cuda_printf_text,
    .hide_from = 64 << 20,
    .hide = cuda_hide,
    .show = cuda_show,
    .forget = cuda_forget,
    .truth_open = cuda_truth_open,
    .truth_compute = cuda_truth_compute,
    .truth_compare = cuda_truth_compare,
    .truth_fetch = cuda_truth_fetch,
    .share = cuda_share,
    .health = cuda_health,
    .profile = cuda_profile,
    .prepare_timing = cuda_prepare_timing,
};

int cuda_open(struct device **out, const struct job *job, const char *bundle_dir, struct err *err)
{
    const struct cu_driver *cu = cu_driver_load(err);
    if (!cu)
        return -1;
    struct cuda *d = xcalloc(1, sizeof *d);
    d->dev.ops = &cuda_ops;
    d->cu = cu;
    d->job = job;
    d->rng = job->seed ^ now_ns();
    capture_stdout(d);
    if (open_context(d, err) < 0 || open_flags(d, err) < 0 ||
        open_service(d, bundle_dir, err) < 0) {
        cuda_close(&d->dev);
        return -1;
    }
    describe(d);
    char pci[32] = "";
    if (cu_device_pci_id(cu, d->device, pci, sizeof pci, NULL) == 0)
        d->nvml = nvml_open(pci);
    if (cuda_mem_open(d, err) < 0) {
        cuda_close(&d->dev);
        return -1;
    }
    *out = &d->dev;
    return 0;
}
