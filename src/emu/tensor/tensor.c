/*
 * tensor.c - the synchronous matrix instructions of a warp: mma, wmma, ldmatrix, stmatrix,
 * movmatrix. It finds operands and moves memory. mma.c does the arithmetic, and fragments.c follows
 * undefined values.
 */
#include "emu/tensor/tensor.h"

#include <stdio.h>
#include <string.h>

#include "emu/tensor/fragments.h"

void ptx_opcode(const struct ptx_insn *p, char *out, size_t cap)
{
    size_t n = (size_t)snprintf(out, cap, "%s", p->op);
    for (uint8_t i = 0; i < p->nmods && n < cap; i++)
        n += (size_t)snprintf(out + n, cap - n, ".%s", p->mods[i]);
}

/* ---- mma, wmma.mma -------------------------------------------------------------------------- */

struct mma_insn {
    struct mma_op op;
    uint8_t nd, na, nb, nc;
    uint32_t meta; /* operand code (core.h) */
    uint32_t sel;
};

/* Reports missing lanes: a matrix instruction needs all lanes of the warp. Lanes that have exited
 * count as missing. */
static void check_whole_warp(struct warp *w, const struct insn *in)
{
    uint32_t left = w->launch->nthreads - w->id * WARP;
    uint32_t all = left >= WARP ? FULL : (1u << left) - 1, gone = all & ~w->active;
    if (gone)
        emu_finding(w, in, (int)__builtin_ctz(w->active), FIND_BARRIER, "warp", -1, NULL,
                    "lanes 0x%08x of the warp do not execute this instruction, which needs all of "
                    "them",
                    gone);
}

static int exec_mma(struct warp *w, const struct insn *in)
{
    check_whole_warp(w, in);
    const struct mma_insn *m = in->aux;
    void *r[4 * MMA_MAX_REGS];
    for (unsigned i = 0; i < in->nv; i++)
        r[i] = opnd(w, in->v[i]);
    if (__builtin_expect(w->undef != NULL, 0))
        fragment_product(w, in, &m->op);
    void **a = r + m->nd, **b = a + m->na, **c = b + m->nb;
    mma_exec(&m->op, a, b, c, m->op.sparse ? opnd(w, m->meta) : NULL, m->sel, r);
    return EX_NEXT;
}

static int decode_mma(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    if (strcmp(p->op, "wmma") == 0 && !(p->nmods && strcmp(p->mods[0], "mma") == 0))
        return 1;
    char text[256];
    ptx_opcode(p, text, sizeof text);
    struct mma_insn *m = dec_alloc(d, sizeof *m);
    if (mma_decode(&m->op, text, NULL) < 0)
        return dec_unsupported(d, p);
    if (p->nops != (m->op.sparse ? 6 : 4))
        return dec_bad(d, p, "expected %d operands", m->op.sparse ? 6 : 4);
    uint32_t codes[4 * MMA_MAX_REGS], total = 0;
    uint32_t bits = mma_reg_bytes(&m->op) * 8;
    static const enum mma_operand order[4] = {MMA_D, MMA_A, MMA_B, MMA_C};
    uint8_t *counts[4] = {&m->nd, &m->na, &m->nb, &m->nc};
    for (int i = 0; i < 4; i++) {
        uint32_t n = 0, want = mma_regs(&m->op, order[i]);
        if (dec_vec(d, p, &p->ops[i], bits, i == 0, codes + total, MMA_MAX_REGS, &n) < 0)
            return -1;
        if (n != want)
            return dec_bad(d, p, "operand %d has %u registers, not %u", i, n, want);
        *counts[i] = (uint8_t)n;
        total += n;
    }
    if (m->op.sparse) {
        if (dec_src(d, p, &p->ops[4], PT_B32, &m->meta) < 0)
            return -1;
        if (p->ops[5].kind != PO_IMM || p->ops[5].imm < 0 || p->ops[5].imm > 3)
            return dec_bad(d, p, "the sparsity selector must be a constant 0..3");
        m->sel = (uint32_t)p->ops[5].imm;
    }
    dec_set_v(d, in, codes, total);
    in->exec = exec_mma;
    in->aux = m;
    in->flags |= INSN_ALIGNED;
    in->kind = CK_TENSOR;
    in->tensor_ops = (uint32_t)(2 * mma_macs(&m->op));
    return 0;
}

