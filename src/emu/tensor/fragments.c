/* fragments.c - passes undefined bits through the matrix instructions of a warp (fragments.h). */
#include "emu/tensor/fragments.h"

#include "base/util.h"

static const struct ptx_opnd *reg_of(const struct ptx_opnd *o, unsigned r)
{
    return o->kind == PO_VEC ? &o->list[r] : o;
}

static unsigned regs_of(const struct ptx_opnd *o)
{
    return o->kind == PO_VEC ? o->n : 1;
}

static uint64_t low_bits(unsigned n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* The part of an element that lies in one byte of memory. */
struct part {
    uint64_t bits;          /* the bits of the register that hold this part */
    uint32_t segment, byte; /* the segment of memory, and the byte in the segment */
};

static uint32_t parts_of(const struct insn *in, const struct fragment_move *f, unsigned lane,
                         unsigned r, unsigned e, struct part *out)
{
    unsigned line, bit, n = MAX(f->bits / 8, 1u);
    f->place(in, lane, r, e, &line, &bit);
    for (unsigned i = 0; i < n; i++) {
        out[i].bits = low_bits(MIN(f->bits, 8u)) << (e * f->bits + 8 * i);
        out[i].segment = fragment_segment(line, bit / 8 + i);
        out[i].byte = (bit / 8 + i) % FRAGMENT_SEGMENT;
    }
    return n;
}

void fragment_loaded(struct warp *w, const struct insn *in, const struct fragment_move *f)
{
    const struct matrix_access *a = w->matrix;
    const struct ptx_opnd *to = &insn_src(w, in)->ops[f->operand];
    for (unsigned r = 0; r < regs_of(to); r++)
        for (unsigned lane = 0; lane < WARP; lane++) {
            uint64_t bits = 0;
            uint32_t origins = 0;
            for (unsigned e = 0; e < f->per; e++) {
                struct part p[8];
                uint32_t n = parts_of(in, f, lane, r, e, p);
                for (uint32_t i = 0; i < n; i++)
                    if ((a->undefined >> p[i].segment & 1) &&
                        (a->at[p[i].segment].bytes >> p[i].byte & 1)) {
                        bits |= p[i].bits;
                        origins |= a->at[p[i].segment].origins;
                    }
            }
            undef_mark(w, reg_of(to, r), lane, bits, origins);
        }
}

void fragment_stores(struct warp *w, const struct insn *in, const struct fragment_move *f,
                     enum ptx_space sp, const uint64_t *addr)
{
    struct matrix_segment at[ARRAY_LEN(w->matrix->at)] = {{0}};
    const struct ptx_opnd *from = &insn_src(w, in)->ops[f->operand];
    for (unsigned r = 0; r < regs_of(from); r++)
        for (unsigned lane = 0; lane < WARP; lane++) {
            uint32_t origins = 0;
            uint64_t bits = undef_bits(w, reg_of(from, r), lane, &origins);
            for (unsigned e = 0; bits && e < f->per; e++) {
                struct part p[8];
                uint32_t n = parts_of(in, f, lane, r, e, p);
                for (uint32_t i = 0; i < n; i++)
                    if (bits & p[i].bits) {
                        at[p[i].segment].bytes |= UINT64_C(1) << p[i].byte;
                        at[p[i].segment].origins |= origins;
                    }
            }
        }
    for (uint32_t k = 0; k < ARRAY_LEN(at); k++)
        if (at[k].bytes) {
            w->matrix->segment = k;
            undef_store_segment(w, sp, addr[k / 2] + k % 2 * FRAGMENT_SEGMENT, at[k].bytes,
                                at[k].origins);
        }
}

/* ---- products ------------------------------------------------------------------------------- */

enum { MAX_SIDE = 32, QUADS = 4 };

/* The origins of undefined elements, for each row of A, each column of B and each element of C. An
 * origin is a load or shuffle that made a value undefined (undefined.c); an entry is a mask of
 * origins. The first index is the number of the product (product_of()). */
struct undefined_inputs {
    uint32_t row[QUADS][MAX_SIDE], col[QUADS][MAX_SIDE], acc[QUADS][MAX_SIDE][MAX_SIDE];
};

static enum tc_type type_of(const struct mma_op *op, enum mma_operand which)
{
    return which == MMA_A ? op->a : which == MMA_B ? op->b : which == MMA_C ? op->c : op->d;
}

/* The lanes of a warp compute one product, or four with m8n8k4. Two quads (groups of 4 lanes)
 * compute each of the four. */
static unsigned product_of(const struct mma_op *op, unsigned lane)
{
    return op->quad4 ? lane / 4 % QUADS : 0;
}

static void collect(struct warp *w, const struct ptx_opnd *o, const struct mma_op *op,
                    enum mma_operand which, struct undefined_inputs *in)
{
    unsigned bits = tc_bits(type_of(op, which)), per = bits >= 32 ? 1 : 32 / bits;
    for (unsigned r = 0; r < regs_of(o); r++)
        for (unsigned lane = 0; lane < WARP; lane++) {
            uint32_t origins = 0;
            uint64_t u = undef_bits(w, reg_of(o, r), lane, &origins);
            for (unsigned j = 0; u && j < per; j++) {
                unsigned row, col, q = product_of(op, lane);
                if (!(u >> j * bits & low_bits(bits)))
                    continue;
                mma_layout(op, which, lane, r, j, &row, &col);
                if (which == MMA_A)
                    in->row[q][row] |= origins;
                else if (which == MMA_B)
                    in->col[q][col] |= origins;
                else
                    in->acc[q][row][col] |= origins;
            }
        }
}

/* An element of D is undefined if an element in its row of A, an element in its column of B, or its
 * element of C is undefined. A factor 0 does not help: 0 times an undefined value may be NaN. */
void fragment_product(struct warp *w, const struct insn *in, const struct mma_op *op)
{
    static const enum mma_operand order[] = {MMA_A, MMA_B, MMA_C};
    const struct ptx_insn *p = insn_src(w, in);
    struct undefined_inputs x = {0};
    for (unsigned i = 0; i < ARRAY_LEN(order); i++)
        collect(w, &p->ops[i + 1], op, order[i], &x);
    unsigned bits = tc_bits(op->d), per = bits >= 32 ? 1 : 32 / bits;
    for (unsigned r = 0; r < regs_of(&p->ops[0]); r++)
        for (unsigned lane = 0; lane < WARP; lane++) {
            uint64_t u = 0;
            uint32_t origins = 0;
            for (unsigned j = 0; j < per; j++) {
                unsigned row, col, q = product_of(op, lane);
                mma_layout(op, MMA_D, lane, r, j, &row, &col);
                uint32_t from = x.row[q][row] | x.col[q][col] | x.acc[q][row][col];
                u |= from ? low_bits(bits) << j * bits : 0;
                origins |= from;
            }
            undef_mark(w, reg_of(&p->ops[0], r), lane, u, origins);
        }
}

void fragment_transpose(struct warp *w, const struct insn *in)
{
    const struct ptx_insn *p = insn_src(w, in);
    uint64_t bits[WARP] = {0};
    uint32_t origins[WARP] = {0};
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned j = 0; j < 2; j++) {
            unsigned row = lane / 4, col = lane % 4 * 2 + j; /* element (row, col) of D */
            uint64_t u = undef_bits(w, &p->ops[1], col * 4 + row / 2, &origins[lane]);
            bits[lane] |= (u >> (row & 1) * 16 & 0xffff) << j * 16;
        }
    for (unsigned lane = 0; lane < WARP; lane++)
        undef_mark(w, &p->ops[0], lane, bits[lane], origins[lane]);
}
