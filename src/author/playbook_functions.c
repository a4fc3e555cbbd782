#include "author/playbook_functions.h"

#include "author/playbook_read.h"
#include "base/util.h"

/* Of floats; what is not one becomes one. */
static const struct torch_function real_functions[] = {
    {"abs", 1, 1, "fabsf($0)", {0}},
    {"acos", 1, 1, "acosf($0)", {0}},
    {"acosh", 1, 1, "acoshf($0)", {0}},
    {"asin", 1, 1, "asinf($0)", {0}},
    {"asinh", 1, 1, "asinhf($0)", {0}},
    {"atan", 1, 1, "atanf($0)", {0}},
    {"atan2", 2, 2, "atan2f($0, $1)", {0}},
    {"atanh", 1, 1, "atanhf($0)", {0}},
    {"ceil", 1, 1, "ceilf($0)", {0}},
    {"celu", 1, 2, "($0 > 0.f ? $0 : $1 * expm1f($0 / $1))", {0, "1.f"}},
    {"clamp", 2, 3, "min_nan(max_nan($0, $1), $2)", {0, 0, TORCH_INFINITE}},
    {"clamp_max", 2, 2, "min_nan($0, $1)", {0}},
    {"clamp_min", 2, 2, "max_nan($0, $1)", {0}},
    {"copysign", 2, 2, "copysignf($0, $1)", {0}},
    {"cos", 1, 1, "cosf($0)", {0}},
    {"cosh", 1, 1, "coshf($0)", {0}},
    {"elu", 1, 2, "($0 > 0.f ? $0 : $1 * expm1f($0))", {0, "1.f"}},
    {"erf", 1, 1, "erff($0)", {0}},
    {"erfc", 1, 1, "erfcf($0)", {0}},
    {"exp", 1, 1, "expf($0)", {0}},
    {"exp2", 1, 1, "exp2f($0)", {0}},
    {"expm1", 1, 1, "expm1f($0)", {0}},
    {"floor", 1, 1, "floorf($0)", {0}},
    {"fmod", 2, 2, "fmodf($0, $1)", {0}},
    {"frac", 1, 1, "($0 - truncf($0))", {0}},
    {"gelu", 1, 1, "(0.5f * $0 * (1.f + erff(0.70710678118654752f * $0)))", {0}},
    {"gelu_tanh",
     1,
     1,
     "(0.5f * $0 * (1.f + tanhf(0.79788456080286536f * ($0 + 0.044715f * $0 * $0 * $0))))",
     {0}},
    {"hardshrink", 1, 2, "($0 >= -$1 && $0 <= $1 ? 0.f : $0)", {0, "0.5f"}},
    {"hardsigmoid", 1, 1, "min_nan(max_nan($0 / 6.f + 0.5f, 0.f), 1.f)", {0}},
    {"hardswish", 1, 1, "($0 * fminf(fmaxf($0 + 3.f, 0.f), 6.f) / 6.f)", {0}},
    {"hardtanh", 1, 3, "min_nan(max_nan($0, $1), $2)", {0, "-1.f", "1.f"}},
    {"hypot", 2, 2, "hypotf($0, $1)", {0}},
    {"leaky_relu", 1, 2, "($0 > 0.f ? $0 : $1 * $0)", {0, "0.01f"}},
    {"lerp", 3, 3, "($0 + $2 * ($1 - $0))", {0}},
    {"log", 1, 1, "logf($0)", {0}},
    {"log10", 1, 1, "log10f($0)", {0}},
    {"log1p", 1, 1, "log1pf($0)", {0}},
    {"log2", 1, 1, "log2f($0)", {0}},
    {"logaddexp",
     2,
     2,
     "($0 == $1 ? $0 + 0.693147181f : max_nan($0, $1) + log1pf(expf(-fabsf($0 - $1))))",
     {0}},
    {"logsigmoid", 1, 1, "(fminf($0, 0.f) - log1pf(expf(-fabsf($0))))", {0}},
    {"maximum", 2, 2, "max_nan($0, $1)", {0}},
    {"minimum", 2, 2, "min_nan($0, $1)", {0}},
    {"mish", 1, 1, "($0 * tanhf($0 > 20.f ? $0 : log1pf(expf($0))))", {0}},
    {"neg", 1, 1, "(-$0)", {0}},
    {"pow", 2, 2, "powf($0, $1)", {0}},
    {"reciprocal", 1, 1, "(1.f / $0)", {0}},
    {"relu", 1, 1, "($0 > 0.f ? $0 : ($0 == $0 ? 0.f : $0))", {0}},
    {"relu6", 1, 1, "min_nan(max_nan($0, 0.f), 6.f)", {0}},
    {"round", 1, 1, "rintf($0)", {0}},
    {"rsqrt", 1, 1, "rsqrtf($0)", {0}},
    {"selu",
     1,
     1,
     "(1.0507009873554805f * ($0 > 0.f ? $0 : 1.6732632423543772f * expm1f($0)))",
     {0}},
    {"sigmoid", 1, 1, "(1.f / (1.f + expf(-$0)))", {0}},
    {"sign", 1, 1, "(float($0 > 0.f) - float($0 < 0.f))", {0}},
    {"silu", 1, 1, "($0 / (1.f + expf(-$0)))", {0}},
    {"sin", 1, 1, "sinf($0)", {0}},
    {"sinh", 1, 1, "sinhf($0)", {0}},
    {"softplus", 1, 3, "($0 * $1 > $2 ? $0 : log1pf(expf($0 * $1)) / $1)", {0, "1.f", "20.f"}},
    {"softshrink", 1, 2, "($0 > $1 ? $0 - $1 : $0 < -$1 ? $0 + $1 : $0 * 0.f)", {0, "0.5f"}},
    {"softsign", 1, 1, "($0 / (1.f + fabsf($0)))", {0}},
    {"sqrt", 1, 1, "sqrtf($0)", {0}},
    {"square", 1, 1, "($0 * $0)", {0}},
    {"tan", 1, 1, "tanf($0)", {0}},
    {"tanh", 1, 1, "tanhf($0)", {0}},
    {"tanhshrink", 1, 1, "($0 - tanhf($0))", {0}},
    {"threshold", 3, 3, "($0 > $1 ? $0 : ($0 == $0 ? $2 : $0))", {0}},
    {"trunc", 1, 1, "truncf($0)", {0}},
};

