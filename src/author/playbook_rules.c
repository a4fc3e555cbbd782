/*
 * playbook_rules.c - equivalent spellings of PyTorch expressions, as rules: what is written as the
 * first is what the second says. $a, $b, ... stand for any expression, the same one at every place;
 * sums and products match in any order, and a rule for a product may take some of its factors.
 */
#include <stdlib.h>
#include <string.h>

#include "author/playbook_rules.h"
#include "base/util.h"

enum { MAX_VARIABLES = 8, MAX_FACTORS = 12, RULE_STEPS = 4000 };

struct rule {
    const char *root; /* the text of the node it applies to */
    const char *from, *to;
};

/* What a reader may do: the result is the same but for the order of roundings. */
static const struct rule spellings[] = {
    {"pow", "pow($a, $b)", "$a ** $b"},
    {"**", "$a ** 2", "square($a)"},
    {"*", "$a * $a", "square($a)"},
    {"**", "$a ** 0.5", "sqrt($a)"},
    {"**", "$a ** -0.5", "rsqrt($a)"},
    {"**", "$a ** 1", "$a"},
    {"add", "add($a, $b, 1)", "$a + $b"},
    {"add", "add($a, $b, $c)", "$a + $c * $b"},
    {"sub", "sub($a, $b, 1)", "$a - $b"},
    {"sub", "sub($a, $b, $c)", "$a - $c * $b"},
    {"mul", "mul($a, $b)", "$a * $b"},
    {"div", "div($a, $b, None)", "$a / $b"},
    {"div", "div($a, $b, 'floor')", "$a // $b"},
    {"floor_divide", "floor_divide($a, $b)", "$a // $b"},
    {"remainder", "remainder($a, $b)", "$a % $b"},
    {"neg", "neg($a)", "-$a"},
    {"addcmul", "addcmul($a, $b, $c, 1)", "$a + $b * $c"},
    {"addcmul", "addcmul($a, $b, $c, $d)", "$a + $d * $b * $c"},
    {"addcdiv", "addcdiv($a, $b, $c, 1)", "$a + $b / $c"},
    {"addcdiv", "addcdiv($a, $b, $c, $d)", "$a + $d * $b / $c"},
    {"clamp", "clamp($a, None, $b)", "clamp_max($a, $b)"},
    {"clamp", "clamp($a, $b, None)", "clamp_min($a, $b)"},
    {"matmul", "matmul($a, $b)", "$a @ $b"},
    {"mm", "mm($a, $b)", "$a @ $b"},
    {"bmm", "bmm($a, $b)", "$a @ $b"},
    {"mv", "mv($a, $b)", "$a @ $b"},
    {"addmm", "addmm($a, $b, $c, 1, 1)", "$b @ $c + $a"},
    {"addmm", "addmm($a, $b, $c, $d, $e)", "$e * ($b @ $c) + $d * $a"},
    {"baddbmm", "baddbmm($a, $b, $c, 1, 1)", "$b @ $c + $a"},
    {"baddbmm", "baddbmm($a, $b, $c, $d, $e)", "$e * ($b @ $c) + $d * $a"},
    {"dot", "dot($a, $b)", "sum($a * $b)"},
    {"sqrt", "sqrt(sum(square($a), $b, $c, None))", "norm($a, 2, $b, $c)"},
    {"norm", "norm($a, 'fro', $b, $c, $d)", "norm($a, 2, $b, $c, $d)"},
    {"norm", "norm($a, None, $b, $c, $d)", "norm($a, 2, $b, $c, $d)"},
    {"norm", "norm($a, 1, $b, $c, None)", "sum(abs($a), $b, $c)"},
    {"norm", "norm($a, torch.inf, $b, $c, None)", "amax(abs($a), $b, $c)"},
    {"norm", "norm($a, float('inf'), $b, $c, None)", "amax(abs($a), $b, $c)"},
    {"log", "log(sum(exp($a), $b, $c, None))", "logsumexp($a, $b, $c)"},
    {"/", "exp($a) / sum(exp($a), $b, True, None)", "softmax($a, $b)"},
    {"/", "exp($a - amax($a, $b, True)) / sum(exp($a - amax($a, $b, True)), $b, True, None)",
     "softmax($a, $b)"},
    {"exp", "exp($a - logsumexp($a, $b, True))", "softmax($a, $b)"},
    {"-", "$a - logsumexp($a, $b, True)", "log_softmax($a, $b)"},
    {"log", "log(softmax($a, $b, $c))", "log_softmax($a, $b, $c)"},
    {"exp", "exp(log_softmax($a, $b, $c))", "softmax($a, $b, $c)"},
    {"softmax", "softmax($a - amax($a, $b, True), $b, $c)", "softmax($a, $b, $c)"},
    {"mse_loss", "mse_loss($a, $b, None, None, 'mean')", "mean(square($a - $b))"},
    {"mse_loss", "mse_loss($a, $b, None, None, 'sum')", "sum(square($a - $b))"},
    {"mse_loss", "mse_loss($a, $b, None, None, 'none')", "square($a - $b)"},
    {"l1_loss", "l1_loss($a, $b, None, None, 'mean')", "mean(abs($a - $b))"},
    {"l1_loss", "l1_loss($a, $b, None, None, 'sum')", "sum(abs($a - $b))"},
    {"l1_loss", "l1_loss($a, $b, None, None, 'none')", "abs($a - $b)"},
    {"adaptive_avg_pool1d", "adaptive_avg_pool1d($a, 1)", "mean($a, -1, True)"},
    {"adaptive_avg_pool2d", "adaptive_avg_pool2d($a, 1)", "mean($a, (-2, -1), True)"},
    {"adaptive_avg_pool2d", "adaptive_avg_pool2d($a, (1, 1))", "mean($a, (-2, -1), True)"},
    {"adaptive_max_pool2d", "adaptive_max_pool2d($a, 1)", "amax($a, (-2, -1), True)"},
    {"glu", "glu($a, -1)", "chunk($a, 2, -1)[0] * sigmoid(chunk($a, 2, -1)[1])"},
    {"count_nonzero", "count_nonzero($a, $b)", "sum($a != 0, $b)"},
    {"std", "std($a, $b, $c, $d, 0)", "std($a, $b, False, $d)"},
    {"std", "std($a, $b, $c, $d, 1)", "std($a, $b, True, $d)"},
    {"var", "var($a, $b, $c, $d, 0)", "var($a, $b, False, $d)"},
    {"var", "var($a, $b, $c, $d, 1)", "var($a, $b, True, $d)"},
};