/* ---- wmma.load, wmma.store ------------------------------------------------------------------ */

struct wmma_insn {
    struct mma_op op; /* an operation with this fragment (wmma_types()) */
    enum mma_operand which;
    enum tc_type type;
    bool col; /* memory is column-major */
    bool is_store;
    enum ptx_space space;
    uint32_t base, base_bits;
    uint32_t stride; /* operand code, if has_stride */
    bool has_stride;
};

/* Sets addr[lane] to the address of element j of register r in that lane. line[] has the address of
 * each line of the matrix: of each row, or of each column if the memory is column-major. */
static void wmma_addresses(const struct wmma_insn *m, const uint64_t *line, unsigned r, unsigned j,
                           uint64_t *addr)
{
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned row, col;
        mma_layout(&m->op, m->which, lane, r, j, &row, &col);
        addr[lane] = line[m->col ? col : row] + (m->col ? row : col) * tc_bits(m->type) / 8;
    }
}

/* Counts the accesses of a wmma load or store. A lane moves a whole register at once if the
 * register's elements are neighbours in memory. A register with the same addresses as an earlier
 * one is a copy, and does not count. */
static void count_wmma(struct warp *w, const struct insn *in, const uint64_t *line, uint32_t access)
{
    const struct wmma_insn *m = in->aux;
    uint32_t bits = tc_bits(m->type), per = bits >= 32 ? 1 : 32 / bits;
    uint64_t addr[MMA_MAX_REGS][32], last[32];
    for (unsigned r = 0; r < in->nv && r < MMA_MAX_REGS; r++) {
        bool copy = false;
        wmma_addresses(m, line, r, 0, addr[r]);
        for (unsigned q = 0; q < r && !copy; q++)
            copy = memcmp(addr[q], addr[r], sizeof addr[r]) == 0;
        if (copy)
            continue;
        wmma_addresses(m, line, r, per - 1, last);
        bool together = last[0] - addr[r][0] == (uint64_t)(per - 1) * bits / 8;
        for (unsigned j = 0; j < (together ? 1 : per); j++) {
            wmma_addresses(m, line, r, j, last);
            count_access(w, in, m->space, last, together ? MAX(bits, 32u) / 8 : MAX(bits, 8u) / 8,
                         access);
        }
    }
}

static void wmma_place(const struct insn *in, unsigned lane, unsigned r, unsigned e, unsigned *line,
                       unsigned *bit)
{
    const struct wmma_insn *m = in->aux;
    unsigned row, col;
    mma_layout(&m->op, m->which, lane, r, e, &row, &col);
    *line = m->col ? col : row;
    *bit = (m->col ? row : col) * tc_bits(m->type);
}

static struct fragment_move wmma_move(const struct wmma_insn *m)
{
    uint32_t bits = tc_bits(m->type);
    return (struct fragment_move){m->is_store, bits, bits >= 32 ? 1 : 32 / bits, wmma_place};
}

/* Checks the access to a line of n bytes and returns the line's host address, or NULL after a
 * fault. */
static uint8_t *wmma_line(struct warp *w, const struct insn *in, uint32_t lane, uint32_t line,
                          uint64_t addr, uint32_t n, uint32_t access)
{
    const struct wmma_insn *m = in->aux;
    uint8_t *first = NULL;
    for (uint32_t k = 0; k < n; k += FRAGMENT_SEGMENT) {
        w->matrix->segment = fragment_segment(line, k);
        uint8_t *at =
            mem_at(w, in, lane, m->space, addr + k, MIN(n - k, (uint32_t)FRAGMENT_SEGMENT), access);
        if (!at)
            return NULL;
        first = k ? first : at;
    }
    return first;
}

/* Checks the whole access of a wmma load or store, and sets line[i] to the host address of line i.
 * A line is a row, or a column if the memory is column-major. */
