/*
 * trailer.c - writes the C++ text that exports the kernels' signatures, and reads them back from
 * the PTX.
 */
#include "compile/trailer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/util.h"
#include "compile/cubin.h"
#include "compile/ptx.h"

/* Indices of the words that describe one parameter. */
enum { W_KIND, W_SIZE, W_ALIGN, W_SIGNED, W_CONST, W_ELEM, W_ELEM_SIZE, W_COUNT };
enum { MAX_PARAMS = 128 };

/* Words that the trailer uses. The candidate may have defined any of them as a macro. */
static const char undefs[] =
    "template struct class typename namespace extern const volatile constexpr unsigned signed int "
    "long short char float double bool void enum typedef decltype sizeof alignof return operator "
    "static inline __attribute__ __is_enum device global host __half __nv_bfloat16 __nv_fp8_e4m3 "
    "__nv_fp8_e5m2 cutlass half_t bfloat16_t tfloat32_t float_e4m3_t float_e5m2_t T R A F C S N E "
    "V";

/* @ stands for the nonce (trailer.h). The numbers of elem_@ are those of enum dtype. */
static const char body[] =
    "struct __half; struct __nv_bfloat16; struct __nv_fp8_e4m3; struct __nv_fp8_e5m2;\n"
    "namespace cutlass { struct half_t; struct bfloat16_t; struct float_e4m3_t;\n"
    "struct float_e5m2_t; }\n"
    "namespace hone_@ {\n"
    "template <class T> struct cv_@ { enum : unsigned { c_@ = 0 }; typedef T t_@; };\n"
    "template <class T> struct cv_@<const T> { enum : unsigned { c_@ = 1 }; typedef T t_@; };\n"
    "template <class T> struct cv_@<volatile T> { enum : unsigned { c_@ = 0 }; typedef T t_@; };\n"
    "template <class T> struct cv_@<const volatile T> { enum : unsigned { c_@ = 1 };\n"
    "    typedef T t_@; };\n"
    "template <class T> struct void_@ { typedef void t_@; };\n"
    "template <class T, class V = void> struct size_@ { enum : unsigned { v_@ = 0 }; };\n"
    "template <class T> struct size_@<T, typename void_@<char[sizeof(T)]>::t_@> {\n"
    "    enum : unsigned { v_@ = sizeof(T) }; };\n"
    "template <> struct size_@<void, void> { enum : unsigned { v_@ = 0 }; };\n"
    "template <class T> struct elem_@ { enum : unsigned { v_@ = 0 }; };\n";

static const struct {
    const char *type;
    enum dtype dtype;
} elems[] = {
    {"float", DT_F32},
    {"double", DT_F64},
    {"__half", DT_F16},
    {"cutlass::half_t", DT_F16},
    {"__nv_bfloat16", DT_BF16},
    {"cutlass::bfloat16_t", DT_BF16},
    {"__nv_fp8_e4m3", DT_F8E4M3},
    {"cutlass::float_e4m3_t", DT_F8E4M3},
    {"__nv_fp8_e5m2", DT_F8E5M2},
    {"cutlass::float_e5m2_t", DT_F8E5M2},
    {"signed char", DT_I8},
    {"short", DT_I16},
    {"int", DT_I32},
    {"long", DT_I64},
    {"long long", DT_I64},
    {"unsigned char", DT_U8},
    {"unsigned short", DT_U16},
    {"unsigned", DT_U32},
    {"unsigned long", DT_U64},
    {"unsigned long long", DT_U64},
    {"bool", DT_BOOL},
};

static const struct {
    const char *type;
    enum sig_kind kind;
    int is_signed;
} scalars[] = {
    {"signed char", SIG_INT, 1},
    {"char", SIG_INT, 1},
    {"short", SIG_INT, 1},
    {"int", SIG_INT, 1},
    {"long", SIG_INT, 1},
    {"long long", SIG_INT, 1},
    {"unsigned char", SIG_INT, 0},
    {"unsigned short", SIG_INT, 0},
    {"unsigned", SIG_INT, 0},
    {"unsigned long", SIG_INT, 0},
    {"unsigned long long", SIG_INT, 0},
    {"float", SIG_FLOAT, 1},
    {"double", SIG_FLOAT, 1},
    {"bool", SIG_BOOL, 0},
};

