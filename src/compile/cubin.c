/* cubin.c - reads sections, symbols and NVIDIA's attributes of a cubin. It checks every bound. */
#include "compile/cubin.h"

#include <elf.h>
#include <string.h>

#include "base/util.h"

/* Attributes of .nv.info, as found in the cubins of CUDA 12 and 13. */
enum {
    /* Attributes of this format have a head of 4 bytes and a value. All others are only a head. */
    FMT_SVAL = 4,
    ATTR_MAX_THREADS = 0x05,
    ATTR_FRAME_SIZE = 0x11,
    ATTR_MIN_STACK_SIZE = 0x12,
    ATTR_KPARAM_INFO = 0x17,
    ATTR_REGCOUNT = 0x2f,
    ATTR_KPARAM_INFO_V2 = 0x45
};

static const Elf64_Ehdr *header(const void *cubin, size_t len)
{
    const Elf64_Ehdr *h = cubin;
    if (len < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
        h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_shentsize != sizeof(Elf64_Shdr) ||
        h->e_shoff > len || (len - h->e_shoff) / sizeof(Elf64_Shdr) < h->e_shnum)
        return NULL;
    return h;
}

static bool section_header(const void *cubin, size_t len, size_t i, Elf64_Shdr *out)
{
    const Elf64_Ehdr *h = header(cubin, len);
    if (!h || i >= h->e_shnum)
        return false;
    memcpy(out, (const char *)cubin + h->e_shoff + i * sizeof *out, sizeof *out);
    return out->sh_type == SHT_NOBITS ||
           (out->sh_offset <= len && out->sh_size <= len - out->sh_offset);
}

/* Returns the string at offset `at` of the string table in section `table`. Returns "" if the
 * string is out of bounds or does not end. */
static const char *string_at(const void *cubin, size_t len, size_t table, size_t at)
{
    Elf64_Shdr s;
    if (!section_header(cubin, len, table, &s) || s.sh_type == SHT_NOBITS || at >= s.sh_size)
        return "";
    const char *p = (const char *)cubin + s.sh_offset + at;
    return memchr(p, '\0', s.sh_size - at) ? p : "";
}

bool cubin_section(const void *cubin, size_t len, size_t i, struct cubin_section *out)
{
    Elf64_Shdr s;
    if (!section_header(cubin, len, i, &s))
        return false;
    out->name = string_at(cubin, len, header(cubin, len)->e_shstrndx, s.sh_name);
    out->data = s.sh_type == SHT_NOBITS ? NULL : (const uint8_t *)cubin + s.sh_offset;
    out->len = s.sh_size;
    out->info = s.sh_info;
    return true;
}

static bool cubin_find(const void *cubin, size_t len, const char *name, struct cubin_section *out)
{
    for (size_t i = 0; cubin_section(cubin, len, i, out); i++)
        if (str_eq(out->name, name))
            return true;
    return false;
}

static bool symbol(const void *cubin, size_t len, size_t i, Elf64_Sym *out, const char **name)
{
    Elf64_Shdr s;
    for (size_t k = 0; section_header(cubin, len, k, &s); k++) {
        if (s.sh_type != SHT_SYMTAB)
            continue;
        if (i >= s.sh_size / sizeof *out)
            return false;
        memcpy(out, (const char *)cubin + s.sh_offset + i * sizeof *out, sizeof *out);
        *name = string_at(cubin, len, s.sh_link, out->st_name);
        return true;
    }
    return false;
}