/* What only a comparison may do: the words a form is told in are fewer. */
static const struct rule reductions[] = {
    {"/", "1 / $a", "reciprocal($a)"},
    {"/", "$a / $b", "$a * reciprocal($b)"},
    {"reciprocal", "reciprocal(sqrt($a))", "rsqrt($a)"},
    {"reciprocal", "reciprocal(std($a, $b, $c, $d, None))", "rsqrt(var($a, $b, $c, $d, None))"},
    {"reciprocal", "reciprocal(1 + exp(-$a))", "sigmoid($a)"},
    {"*", "$a * sigmoid($a)", "silu($a)"},
    {"mean", "mean(square($a - mean($a, $b, True, None)), $b, $c, None)", "var($a, $b, False, $c)"},
    {"clamp_min", "clamp_min($a, 0)", "relu($a)"},
    {"maximum", "maximum($a, 0)", "relu($a)"},
};

/* What works along an axis, as sums and extremes of it; $n is its length. */
static const struct rule unfoldings[] = {
    {"mean", "mean($a, $b, $c, None)", "sum($a, $b, $c) / $n"},
    {"var", "var($a, $b, False, $c, None)",
     "sum(square($a - sum($a, $b, True) / $n), $b, $c) / $n"},
    {"var", "var($a, $b, True, $c, None)",
     "sum(square($a - sum($a, $b, True) / $n), $b, $c) / ($n - 1)"},
    {"std", "std($a, $b, $c, $d, None)", "sqrt(var($a, $b, $c, $d))"},
    {"norm", "norm($a, 2, $b, $c, None)", "sqrt(sum(square($a), $b, $c))"},
    {"logsumexp", "logsumexp($a, $b, $c)",
     "log(sum(exp($a - amax($a, $b, True)), $b, $c)) + amax($a, $b, $c)"},
    {"softmax", "softmax($a, $b, $c)",
     "exp($a - amax($a, $b, True)) / sum(exp($a - amax($a, $b, True)), $b, True)"},
    {"log_softmax", "log_softmax($a, $b, $c)",
     "$a - amax($a, $b, True) - log(sum(exp($a - amax($a, $b, True)), $b, True))"},
    {"layer_norm", "layer_norm($a, ($s,), None, None, $e)",
     "($a - mean($a, -1, True)) * rsqrt(var($a, -1, False, True) + $e)"},
    {"layer_norm", "layer_norm($a, ($s,), $w, None, $e)",
     "($a - mean($a, -1, True)) * rsqrt(var($a, -1, False, True) + $e) * $w"},
    {"layer_norm", "layer_norm($a, ($s,), $w, $b, $e)",
     "($a - mean($a, -1, True)) * rsqrt(var($a, -1, False, True) + $e) * $w + $b"},
    {"rms_norm", "rms_norm($a, ($s,), None, $e)", "$a * rsqrt(mean(square($a), -1, True) + $e)"},
    {"rms_norm", "rms_norm($a, ($s,), $w, $e)", "$a * rsqrt(mean(square($a), -1, True) + $e) * $w"},
    {"normalize", "normalize($a, 2, $b, $e)", "$a / clamp_min(norm($a, 2, $b, True), $e)"},
    {"normalize", "normalize($a, 1, $b, $e)", "$a / clamp_min(sum(abs($a), $b, True), $e)"},
};