static const char tables[] =
    "template <class T> struct row_@ { unsigned w_@[7]; };\n"
    "template <class T> __attribute__((device)) constexpr row_@<void> make_@() {\n"
    "    return {{param_@<T>::k_@, sizeof(T), alignof(T), param_@<T>::s_@, param_@<T>::c_@,\n"
    "             param_@<T>::e_@, param_@<T>::z_@}}; }\n"
    "template <unsigned N> struct table_@ { unsigned n_@; row_@<void> r_@[N + 1]; };\n"
    "template <class F> struct fn_@;\n"
    "template <class R, class... A> struct fn_@<R(A...)> {\n"
    "    enum : unsigned { n_@ = sizeof...(A) };\n"
    "    __attribute__((device)) static constexpr table_@<sizeof...(A)> get_@() {\n"
    "        return {sizeof...(A), {make_@<A>()..., {{4294967295u}}}}; } };\n"
    "}\n";

int trailer_nonce(char out[33], struct err *err)
{
    unsigned char b[16];
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        return err_errno(err, "getrandom");
    for (int i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", b[i]);
    return 0;
}

static void add_text(struct strbuf *sb, const char *text, const char *nonce)
{
    for (const char *at; (at = strchr(text, '@')); text = at + 1) {
        strbuf_add(sb, text, (size_t)(at - text));
        strbuf_adds(sb, nonce);
    }
    strbuf_adds(sb, text);
}

static void add_types(struct strbuf *sb, const char *nonce)
{
    for (size_t i = 0; i < ARRAY_LEN(elems); i++)
        strbuf_addf(sb, "template <> struct elem_%s<%s> { enum : unsigned { v_%s = %d }; };\n",
                    nonce, elems[i].type, nonce, elems[i].dtype);
    add_text(sb,
             "template <class T> struct param_@ { enum : unsigned {\n"
             "    k_@ = __is_enum(T) ? 1 : 4, s_@ = 0, c_@ = 0, e_@ = 0, z_@ = 0 }; };\n"
             "template <class T> struct param_@<T *> { enum : unsigned { k_@ = 0, s_@ = 0,\n"
             "    c_@ = cv_@<T>::c_@, e_@ = elem_@<typename cv_@<T>::t_@>::v_@,\n"
             "    z_@ = size_@<typename cv_@<T>::t_@>::v_@ }; };\n",
             nonce);
    for (size_t i = 0; i < ARRAY_LEN(scalars); i++)
        strbuf_addf(sb,
                    "template <> struct param_%s<%s> { enum : unsigned { k_%s = %d, s_%s = %d, "
                    "c_%s = 0, e_%s = 0, z_%s = 0 }; };\n",
                    nonce, scalars[i].type, nonce, scalars[i].kind, nonce, scalars[i].is_signed,
                    nonce, nonce, nonce);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Returns whether a kernel's name is a plain identifier. Such a kernel must be extern "C". */
static bool is_plain(const char *kernel)
{
    while (is_word(*kernel))
        kernel++;
    return !*kernel;
}

static void undef_words(struct strbuf *sb, const char *kernel)
{
    for (const char *p = kernel; *p;) {
        size_t n = 0;
        while (is_word(p[n]))
            n++;
        if (n && !isdigit((unsigned char)*p))
            strbuf_addf(sb, "#undef %.*s\n", (int)n, p);
        p += n ? n : 1;
    }
}

/* Redeclares an extern "C" kernel, or defines a pointer to any other (invariant 3 in trailer.h). */
static void add_declaration(struct strbuf *sb, const char *nonce, const char *kernel, size_t i)
{
    if (is_plain(kernel))
        strbuf_addf(sb, "extern \"C\" __attribute__((global)) hone_%s::k%zu_%s %s;\n", nonce, i,
                    nonce, kernel);
    else
        strbuf_addf(sb,
                    "extern \"C\" { extern hone_%s::k%zu_%s *const __attribute__((device)) "
                    "hone_sig_%s_f%zu;\n"
                    "hone_%s::k%zu_%s *const __attribute__((device)) hone_sig_%s_f%zu = &::%s; }\n",
                    nonce, i, nonce, nonce, i, nonce, i, nonce, nonce, i, kernel);
}

void trailer_add(struct strbuf *sb, const char *nonce, const char *const *kernels, size_t n)
{
    /* The ';' ends a declaration that the source may have left open. */
    strbuf_adds(sb, "\n\n;\n#line 1 \"" TRAILER_FILE "\"\n");
    for (const char *p = undefs; *p;) {
        size_t len = strcspn(p, " ");
        strbuf_addf(sb, "#undef %.*s\n", (int)len, p);
        p += len + (p[len] == ' ');
    }
    for (size_t i = 0; i < n; i++)
        undef_words(sb, kernels[i]);
    add_text(sb, body, nonce);
    add_types(sb, nonce);
    add_text(sb, tables, nonce);
    for (size_t i = 0; i < n; i++) {
        strbuf_addf(sb, "#line 1 \"" TRAILER_FILE ":%s\"\n", kernels[i]);
        strbuf_addf(sb, "namespace hone_%s { typedef decltype(::%s) k%zu_%s; }\n", nonce,
                    kernels[i], i, nonce);
        add_declaration(sb, nonce, kernels[i], i);
        strbuf_addf(sb, "extern \"C\" { extern const __attribute__((device)) hone_%s::table_%s<",
                    nonce, nonce);
        strbuf_addf(sb, "hone_%s::fn_%s<hone_%s::k%zu_%s>::n_%s> hone_sig_%s_%zu;\n", nonce, nonce,
                    nonce, i, nonce, nonce, nonce, i);
        strbuf_addf(sb, "const __attribute__((device)) hone_%s::table_%s<", nonce, nonce);
        strbuf_addf(sb, "hone_%s::fn_%s<hone_%s::k%zu_%s>::n_%s> hone_sig_%s_%zu = ", nonce, nonce,
                    nonce, i, nonce, nonce, nonce, i);
        strbuf_addf(sb, "hone_%s::fn_%s<hone_%s::k%zu_%s>::get_%s(); }\n", nonce, nonce, nonce, i,
                    nonce, nonce);
    }
}

/* ---- reading back ----------------------------------------------------------------------------*/

/* Reads the bytes of `... NAME[SIZE] = {1, 2, ...};`. The compiler leaves out trailing zeros. */
static int read_bytes(const char *p, const char *end, uint8_t *out, size_t cap, size_t *size)
{
    char *q;
    unsigned long n = strtoul(p, &q, 10);
    if (n > cap || q + 4 > end || memcmp(q, "] = {", 5) != 0)
        return -1;
    memset(out, 0, n);
    *size = n;
    p = q + 5;
    for (size_t i = 0; i < n && p < end; i++) {
        unsigned long v = strtoul(p, &q, 10);
        if (q == p || v > 255)
            return -1;
        out[i] = (uint8_t)v;
        if (*q == '}')
            return 0;
        if (*q != ',')
            return -1;
        p = q + 1;
    }
    return -1;
}

static uint32_t word_at(const uint8_t *b, size_t i)
{
    b += 4 * i;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static int decode(const uint8_t *b, size_t size, const char *kernel, struct sig *sig,
                  struct arena *a, struct err *err)
{
    uint32_t n = size >= 4 ? word_at(b, 0) : UINT32_MAX;
    if (n > MAX_PARAMS || size != 4 + (size_t)(n + 1) * W_COUNT * 4 ||
        word_at(b, 1 + (size_t)n * W_COUNT) != UINT32_MAX)
        return err_set(err, ERR_INPUT, "kernel '%s': its signature table is damaged", kernel);
    sig->kernel = arena_strdup(a, kernel);
    sig->nparams = n;
    sig->params = arena_alloc(a, MAX(n, 1u) * sizeof *sig->params);
    for (uint32_t i = 0; i < n; i++) {
        size_t at = 1 + (size_t)i * W_COUNT;
        struct sig_param *p = &sig->params[i];
        uint32_t kind = word_at(b, at + W_KIND), elem = word_at(b, at + W_ELEM);
        if (kind > SIG_STRUCT || elem >= DT_COUNT)
            return err_set(err, ERR_INPUT, "kernel '%s': its signature table is damaged", kernel);
        p->kind = (enum sig_kind)kind;
        p->size = word_at(b, at + W_SIZE);
        p->align = word_at(b, at + W_ALIGN);
        p->is_signed = word_at(b, at + W_SIGNED) != 0;
        p->is_const = word_at(b, at + W_CONST) != 0;
        p->elem_size = word_at(b, at + W_ELEM_SIZE);
        p->elem = (enum dtype)elem;
        if (p->elem != DT_NONE && dtype_bytes(p->elem) != p->elem_size)
            p->elem = DT_NONE;
    }
    return 0;
}

/* Sets sig->entry to the name of the entry to which the trailer's pointer to kernel i points. */
static int read_entry(const char *ptx, size_t len, const char *nonce, size_t i, struct sig *sig,
                      struct arena *a, struct err *err)
{
    char name[80];
    size_t n = 0;
    snprintf(name, sizeof name, " hone_sig_%s_f%zu = ", nonce, i);
    const char *p = memmem(ptx, len, name, strlen(name)), *end = ptx + len;
    if (p)
        p += strlen(name);
    while (p && p + n < end && is_word(p[n]))
        n++;
    if (!n || memmem(p, (size_t)(end - p), name, strlen(name)))
        return err_set(err, ERR_INPUT, "kernel '%s': its name in the machine code was not found",
                       sig->kernel);
    sig->entry = arena_strndup(a, p, n);
    return 0;
}

static int check_entry(const char *ptx, size_t len, const struct sig *sig, struct err *err)
{
    struct ptx_param params[MAX_PARAMS] = {{0}};
    int n = ptx_entry_params(ptx, len, sig_entry(sig), params, MAX_PARAMS);
    if (n < 0)
        return err_set(err, ERR_INPUT,
                       sig->entry ? "'%s' is not a __global__ function"
                                  : "there is no kernel '%s' (extern \"C\" __global__)",
                       sig->kernel);
    if ((uint32_t)n != sig->nparams)
        return err_set(err, ERR_INPUT, "kernel '%s' has %d parameters, but its declaration has %u",
                       sig->kernel, n, sig->nparams);
    for (int i = 0; i < n; i++)
        if (params[i].size != sig->params[i].size)
            return err_set(err, ERR_INPUT,
                           "kernel '%s', parameter %d: %u bytes in the kernel, %u as declared",
                           sig->kernel, i + 1, params[i].size, sig->params[i].size);
    return 0;
}

/* trailer_read() has compared the signatures with the PTX. The machine code must agree too: a
 * launch copies as many bytes of arguments from the host's memory as the machine code asks for. */
int trailer_check(const void *cubin, size_t len, const struct sig_vec *sigs, struct err *err)
{
    uint32_t sizes[MAX_PARAMS];
    for (size_t k = 0; k < sigs->n; k++) {
        const struct sig *sig = &sigs->items[k];
        int n = cubin_params(cubin, len, sig_entry(sig), sizes, MAX_PARAMS);
        if (n < 0)
            return err_set(err, ERR_INPUT,
                           "the machine code has no kernel '%s' with at most %d parameters",
                           sig->kernel, MAX_PARAMS);
        if ((uint32_t)n != sig->nparams)
            return err_set(err, ERR_INPUT,
                           "kernel '%s' has %d parameters, but its declaration has %u", sig->kernel,
                           n, sig->nparams);
        for (int i = 0; i < n; i++)
            if (sizes[i] && sizes[i] != sig->params[i].size)
                return err_set(err, ERR_INPUT,
                               "kernel '%s', parameter %d: %u bytes in the kernel, %u as declared",
                               sig->kernel, i + 1, sizes[i], sig->params[i].size);
    }
    return 0;
}

int trailer_read(const char *ptx, size_t len, const char *nonce, const char *const *kernels,
                 size_t n, struct sig_vec *sigs, struct arena *a, struct err *err)
{
    enum { CAP = 4 + (MAX_PARAMS + 1) * W_COUNT * 4 };
    uint8_t buf[CAP];
    for (size_t i = 0; i < n; i++) {
        char name[80];
        snprintf(name, sizeof name, " hone_sig_%s_%zu[", nonce, i);
        const char *p = memmem(ptx, len, name, strlen(name));
        if (!p)
            return err_set(err, ERR_INPUT,
                           "the signature of kernel '%s' was not compiled: does the source end in "
                           "an open #if, comment, string or bracket?",
                           kernels[i]);
        p += strlen(name);
        size_t size;
        if (memmem(p, len - (size_t)(p - ptx), name, strlen(name)) ||
            read_bytes(p, ptx + len, buf, sizeof buf, &size) < 0)
            return err_set(err, ERR_INPUT, "kernel '%s': its signature table is damaged",
                           kernels[i]);
        struct sig sig = {0};
        if (decode(buf, size, kernels[i], &sig, a, err) < 0 ||
            (!is_plain(kernels[i]) && read_entry(ptx, len, nonce, i, &sig, a, err) < 0) ||
            check_entry(ptx, len, &sig, err) < 0)
            return -1;
        *vec_push(sigs) = sig;
    }
    return 0;
}