static int wmma_lines(struct warp *w, const struct insn *in, uint8_t **line)
{
    const struct wmma_insn *m = in->aux;
    const struct mma_op *op = &m->op;
    uint32_t rows = m->which == MMA_B ? op->k : op->m;
    uint32_t cols = m->which == MMA_A ? op->k : op->n;
    uint32_t lines = m->col ? cols : rows, length = m->col ? rows : cols;
    uint32_t bits = tc_bits(m->type);
    uint32_t lane = (uint32_t)__builtin_ctz(w->active);
    uint32_t ld = m->has_stride ? ((const uint32_t *)opnd(w, m->stride))[lane] : length;
    uint64_t addr = addr_of(w, m->base, m->base_bits, lane, in->imm);
    uint32_t access = (m->is_store ? MEM_WRITE : MEM_READ) | MEM_NOALIGN;
    if (addr % (bits < 8 ? 4 : bits / 8))
        return emu_fault(w, in, (int)lane, RESULT_FAULT, FIND_MISALIGNED,
                         "misaligned matrix address 0x%llx", (unsigned long long)addr);
    uint64_t at[128];
    struct fragment_move move = wmma_move(m);
    for (uint32_t i = 0; i < lines; i++)
        at[i] = addr + (uint64_t)i * ld * bits / 8;
    if (m->is_store && w->undef)
        fragment_stores(w, in, &move, m->space, at);
    for (uint32_t i = 0; i < lines; i++) {
        line[i] = wmma_line(w, in, (lane + i) & 31, i, at[i], length * bits / 8, access);
        if (!line[i])
            return EX_FAULT;
    }
    if (!m->is_store && w->matrix->undefined)
        fragment_loaded(w, in, &move);
    if (w->counts)
        count_wmma(w, in, at, access);
    return EX_NEXT;
}

static uint32_t get_elem(const uint8_t *line, uint32_t i, uint32_t bits)
{
    uint32_t v = 0;
    if (bits >= 8)
        memcpy(&v, line + (size_t)i * (bits / 8), bits / 8);
    else
        v = line[i * bits / 8] >> (i * bits & 7) & ((1u << bits) - 1);
    return v;
}

static int exec_wmma_ldst(struct warp *w, const struct insn *in)
{
    check_whole_warp(w, in);
    const struct wmma_insn *m = in->aux;
    uint8_t *line[128];
    struct matrix_access access;
    access.undefined = 0;
    w->matrix = &access;
    int rc = wmma_lines(w, in, line);
    w->matrix = NULL;
    if (rc != EX_NEXT)
        return rc;
    uint32_t bits = tc_bits(m->type), per = bits >= 32 ? 1 : 32 / bits;
    for (unsigned r = 0; r < in->nv; r++) {
        uint32_t *reg = opnd(w, in->v[r]);
        uint64_t *wide = opnd(w, in->v[r]);
        for (unsigned lane = 0; lane < 32; lane++) {
            uint32_t word = 0;
            for (unsigned j = 0; j < per; j++) {
                unsigned row, col;
                mma_layout(&m->op, m->which, lane, r, j, &row, &col);
                uint8_t *l = line[m->col ? col : row];
                unsigned at = m->col ? row : col;
                if (bits == 64 && m->is_store)
                    memcpy(l + at * 8, &wide[lane], 8);
                else if (bits == 64)
                    memcpy(&wide[lane], l + at * 8, 8);
                else if (m->is_store)
                    memcpy(l + (size_t)at * (bits / 8), (uint8_t *)&reg[lane] + j * (bits / 8),
                           bits / 8);
                else
                    word |= get_elem(l, at, bits) << (j * bits & 31);
            }
            if (!m->is_store && bits != 64)
                reg[lane] = word;
        }
    }
    return EX_NEXT;
}

/* mma_layout() and mma_regs() need an operation. Sets m->op to one whose fragment `which` has the
 * type m->type. Returns -1 if there is none. */
