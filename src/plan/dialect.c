#include "plan/dialect.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* Copies the source with blanks in place of comments and literals. */
static char *without_comments(const char *s, size_t n)
{
    char *out = xmalloc(n + 1);
    enum { CODE, LINE, BLOCK, STRING, CHARACTER } in = CODE;
    for (size_t i = 0; i < n; i++) {
        char c = s[i], d = i + 1 < n ? s[i + 1] : '\0';
        out[i] = in == CODE || c == '\n' ? c : ' ';
        if (in == CODE && c == '/' && d == '/')
            in = LINE;
        else if (in == CODE && c == '/' && d == '*')
            in = BLOCK;
        else if (in == CODE && c == '"')
            in = STRING;
        else if (in == CODE && c == '\'' && (i == 0 || !isalnum((unsigned char)s[i - 1])))
            in = CHARACTER;
        else if (in == LINE && c == '\n')
            in = CODE;
        else if (in == BLOCK && c == '*' && d == '/') {
            out[i] = ' ';
            if (i + 1 < n)
                out[++i] = ' ';
            in = CODE;
            continue;
        } else if ((in == STRING && c == '"') || (in == CHARACTER && c == '\''))
            in = CODE;
        else if ((in == STRING || in == CHARACTER) && c == '\\' && i + 1 < n)
            out[++i] = ' ';
        if (in == LINE || in == BLOCK)
            out[i] = c == '\n' ? '\n' : ' ';
    }
    out[n] = '\0';
    return out;
}

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Counts a whole word; a trailing '*' matches any ending. */
static unsigned count(const char *text, const char *word)
{
    size_t n = strlen(word);
    bool prefix = word[n - 1] == '*';
    unsigned found = 0;
    n -= prefix;
    const char *end = text + strlen(text);
    for (const char *p = text; (p = memmem(p, (size_t)(end - p), word, n)); p += n)
        if ((p == text || !word_char(p[-1])) && (prefix || !word_char(p[n])))
            found++;
    return found;
}

static unsigned count_all(const char *text, const char *const *words)
{
    unsigned n = 0;
    for (; *words; words++)
        n += count(text, *words);
    return n;
}

void dialect_scan(const char *source, size_t len, struct dialect_use *u)
{
    static const char *const tensors[] = {"make_tensor", "make_tensor_like", "make_fragment_like",
                                          "make_identity_tensor", NULL};
    static const char *const layouts[] = {
        "make_layout", "Layout", "make_shape", "make_stride", "tile_to_shape", "composition", NULL};
    static const char *const tiles[] = {"local_tile",     "local_partition",
                                        "zipped_divide",  "tiled_divide",
                                        "logical_divide", "flat_divide",
                                        "get_slice",      "get_thread_slice",
                                        "partition_S",    "partition_D",
                                        "partition_A",    "partition_B",
                                        "partition_C",    NULL};
    static const char *const copies[] = {"copy", "copy_if", "copy_aligned", "copy_vec", NULL};
    static const char *const copy_atoms[] = {"Copy_Atom",      "make_tiled_copy*",
                                             "TiledCopy",      "make_tma_copy*",
                                             "SM90_TMA*",      "SM75_U32x*",
                                             "SM80_CP_ASYNC*", "AutoVectorizingCopy*",
                                             "UniversalCopy",  NULL};
    static const char *const mma_atoms[] = {
        "MMA_Atom", "TiledMMA", "make_tiled_mma", "SM80_16x8x*", "SM90_64x*", "UniversalFMA", NULL};
    static const char *const gemms[] = {"gemm", "axpby", NULL};
    char *text = without_comments(source, len);
    memset(u, 0, sizeof *u);
    u->includes_cute = strstr(source, "#include <cute/") || strstr(source, "#include <cutlass/");
    u->tensors = count_all(text, tensors);
    u->layouts = count_all(text, layouts);
    u->tiles = count_all(text, tiles);
    u->copies = count_all(text, copies);
    u->copy_atoms = count_all(text, copy_atoms);
    u->mma_atoms = count_all(text, mma_atoms);
    u->gemms = count_all(text, gemms);
    free(text);
}

bool dialect_is_cute(const char *source, size_t len, struct strbuf *why)
{
    struct strbuf unused = STRBUF_INIT(256);
    struct strbuf *w = why ? why : &unused;
    struct dialect_use u;
    dialect_scan(source, len, &u);
    bool ok = false;
    if (!u.includes_cute)
        strbuf_adds(w, "the file includes no CuTe header (#include <cute/tensor.hpp>)");
    else if (!u.tensors)
        strbuf_adds(w, "nothing is a CuTe tensor: wrap the pointers with "
                       "make_tensor(make_gmem_ptr(p), layout)");
    else if (!u.tiles)
        strbuf_adds(
            w, "no tensor is tiled or partitioned (local_tile, local_partition, partition_S, ...)");
    else if (!u.copies && !u.copy_atoms && !u.mma_atoms)
        strbuf_adds(
            w, "data moves without CuTe: use copy() with a copy atom, or gemm() with an MMA atom");
    else
        ok = true;
    strbuf_release(&unused);
    return ok;
}

void dialect_describe(const struct dialect_use *u, struct strbuf *out)
{
    if (!u->includes_cute) {
        strbuf_adds(out, "no CuTe");
        return;
    }
    strbuf_addf(
        out, "CuTe: %u layouts, %u tensors, %u tilings, %u copies, %u copy atoms, %u MMA atoms",
        u->layouts, u->tensors, u->tiles, u->copies + u->gemms, u->copy_atoms, u->mma_atoms);
}
