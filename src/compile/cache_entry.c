/*
 * cache_entry.c - writes the result of a compile as bytes for the cache, and reads it back. The
 * functions that read take the fields in the order in which cache_entry_write() writes them.
 */
#include "compile/cache_entry.h"

#include "job/wire.h"

enum {
    VERSION = 4,
    MAX_TEXT = 4 << 20,
    MAX_CODE = 256 << 20,
    MAX_KERNELS = 256,
    MAX_PARAMS = 256,
    MAX_DIAGS = 4096,
    MAX_FRAMES = 4096
};

static void write_sigs(const struct compiled *c, struct strbuf *out)
{
    wire_put_u32(out, (uint32_t)c->sigs.n);
    vec_each (struct sig, s, &c->sigs) {
        wire_put_str(out, s->kernel);
        wire_put_str(out, sig_entry(s));
        wire_put_u32(out, s->nparams);
        for (uint32_t i = 0; i < s->nparams; i++) {
            const struct sig_param *p = &s->params[i];
            wire_put_u8(out, (uint8_t)p->kind);
            wire_put_u32(out, p->size);
            wire_put_u32(out, p->align);
            wire_put_u8(out, (uint8_t)(p->is_signed | p->is_const << 1));
            wire_put_u8(out, (uint8_t)p->elem);
            wire_put_u32(out, p->elem_size);
        }
    }
}

static void read_sigs(struct wire_reader *r, struct compiled *c)
{
    uint32_t n = wire_get_count(r, MAX_KERNELS, "signatures");
    for (uint32_t k = 0; k < n && !r->bad; k++) {
        struct sig *s = vec_push(&c->sigs);
        s->kernel = wire_get_str(r, &c->arena, MAX_TEXT, "kernel");
        s->entry = wire_get_str(r, &c->arena, MAX_TEXT, "entry");
        s->nparams = wire_get_count(r, MAX_PARAMS, "parameters");
        s->params = arena_alloc(&c->arena, (s->nparams + 1) * sizeof *s->params);
        for (uint32_t i = 0; i < s->nparams; i++) {
            struct sig_param *p = &s->params[i];
            p->kind = (enum sig_kind)wire_get_u8(r, "kind");
            p->size = wire_get_u32(r, "size");
            p->align = wire_get_u32(r, "align");
            uint8_t flags = wire_get_u8(r, "flags");
            p->is_signed = flags & 1;
            p->is_const = flags >> 1 & 1;
            p->elem = (enum dtype)wire_get_u8(r, "element");
            p->elem_size = wire_get_u32(r, "element size");
            if (p->kind > SIG_STRUCT || p->elem >= DT_COUNT)
                r->bad = "parameter";
        }
    }
}

static void write_kernels(const struct compiled *c, struct strbuf *out)
{
    wire_put_u32(out, (uint32_t)c->kernels.n);
    for (size_t i = 0; i < c->kernels.n; i++) {
        const struct kernel_info *k = &c->kernels.items[i];
        wire_put_str(out, k->name);
        wire_put_u32(out, k->registers);
        wire_put_u32(out, k->spill_store_bytes);
        wire_put_u32(out, k->spill_load_bytes);
        wire_put_u32(out, k->static_smem_bytes);
        wire_put_u32(out, k->stack_bytes);
        wire_put_u32(out, k->max_threads);
    }
}

static void read_kernels(struct wire_reader *r, struct compiled *c)
{
    uint32_t n = wire_get_count(r, MAX_KERNELS, "kernels");
    for (uint32_t i = 0; i < n && !r->bad; i++) {
        struct kernel_info *k = vec_push(&c->kernels);
        k->name = wire_get_str(r, &c->arena, MAX_TEXT, "kernel");
        k->registers = wire_get_u32(r, "registers");
        k->spill_store_bytes = wire_get_u32(r, "spills");
        k->spill_load_bytes = wire_get_u32(r, "spills");
        k->static_smem_bytes = wire_get_u32(r, "shared memory");
        k->stack_bytes = wire_get_u32(r, "stack");
        k->max_threads = wire_get_u32(r, "threads");
    }
}