struct bindings {
    const char *names[MAX_VARIABLES];
    const struct tree *is[MAX_VARIABLES];
    size_t n;
};

static int bind(void *ctx, const struct tree *p, const struct tree *t)
{
    struct bindings *b = ctx;
    if (p->kind != TREE_NAME || p->text[0] != '$')
        return -1;
    if (t->kind == TREE_KEY) /* of a call that is not understood */
        return 0;
    for (size_t i = 0; i < b->n; i++)
        if (str_eq(b->names[i], p->text))
            return tree_same(b->is[i], t);
    if (b->n == MAX_VARIABLES)
        return 0;
    b->names[b->n] = p->text;
    b->is[b->n++] = t;
    return 1;
}

static size_t mark(void *ctx)
{
    return ((struct bindings *)ctx)->n;
}

static void undo(void *ctx, size_t n)
{
    ((struct bindings *)ctx)->n = n;
}

/* Of PyTorch's functions and not of Python's: rules name them without a module. */
static struct tree *of_torch(struct tree *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i])
            of_torch(t->at[i]);
    if (t->kind == TREE_CALL && t->module == TREE_PYTHON && call_known(t->text))
        t->module = TREE_TORCH;
    return t;
}

static struct tree *parsed(struct arena *a, const char *text)
{
    return of_torch(tree_parse(a, text));
}

/* Every call in it with all of its arguments. */
static struct tree *fill_all(struct arena *a, struct tree *t)
{
    for (size_t i = 0; t && i < t->n; i++)
        t->at[i] = t->at[i] ? fill_all(a, t->at[i]) : NULL;
    struct tree *full = t->kind == TREE_CALL ? call_filled(a, t) : t;
    return full ? full : t;
}

/* The tree of `to` with what the variables stand for. */
static struct tree *built(struct arena *a, struct tree *to, const struct bindings *b)
{
    for (size_t i = 0; to->kind == TREE_NAME && i < b->n; i++)
        if (str_eq(b->names[i], to->text))
            return (struct tree *)b->is[i];
    for (size_t i = 0; i < to->n; i++)
        to->at[i] = to->at[i] ? built(a, to->at[i], b) : NULL;
    return to;
}

/* Two of the factors of a product are what the rule says; the others stay. */
static struct tree *apply_to_factors(struct arena *a, const struct rule *r, struct tree *from,
                                     struct tree *t)
{
    const struct tree *all[MAX_FACTORS];
    size_t n = tree_operands(t, "*", all, MAX_FACTORS);
    for (size_t i = 0; n > 2 && n <= MAX_FACTORS && i < n; i++)
        for (size_t k = 0; k < n; k++) {
            struct bindings b = {.n = 0};
            struct tree_match m = {bind, mark, undo, &b, RULE_STEPS};
            struct tree *two = tree_binary(a, "*", (struct tree *)all[i], (struct tree *)all[k]);
            if (i == k || !tree_matches(&m, from, two))
                continue;
            struct tree *product = built(a, fill_all(a, parsed(a, r->to)), &b);
            for (size_t j = 0; j < n; j++)
                if (j != i && j != k)
                    product = tree_binary(a, "*", product, (struct tree *)all[j]);
            return product;
        }
    return NULL;
}

static struct tree *apply(struct arena *a, const struct rule *rules, size_t n, struct tree *t)
{
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(rules[i].root, t->text))
            continue;
        struct tree *from = fill_all(a, parsed(a, rules[i].from));
        struct bindings b = {.n = 0};
        struct tree_match m = {bind, mark, undo, &b, RULE_STEPS};
        if (tree_matches(&m, from, t))
            return built(a, fill_all(a, parsed(a, rules[i].to)), &b);
        struct tree *part =
            str_eq(rules[i].root, "*") ? apply_to_factors(a, &rules[i], from, t) : NULL;
        if (part)
            return part;
    }
    return NULL;
}

struct tree *rules_apply(struct arena *a, struct tree *t)
{
    return apply(a, spellings, ARRAY_LEN(spellings), t);
}

struct tree *rules_unfold(struct arena *a, struct tree *t)
{
    return apply(a, unfoldings, ARRAY_LEN(unfoldings), t);
}

struct tree *rules_reduce(struct arena *a, struct tree *t)
{
    return apply(a, reductions, ARRAY_LEN(reductions), t);
}
