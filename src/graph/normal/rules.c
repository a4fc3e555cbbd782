/*
 * rules.c - the rewrite rules of the graph. A value that matches the first text of a rule is
 * replaced by the value that the second text describes.
 *
 * To add a rule, add a row to one of the three lists. pattern.h describes the texts. A rule for a
 * product may replace two of several factors. A rule is skipped if its result would have another
 * dtype or shape than the value.
 */
#include "graph/normal/rules.h"

#include <assert.h>
#include <pthread.h>

#include "base/util.h"
#include "graph/normal/compare.h"
#include "graph/normal/pattern.h"

enum { MAX_RULES = 32, MAX_FACTORS = 12 };

struct rule {
    const char *from, *to;
};

/* Both sides compute the same, except for rounding. */
static const struct rule spellings[] = {
    {"mul($a, $a)", "square($a)"},
    {"pow($a, 2)", "square($a)"},
    {"pow($a, 0.5)", "sqrt($a)"},
    {"pow($a, -0.5)", "rsqrt($a)"},
    {"pow($a, 1)", "$a"},
    {"sqrt(sum(square($a), $axes, $keep))", "norm($a, 2, $axes, $keep)"},
    {"norm($a, 1, $axes, $keep)", "sum(abs($a), $axes, $keep)"},
    {"norm($a, inf, $axes, $keep)", "amax(abs($a), $axes, $keep)"},
    {"log(sum(exp($a), $axes, $keep))", "logsumexp($a, $axes, $keep)"},
    {"div(exp($a), sum(exp($a), $axis, true))", "softmax($a, $axis)"},
    {"sub($a, logsumexp($a, $axis, true))", "log_softmax($a, $axis)"},
    {"log(softmax($a, $axis))", "log_softmax($a, $axis)"},
    {"exp(log_softmax($a, $axis))", "softmax($a, $axis)"},
    {"softmax(sub($a, amax($a, $axis, true)), $axis)", "softmax($a, $axis)"},
    {"where(gt($a, 20), $a, log1p(exp($a)))", "softplus($a, 1, 20)"},
    {"mul($a, tanh(softplus($a, 1, 20)))", "mish($a)"},
};

/* These rules serve only to compare two graphs: a kernel would compute the two sides in different
 * ways. */
static const struct rule comparisons[] = {
    {"div(1, $a)", "reciprocal($a)"},
    {"div($a, $b)", "mul($a, reciprocal($b))"},
    {"reciprocal(sqrt($a))", "rsqrt($a)"},
    {"reciprocal(std($a, $axes, $c, $keep))", "rsqrt(var($a, $axes, $c, $keep))"},
    {"reciprocal(add(1, exp(neg($a))))", "sigmoid($a)"},
    {"mul($a, sigmoid($a))", "silu($a)"},
    {"mean(square(sub($a, mean($a, $axes, true))), $axes, $keep)", "var($a, $axes, 0, $keep)"},
    {"clamp_min($a, 0)", "relu($a)"},
    {"maximum($a, 0)", "relu($a)"},
};

/* These rules write operations along axes as sums and maxima. $n is the number of elements along
 * those axes. $last is the list of the axes of a layer_norm or rms_norm. */
static const struct rule unfoldings[] = {
    {"mean($a, $axes, $keep)", "div(sum($a, $axes, $keep), $n)"},
    {"var($a, $axes, 0, $keep)",
     "div(sum(square(sub($a, div(sum($a, $axes, true), $n))), $axes, $keep), $n)"},
    {"var($a, $axes, 1, $keep)",
     "div(sum(square(sub($a, div(sum($a, $axes, true), $n))), $axes, $keep), sub($n, 1))"},
    {"std($a, $axes, $c, $keep)", "sqrt(var($a, $axes, $c, $keep))"},
    {"norm($a, 2, $axes, $keep)", "sqrt(sum(square($a), $axes, $keep))"},
    {"logsumexp($a, $axes, $keep)",
     "add(log(sum(exp(sub($a, amax($a, $axes, true))), $axes, $keep)), amax($a, $axes, $keep))"},
    {"softmax($a, $axis)",
     "div(exp(sub($a, amax($a, $axis, true))), sum(exp(sub($a, amax($a, $axis, true))), $axis, "
     "true))"},
    {"log_softmax($a, $axis)",
     "sub(sub($a, amax($a, $axis, true)), log(sum(exp(sub($a, amax($a, $axis, true))), $axis, "
     "true)))"},
    {"layer_norm($a, none, none, $eps, $k)",
     "mul(sub($a, mean($a, $last, true)), rsqrt(add(var($a, $last, 0, true), $eps)))"},
    {"layer_norm($a, $w, none, $eps, $k)",
     "mul(mul(sub($a, mean($a, $last, true)), rsqrt(add(var($a, $last, 0, true), $eps))), $w)"},
    {"layer_norm($a, $w, $b, $eps, $k)",
     "add(mul(mul(sub($a, mean($a, $last, true)), rsqrt(add(var($a, $last, 0, true), $eps))), $w), "
     "$b)"},
    {"rms_norm($a, none, $eps, $k)", "mul($a, rsqrt(add(mean(square($a), $last, true), $eps)))"},
    {"rms_norm($a, $w, $eps, $k)",
     "mul(mul($a, rsqrt(add(mean(square($a), $last, true), $eps))), $w)"},
    {"normalize($a, $eps, 2, $axis)", "div($a, clamp_min(norm($a, 2, $axis, true), $eps))"},
    {"normalize($a, $eps, 1, $axis)", "div($a, clamp_min(sum(abs($a), $axis, true), $eps))"},
    {"triplet_margin_loss($a, $near, $far, $margin, $eps, mean)",
     "mean(relu(sub(add(norm(add(sub($a, $near), $eps), 2, 1, false), $margin), norm(add(sub($a, "
     "$far), $eps), 2, 1, false))), 0, false)"},
};

