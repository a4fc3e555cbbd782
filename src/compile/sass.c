/*
 * sass.c - counts machine instructions by kind, from a cubin's opcode bits or from cuobjdump's
 * listing.
 */
#include "compile/sass.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/util.h"
#include "compile/cubin.h"
#include "sys/file.h"
#include "sys/proc.h"

static const char *const names[SASS_KINDS] = {
    "tensor", "shared", "global", "local", "cp.async", "tma",     "atomic",  "special",
    "fp32",   "fp16",   "fp64",   "int",   "convert",  "barrier", "control", "other"};

const char *sass_kind_name(enum sass_kind k)
{
    return names[k];
}

/*
 * The low nine bits of an instruction are its operation. The next three are the form of its
 * operands (register, constant, immediate). NVIDIA does not document this; we found it in code for
 * sm_80 to sm_90a.
 */
static const struct {
    uint16_t op;
    const char *mnemonic;
    enum sass_kind kind;
} ops[] = {
    {0x03c, "HMMA", SASS_TENSOR},   {0x037, "IMMA", SASS_TENSOR},
    {0x03f, "DMMA", SASS_TENSOR},   {0x1f0, "HGMMA", SASS_TENSOR},
    {0x1f1, "IGMMA", SASS_TENSOR},  {0x1f3, "QGMMA", SASS_TENSOR},
    {0x184, "LDS", SASS_SHARED},    {0x188, "STS", SASS_SHARED},
    {0x03b, "LDSM", SASS_SHARED},   {0x044, "STSM", SASS_SHARED},
    {0x181, "LDG", SASS_GLOBAL},    {0x186, "STG", SASS_GLOBAL},
    {0x180, "LD", SASS_GLOBAL},     {0x185, "ST", SASS_GLOBAL},
    {0x183, "LDL", SASS_LOCAL},     {0x187, "STL", SASS_LOCAL},
    {0x1ae, "LDGSTS", SASS_ASYNC},  {0x1af, "LDGDEPBAR", SASS_ASYNC},
    {0x1b4, "UTMALDG", SASS_TMA},   {0x1b5, "UTMASTG", SASS_TMA},
    {0x1ba, "UBLKCP", SASS_TMA},    {0x1b6, "UTMAREDG", SASS_TMA},
    {0x1a8, "ATOMG", SASS_ATOMIC},  {0x18c, "ATOMS", SASS_ATOMIC},
    {0x18e, "REDG", SASS_ATOMIC},   {0x1a6, "REDG", SASS_ATOMIC},
    {0x1a9, "ATOMG", SASS_ATOMIC},  {0x18d, "ATOMS", SASS_ATOMIC},
    {0x18a, "ATOM", SASS_ATOMIC},   {0x108, "MUFU", SASS_SPECIAL},
    {0x020, "FMUL", SASS_FP32},     {0x021, "FADD", SASS_FP32},
    {0x023, "FFMA", SASS_FP32},     {0x009, "FMNMX", SASS_FP32},
    {0x00b, "FSETP", SASS_FP32},    {0x008, "FSEL", SASS_FP32},
    {0x102, "FCHK", SASS_FP32},     {0x030, "HADD2", SASS_FP16},
    {0x031, "HFMA2", SASS_FP16},    {0x035, "HFMA2", SASS_FP16},
    {0x032, "HMUL2", SASS_FP16},    {0x034, "HSETP2", SASS_FP16},
    {0x040, "HMNMX2", SASS_FP16},   {0x028, "DMUL", SASS_FP64},
    {0x029, "DADD", SASS_FP64},     {0x02b, "DFMA", SASS_FP64},
    {0x02a, "DSETP", SASS_FP64},    {0x010, "IADD3", SASS_INT},
    {0x011, "LEA", SASS_INT},       {0x012, "LOP3", SASS_INT},
    {0x019, "SHF", SASS_INT},       {0x024, "IMAD", SASS_INT},
    {0x025, "IMAD", SASS_INT},      {0x027, "IMAD", SASS_INT},
    {0x00c, "ISETP", SASS_INT},     {0x016, "PRMT", SASS_INT},
    {0x036, "VIADD", SASS_INT},     {0x048, "VIMNMX", SASS_INT},
    {0x046, "VIADDMNMX", SASS_INT}, {0x01c, "PLOP3", SASS_INT},
    {0x007, "SEL", SASS_INT},       {0x013, "IABS", SASS_INT},
    {0x017, "IMNMX", SASS_INT},     {0x087, "USEL", SASS_INT},
    {0x08c, "UISETP", SASS_INT},    {0x090, "UIADD3", SASS_INT},
    {0x091, "ULEA", SASS_INT},      {0x092, "ULOP3", SASS_INT},
    {0x096, "UPRMT", SASS_INT},     {0x099, "USHF", SASS_INT},
    {0x0a4, "UIMAD", SASS_INT},     {0x0a5, "UIMAD", SASS_INT},
    {0x03e, "F2FP", SASS_CONVERT},  {0x045, "I2FP", SASS_CONVERT},
    {0x105, "F2I", SASS_CONVERT},   {0x106, "I2F", SASS_CONVERT},
    {0x111, "F2I", SASS_CONVERT},   {0x112, "I2F", SASS_CONVERT},
    {0x104, "F2F", SASS_CONVERT},   {0x110, "F2F", SASS_CONVERT},
    {0x11d, "BAR", SASS_SYNC},      {0x1a7, "SYNCS", SASS_SYNC},
    {0x1b2, "SYNCS", SASS_SYNC},    {0x11a, "DEPBAR", SASS_SYNC},
    {0x189, "SHFL", SASS_SYNC},     {0x1c5, "WARPGROUP", SASS_SYNC},
    {0x1c6, "FENCE", SASS_SYNC},    {0x15d, "NANOSLEEP", SASS_SYNC},
    {0x02f, "ELECT", SASS_SYNC},    {0x141, "BSYNC", SASS_CONTROL},
    {0x144, "CALL", SASS_CONTROL},  {0x145, "BSSY", SASS_CONTROL},
    {0x147, "BRA", SASS_CONTROL},   {0x14d, "EXIT", SASS_CONTROL},
    {0x150, "RET", SASS_CONTROL},
};