static void write_diags(const struct compiled *c, struct strbuf *out)
{
    wire_put_u32(out, (uint32_t)c->diags.n);
    vec_each (struct diag, d, &c->diags) {
        wire_put_u8(out, (uint8_t)d->severity);
        wire_put_str(out, d->file);
        wire_put_u32(out, d->line);
        wire_put_u32(out, d->column);
        wire_put_str(out, d->message);
        wire_put_str(out, d->hint);
        wire_put_u32(out, (uint32_t)d->frames.n);
        for (size_t i = 0; i < d->frames.n; i++) {
            wire_put_u32(out, d->frames.items[i].line);
            wire_put_str(out, d->frames.items[i].text);
        }
    }
}

static void read_diags(struct wire_reader *r, struct compiled *c)
{
    uint32_t n = wire_get_count(r, MAX_DIAGS, "diagnostics");
    for (uint32_t i = 0; i < n && !r->bad; i++) {
        struct diag *d = vec_push(&c->diags);
        d->severity = (enum diag_severity)wire_get_u8(r, "severity");
        d->file = wire_get_str(r, &c->arena, MAX_TEXT, "file");
        d->line = wire_get_u32(r, "line");
        d->column = wire_get_u32(r, "column");
        d->message = wire_get_str(r, &c->arena, MAX_TEXT, "message");
        d->hint = wire_get_str(r, &c->arena, MAX_TEXT, "hint");
        uint32_t frames = wire_get_count(r, MAX_FRAMES, "frames");
        for (uint32_t k = 0; k < frames && !r->bad; k++) {
            struct diag_frame *f = vec_push(&d->frames);
            f->line = wire_get_u32(r, "frame");
            f->text = wire_get_str(r, &c->arena, MAX_TEXT, "frame");
        }
    }
}

void cache_entry_write(const struct compiled *c, struct strbuf *out)
{
    wire_put_u32(out, VERSION);
    wire_put_u8(out, (uint8_t)(c->ok | c->used_pch << 1 | c->used_family_pch << 2));
    wire_put_u64(out, c->compile_ns);
    wire_put_u64(out, c->cpu_ns);
    wire_put_str(out, c->failure);
    wire_put_str(out, c->compiler);
    wire_put_str(out, c->arch);
    wire_put_str(out, c->log);
    wire_put_bytes(out, c->ptx, (uint32_t)c->ptx_len);
    wire_put_bytes(out, c->cubin, (uint32_t)c->cubin_len);
    write_sigs(c, out);
    write_kernels(c, out);
    write_diags(c, out);
}

int cache_entry_read(const void *data, size_t len, struct compiled *c)
{
    struct wire_reader r = wire_reader_of(data, len);
    uint32_t n;
    if (wire_get_u32(&r, "version") != VERSION)
        return -1;
    uint8_t flags = wire_get_u8(&r, "flags");
    c->ok = flags & 1;
    c->used_pch = flags >> 1 & 1;
    c->used_family_pch = flags >> 2 & 1;
    c->compile_ns = wire_get_u64(&r, "time");
    c->cpu_ns = wire_get_u64(&r, "time");
    c->failure = wire_get_str(&r, &c->arena, MAX_TEXT, "failure");
    c->compiler = wire_get_str(&r, &c->arena, MAX_TEXT, "compiler");
    c->arch = wire_get_str(&r, &c->arena, MAX_TEXT, "arch");
    c->log = wire_get_str(&r, &c->arena, MAX_TEXT, "log");
    c->ptx = wire_get_bytes(&r, &c->arena, MAX_CODE, &n, "ptx");
    c->ptx_len = n;
    c->cubin = wire_get_bytes(&r, &c->arena, MAX_CODE, &n, "cubin");
    c->cubin_len = n;
    read_sigs(&r, c);
    read_kernels(&r, c);
    read_diags(&r, c);
    return r.bad ? -1 : 0;
}
