/*
 * playbook_read.h - what the readers of PyTorch expressions share: a place in a text, and an
 * elementwise expression from there on, written in C.
 *
 * Values have PyTorch's types. Floats of all widths are `float` in C; integers keep their width and
 * wrap as PyTorch's do; a truth value is a bool, whose + is "or". A Python number is weak: it takes
 * the type of the tensor it meets, if that is of its kind.
 */
#ifndef AUTHOR_PLAYBOOK_READ_H
#define AUTHOR_PLAYBOOK_READ_H

#include "author/playbook_torch.h"

enum { MAX_C = 16 << 10 }; /* bytes of an expression in C */

/* Takes the token, and blanks before it, if it is there. */
bool text_take(const char **s, const char *token);
bool text_is(const char *at, size_t len, const char *text); /* those bytes, and no more? */
size_t text_word(const char *s); /* letters, digits and _, from a letter or _ on */

/* A dtype by its name in torch., "int32" or "long"; DT_NONE if it is none. */
enum dtype torch_dtype(const char *name, size_t len);
/* The same by the name of the method that casts to it, "float" or "long". */
enum dtype torch_cast_method(const char *name, size_t len);

enum value_kind { VALUE_BOOL, VALUE_WHOLE, VALUE_REAL };

struct value_type {
    enum value_kind kind;
    enum dtype dtype; /* DT_F32 for all floats */
    bool weak;
};

struct reader {
    const char *s;
    const struct torch_names *names;
    unsigned depth;
    struct strbuf *why;
    struct torch_gemm *gemm; /* one product of matrices may stand for a value; NULL = none may */
    struct value_type type;  /* of the value read last */
    bool bare;               /* that value is a product which `@` wrote, not in brackets */
};

/* False; says why, unless that was said before. */
bool reader_refuse(struct reader *r, const char *what, const char *at, size_t len);
bool reader_take(struct reader *r, const char *token);
void reader_blanks(struct reader *r);
bool reader_ends(struct reader *r); /* or refuses what is left */
bool reader_expression(struct reader *r, struct strbuf *out);
/* What binds as tightly as a method call: a name, a call, something in brackets. */
bool reader_primary(struct reader *r, struct strbuf *out);

/* Is a product of two inputs here? It reads as `v`, or `v` and a bias. If not, nothing is read. */
bool reader_product(struct reader *r, struct strbuf *out);

#endif
