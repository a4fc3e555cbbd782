/* Parses any text as an expression. The parser refuses the text at a column inside it, or two
 * evaluations give the same value. The simplified expression gives this value too. */
#include <stdlib.h>
#include <string.h>

#include "base/expr.h"
#include "base/util.h"

static int align_of(void *ctx, const char *name, int64_t *out)
{
    *out = 1 << (strlen(name) % 9);
    return name[0] == 'Z' ? -1 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const names[] = {"M", "N", "K", "x1"};
    static const int64_t sets[][4] = {
        {1, 2, 3, 4}, {0, -1, INT64_MAX, INT64_MIN}, {4096, 8192, 0, 7}};
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    size_t col = SIZE_MAX;
    struct expr *e = expr_parse((const char *)data, len, names, 4, &a, &col, &err);
    if (!e && (err.kind == ERR_NONE || !*err.msg || col > len))
        abort();
    struct strbuf simple = STRBUF_INIT(EXPR_MAX_LEN + 1);
    bool shorter = expr_simplify((const char *)data, len, &simple);
    struct expr *same =
        shorter ? expr_parse(simple.buf, simple.len, names, 4, &a, &col, &err) : NULL;
    if (e && shorter && !same)
        abort();
    for (size_t i = 0; e && i < ARRAY_LEN(sets); i++) {
        struct expr_env env = {.values = sets[i], .alignof_fn = align_of};
        int64_t v = 0, again = 0;
        int rc = expr_eval(e, &env, &v, &err);
        if (rc != expr_eval(e, &env, &again, NULL) || (rc == 0 && v != again))
            abort();
        if (rc == 0 && same && (expr_eval(same, &env, &again, NULL) < 0 || v != again))
            abort();
    }
    if (e && (strlen(expr_text(e)) > len || expr_uses(e, 99)))
        abort();
    strbuf_release(&simple);
    arena_release(&a);
    return 0;
}
