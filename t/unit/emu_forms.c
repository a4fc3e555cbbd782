/*
 * Tests the decoder on t/cases/ptx_forms.tsv: the instruction forms of 279 real programs. The test
 * makes up operands for each form; a form is covered if it decodes to something that runs. Every
 * form that three or more programs use must be covered, except textures and surfaces. Prints the
 * share of all forms that is covered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emu/core/machine.h"
#include "emu_run.h"

struct form {
    char text[200];
    char op[32];
    char mods[12][48];
    int nmods, programs, uses;
};

static bool has(const struct form *f, const char *m)
{
    for (int i = 0; i < f->nmods; i++)
        if (str_eq(f->mods[i], m))
            return true;
    return false;
}

static bool split(struct form *f)
{
    char buf[200], *p = buf;
    snprintf(buf, sizeof buf, "%s", f->text);
    f->nmods = -1;
    for (;;) {
        size_t n = strcspn(p, ".");
        char end = p[n];
        p[n] = 0;
        if (f->nmods < 0)
            snprintf(f->op, sizeof f->op, "%.31s", p);
        else
            snprintf(f->mods[f->nmods], sizeof f->mods[0], "%.47s", p);
        if (++f->nmods > 11)
            return false;
        if (!end)
            return true;
        p += n + 1;
    }
}

static enum ptx_type type_no(const struct form *f, int n)
{
    for (int i = 0; i < f->nmods; i++) {
        enum ptx_type t = ptx_type_of(f->mods[i]);
        if (t != PT_NONE && n-- == 0)
            return t;
    }
    return PT_NONE;
}

static enum ptx_type last_type(const struct form *f)
{
    for (int i = f->nmods - 1; i >= 0; i--)
        if (ptx_type_of(f->mods[i]) != PT_NONE)
            return ptx_type_of(f->mods[i]);
    return PT_NONE;
}

/* Returns the name of register n for a value of type t. */
static const char *reg(enum ptx_type t, int n)
{
    static char buf[8][16];
    static int at;
    char *b = buf[at = (at + 1) % 8];
    uint32_t bits = ptx_type_bits(t);
    snprintf(b, 16, "%s%d",
             bits == 1     ? "%p"
             : t == PT_F32 ? "%f"
             : t == PT_F64 ? "%fd"
             : bits <= 16  ? "%rs"
             : bits <= 32  ? "%r"
             : bits <= 64  ? "%rd"
                           : "%x",
             n);
    return b;
}

static void list(struct strbuf *sb, const char *prefix, int first, int n)
{
    strbuf_adds(sb, "{");
    for (int i = 0; i < n; i++)
        strbuf_addf(sb, "%s%s%d", i ? ", " : "", prefix, first + i);
    strbuf_adds(sb, "}");
}

static void memory_operands(const struct form *f, struct strbuf *o)
{
    enum ptx_type t = last_type(f);
    int n = has(f, "v2") ? 2 : has(f, "v4") ? 4 : has(f, "v8") ? 8 : 1;
    struct strbuf r = STRBUF_INIT(512);
    if (n > 1)
        strbuf_adds(&r, "{");
    for (int i = 0; i < n; i++)
        strbuf_addf(&r, "%s%s", i ? ", " : "", reg(t, 1 + i));
    if (n > 1)
        strbuf_adds(&r, "}");
    const char *addr = has(f, "shared") ? "%r30" : has(f, "param") ? "pbuf" : "%rd30";
    if (str_eq(f->op, "ld"))
        strbuf_addf(o, "%s, [%s]", r.buf, addr);
    else
        strbuf_addf(o, "[%s], %s", addr, r.buf);
    strbuf_release(&r);
}

static void atom_operands(const struct form *f, struct strbuf *o)
{
    enum ptx_type t = last_type(f);
    const char *addr = has(f, "shared") ? "%r30" : "%rd30";
    if (str_eq(f->op, "atom"))
        strbuf_addf(o, "%s, ", reg(t, 1));
    strbuf_addf(o, "[%s], %s", addr, reg(t, 2));
    if (has(f, "cas"))
        strbuf_addf(o, ", %s", reg(t, 3));
}