static int wmma_types(struct wmma_insn *m, const char *shape)
{
    static const struct {
        enum tc_type in, acc;
    } pairs[] = {{TC_F16, TC_F16}, {TC_F16, TC_F32}, {TC_BF16, TC_F32}, {TC_TF32, TC_F32},
                 {TC_F64, TC_F64}, {TC_S8, TC_S32},  {TC_U8, TC_S32},   {TC_S4, TC_S32},
                 {TC_U4, TC_S32},  {TC_B1, TC_S32}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        if ((m->which <= MMA_B ? pairs[i].in : pairs[i].acc) != m->type)
            continue;
        char text[128];
        const char *in = tc_name(pairs[i].in), *acc = tc_name(pairs[i].acc);
        if (pairs[i].in == TC_F16)
            snprintf(text, sizeof text, "wmma.mma.sync.aligned.row.col.%s.%s.%s", shape, acc, acc);
        else
            snprintf(text, sizeof text, "wmma.mma%s.sync.aligned.row.col.%s.%s.%s.%s.%s",
                     pairs[i].in == TC_B1 ? ".xor.popc" : "", shape, acc, in, in, acc);
        if (mma_decode(&m->op, text, NULL) == 0)
            return 0;
    }
    return -1;
}

static int decode_wmma(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    bool load = p->nmods && strcmp(p->mods[0], "load") == 0;
    bool store = p->nmods && strcmp(p->mods[0], "store") == 0;
    if (!load && !store)
        return 1;
    struct wmma_insn *m = dec_alloc(d, sizeof *m);
    const char *shape = NULL;
    m->is_store = store;
    m->space = SP_GENERIC;
    for (uint8_t i = 1; i < p->nmods; i++) {
        const char *s = p->mods[i];
        if (strlen(s) == 1 && s[0] >= 'a' && s[0] <= 'd')
            m->which = (enum mma_operand)(s[0] - 'a');
        else if (strcmp(s, "col") == 0)
            m->col = true;
        else if (s[0] == 'm' && s[1] >= '0' && s[1] <= '9')
            shape = s;
        else if (strcmp(s, "global") == 0)
            m->space = SP_GLOBAL;
        else if (str_starts(s, "shared"))
            m->space = SP_SHARED;
        else if (tc_from_name(s) != TC_NONE)
            m->type = tc_from_name(s);
    }
    if (!shape || m->type == TC_NONE || wmma_types(m, shape) < 0 || (store && m->which != MMA_D) ||
        (m->type == TC_F64 ? 64u : 32u) != mma_reg_bytes(&m->op) * 8)
        return dec_unsupported(d, p);
    if (p->nops < 2 || p->nops > 3)
        return dec_bad(d, p, "expected a fragment, an address and a stride");
    const struct ptx_opnd *frag = &p->ops[store ? 1 : 0], *addr = &p->ops[store ? 0 : 1];
    uint32_t codes[MMA_MAX_REGS], n = 0;
    if (dec_vec(d, p, frag, mma_reg_bytes(&m->op) * 8, load, codes, MMA_MAX_REGS, &n) < 0 ||
        dec_addr(d, p, addr, m->space, &m->base, &m->base_bits, &in->imm) < 0)
        return -1;
    if (n != mma_regs(&m->op, m->which))
        return dec_bad(d, p, "the fragment has %u registers, not %u", n,
                       mma_regs(&m->op, m->which));
    m->has_stride = p->nops == 3;
    if (m->has_stride && dec_src(d, p, &p->ops[2], PT_U32, &m->stride) < 0)
        return -1;
    dec_set_v(d, in, codes, n);
    in->exec = exec_wmma_ldst;
    in->aux = m;
    in->flags |= INSN_ALIGNED;
    in->kind = m->space != SP_SHARED ? (store ? CK_ST_GLOBAL : CK_LD_GLOBAL)
                                     : (store ? CK_ST_SHARED : CK_LD_SHARED);
    return 0;
}

/* ---- ldmatrix, stmatrix, movmatrix ---------------------------------------------------------- */

/* in->sub[0] is the number of matrices, sub[1] whether they are transposed, sub[2] the state space,
 * sub[3] the bytes of an address. */

static void matrix_place(const struct insn *in, unsigned lane, unsigned r, unsigned e,
                         unsigned *line, unsigned *bit)
{
    *line = r * 8 + (in->sub[1] ? lane % 4 * 2 + e : lane / 4);
    *bit = 16 * (in->sub[1] ? lane / 4 : lane % 4 * 2 + e);
}

