/*
 * cuda_mem.c - manages buffers. Each buffer has a driver allocation of its own, a slab, with guard
 * zones on both sides. A freed slab is reused for another buffer, at a random place inside it:
 * buffers get new addresses without new allocations.
 *
 *     base                addr                       addr+bytes             base+size
 *      | gap  | guard 64K  | the buffer               | guard 64K  | gap     |
 */
#include "device/cuda.h"

#include <stdlib.h>

#include "base/util.h"

/* A new slab has JITTER_BYTES to spare, so that buffers can move in it. */
enum { JITTER_BYTES = 1 << 20, SLABS_MIN = 3, SLABS_MAX = 16, FLUSH_MIN = 64 << 20 };
/* Sizes of slabs are multiples of this. The driver packs smaller allocations together, so if we
 * shared one with another process, we would share its neighbours too. */
static const uint64_t SLAB_UNIT = 2 << 20;

int cuda_mem_open(struct cuda *d, struct err *err)
{
    d->flush_bytes = MAX(d->info.l2_bytes * 2, (uint64_t)FLUSH_MIN);
    CUDA_TRY(d, cu_mem_alloc(d->cu, 4096, &d->slot, NULL), err, "allocating device memory");
    CUDA_TRY(d, cu_mem_alloc(d->cu, d->flush_bytes * 2, &d->flush, NULL), err,
             "allocating the cache-flush buffer");
    CUDA_TRY(d, cu_mem_set(d->cu, d->flush, 0, d->flush_bytes * 2, d->stream, NULL), err,
             "clearing the cache-flush buffer");
    return 0;
}

static void free_unused_copies(struct cuda *d)
{
    for (struct device_hidden **p = &d->hidden; *p;) {
        struct device_hidden *h = *p;
        if (h->used) {
            p = &h->next;
            continue;
        }
        *p = h->next;
        cu_hidden_free(d->cu, &h->memory);
        free(h);
    }
}

void cuda_mem_close(struct cuda *d)
{
    vec_each (struct cuda_slab, s, &d->slabs)
        cu_mem_free(d->cu, s->base);
    d->slabs.n = 0;
    for (struct device_hidden *h = d->hidden; h; h = h->next)
        h->used = false;
    free_unused_copies(d);
    if (d->slot)
        cu_mem_free(d->cu, d->slot);
    if (d->flush)
        cu_mem_free(d->cu, d->flush);
}

/* ---- slabs ----------------------------------------------------------------------------------- */

void cuda_mem_trim(struct cuda *d)
{
    size_t kept = 0;
    for (size_t i = 0; i < d->slabs.n; i++) {
        struct cuda_slab *s = &d->slabs.items[i];
        if (s->used) {
            d->slabs.items[kept++] = *s;
        } else {
            cu_mem_free(d->cu, s->base);
            d->slab_bytes -= s->size;
        }
    }
    d->slabs.n = kept;
    free_unused_copies(d);
}

static struct cuda_slab *slab_at(struct cuda *d, uint64_t addr)
{
    vec_each (struct cuda_slab, s, &d->slabs)
        if (s->used && s->addr == addr)
            return s;
    return NULL;
}

static int new_slab(struct cuda *d, uint64_t size, struct cuda_slab **out)
{
    cu_ptr p = 0;
    size = (size + SLAB_UNIT - 1) / SLAB_UNIT * SLAB_UNIT;
    int rc = cu_mem_alloc(d->cu, size, &p, NULL);
    if (rc == -CU_OUT_OF_MEMORY) {
        cuda_mem_trim(d);
        rc = cu_mem_alloc(d->cu, size, &p, NULL);
    }
    if (rc < 0)
        return rc;
    struct cuda_slab *s = vec_push(&d->slabs);
    *s = (struct cuda_slab){.base = p, .size = size};
    d->slab_bytes += size;
    *out = s;
    return 0;
}

/* Returns how many unused slabs must fit a buffer of `size` bytes before the buffer gets one of
 * them; otherwise it gets a new slab. So buffers get many addresses. We want that because the time
 * of a short kernel depends on the addresses of its buffers, by tens of nanoseconds. */