static void matrix_operands(const struct form *f, struct strbuf *o)
{
    if (str_eq(f->op, "mma")) {
        bool f64 = has(f, "f64"), acc16 = type_no(f, 0) == PT_F16,
             sp = !has(f, "sync") || strstr(f->text, "mma.sp");
        int d = f64 ? 2 : acc16 ? 2 : 4, a = 4, b = 2;
        if (has(f, "m16n8k8") && !has(f, "tf32"))
            a = 2, b = 1;
        if (f64)
            a = b = 1;
        if (sp)
            b = 4;
        const char *acc = f64 ? "%fd" : acc16 || type_no(f, 0) == PT_S32 ? "%r" : "%f";
        list(o, acc, 1, d);
        strbuf_adds(o, ", ");
        list(o, f64 ? "%fd" : "%r", 10, a);
        strbuf_adds(o, ", ");
        list(o, f64 ? "%fd" : "%r", 16, b);
        strbuf_adds(o, ", ");
        list(o, acc, 20, d);
        if (sp)
            strbuf_adds(o, ", %r30, 0x0");
        return;
    }
    if (str_eq(f->op, "wgmma")) {
        int n = 0;
        if (!has(f, "mma_async")) {
            if (has(f, "wait_group"))
                strbuf_adds(o, "0");
            return;
        }
        for (int i = 0; i < f->nmods; i++)
            if (str_starts(f->mods[i], "m64n"))
                n = atoi(f->mods[i] + 4);
        enum ptx_type acc = type_no(f, 0);
        list(o, acc == PT_F32 ? "%f" : "%r", 1, acc == PT_F16 ? n / 4 : n / 2);
        bool sp = has(f, "sp"), integer = acc == PT_S32;
        bool trans = type_no(f, 1) == PT_F16 || type_no(f, 1) == PT_BF16;
        strbuf_adds(o, ", %rd1, %rd2");
        if (sp)
            strbuf_adds(o, ", %r140, 0");
        strbuf_addf(o, ", %%p1%s%s", integer ? "" : ", 1, 1", trans ? ", 0, 0" : "");
        return;
    }
    /* wmma */
    bool load = has(f, "load"), store = has(f, "store");
    bool f64 = has(f, "f64");
    int a = has(f, "bf16") ? 4 : has(f, "tf32") ? 4 : has(f, "u8") ? 2 : f64 ? 1 : 8;
    int c = f64 ? 2 : 8;
    const char *ab = f64 ? "%fd" : "%r";
    const char *acc = f64 ? "%fd" : has(f, "s32") ? "%r" : "%f";
    const char *addr = has(f, "shared") ? "%r30" : "%rd30";
    if (load) {
        bool is_c = str_eq(f->mods[1], "c");
        list(o, is_c ? acc : ab, 1, is_c ? c : a);
        strbuf_addf(o, ", [%s], %%r31", addr);
    } else if (store) {
        strbuf_addf(o, "[%s], ", addr);
        list(o, acc, 1, c);
        strbuf_adds(o, ", %r31");
    } else {
        list(o, acc, 1, c);
        strbuf_adds(o, ", ");
        list(o, ab, 10, a);
        strbuf_adds(o, ", ");
        list(o, ab, 20, a);
        strbuf_adds(o, ", ");
        list(o, acc, 30, c);
    }
}

static void copy_operands(const struct form *f, struct strbuf *o)
{
    if (has(f, "commit_group") || has(f, "wait_all"))
        return;
    if (has(f, "wait_group")) {
        strbuf_adds(o, "0");
    } else if (has(f, "mbarrier")) {
        strbuf_adds(o, "[%r30]");
    } else if (has(f, "tensor")) {
        int rank = 0;
        for (int i = 0; i < f->nmods; i++)
            if (strlen(f->mods[i]) == 2 && f->mods[i][1] == 'd')
                rank = f->mods[i][0] - '0';
        bool store = has(f, "bulk_group");
        if (!store)
            strbuf_adds(o, "[%r30], ");
        strbuf_adds(o, "[%rd30, ");
        list(o, "%r", 1, rank);
        strbuf_addf(o, "], [%%r%d]", store ? 30 : 31);
        if (has(f, "multicast::cluster"))
            strbuf_adds(o, ", %rs1");
        if (has(f, "L2::cache_hint"))
            strbuf_adds(o, ", %rd2");
    } else if (has(f, "bulk")) {
        strbuf_adds(o, "[%r30], [%rd30], 128, [%r31]");
    } else {
        strbuf_adds(o, "[%r30], [%rd30], 16");
    }
}