/* ---- the lists, parsed once ------------------------------------------------------------------ */

struct parsed_rules {
    struct {
        const struct pattern *from, *to;
    } rule[MAX_RULES];
    size_t n;
};

static struct {
    struct arena mem; /* lives as long as the process */
    struct parsed_rules spellings, comparisons, unfoldings;
} all;

static void parse_list(const struct rule *rules, size_t n, struct parsed_rules *out)
{
    for (size_t i = 0; i < n; i++) {
        out->rule[i].from = pattern_parse(&all.mem, rules[i].from);
        out->rule[i].to = pattern_parse(&all.mem, rules[i].to);
        if (!out->rule[i].from || !out->rule[i].to)
            BUG("cannot read the rule %s -> %s", rules[i].from, rules[i].to);
    }
    out->n = n;
}

static_assert(ARRAY_LEN(spellings) <= MAX_RULES && ARRAY_LEN(comparisons) <= MAX_RULES &&
                  ARRAY_LEN(unfoldings) <= MAX_RULES,
              "more than MAX_RULES rules in a list");

static void parse_all(void)
{
    parse_list(spellings, ARRAY_LEN(spellings), &all.spellings);
    parse_list(comparisons, ARRAY_LEN(comparisons), &all.comparisons);
    parse_list(unfoldings, ARRAY_LEN(unfoldings), &all.unfoldings);
}

static void parse_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pthread_once(&once, parse_all))
        BUG("pthread_once failed");
}

/* ---- applying a rule ------------------------------------------------------------------------- */

bool value_fits(const struct value *made, const struct value *v)
{
    if (!made || made->dtype != v->dtype || made->weak != v->weak || made->rank != v->rank)
        return false;
    for (size_t i = 0; i < v->rank; i++)
        if (!dim_same(made->shape[i], v->shape[i]))
            return false;
    return true;
}

const struct dim *reduced_count(struct graph *g, const struct value *v)
{
    const struct attr *axes = value_attr(v, "dim");
    const struct dim *sizes[GRAPH_MAX_RANK];
    for (size_t i = 0; i < axes->n; i++)
        sizes[i] = v->args[0]->shape[axes->ints[i]];
    return dim_product(&g->dims, sizes, axes->n);
}

/* Applies a rule to two factors of a product; the others stay, in their order. */
static const struct value *apply_to_factors(struct graph *g, const struct pattern *from,
                                            const struct pattern *to, const struct value *v)
{
    const struct value *factors[MAX_FACTORS];
    size_t n = value_operands(v, OP_MUL, factors, MAX_FACTORS);
    for (size_t i = 0; n > 2 && n <= MAX_FACTORS && i < n; i++)
        for (size_t k = 0; k < n; k++) {
            struct bindings b = BINDINGS_INIT;
            if (i == k || !pattern_matches_two(from, factors[i], factors[k], &b))
                continue;
            const struct value *product = pattern_build(g, to, &b);
            for (size_t j = 0; product && j < n; j++)
                if (j != i && j != k)
                    product = graph_add2(g, OP_MUL, product, factors[j], NULL);
            return product;
        }
    return NULL;
}

/* Returns the result of the first rule that fits v, or NULL. `n` and `last` are what $n and $last
 * stand for; NULL if the rules do not use that name. */
static const struct value *apply(struct graph *g, const struct parsed_rules *rules,
                                 const struct value *v, const struct value *n,
                                 const struct attr *last)
{
    for (size_t i = 0; i < rules->n; i++) {
        const struct pattern *from = rules->rule[i].from, *to = rules->rule[i].to;
        const struct value *made = NULL;
        struct bindings b = BINDINGS_INIT;
        if (pattern_op(from) != v->op)
            continue;
        if (n)
            pattern_bind(&b, "n", n);
        if (last)
            pattern_bind_attr(&b, "last", last);
        if (pattern_matches(from, v, &b))
            made = pattern_build(g, to, &b);
        else if (v->op == OP_MUL)
            made = apply_to_factors(g, from, to, v);
        if (value_fits(made, v))
            return made;
    }
    return NULL;
}

const struct value *rules_apply_spellings(struct graph *g, const struct value *v)
{
    parse_once();
    /* A weak value is a Python number. Python computes it, not PyTorch, so these rules do not
     * hold. */
    return v->weak ? NULL : apply(g, &all.spellings, v, NULL, NULL);
}

const struct value *rules_apply_comparisons(struct graph *g, const struct value *v)
{
    parse_once();
    return apply(g, &all.comparisons, v, NULL, NULL);
}

const struct value *rules_apply_unfoldings(struct graph *g, const struct value *v)
{
    parse_once();
    bool reduces = op_row(v->op)->kind == OPK_REDUCTION;
    const struct value *n = reduces ? graph_size(g, reduced_count(g, v)) : NULL;
    if (v->op != OP_LAYER_NORM && v->op != OP_RMS_NORM)
        return apply(g, &all.unfoldings, v, n, NULL);
    struct attr last = attr_last_axes(v->args[0], value_attr(v, "axes")->i);
    return apply(g, &all.unfoldings, v, n, &last);
}
