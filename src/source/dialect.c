/*
 * dialect.c - counts CuTe's names among the tokens of a source.
 */
#include "source/dialect.h"

#include <string.h>

#include "base/util.h"
#include "source/token.h"

/* True if the word is in the list. An entry that ends in '*' stands for every word that begins with
 * the part before the '*'. */
static bool in_list(const char *word, const char *const *list)
{
    for (; *list; list++) {
        size_t n = strlen(*list);
        if ((*list)[n - 1] == '*' ? strncmp(word, *list, n - 1) == 0 : str_eq(word, *list))
            return true;
    }
    return false;
}

/* Call it after a `#` was read. True if the next tokens include a header of CuTe or CUTLASS. */
static bool includes_cute(struct token_reader *r)
{
    struct token word = token_next(r);
    if (!str_eq(word.text, "include"))
        return false;
    struct token open = token_next(r), room = token_next(r), slash = token_next(r);
    return str_eq(open.text, "<") && str_eq(slash.text, "/") &&
           (str_eq(room.text, "cute") || str_eq(room.text, "cutlass"));
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
    struct token_reader r = {.src = source, .len = len};
    memset(u, 0, sizeof *u);
    for (struct token t; (t = token_next(&r)).kind != TOK_END;) {
        if (t.kind == TOK_PUNCT && t.text[0] == '#')
            u->includes_cute |= includes_cute(&r);
        if (t.kind != TOK_WORD)
            continue;
        u->tensors += in_list(t.text, tensors);
        u->layouts += in_list(t.text, layouts);
        u->tiles += in_list(t.text, tiles);
        u->copies += in_list(t.text, copies);
        u->copy_atoms += in_list(t.text, copy_atoms);
        u->mma_atoms += in_list(t.text, mma_atoms);
        u->gemms += in_list(t.text, gemms);
    }
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
        out,
        "CuTe: %u layouts, %u tensors, %u tilings, %u calls of copy or gemm, %u copy atoms, %u MMA "
        "atoms",
        u->layouts, u->tensors, u->tiles, u->copies + u->gemms, u->copy_atoms, u->mma_atoms);
}