static void sync_operands(const struct form *f, struct strbuf *o)
{
    const char *mbar = "%r30";
    if (str_eq(f->op, "mbarrier")) {
        if (has(f, "init"))
            strbuf_addf(o, "[%s], 1", mbar);
        else if (has(f, "try_wait"))
            strbuf_addf(o, "%%p1, [%s], %s", mbar, has(f, "parity") ? "%r1" : "%rd1");
        else if (has(f, "arrive"))
            strbuf_addf(o, "_, [%s]%s", mbar, has(f, "expect_tx") ? ", 128" : "");
        else
            strbuf_addf(o, "[%s]%s", mbar, has(f, "expect_tx") ? ", 128" : "");
    } else if (has(f, "warp")) {
        strbuf_adds(o, "-1");
    } else if (has(f, "red")) {
        strbuf_adds(o, "%p1, 0, %p2");
    } else if (!has(f, "cluster")) {
        strbuf_adds(o, has(f, "arrive") ? "1, 64" : "0");
    }
}

static void operands(const struct form *f, struct strbuf *o)
{
    static const struct {
        const char *ops, *text;
    } fixed[] = {
        {" ret exit trap brkpt membar fence griddepcontrol ", ""},
        {" bra ", "$L"},
        {" call ", "(rv), fn, (pv)"},
        {" nanosleep activemask ", "%r1"},
        {" setmaxnreg ", "40"},
        {" elect ", "%r1|%p1, -1"},
        {" redux ", "%r1, %r2, -1"},
        {" shfl ", "%r1|%p1, %r2, %r3, 31, -1"},
        {" mapa ", "%r1, %r2, %r3"},
        {" prefetch ", "[%rd30]"},
        {" lop3 ", "%r1, %r2, %r3, %r4, 0x96"},
        {" prmt shf dp4a vabsdiff4 ", "%r1, %r2, %r3, %r4"},
        {" bmsk ", "%r1, %r2, %r3"},
    };
    char key[40];
    snprintf(key, sizeof key, " %s ", f->op);
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        if (strstr(fixed[i].ops, key)) {
            strbuf_adds(o, fixed[i].text);
            return;
        }
    enum ptx_type t = last_type(f), first = type_no(f, 0);
    if (strstr(" ld st ", key))
        memory_operands(f, o);
    else if (strstr(" atom red ", key))
        atom_operands(f, o);
    else if (strstr(" mma wmma wgmma ", key))
        matrix_operands(f, o);
    else if (str_eq(f->op, "cp"))
        copy_operands(f, o);
    else if (strstr(" bar barrier mbarrier ", key))
        sync_operands(f, o);
    else if (str_eq(f->op, "ldmatrix"))
        strbuf_adds(o, "{%r1, %r2, %r3, %r4}, [%r30]");
    else if (str_eq(f->op, "stmatrix"))
        strbuf_adds(o, "[%r30], {%r1, %r2, %r3, %r4}");
    else if (str_eq(f->op, "tensormap"))
        strbuf_adds(o, has(f, "cp_fenceproxy")    ? "[%rd30], [%r30], 128"
                       : has(f, "global_address") ? "[%r30], %rd1"
                       : has(f, "global_stride")  ? "[%r30], 0, %rd1"
                                                  : "[%r30], 0, %r1");
    else if (str_eq(f->op, "vote"))
        strbuf_adds(o, has(f, "ballot") ? "%r1, %p1, -1" : "%p2, %p1, -1");
    else if (str_eq(f->op, "match"))
        strbuf_addf(o, "%%r1, %s, -1", reg(t, 2));
    else if (str_eq(f->op, "setp"))
        strbuf_addf(o, "%%p1, %s, %s", reg(t, 1), reg(t, 2));
    else if (str_eq(f->op, "set"))
        strbuf_addf(o, "%s, %s, %s", reg(first, 1), reg(t, 2), reg(t, 3));
    else if (str_eq(f->op, "selp"))
        strbuf_addf(o, "%s, %s, %s, %%p1", reg(t, 1), reg(t, 2), reg(t, 3));
    else if (str_eq(f->op, "cvt") && (strstr(f->text, "x2.f32")))
        strbuf_addf(o, "%s, %%f2, %%f3", reg(first, 1));
    else if (str_eq(f->op, "cvt"))
        strbuf_addf(o, "%s, %s", reg(first, 1), reg(type_no(f, 1), 2));
    else if (strstr(" popc clz bfind ", key))
        strbuf_addf(o, "%%r1, %s", reg(t, 2));
    else if (str_eq(f->op, "bfi"))
        strbuf_addf(o, "%s, %s, %s, 0, 8", reg(t, 1), reg(t, 2), reg(t, 3));
    else if (strstr(" shl shr ", key))
        strbuf_addf(o, "%s, %s, %%r3", reg(t, 1), reg(t, 2));
    else if (has(f, "wide")) {
        enum ptx_type w = ptx_type_bits(t) == 16 ? PT_U32 : PT_U64;
        strbuf_addf(o, "%s, %s, %s%s%s", reg(w, 1), reg(t, 2), reg(t, 3),
                    str_eq(f->op, "mad") ? ", " : "", str_eq(f->op, "mad") ? reg(w, 4) : "");
    } else if (strstr(" mad fma ", key))
        strbuf_addf(o, "%s, %s, %s, %s", reg(t, 1), reg(t, 2), reg(t, 3), reg(t, 4));
    else if (strstr(" add sub mul div rem min max and or xor copysign ", key))
        strbuf_addf(o, "%s, %s, %s", reg(t, 1), reg(t, 2), reg(t, 3));
    else
        strbuf_addf(o, "%s, %s", reg(t, 1), reg(t, 2));
}