/* Those that stay integers where all arguments are. */
static const struct torch_function whole_functions[] = {
    {"abs", 1, 1, "($0 < 0 ? -$0 : $0)", {0}},
    {"clamp", 2, 3, "($0 < $1 ? $1 : $0 > $2 ? $2 : $0)", {0, 0, "0x7fffffffffffffff"}},
    {"clamp_max", 2, 2, "($0 > $1 ? $1 : $0)", {0}},
    {"clamp_min", 2, 2, "($0 < $1 ? $1 : $0)", {0}},
    {"maximum", 2, 2, "($0 > $1 ? $0 : $1)", {0}},
    {"minimum", 2, 2, "($0 < $1 ? $0 : $1)", {0}},
    {"neg", 1, 1, "(0 - uint64_t($0))", {0}},
    {"relu", 1, 1, "($0 > 0 ? $0 : 0)", {0}},
    {"sign", 1, 1, "(($0 > 0) - ($0 < 0))", {0}},
    {"square", 1, 1, "(uint64_t($0) * uint64_t($0))", {0}},
};

/* Those that say yes or no, of whatever type. */
static const struct torch_function test_functions[] = {
    {"isfinite", 1, 1, "(fabsf($0) < " TORCH_INFINITE ")", {0}},
    {"isinf", 1, 1, "(fabsf($0) == " TORCH_INFINITE ")", {0}},
    {"isnan", 1, 1, "($0 != $0)", {0}},
    {"logical_and", 2, 2, "($0 && $1)", {0}},
    {"logical_not", 1, 1, "(!$0)", {0}},
    {"logical_or", 2, 2, "($0 || $1)", {0}},
    {"logical_xor", 2, 2, "(!$0 != !$1)", {0}},
};

/* Functions that are operators by another name. */
static const struct {
    const char *name, *op;
} operator_functions[] = {
    {"add", "+"},         {"sub", "-"},           {"mul", "*"},         {"div", "/"},
    {"eq", "=="},         {"ne", "!="},           {"lt", "<"},          {"le", "<="},
    {"gt", ">"},          {"ge", ">="},           {"bitwise_and", "&"}, {"bitwise_or", "|"},
    {"bitwise_xor", "^"}, {"subtract", "-"},      {"multiply", "*"},    {"divide", "/"},
    {"true_divide", "/"}, {"less", "<"},          {"less_equal", "<="}, {"greater", ">"},
    {"not_equal", "!="},  {"greater_equal", ">="}};

static const struct {
    const struct torch_function *rows;
    size_t n;
} tables[] = {[OF_REALS] = {real_functions, ARRAY_LEN(real_functions)},
              [OF_WHOLES] = {whole_functions, ARRAY_LEN(whole_functions)},
              [TESTS] = {test_functions, ARRAY_LEN(test_functions)}};

const struct torch_function *torch_function(enum function_table in, const char *name, size_t len,
                                            unsigned args)
{
    for (size_t i = 0; i < tables[in].n; i++) {
        const struct torch_function *f = &tables[in].rows[i];
        if (text_is(name, len, f->name) && args >= f->least && args <= f->most)
            return f;
    }
    return NULL;
}

const char *torch_operator(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(operator_functions); i++)
        if (text_is(name, len, operator_functions[i].name))
            return operator_functions[i].op;
    return NULL;
}

bool torch_knows(const char *name, size_t len)
{
    for (size_t t = 0; t < ARRAY_LEN(tables); t++)
        for (size_t i = 0; i < tables[t].n; i++)
            if (text_is(name, len, tables[t].rows[i].name))
                return true;
    return torch_operator(name, len) != NULL;
}