static uint32_t u32_at(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

typedef void (*attr_fn)(uint8_t attr, const uint8_t *value, size_t n, void *ctx);

static void each_attr(const struct cubin_section *s, attr_fn fn, void *ctx)
{
    for (size_t p = 0; s->data && p + 4 <= s->len;) {
        uint8_t fmt = s->data[p], attr = s->data[p + 1];
        size_t n = s->data[p + 2] | (size_t)s->data[p + 3] << 8;
        p += 4;
        if (fmt != FMT_SVAL)
            continue;
        if (n > s->len - p)
            return;
        fn(attr, s->data + p, n, ctx);
        p += n;
    }
}

struct attr_ctx {
    const void *cubin;
    size_t len;
    const char *kernel;
    struct cubin_kernel *out;
};

static void module_attr(uint8_t attr, const uint8_t *v, size_t n, void *p)
{
    struct attr_ctx *c = p;
    Elf64_Sym sym;
    const char *name;
    if (n < 8 || !symbol(c->cubin, c->len, u32_at(v), &sym, &name) || !str_eq(name, c->kernel))
        return;
    if (attr == ATTR_REGCOUNT)
        c->out->registers = u32_at(v + 4);
    else if (attr == ATTR_FRAME_SIZE)
        c->out->stack_bytes = u32_at(v + 4);
}

static void kernel_attr(uint8_t attr, const uint8_t *v, size_t n, void *p)
{
    struct attr_ctx *c = p;
    if (attr == ATTR_MAX_THREADS && n >= 12)
        c->out->max_threads = u32_at(v) * u32_at(v + 4) * u32_at(v + 8);
}

int cubin_kernel(const void *cubin, size_t len, const char *name, struct cubin_kernel *out)
{
    struct cubin_section s;
    char section[512];
    *out = (struct cubin_kernel){0};
    snprintf(section, sizeof section, ".text.%s", name);
    if (!cubin_find(cubin, len, section, &s))
        return -1;
    out->code_bytes = s.len;
    out->registers = s.info >> 24; /* older cubins keep the count here */
    struct attr_ctx c = {cubin, len, name, out};
    if (cubin_find(cubin, len, ".nv.info", &s))
        each_attr(&s, module_attr, &c);
    snprintf(section, sizeof section, ".nv.info.%s", name);
    if (cubin_find(cubin, len, section, &s))
        each_attr(&s, kernel_attr, &c);
    snprintf(section, sizeof section, ".nv.shared.%s", name);
    if (cubin_find(cubin, len, section, &s))
        out->static_smem_bytes = (uint32_t)s.len;
    return 0;
}

struct params_ctx {
    uint32_t *sizes;
    int max, n;
    bool bad;
};

/* The attribute of a parameter is an index (32 bits), an ordinal (16 bits) and an offset (16 bits).
 * Then comes a word with the size from bit 18 on. We read no size from version 2: it stays 0,
 * unknown. */
static void param_attr(uint8_t attr, const uint8_t *v, size_t n, void *p)
{
    struct params_ctx *c = p;
    if (attr != ATTR_KPARAM_INFO && attr != ATTR_KPARAM_INFO_V2)
        return;
    int ordinal = n >= 12 ? v[4] | v[5] << 8 : -1;
    c->n++;
    if (ordinal < 0 || ordinal >= c->max)
        c->bad = true;
    else
        c->sizes[ordinal] = attr == ATTR_KPARAM_INFO ? u32_at(v + 8) >> 18 : 0;
}

int cubin_params(const void *cubin, size_t len, const char *kernel, uint32_t *sizes, int max)
{
    struct cubin_section s;
    struct params_ctx c = {sizes, max, 0, false};
    char section[512];
    snprintf(section, sizeof section, ".nv.info.%s", kernel);
    if (!cubin_find(cubin, len, section, &s))
        return -1;
    memset(sizes, 0, (size_t)max * sizeof *sizes);
    each_attr(&s, param_attr, &c);
    return c.bad || c.n > max ? -1 : c.n;
}

const char *cubin_import(const void *cubin, size_t len, size_t i)
{
    Elf64_Sym sym;
    const char *name;
    for (size_t k = 0; symbol(cubin, len, k, &sym, &name); k++)
        if (sym.st_shndx == SHN_UNDEF && ELF64_ST_TYPE(sym.st_info) == STT_FUNC && i-- == 0)
            return name;
    return NULL;
}