static bool covered(struct emu_run *r, const struct form *f, char *why, size_t n)
{
    struct strbuf ptx = STRBUF_INIT(1 << 16), ops = STRBUF_INIT(8192);
    operands(f, &ops);
    strbuf_addf(&ptx,
                PTX_HEAD
                ".func (.param .b32 frv) fn (.param .b32 fpv) { ret; }\n"
                ".visible .entry k(.param .u64 pbuf0, .param .align 16 .b8 pbuf[64]) {\n"
                ".reg .pred %%p<8>; .reg .b16 %%rs<16>; .reg .b32 %%r<200>; .reg .f32 %%f<200>;\n"
                ".reg .b64 %%rd<64>; .reg .f64 %%fd<64>; .reg .b128 %%x<4>;\n"
                ".param .b32 rv; .param .b32 pv; %s\n"
                "$L: %s %s;\n ret; }\n",
                str_eq(f->op, "st") && has(f, "param") ? ".param .align 16 .b8 sbuf[64];" : "",
                f->text, ops.buf);
    if (str_eq(f->op, "st") && has(f, "param")) {
        char *at = strstr(ptx.buf, "[pbuf]");
        if (at)
            at[1] = 's';
    }
    struct code *c = NULL;
    struct err err = ERR_INIT;
    bool ok = code_load(&c, (struct emu *)r->d, ptx.buf, ptx.len, &err) == RESULT_OK;
    if (ok) {
        struct code_func *k = code_find(c, "k");
        code_place_dynamic(c, k);
        ok = code_prepare(c, k, &err) == RESULT_OK;
        if (ok && k->insns[0].exec == exec_unsupported) {
            ok = false;
            snprintf(err.msg, sizeof err.msg, "unsupported with (%s)", ops.buf);
        }
        code_free(c);
    }
    snprintf(why, n, "%.*s", (int)n - 1, err.msg);
    strbuf_release(&ptx);
    strbuf_release(&ops);
    return ok;
}

static bool may_refuse(const struct form *f)
{
    return str_eq(f->op, "tex") || str_eq(f->op, "suld") || str_eq(f->op, "sust");
}

static void forms(void **state)
{
    struct emu_run r;
    FILE *in = fopen("t/cases/ptx_forms.tsv", "r");
    char line[512], why[512];
    int all = 0, good = 0, common = 0, common_good = 0, refused = 0, seen_head = 0;
    (void)state;
    assert_non_null(in);
    emu_run_open(&r, false);
    while (fgets(line, sizeof line, in)) {
        struct form f = {0};
        if (line[0] == '#' || sscanf(line, "%199s %d %d", f.text, &f.programs, &f.uses) != 3)
            continue;
        seen_head = 1;
        assert_true(split(&f));
        bool ok = covered(&r, &f, why, sizeof why);
        all++;
        good += ok;
        if (may_refuse(&f)) {
            refused++;
            continue;
        }
        common += f.programs >= 3;
        common_good += f.programs >= 3 && ok;
        if (!ok)
            print_message("# missing: %s (%d programs): %s\n", f.text, f.programs, why);
    }
    fclose(in);
    emu_run_close(&r);
    print_message("# %d of %d forms (%.1f%%); %d are textures or surfaces, which are refused; "
                  "used by three or more programs: %d of %d\n",
                  good, all, 100.0 * good / (all ? all : 1), refused, common_good, common);
    assert_true(seen_head);
    assert_int_equal(all, 675);
    assert_int_equal(common_good, common);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
