/*
 * code.c - loads a module: places its variables in memory and finds its functions by name.
 *
 * All global variables share one allocation. Shared memory begins with SMEM_BASE reserved bytes, as
 * on the hardware. Then come the shared variables of the module and of device functions (.func),
 * and those of the kernel (.entry). Dynamic shared memory comes last, aligned as its declaration
 * asks.
 */
#include "base/util.h"
#include "emu/core/machine.h"

static uint64_t align_up(uint64_t v, uint64_t a)
{
    return (v + a - 1) / a * a;
}

struct code_func *code_find(struct code *c, const char *name)
{
    for (uint32_t i = 0; i < c->nfuncs; i++)
        if (str_eq(c->funcs[i].src->name, name))
            return &c->funcs[i];
    return NULL;
}

struct code_func *code_from_addr(struct code *c, uint64_t addr)
{
    uint64_t i = addr - FUNC_BASE;
    if (i % 16 || i / 16 >= c->nfuncs)
        return NULL;
    return &c->funcs[i / 16];
}

static int place_data(struct code *c, struct err *err)
{
    uint64_t go = 0, co = 16;
    for (size_t i = 0; i < c->ptx.vars.n; i++) {
        struct ptx_var *v = c->ptx.vars.items[i];
        uint64_t *o = v->space == SP_GLOBAL ? &go : v->space == SP_CONST ? &co : NULL;
        if (!o || v->is_extern)
            continue;
        *o = align_up(*o, v->align);
        v->addr = *o;
        *o += v->bytes;
        if (*o > 1ull << 32)
            return err_set(err, ERR_LIMIT, "the variables of the module take too many bytes");
        v->placed = true;
    }
    if (co > 65536 + 16)
        return err_set(err, ERR_INPUT, "the module has more than 64 KB of constants");
    c->const_bytes = (uint32_t)align_up(co, 16);
    c->const_bank = xcalloc(1, c->const_bytes);
    if (go) {
        struct device_alloc spec = {.name = "module variables",
                                    .bytes = go,
                                    .align = 4096,
                                    .elem_bytes = 1,
                                    .role = JOB_INOUT,
                                    .rank = 1,
                                    .dims = {(int64_t)go}};
        c->globals = mem_alloc(&c->emu->mem, &spec, err);
        if (!c->globals)
            return -1;
        c->globals->is_global_var = true;
        for (size_t i = 0; i < c->ptx.vars.n; i++)
            if (c->ptx.vars.items[i]->space == SP_GLOBAL && c->ptx.vars.items[i]->placed)
                c->ptx.vars.items[i]->addr += c->globals->addr;
    }
    return 0;
}

static uint32_t place_shared(struct ptx_var **vars, size_t n, uint64_t from, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct ptx_var *v = vars[i];
        if (v->space != SP_SHARED || v->is_extern || !v->bytes)
            continue;
        from = align_up(from, v->align);
        v->addr = from;
        v->placed = true;
        from += v->bytes;
        if (from > SMEM_OFF_MASK) {
            err_set(err, ERR_INPUT, "shared memory is too big");
            return 0;
        }
    }
    return (uint32_t)from;
}

static int place_all_shared(struct code *c, struct err *err)
{
    uint32_t common = place_shared(c->ptx.vars.items, c->ptx.vars.n, SMEM_BASE, err);
    uint32_t most = common;
    for (uint32_t i = 0; common && i < c->nfuncs; i++)
        if (!c->funcs[i].src->is_entry)
            common =
                place_shared(c->funcs[i].src->locals.items, c->funcs[i].src->locals.n, common, err);
    for (uint32_t i = 0; common && i < c->nfuncs; i++) {
        struct code_func *f = &c->funcs[i];
        if (!f->src->is_entry)
            continue;
        f->smem_static = place_shared(f->src->locals.items, f->src->locals.n, common, err);
        if (!f->smem_static)
            return -1;
        most = MAX(most, f->smem_static);
    }
    c->smem_most = most;
    c->smem_first = SMEM_BASE;
    return common ? 0 : -1;
}

/* Dynamic shared memory is `extern .shared x[]`. */
static bool is_dynamic(const struct ptx_var *v)
{
    return v->space == SP_SHARED && (v->is_extern || !v->bytes);
}

/* True if a device function (.func) uses dynamic shared memory. We decode a function once for all
 * kernels, so all kernels must then have this memory at the same address. */
static bool funcs_use_dynamic(const struct code *c)
{
    for (uint32_t i = 0; i < c->nfuncs; i++) {
        const struct ptx_func *f = c->funcs[i].src;
        for (size_t k = 0; !f->is_entry && k < f->insns.n; k++)
            for (uint32_t o = 0; o < f->insns.items[k].nops; o++) {
                const struct ptx_opnd *op = &f->insns.items[k].ops[o];
                if ((op->kind == PO_SYM || op->kind == PO_ADDR) && op->var && is_dynamic(op->var))
                    return true;
            }
    }
    return false;
}

