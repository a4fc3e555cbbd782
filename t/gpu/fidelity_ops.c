/*
 * fidelity_ops.c - reads NAME.ops: one instruction family, an instruction (or a few) per line. Each
 * line becomes a kernel, whose threads load operands, run the instruction and store the result.
 *
 *     # a comment
 *     ! .const .align 16 .b32 table[4] = {1, 2, 3, 4};        -- raw PTX before the kernels
 *     f32 = f32 f32 : add<|.rn|.rz|.rm|.rp><|.ftz>.f32 $d, $a, $b
 *     f32 = f32 : sin.approx.f32 $d, $a | abs 5.12e-7 | a -3.1415 3.1415
 *
 * <x|y> writes the line once for each choice; choices combine. Results are $d and $e, operands are
 * $a, $b and $c; their types are those of `types` below. A text may use the registers %p0-7, %h0-7,
 * %r0-15 and %rd0-15, `;` between instructions, and
 *     $i   the thread's number in the grid          $t   its number in the block (of 128 threads)
 *     $o   the thread's 16 bytes of global memory, zeroed and compared; $O   those of all threads
 *     $s   the thread's 16 bytes of shared memory   $S   the block's 2048 bytes
 *     $l   16 bytes of local memory
 *     $L   a label's name that no other kernel has
 *
 * After the first ` | ` of a line comes the rule that compares results. It is exact (the default),
 * nan (all NaNs are equal), ulp N, abs X, rel X or near ABS REL. After the second ` | ` come the
 * operands whose values are drawn from a range, instead of edge values and random bits.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "fidelity.h"

enum { THREADS = 4096, BLOCK = 128 };

static const struct type {
    const char *name;
    enum dtype t;
    int lanes; /* elements in one register */
} types[] = {{"u8", DT_U8, 1},       {"u16", DT_U16, 1},       {"u32", DT_U32, 1},
             {"u64", DT_U64, 1},     {"f16", DT_F16, 1},       {"bf16", DT_BF16, 1},
             {"f32", DT_F32, 1},     {"f64", DT_F64, 1},       {"f16x2", DT_F16, 2},
             {"bf16x2", DT_BF16, 2}, {"e4m3x2", DT_F8E4M3, 2}, {"e5m2x2", DT_F8E5M2, 2},
             {"pred", DT_U32, 1}};

struct value {
    char name; /* a b c d e */
    const struct type *type;
};

struct op {
    struct value v[5];
    int n, results;
    char text[1024], rule[64], limits[128];
};

static const struct type *find_type(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_eq(types[i].name, name))
            return &types[i];
    return NULL;
}

static int reg_bits(const struct type *t)
{
    int bits = 8 * t->lanes * (int)dtype_bytes(t->t);
    return MAX(bits, 16);
}

static bool is_pred(const struct value *v)
{
    return str_eq(v->type->name, "pred");
}

static char *trim(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    size_t n = strlen(s);
    while (n && isspace((unsigned char)s[n - 1]))
        s[--n] = 0;
    return s;
}

/* "f32 u32 = f32 f32 : text | rule | limits" */
static bool parse_op(struct op *op, char *line)
{
    memset(op, 0, sizeof *op);
    char *colon = strstr(line, " : "), *equals = strstr(line, " = "), *save = NULL;
    if (!colon || !equals || equals > colon)
        return false;
    *colon = *equals = 0;
    for (int side = 0; side < 2; side++) {
        char name = side ? 'a' : 'd';
        char *s = side ? equals + 3 : line;
        for (s = strtok_r(s, " ", &save); s; s = strtok_r(NULL, " ", &save)) {
            if (op->n == 5)
                return false;
            struct value *v = &op->v[op->n++];
            *v = (struct value){name++, find_type(s)};
            if (!v->type)
                return false;
        }
        if (!side)
            op->results = op->n;
    }
    char *rule = strstr(colon + 3, " | "), *limits = rule ? strstr(rule + 3, " | ") : NULL;
    if (limits)
        *limits = 0;
    if (rule)
        *rule = 0;
    snprintf(op->text, sizeof op->text, "%s", trim(colon + 3));
    snprintf(op->rule, sizeof op->rule, "%s", rule ? trim(rule + 3) : "exact");
    snprintf(op->limits, sizeof op->limits, "%s", limits ? trim(limits + 3) : "");
    return true;
}