static unsigned slabs_wanted(uint64_t size)
{
    return (unsigned)MIN(MAX((UINT64_C(64) << 20) / size, (uint64_t)SLABS_MIN),
                         (uint64_t)SLABS_MAX);
}

/* Returns a random unused slab of about this size. Returns NULL if a new slab is needed: fewer than
 * slabs_wanted() fit, and less than half of the memory is in slabs. */
static struct cuda_slab *reuse_slab(struct cuda *d, uint64_t size)
{
    struct cuda_slab *pick = NULL;
    unsigned fitting = 0;
    vec_each (struct cuda_slab, s, &d->slabs)
        if (!s->used && s->size >= size && s->size <= size + size / 4 + 2 * SLAB_UNIT) {
            fitting++;
            if (cuda_random(d) % fitting == 0)
                pick = s;
        }
    bool room = d->slab_bytes + size < d->info.mem_bytes / 2;
    return fitting >= slabs_wanted(size) || !room ? pick : NULL;
}

static int fill_guards(struct cuda *d, struct cuda_slab *s, struct err *err)
{
    uint64_t lo = s->addr - CUDA_GUARD_BYTES, hi = s->addr + s->bytes, n = CUDA_GUARD_BYTES;
    s->key = cuda_random(d);
    void *args[] = {&lo, &n, &hi, &n, &s->key};
    return cuda_service_launch(d, d->svc.guard_fill, n, args, err);
}

int cuda_alloc(struct device *dev, const struct device_alloc *spec, uint64_t *addr, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    uint64_t step = (uint64_t)spec->align * 2;
    uint64_t span = spec->bytes + spec->offset + 2 * step + 2 * CUDA_GUARD_BYTES;
    uint64_t limit = d->job->limits.device_bytes;
    if (limit && d->live_bytes + spec->bytes > limit)
        return err_set(err, ERR_LIMIT, "'%s' needs %llu bytes: over the job's limit of %llu",
                       spec->name, (unsigned long long)spec->bytes, (unsigned long long)limit);
    struct cuda_slab *s = reuse_slab(d, span);
    if (!s) {
        int rc = new_slab(d, span + JITTER_BYTES, &s);
        if (rc == -CU_OUT_OF_MEMORY)
            return err_set(err, ERR_LIMIT, "'%s' needs %llu bytes of device memory: out of memory",
                           spec->name, (unsigned long long)spec->bytes);
        CUDA_TRY(d, rc, err, "allocating device memory");
    }
    /* An odd multiple of align, plus spec->offset: a kernel cannot rely on a larger alignment. */
    uint64_t places = (s->size - span) / step + 1;
    uint64_t first = s->base + CUDA_GUARD_BYTES;
    first = (first + step - 1) / step * step + spec->align;
    s->addr = first + cuda_random(d) % places * step + spec->offset;
    s->bytes = spec->bytes;
    s->used = true;
    d->live_bytes += spec->bytes;
    *addr = s->addr;
    return fill_guards(d, s, err);
}

int cuda_free(struct device *dev, uint64_t addr, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    struct cuda_slab *s = slab_at(d, addr);
    if (!s)
        return err_set(err, ERR_INTERNAL, "free: there is no buffer at this address");
    s->used = false;
    d->live_bytes -= s->bytes;
    return 0;
}

/* ---- hidden copies --------------------------------------------------------------------------- */

/* Buffers and hidden copies may take this share of the device's memory. The rest is for PyTorch's
 * own tensors. */
static const double FILL_SHARE = 0.6;

static uint64_t hidden_bytes(const struct cuda *d)
{
    uint64_t sum = 0;
    for (const struct device_hidden *h = d->hidden; h; h = h->next)
        sum += h->used ? h->memory.bytes : 0;
    return sum;
}

static struct device_hidden *unused_copy(struct cuda *d, uint64_t bytes)
{
    for (struct device_hidden *h = d->hidden; h; h = h->next)
        if (!h->used && h->memory.bytes >= bytes && h->memory.bytes - bytes <= SLAB_UNIT)
            return h;
    return NULL;
}