void code_place_dynamic(struct code *c, struct code_func *entry)
{
    uint32_t base = funcs_use_dynamic(c) ? c->smem_most : entry->smem_static, align = 16;
    for (int pass = 0; pass < 2; pass++) {
        struct ptx_var **vars = pass ? entry->src->locals.items : c->ptx.vars.items;
        size_t n = pass ? entry->src->locals.n : c->ptx.vars.n;
        for (size_t i = 0; i < n; i++)
            if (is_dynamic(vars[i]))
                align = MAX(align, vars[i]->align);
    }
    entry->smem_static = (uint32_t)align_up(base, align);
    for (int pass = 0; pass < 2; pass++) {
        struct ptx_var **vars = pass ? entry->src->locals.items : c->ptx.vars.items;
        size_t n = pass ? entry->src->locals.n : c->ptx.vars.n;
        for (size_t i = 0; i < n; i++)
            if (is_dynamic(vars[i])) {
                vars[i]->addr = entry->smem_static;
                vars[i]->placed = true;
            }
    }
}

static struct ptx_var *find_var(struct code *c, const char *name)
{
    for (size_t i = 0; i < c->ptx.vars.n; i++)
        if (str_eq(c->ptx.vars.items[i]->name, name))
            return c->ptx.vars.items[i];
    return NULL;
}

static int apply_reloc(struct code *c, const struct ptx_var *v, const struct ptx_reloc *r,
                       uint8_t *at, struct err *err)
{
    struct ptx_var *s = find_var(c, r->name);
    struct code_func *f = s ? NULL : code_find(c, r->name);
    uint64_t value;
    if (s && s->placed) {
        value = s->addr;
        if (r->generic && s->space == SP_CONST)
            value += WIN_CONST;
        if (r->generic && s->space == SP_SHARED)
            value += WIN_SHARED;
    } else if (f) {
        value = FUNC_BASE + f->index * 16u;
    } else {
        return err_set(err, ERR_INPUT, "the initialiser of '%s' names '%s', which is not defined",
                       v->name, r->name);
    }
    value = (value + (uint64_t)r->addend) >> (r->shift & 63);
    if (r->off + MIN(r->size, 8u) <= v->bytes)
        memcpy(at + r->off, &value, MIN(r->size, 8u));
    return 0;
}

static int initial_value(struct code *c, const struct ptx_var *v, uint8_t *dst, struct err *err)
{
    memset(dst, 0, v->bytes);
    if (!v->init)
        return 0;
    memcpy(dst, v->init, v->init_bytes);
    for (uint32_t k = 0; k < v->nrelocs; k++)
        if (apply_reloc(c, v, &v->relocs[k], dst, err) < 0)
            return -1;
    return 0;
}

static int code_init_globals(struct code *c, struct err *err)
{
    if (c->globals)
        mem_mark_init(&c->emu->mem, c->globals->addr, c->globals->end - c->globals->addr, true);
    for (size_t i = 0; i < c->ptx.vars.n; i++) {
        struct ptx_var *v = c->ptx.vars.items[i];
        if (!v->placed || (v->space != SP_CONST && v->space != SP_GLOBAL))
            continue;
        uint8_t *at =
            v->space == SP_CONST ? c->const_bank + v->addr : mem_host(&c->emu->mem, v->addr);
        if (initial_value(c, v, at, err) < 0)
            return -1;
    }
    return 0;
}

int code_globals_intact(struct code *c, bool *ok, const char **which, struct err *err)
{
    *ok = true;
    for (size_t i = 0; i < c->ptx.vars.n && *ok; i++) {
        struct ptx_var *v = c->ptx.vars.items[i];
        if (v->space != SP_GLOBAL || !v->placed || !v->bytes)
            continue;
        uint8_t *want = xmalloc(v->bytes);
        int rc = initial_value(c, v, want, err);
        if (rc == 0 && memcmp(want, mem_host(&c->emu->mem, v->addr), v->bytes) != 0) {
            *ok = false;
            *which = v->name;
        }
        free(want);
        if (rc < 0)
            return -1;
    }
    return 0;
}

enum result_status code_load(struct code **out, struct emu *e, const char *ptx, size_t len,
                             struct err *err)
{
    struct code *c = xcalloc(1, sizeof *c);
    c->emu = e;
    if (ptx_parse(&c->ptx, ptx, len, err) < 0)
        goto fail;
    c->nfuncs = (uint32_t)c->ptx.funcs.n;
    c->funcs = xcalloc(c->nfuncs + 1, sizeof *c->funcs);
    for (uint32_t i = 0; i < c->nfuncs; i++) {
        c->funcs[i].src = c->ptx.funcs.items[i];
        c->funcs[i].code = c;
        c->funcs[i].index = i;
    }
    if (place_data(c, err) < 0 || place_all_shared(c, err) < 0 || code_init_globals(c, err) < 0)
        goto fail;
    if (ptx_find(&c->ptx, "malloc")) {
        struct device_alloc heap = {
            .name = "device heap", .bytes = HEAP_BYTES, .align = 4096, .role = JOB_WORKSPACE};
        c->heap = mem_alloc(&e->mem, &heap, err);
        if (!c->heap)
            goto fail;
        c->heap->is_global_var = true;
    }
    *out = c;
    return RESULT_OK;
fail:
    code_free(c);
    return RESULT_LOAD_FAILED;
}

void code_free(struct code *c)
{
    if (!c)
        return;
    if (c->globals)
        mem_free(&c->emu->mem, c->globals);
    if (c->heap)
        mem_free(&c->emu->mem, c->heap);
    if (c->grid_ws)
        mem_free(&c->emu->mem, c->grid_ws);
    ptx_release(&c->ptx);
    arena_release(&c->arena);
    free(c->funcs);
    free(c->consts);
    free(c->const_hash);
    free(c->const_bank);
    free(c);
}
