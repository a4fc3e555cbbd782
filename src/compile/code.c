/*
 * code.c - makes a struct compiled from the PTX, the cubin and the log of a compile.
 */
#include "compile/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "compile/cubin.h"
#include "compile/diag.h"
#include "compile/ptx.h"
#include "compile/ptxas.h"
#include "compile/trailer.h"

/*
 * Reads a kernel's spills and static shared memory from the log of ptxas:
 *
 *     ptxas info    : Function properties for NAME
 *     ptxas         .     0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
 *     ptxas info    : Used 10 registers, used 1 barriers, 1024 bytes smem
 *
 * The log's size of shared memory replaces the cubin's, which includes bytes that the system
 * reserves.
 */
static void find_usage(const char *log, struct kernel_info *k)
{
    char head[600];
    unsigned stack, stores, loads;
    snprintf(head, sizeof head, "Function properties for %s\n", k->name);
    const char *p = strstr(log, head);
    if (!p)
        return;
    p += strlen(head);
    p += strcspn(p, "0123456789\n");
    if (sscanf(p, "%u bytes stack frame, %u bytes spill stores, %u bytes spill loads", &stack,
               &stores, &loads) == 3) {
        k->spill_store_bytes = stores;
        k->spill_load_bytes = loads;
    }
    const char *used = strstr(p, "Used ");
    if (!used)
        return;
    size_t n = strcspn(used, "\n");
    const char *smem = memmem(used, n, " bytes smem", 11);
    k->static_smem_bytes = 0;
    while (smem && smem > used && smem[-1] >= '0' && smem[-1] <= '9')
        smem--;
    if (smem)
        k->static_smem_bytes = (uint32_t)strtoul(smem, NULL, 10);
}

static void add_kernel(const char *name, size_t n, void *ctx)
{
    struct compiled *c = ctx;
    struct cubin_kernel facts;
    /* The PTX may declare an instance of a template before it defines it. */
    for (size_t i = 0; i < c->kernels.n; i++)
        if (strlen(c->kernels.items[i].name) == n && !memcmp(c->kernels.items[i].name, name, n))
            return;
    char *copy = arena_strndup(&c->arena, name, n);
    if (cubin_kernel(c->cubin, c->cubin_len, copy, &facts) < 0)
        return;
    struct kernel_info *k = vec_push(&c->kernels);
    k->name = copy;
    k->registers = facts.registers;
    k->static_smem_bytes = facts.static_smem_bytes;
    k->stack_bytes = facts.stack_bytes;
    k->max_threads = facts.max_threads ? facts.max_threads : 1024;
    find_usage(c->log, k);
}

static void fail_at(struct compiled *out, const char *file, unsigned long line, const char *failure,
                    const char *message)
{
    out->ok = false;
    out->failure = failure;
    diag_add(&out->diags, &out->arena, file, (uint32_t)line, 0, message, "");
}

void code_fail(struct compiled *out, const char *file, const char *failure, const char *message)
{
    fail_at(out, file, 0, failure, message);
}

/* Returns the first forbidden external function that the code calls, or NULL. Only printf and
 * assert are allowed: they keep no data. Memory of malloc() would outlive calls and modules, and
 * Hone does not check it. A candidate asks for memory in its plan (plan/plan.h) instead. */
static const char *bad_import(const struct compiled *c)
{
    const char *name;
    for (size_t i = 0; (name = cubin_import(c->cubin, c->cubin_len, i)); i++)
        if (!str_eq(name, "vprintf") && !str_eq(name, "__assertfail"))
            return name;
    return NULL;
}

/* Reads the kernels' signatures from `plain`, the PTX without comments, and compares them with the
 * machine code. */
static int read_signatures(const struct code_origin *o, const struct strbuf *plain,
                           struct compiled *out, struct err *e)
{
    if (trailer_read(plain->buf, plain->len, o->nonce, o->kernels, o->nkernels, &out->sigs,
                     &out->arena, e) < 0)
        return -1;
    return trailer_check(out->cubin, out->cubin_len, &out->sigs, e);
}

static void keep_ptx(const struct code_origin *o, const struct compile_job_result *r,
                     const struct strbuf *plain, struct compiled *out)
{
    struct strbuf ptx = STRBUF_INIT((size_t)512 << 20);
    char drop[48];
    snprintf(drop, sizeof drop, "hone_sig_%s", o->nonce);
    ptx_prune(r->ptx, plain->buf, plain->len, drop, &ptx);
    out->ptx = arena_strndup(&out->arena, ptx.buf, ptx.len);
    out->ptx_len = ptx.len;
    strbuf_release(&ptx);
}

void code_from_result(const struct compile_job_result *r, const struct code_origin *o,
                      struct compiled *out)
{
    struct strbuf plain = STRBUF_INIT((size_t)512 << 20);
    struct err e = ERR_INIT;
    const char *import;
    out->cubin = r->cubin;
    out->cubin_len = r->cubin_len;
    ptx_without_comments(r->ptx, r->ptx_len, &plain);
    if (read_signatures(o, &plain, out, &e) < 0) {
        code_fail(out, o->file, "signature", arena_strdup(&out->arena, e.msg));
    } else if ((import = bad_import(out))) {
        fail_at(out, o->file, ptxas_call_line(plain.buf, import, o->file), "forbidden call",
                arena_printf(&out->arena,
                             "%s() is not allowed; the only external functions are printf and "
                             "assert. For memory, use the plan's workspace",
                             import));
    } else {
        keep_ptx(o, r, &plain, out);
        ptx_entries(plain.buf, plain.len, add_kernel, out);
        out->ok = true;
    }
    strbuf_release(&plain);
}