static int new_copy(struct cuda *d, uint64_t bytes, struct device_hidden **out, struct err *err)
{
    struct cu_hidden memory;
    int rc = cu_hidden_alloc(d->cu, d->device, bytes, &memory, NULL);
    if (rc == -CU_OUT_OF_MEMORY) {
        cuda_mem_trim(d);
        rc = cu_hidden_alloc(d->cu, d->device, bytes, &memory, NULL);
    }
    if (rc == -CU_OUT_OF_MEMORY)
        return err_set(err, ERR_LIMIT, "out of device memory");
    CUDA_TRY(d, rc, err, "allocating device memory");
    *out = xcalloc(1, sizeof **out);
    **out = (struct device_hidden){.next = d->hidden, .memory = memory};
    d->hidden = *out;
    return 0;
}

int cuda_hide(struct device *dev, uint64_t addr, uint64_t more, struct device_hidden **out,
              struct err *err)
{
    struct cuda *d = cuda_of(dev);
    const struct cuda_slab *s = slab_at(d, addr);
    if (!s)
        return err_set(err, ERR_INTERNAL, "hide: there is no buffer at this address");
    uint64_t bytes = s->bytes;
    if ((double)(hidden_bytes(d) + d->live_bytes + bytes + more) >
        FILL_SHARE * (double)d->info.mem_bytes)
        return err_set(err, ERR_LIMIT, "the device's memory is too small for a copy");
    struct device_hidden *h = unused_copy(d, bytes);
    if (!h && new_copy(d, bytes, &h, err) < 0)
        return -1;
    CUDA_TRY(d, cu_hidden_show(d->cu, &h->memory, NULL), err, "mapping device memory");
    CUDA_TRY(d, cu_copy_on_device(d->cu, h->memory.addr, addr, bytes, d->stream, NULL), err,
             "copying an output");
    CUDA_TRY(d, cu_stream_sync(d->cu, d->stream, NULL), err, "copying an output");
    CUDA_TRY(d, cu_hidden_hide(d->cu, &h->memory, NULL), err, "unmapping device memory");
    h->used = true;
    *out = h;
    return 0;
}

int cuda_show(struct device *dev, struct device_hidden *h, uint64_t *addr, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    CUDA_TRY(d, cu_hidden_show(d->cu, &h->memory, NULL), err, "mapping device memory");
    *addr = h->memory.addr;
    return 0;
}

void cuda_forget(struct device *dev, struct device_hidden *h)
{
    cu_hidden_hide(cuda_of(dev)->cu, &h->memory, NULL);
    h->used = false;
}

/* ---- contents -------------------------------------------------------------------------------- */

int cuda_write(struct device *dev, uint64_t addr, const void *src, uint64_t n, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    CUDA_TRY(d, cu_copy_to_device(d->cu, addr, src, n, d->stream, NULL), err,
             "writing to the device");
    CUDA_TRY(d, cu_stream_sync(d->cu, d->stream, NULL), err, "writing to the device");
    return 0;
}

int cuda_read(struct device *dev, void *dst, uint64_t addr, uint64_t n, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    CUDA_TRY(d, cu_copy_to_host(d->cu, dst, addr, n, d->stream, NULL), err,
             "reading from the device");
    CUDA_TRY(d, cu_stream_sync(d->cu, d->stream, NULL), err, "reading from the device");
    return 0;
}

int cuda_fill_gen(struct device *dev, uint64_t addr, const struct job_buffer *b, uint64_t seed,
                  struct err *err)
{
    struct cuda *d = cuda_of(dev);
    struct gen_spec spec = b->gen;
    int32_t type = (int32_t)b->dtype;
    uint32_t stream = b->stream;
    uint64_t n = b->elems;
    void *args[] = {&addr, &spec, &type, &stream, &seed, &n};
    return cuda_service_launch(d, d->svc.fill, (n + 3) / 4, args, err);
}

int cuda_poison(struct device *dev, uint64_t addr, const struct job_buffer *b, uint64_t pattern,
                struct err *err)
{
    struct cuda *d = cuda_of(dev);
    uint32_t type = (uint32_t)b->dtype, size = type ? (uint32_t)dtype_bytes(b->dtype) : 4;
    uint64_t bytes = b->bytes;
    if (!type && addr % 4) /* an unaligned workspace */
        size = 1;
    void *args[] = {&addr, &bytes, &size, &type, &pattern};
    return cuda_service_launch(d, d->svc.poison, bytes / size, args, err);
}