/* The upper 8 bytes of a load say how much each thread loads, in three bits from bit SIZE_SHIFT on.
 * SIZE_128 means 128 bits. */
enum { OP_NOP = 0x118, OP_LDG = 0x181, SIZE_SHIFT = 9, SIZE_128 = 6 };

static void count(struct sass_kernel *k, enum sass_kind kind)
{
    k->kinds[kind]++;
    k->total++;
}

/* ---- counting from the opcode bits ----------------------------------------------------------- */

static uint64_t word_at(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static void count_code(struct sass_kernel *k, const uint8_t *p, size_t len)
{
    for (; len >= 16; p += 16, len -= 16) {
        uint16_t op = (uint16_t)(word_at(p) & 0x1ff);
        enum sass_kind kind = SASS_OTHER;
        if (op == OP_NOP)
            continue;
        for (size_t i = 0; i < ARRAY_LEN(ops); i++)
            if (ops[i].op == op)
                kind = ops[i].kind;
        count(k, kind);
        if (op == OP_LDG) {
            k->global_loads++;
            k->wide_loads += (word_at(p + 8) >> SIZE_SHIFT & 7) == SIZE_128;
        }
    }
}

static int from_bits(const void *cubin, size_t len, struct sass_vec *out, struct arena *a)
{
    struct cubin_section s;
    for (size_t i = 0; cubin_section(cubin, len, i, &s); i++) {
        if (!str_starts(s.name, ".text.") || !s.data)
            continue;
        struct sass_kernel *k = vec_push(out);
        k->name = arena_strdup(a, s.name + 6);
        count_code(k, s.data, s.len);
    }
    return 0;
}

/* ---- counting from the disassembly ----------------------------------------------------------- */

// Finds the operation in a line "  /*0010*/  @!P0 LDG.E.128 R4, ... ;". False if there is none.
static bool instruction(const char *s, size_t n, char *op, size_t cap)
{
    const char *end = s + n, *p = memmem(s, n, "*/", 2);
    while (s < end && isspace((unsigned char)*s))
        s++;
    if (!p || end - s < 2 || s[0] != '/' || s[1] != '*' || p - s < 6)
        return false;
    p += 2;
    while (p < end && isspace((unsigned char)*p))
        p++;
    if (p < end && *p == '@') {
        while (p < end && !isspace((unsigned char)*p))
            p++;
        while (p < end && isspace((unsigned char)*p))
            p++;
    }
    size_t k = 0;
    while (p < end && (isalnum((unsigned char)*p) || *p == '.' || *p == '_') && k + 1 < cap)
        op[k++] = *p++;
    op[k] = '\0';
    return k > 0 && isupper((unsigned char)op[0]);
}

static void count_mnemonic(struct sass_kernel *k, const char *op)
{
    size_t n = strcspn(op, ".");
    enum sass_kind kind = SASS_OTHER;
    if (n == 3 && strncmp(op, "NOP", 3) == 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        if (strlen(ops[i].mnemonic) == n && strncmp(ops[i].mnemonic, op, n) == 0)
            kind = ops[i].kind;
    count(k, kind);
    if (n == 3 && strncmp(op, "LDG", 3) == 0) {
        k->global_loads++;
        k->wide_loads += strstr(op, ".128") != NULL;
    }
}

static void read_listing(const char *text, struct sass_vec *out, struct arena *a)
{
    static const char head[] = "Function : ";
    struct sass_kernel *k = NULL;
    char op[64];
    while (*text) {
        size_t n = strcspn(text, "\n");
        const char *f = memmem(text, n, head, sizeof head - 1);
        if (f) {
            f += sizeof head - 1;
            k = vec_push(out);
            k->name = arena_strndup(a, f, n - (size_t)(f - text));
        } else if (k && instruction(text, n, op, sizeof op)) {
            count_mnemonic(k, op);
        }
        text += n + (text[n] == '\n');
    }
}

static int disassemble(const void *cubin, size_t len, const char *tool, struct strbuf *listing,
                       struct err *err)
{
    struct temp_dir dir = TEMP_DIR_INIT;
    if (temp_dir_make(&dir, err) < 0)
        return -1;
    char *path = xasprintf("%s/k.cubin", dir.path);
    const char *argv[] = {tool, "-sass", path, NULL};
    struct child_process c = CHILD_INIT;
    c.argv = argv;
    c.max_out = 64 << 20;
    c.limit_ns = 60 * 1000000000ull;
    int rc = file_write(path, cubin, len, err);
    if (rc == 0)
        rc = child_run(&c, err);
    if (rc == 0 && (c.end != CHILD_EXITED || c.code != 0))
        rc = err_set(err, ERR_ENV, "%s failed: %.200s", tool, c.err.buf);
    if (rc == 0)
        strbuf_add(listing, c.out.buf, c.out.len);
    child_release(&c);
    free(path);
    temp_dir_release(&dir);
    return rc;
}

int sass_count(const void *cubin, size_t len, const char *cuobjdump, struct sass_vec *out,
               struct strbuf *listing, struct arena *a, struct err *err)
{
    struct strbuf own = STRBUF_INIT(64 << 20);
    struct strbuf *text = listing ? listing : &own;
    int rc = 0;
    if (!*cuobjdump)
        rc = from_bits(cubin, len, out, a);
    else if ((rc = disassemble(cubin, len, cuobjdump, text, err)) == 0)
        read_listing(text->buf, out, a);
    strbuf_release(&own);
    return rc;
}