/* A name for PTX from a number and the instruction, such as k007_mad_lo_s32. */
static void kernel_name(const struct op *op, int number, char *out, size_t cap)
{
    const char *s = op->text;
    int n = snprintf(out, cap, "k%03d_", number);
    for (; *s && *s != ' ' && n < 100; s++)
        out[n++] = isalnum((unsigned char)*s) ? *s : '_';
    out[n] = 0;
}

static void put_text(struct strbuf *sb, const struct op *op, const char *kernel)
{
    for (const char *s = op->text; *s; s++) {
        if (*s != '$') {
            strbuf_addc(sb, *s);
            continue;
        }
        switch (*++s) {
        case 'L':
            strbuf_addf(sb, "$L_%s", kernel);
            break;
        case 'S':
            strbuf_addf(sb, "s_%s", kernel);
            break;
        default:
            strbuf_addf(sb, "%%v%c", *s);
        }
    }
    if (!strchr(";:", op->text[strlen(op->text) - 1]))
        strbuf_addc(sb, ';');
    strbuf_addc(sb, '\n');
}

static void put_memory(struct strbuf *sb, const struct op *op, const char *k)
{
    if (strstr(op->text, "$s") || strstr(op->text, "$S"))
        strbuf_addf(sb,
                    "    .shared .align 16 .b8 s_%s[%d];\n    .reg .b32 %%vs;\n"
                    "    mov.u32 %%vs, s_%s;\n    mad.lo.u32 %%vs, %%vt, 16, %%vs;\n",
                    k, 16 * BLOCK, k);
    if (strstr(op->text, "$l"))
        strbuf_addf(sb,
                    "    .local .align 16 .b8 l_%s[16];\n    .reg .b64 %%vl;\n"
                    "    mov.u64 %%vl, l_%s;\n",
                    k, k);
    if (strstr(op->text, "$o") || strstr(op->text, "$O"))
        strbuf_addf(sb,
                    "    .reg .b64 %%vo, %%vO;\n    ld.param.u64 %%vO, [%s_o];\n"
                    "    cvta.to.global.u64 %%vO, %%vO;\n    mad.wide.u32 %%vo, %%vi, 16, %%vO;\n",
                    k);
}

static void put_kernel(struct strbuf *sb, const struct op *op, const char *k)
{
    strbuf_addf(sb, "\n.visible .entry %s(", k);
    for (int i = 0; i < op->n; i++)
        strbuf_addf(sb, ".param .u64 %s_%c, ", k, op->v[i].name);
    strbuf_addf(sb,
                ".param .u64 %s_o)\n{\n    .reg .pred %%p<8>;\n    .reg .b16 %%h<8>;\n"
                "    .reg .b32 %%r<16>, %%vi, %%vt, %%vn;\n    .reg .b64 %%rd<16>, %%va_, %%vm_;\n"
                "    mov.u32 %%vt, %%tid.x;\n    mov.u32 %%vi, %%ctaid.x;\n"
                "    mad.lo.u32 %%vi, %%vi, %d, %%vt;\n",
                k, BLOCK);
    put_memory(sb, op, k);
    for (int i = 0; i < op->n; i++) {
        const struct value *v = &op->v[i];
        int bits = reg_bits(v->type), bytes = v->type->lanes * (int)dtype_bytes(v->type->t);
        if (is_pred(v))
            strbuf_addf(sb, "    .reg .pred %%v%c;\n", v->name);
        else
            strbuf_addf(sb, "    .reg .b%d %%v%c;\n", bits, v->name);
        if (i < op->results)
            continue;
        strbuf_addf(
            sb,
            "    ld.param.u64 %%va_, [%s_%c];\n    cvta.to.global.u64 %%va_, %%va_;\n"
            "    mad.wide.u32 %%va_, %%vi, %d, %%va_;\n    ld.global.%c%d %%v%c, [%%va_];\n",
            k, v->name, bytes, bytes == 1 ? 'u' : 'b', 8 * bytes, v->name);
    }
    strbuf_adds(sb, "    ");
    put_text(sb, op, k);
    for (int i = 0; i < op->results; i++) {
        const struct value *v = &op->v[i];
        int bytes = v->type->lanes * (int)dtype_bytes(v->type->t);
        if (is_pred(v))
            strbuf_addf(sb, "    selp.u32 %%vn, 1, 0, %%v%c;\n", v->name);
        strbuf_addf(
            sb,
            "    ld.param.u64 %%va_, [%s_%c];\n    cvta.to.global.u64 %%va_, %%va_;\n"
            "    mad.wide.u32 %%va_, %%vi, %d, %%va_;\n    st.global.%c%d [%%va_], %%v%c;\n",
            k, v->name, bytes, bytes == 1 ? 'u' : 'b', 8 * bytes, is_pred(v) ? 'n' : v->name);
    }
    strbuf_adds(sb, "    ret;\n}\n");
}