int cuda_zero(struct device *dev, uint64_t addr, uint64_t n, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    CUDA_TRY(d, cu_mem_set(d->cu, addr, 0, n, d->stream, NULL), err, "zeroing a buffer");
    return 0;
}

int cuda_set_memory(struct device *dev, uint64_t addr, uint64_t n, uint32_t value, uint32_t width,
                    struct err *err)
{
    struct cuda *d = cuda_of(dev);
    CUDA_TRY(d, cu_mem_fill(d->cu, addr, value, width, n, d->stream, NULL), err,
             "a memset of the plan");
    return 0;
}

int cuda_copy_memory(struct device *dev, uint64_t to, uint64_t from, uint64_t n, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    CUDA_TRY(d, cu_copy_on_device(d->cu, to, from, n, d->stream, NULL), err, "a copy of the plan");
    return 0;
}

static int read_slot(struct cuda *d, uint64_t *out, struct err *err)
{
    return cuda_read(&d->dev, out, d->slot, sizeof *out, err);
}

int cuda_hash(struct device *dev, uint64_t addr, uint64_t n, uint64_t *out, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    void *args[] = {&addr, &n, &d->slot};
    CUDA_TRY(d, cu_mem_set(d->cu, d->slot, 0, 8, d->stream, NULL), err, "hashing");
    if (cuda_service_launch(d, d->svc.hash, (n + 7) / 8, args, err) < 0)
        return -1;
    return read_slot(d, out, err);
}

int cuda_guards_ok(struct device *dev, uint64_t addr, bool *ok, uint64_t *first_bad,
                   struct err *err)
{
    struct cuda *d = cuda_of(dev);
    struct cuda_slab *s = slab_at(d, addr);
    if (!s)
        return err_set(err, ERR_INTERNAL, "guards_ok: there is no buffer at this address");
    uint64_t lo = s->addr - CUDA_GUARD_BYTES, hi = s->addr + s->bytes, n = CUDA_GUARD_BYTES;
    void *args[] = {&lo, &n, &hi, &n, &s->key, &d->slot};
    CUDA_TRY(d, cu_mem_set(d->cu, d->slot, 0xff, 8, d->stream, NULL), err, "checking guard zones");
    if (cuda_service_launch(d, d->svc.guard_check, n, args, err) < 0 ||
        read_slot(d, first_bad, err) < 0)
        return -1;
    *ok = *first_bad == UINT64_MAX;
    return 0;
}

/*
 * Removes all that the candidate could find in the L2. The reset ends the protection of lines that
 * a kernel asked the L2 to keep. The write drives out dirty lines. The read fills the cache with
 * clean lines, so that no write-back slows the candidate down.
 */
int cuda_flush_l2(struct device *dev, struct err *err)
{
    struct cuda *d = cuda_of(dev);
    uint64_t n = d->flush_bytes / 16, clean = d->flush + d->flush_bytes;
    uint32_t v = (uint32_t)cuda_random(d);
    void *write_args[] = {&d->flush, &n, &v}, *read_args[] = {&clean, &n, &d->slot};
    cu_l2_reset_persisting(d->cu, NULL);
    if (cuda_service_launch(d, d->svc.flush_write, n, write_args, err) < 0)
        return -1;
    return cuda_service_launch(d, d->svc.flush_read, n, read_args, err);
}

int cuda_share(struct device *dev, uint64_t addr, uint8_t handle[64], uint64_t *offset,
               struct err *err)
{
    struct cuda *d = cuda_of(dev);
    struct cuda_slab *s = slab_at(d, addr);
    struct cu_ipc_handle h;
    if (!s)
        return err_set(err, ERR_INTERNAL, "share: there is no buffer at this address");
    CUDA_TRY(d, cu_mem_share(d->cu, s->base, &h, NULL), err, "sharing memory with the sidecar");
    memcpy(handle, h.reserved, 64);
    *offset = addr - s->base;
    return 0;
}