/* Lane 8m+i has the address of row i of matrix m. Checks the access to each row, which has 16
 * bytes, and sets row[8m+i] to the row's host address. */
static int find_rows(struct warp *w, const struct insn *in, uint8_t **row, uint32_t access)
{
    unsigned nmat = in->sub[0];
    uint64_t addr[32] = {0};
    struct fragment_move move = {access & MEM_WRITE ? 1 : 0, 16, 2, matrix_place};
    for (uint32_t i = 0; i < nmat * 8; i++)
        addr[i] = addr_of(w, in->o[0], in->sub[3] * 8u, i, in->imm);
    if ((access & MEM_WRITE) && w->undef)
        fragment_stores(w, in, &move, in->sub[2], addr);
    for (uint32_t i = 0; i < nmat * 8; i++) {
        w->matrix->segment = fragment_segment(i, 0);
        row[i] = in->sub[2] == SP_SHARED ? smem_at(w, in, i, (uint32_t)addr[i], 16, access)
                                         : mem_at(w, in, i, SP_GENERIC, addr[i], 16, access);
        if (!row[i])
            return EX_FAULT;
    }
    if (!(access & MEM_WRITE) && w->matrix->undefined)
        fragment_loaded(w, in, &move);
    if (w->counts) { /* as in loads of 16 bytes, eight rows make one wavefront */
        uint32_t all = w->active;
        w->active = nmat == 4 ? FULL : (1u << nmat * 8) - 1;
        count_access(w, in, SP_SHARED, addr, 16, access);
        w->active = all;
    }
    return EX_NEXT;
}

static int matrix_rows(struct warp *w, const struct insn *in, uint8_t **row, uint32_t access)
{
    struct matrix_access matrix;
    matrix.undefined = 0;
    w->matrix = &matrix;
    int rc = find_rows(w, in, row, access);
    w->matrix = NULL;
    return rc;
}

static int exec_ldmatrix(struct warp *w, const struct insn *in)
{
    check_whole_warp(w, in);
    uint8_t *row[32];
    int rc = matrix_rows(w, in, row, MEM_READ);
    if (rc != EX_NEXT)
        return rc;
    uint32_t out[4][32];
    for (unsigned m = 0; m < in->sub[0]; m++)
        for (unsigned lane = 0; lane < 32; lane++) {
            if (!in->sub[1]) {
                memcpy(&out[m][lane], row[m * 8 + lane / 4] + lane % 4 * 4, 4);
                continue;
            }
            uint16_t lo, hi;
            memcpy(&lo, row[m * 8 + lane % 4 * 2] + lane / 4 * 2, 2);
            memcpy(&hi, row[m * 8 + lane % 4 * 2 + 1] + lane / 4 * 2, 2);
            out[m][lane] = lo | (uint32_t)hi << 16;
        }
    for (unsigned m = 0; m < in->sub[0]; m++)
        memcpy(opnd(w, in->v[m]), out[m], sizeof out[m]);
    return EX_NEXT;
}

static int exec_stmatrix(struct warp *w, const struct insn *in)
{
    check_whole_warp(w, in);
    uint8_t *row[32];
    int rc = matrix_rows(w, in, row, MEM_WRITE);
    if (rc != EX_NEXT)
        return rc;
    /* NOLINTBEGIN(*UndefinedBinaryOperatorResult): find_rows() filled 8 rows per matrix */
    for (unsigned m = 0; m < in->sub[0]; m++) {
        const uint32_t *reg = opnd(w, in->v[m]);
        for (unsigned lane = 0; lane < 32; lane++) {
            if (!in->sub[1]) {
                memcpy(row[m * 8 + lane / 4] + lane % 4 * 4, &reg[lane], 4);
                continue;
            }
            uint16_t lo = (uint16_t)reg[lane], hi = (uint16_t)(reg[lane] >> 16);
            memcpy(row[m * 8 + lane % 4 * 2] + lane / 4 * 2, &lo, 2);
            memcpy(row[m * 8 + lane % 4 * 2 + 1] + lane / 4 * 2, &hi, 2);
        }
    }
    /* NOLINTEND(*UndefinedBinaryOperatorResult) */
    return EX_NEXT;
}