static void set_rule(struct buffer *b, const char *rule)
{
    sscanf(rule, "%15s %lf %lf", b->rule, &b->tol, &b->rel);
}

static void add_buffers(struct test *t, const struct op *op)
{
    for (int i = 0; i < op->n; i++) {
        const struct value *v = &op->v[i];
        struct buffer *b = &t->b[t->nb++];
        snprintf(b->name, sizeof b->name, "%c", v->name);
        snprintf(t->args[t->nargs++], sizeof t->args[0], "%c", v->name);
        b->t = v->type->t;
        b->elems = (uint64_t)THREADS * (unsigned)v->type->lanes;
        b->output = i < op->results;
        if (b->output) {
            set_rule(b, op->rule);
            continue;
        }
        char copy[128], *save = NULL, *w;
        snprintf(copy, sizeof copy, "%s", op->limits);
        snprintf(b->init, sizeof b->init, "edges %d", v->name - 'a');
        for (w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
            char *lo = strtok_r(NULL, " ", &save), *hi = strtok_r(NULL, " ", &save);
            if (w[0] == v->name && lo && hi)
                snprintf(b->init, sizeof b->init, "edges %d %s %s", v->name - 'a', lo, hi);
        }
    }
    snprintf(t->args[t->nargs++], sizeof t->args[0], "o");
    struct buffer *o = &t->b[t->nb++];
    bool used = strstr(op->text, "$o") || strstr(op->text, "$O");
    snprintf(o->name, sizeof o->name, "o");
    snprintf(o->init, sizeof o->init, "zero");
    o->t = op->v[0].type->t; /* so that a difference reads well */
    o->elems = used ? THREADS * 16 / dtype_bytes(o->t) : 1;
    if (used)
        snprintf(o->rule, sizeof o->rule, "exact");
}

static void add_op(struct suite *s, struct strbuf *ptx, int line, char *text)
{
    struct op op;
    char name[128];
    if (!parse_op(&op, text))
        bad(s->file, line, "not understood; expected: results = operands : instruction");
    kernel_name(&op, s->n + 1, name, sizeof name);
    put_kernel(ptx, &op, name);
    struct test *t = add_test(s);
    snprintf(t->kernel, sizeof t->kernel, "%s", name);
    snprintf(t->note, sizeof t->note, "%.60s", op.text);
    t->line = line;
    t->block = BLOCK;
    t->grid = THREADS / BLOCK;
    add_buffers(t, &op);
}

/* Takes the first <x|y>, and goes on with each choice. */
static void expand(struct suite *s, struct strbuf *ptx, int line, const char *text)
{
    const char *open = strchr(text, '<'), *close = open ? strchr(open, '>') : NULL;
    char out[2048];
    if (!close) {
        snprintf(out, sizeof out, "%s", text);
        add_op(s, ptx, line, out);
        return;
    }
    for (const char *p = open + 1; p <= close;) {
        size_t n = strcspn(p, "|>");
        snprintf(out, sizeof out, "%.*s%.*s%s", (int)(open - text), text, (int)n, p, close + 1);
        expand(s, ptx, line, out);
        p += n + 1;
    }
}

void read_ops(struct suite *s, const char *dir)
{
    FILE *f = fopen(s->file, "r");
    if (!f)
        bad(s->file, 0, "cannot be read");
    struct strbuf ptx = STRBUF_INIT(64 << 20);
    char text[1024];
    const char *slash = strrchr(s->file, '/');
    s->ptx = xasprintf("%s/%s.ptx", dir, slash ? slash + 1 : s->file);
    strbuf_adds(&ptx, ".version 8.5\n.target sm_90a\n.address_size 64\n");
    for (int line = 1; fgets(text, sizeof text, f); line++) {
        char *t = trim(text);
        if (*t == '!')
            strbuf_addf(&ptx, "%s\n", t + 1);
        else if (*t && *t != '#')
            expand(s, &ptx, line, t);
    }
    fclose(f);
    f = fopen(s->ptx, "w");
    if (!f || fwrite(ptx.buf, 1, ptx.len, f) != ptx.len || fclose(f))
        bad(s->ptx, 0, "cannot be written");
    strbuf_release(&ptx);
}