static int decode_matrix(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    bool load = strcmp(p->op, "ldmatrix") == 0;
    enum ptx_space space = SP_GENERIC;
    bool m8n8 = false, b16 = false;
    unsigned n = 0;
    for (uint8_t i = 0; i < p->nmods; i++) {
        const char *s = p->mods[i];
        if (strcmp(s, "x1") == 0 || strcmp(s, "x2") == 0 || strcmp(s, "x4") == 0)
            n = (unsigned)(s[1] - '0');
        else if (strcmp(s, "trans") == 0)
            in->sub[1] = 1;
        else if (strcmp(s, "m8n8") == 0)
            m8n8 = true;
        else if (strcmp(s, "b16") == 0)
            b16 = true;
        else if (strcmp(s, "shared") == 0 || strcmp(s, "shared::cta") == 0)
            space = SP_SHARED;
        else if (strcmp(s, "sync") != 0 && strcmp(s, "aligned") != 0)
            return dec_unsupported(d, p);
    }
    if (!m8n8 || !b16 || !n) /* only Blackwell has the 8-bit shapes */
        return dec_unsupported(d, p);
    if (p->nops != 2)
        return dec_bad(d, p, "expected registers and an address");
    uint32_t codes[4], got = 0, bits = 0;
    if (dec_vec(d, p, &p->ops[load ? 0 : 1], 32, load, codes, 4, &got) < 0 ||
        dec_addr(d, p, &p->ops[load ? 1 : 0], space, &in->o[0], &bits, &in->imm) < 0)
        return -1;
    if (got != n)
        return dec_bad(d, p, "%u registers are given, which is the wrong number for .x%u", got, n);
    in->sub[0] = (uint8_t)n;
    in->sub[2] = (uint8_t)space;
    in->sub[3] = (uint8_t)(bits / 8);
    dec_set_v(d, in, codes, n);
    in->exec = load ? exec_ldmatrix : exec_stmatrix;
    in->flags |= INSN_ALIGNED;
    in->kind = load ? CK_LD_SHARED : CK_ST_SHARED;
    return 0;
}

static int exec_movmatrix(struct warp *w, const struct insn *in)
{
    check_whole_warp(w, in);
    if (__builtin_expect(w->undef != NULL, 0))
        fragment_transpose(w, in);
    uint32_t *d = opnd(w, in->o[0]), out[32];
    const uint32_t *a = opnd(w, in->o[1]);
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned row = lane / 4, col = lane % 4 * 2; /* elements (row,col), (row,col+1) of D */
        uint32_t lo = a[col * 4 + row / 2] >> (row & 1) * 16 & 0xffff;
        uint32_t hi = a[(col + 1) * 4 + row / 2] >> (row & 1) * 16 & 0xffff;
        out[lane] = lo | hi << 16;
    }
    memcpy(d, out, sizeof out);
    return EX_NEXT;
}

static int decode_movmatrix(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    if (!ptx_has(p, "m8n8") || !ptx_has(p, "trans") || !ptx_has(p, "b16"))
        return dec_unsupported(d, p);
    if (p->nops != 2)
        return dec_bad(d, p, "expected two registers");
    if (dec_dst(d, p, &p->ops[0], 32, &in->o[0]) < 0 ||
        dec_src(d, p, &p->ops[1], PT_B32, &in->o[1]) < 0)
        return -1;
    in->exec = exec_movmatrix;
    in->flags |= INSN_ALIGNED;
    in->kind = CK_SHUFFLE;
    return 0;
}

const struct decode_entry decode_tensor_ops[] = {
    {"mma", decode_mma},         {"wmma", decode_mma},
    {"wmma", decode_wmma},       {"ldmatrix", decode_matrix},
    {"stmatrix", decode_matrix}, {"movmatrix", decode_movmatrix},
    {"wgmma", decode_wgmma},     {NULL, NULL},
};
