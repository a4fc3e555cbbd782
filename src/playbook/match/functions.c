/* functions.c - the table of CUDA C++ expressions that functions.h describes. */
#include "playbook/match/functions.h"

static const struct c_function functions[OP_COUNT] = {
    [OP_ABS] = {"fabsf($0)", "($0 < 0 ? -$0 : $0)", NULL},
    [OP_ACOS] = {"acosf($0)", NULL, NULL},
    [OP_ACOSH] = {"acoshf($0)", NULL, NULL},
    [OP_ASIN] = {"asinf($0)", NULL, NULL},
    [OP_ASINH] = {"asinhf($0)", NULL, NULL},
    [OP_ATAN] = {"atanf($0)", NULL, NULL},
    [OP_ATAN2] = {"atan2f($0, $1)", NULL, NULL},
    [OP_ATANH] = {"atanhf($0)", NULL, NULL},
    [OP_CEIL] = {"ceilf($0)", NULL, NULL},
    [OP_CELU] = {"($0 > 0.f ? $0 : $1 * expm1f($0 / $1))", NULL, NULL},
    [OP_CLAMP] = {"min_nan(max_nan($0, $1), $2)", "($0 > $2 || $1 > $2 ? $2 : $0 < $1 ? $1 : $0)",
                  NULL},
    [OP_CLAMP_MAX] = {"min_nan($0, $1)", "($0 > $1 ? $1 : $0)", NULL},
    [OP_CLAMP_MIN] = {"max_nan($0, $1)", "($0 < $1 ? $1 : $0)", NULL},
    [OP_COPYSIGN] = {"copysignf($0, $1)", NULL, NULL},
    [OP_COS] = {"cosf($0)", NULL, NULL},
    [OP_COSH] = {"coshf($0)", NULL, NULL},
    [OP_ELU] = {"($0 > 0.f ? $0 : $1 * expm1f($0))", NULL, NULL},
    [OP_ERF] = {"erff($0)", NULL, NULL},
    [OP_ERFC] = {"erfcf($0)", NULL, NULL},
    [OP_EXP] = {"expf($0)", NULL, NULL},
    [OP_EXP2] = {"exp2f($0)", NULL, NULL},
    [OP_EXPM1] = {"expm1f($0)", NULL, NULL},
    [OP_FLOOR] = {"floorf($0)", NULL, NULL},
    [OP_FMOD] = {"fmodf($0, $1)", NULL, NULL},
    [OP_FRAC] = {"($0 - truncf($0))", NULL, NULL},
    [OP_GELU] = {"(0.5f * $0 * (1.f + erff(0.70710678118654752f * $0)))", NULL, NULL},
    [OP_GELU_TANH] = {"(0.5f * $0 * (1.f + tanhf(0.79788456080286536f * ($0 + 0.044715f * $0 * "
                      "$0 * $0))))",
                      NULL, NULL},
    [OP_HARDSHRINK] = {"($0 >= -$1 && $0 <= $1 ? 0.f : $0)", NULL, NULL},
    [OP_HARDSIGMOID] = {"min_nan(max_nan($0 / 6.f + 0.5f, 0.f), 1.f)", NULL, NULL},
    [OP_HARDSWISH] = {"($0 * fminf(fmaxf($0 + 3.f, 0.f), 6.f) / 6.f)", NULL, NULL},
    [OP_HYPOT] = {"hypotf($0, $1)", NULL, NULL},
    [OP_LEAKY_RELU] = {"($0 > 0.f ? $0 : $1 * $0)", NULL, NULL},
    [OP_LERP] = {"($0 + $2 * ($1 - $0))", NULL, NULL},
    [OP_LOG] = {"logf($0)", NULL, NULL},
    [OP_LOG10] = {"log10f($0)", NULL, NULL},
    [OP_LOG1P] = {"log1pf($0)", NULL, NULL},
    [OP_LOG2] = {"log2f($0)", NULL, NULL},
    [OP_LOGADDEXP] = {"($0 == $1 ? $0 + 0.693147181f : max_nan($0, $1) + log1pf(expf(-fabsf($0 - "
                      "$1))))",
                      NULL, NULL},
    [OP_LOGSIGMOID] = {"(fminf($0, 0.f) - log1pf(expf(-fabsf($0))))", NULL, NULL},
    [OP_MAXIMUM] = {"max_nan($0, $1)", "($0 > $1 ? $0 : $1)", NULL},
    [OP_MINIMUM] = {"min_nan($0, $1)", "($0 < $1 ? $0 : $1)", NULL},
    [OP_MISH] = {"mish($0)", NULL, NULL},
    [OP_RECIPROCAL] = {"(1.f / $0)", NULL, NULL},
    [OP_RELU] = {"($0 > 0.f ? $0 : ($0 == $0 ? 0.f : $0))", "($0 > 0 ? $0 : 0)", NULL},
    [OP_ROUND] = {"rintf($0)", NULL, NULL},
    [OP_RSQRT] = {"rsqrtf($0)", NULL, NULL},
    [OP_SELU] = {"(1.0507009873554805f * ($0 > 0.f ? $0 : 1.6732632423543772f * expm1f($0)))", NULL,
                 NULL},
    [OP_SIGMOID] = {"(1.f / (1.f + expf(-$0)))", NULL, NULL},
    [OP_SIGN] = {"(float($0 > 0.f) - float($0 < 0.f))", "(($0 > 0) - ($0 < 0))", NULL},
    [OP_SILU] = {"($0 / (1.f + expf(-$0)))", NULL, NULL},
    [OP_SIN] = {"sinf($0)", NULL, NULL},
    [OP_SINH] = {"sinhf($0)", NULL, NULL},
    [OP_SOFTPLUS] = {"($0 * $1 > $2 ? $0 : log1pf(expf($0 * $1)) / $1)", NULL, NULL},
    [OP_SOFTSHRINK] = {"($0 > $1 ? $0 - $1 : $0 < -$1 ? $0 + $1 : $0 * 0.f)", NULL, NULL},
    [OP_SOFTSIGN] = {"($0 / (1.f + fabsf($0)))", NULL, NULL},
    [OP_SQRT] = {"sqrtf($0)", NULL, NULL},
    [OP_SQUARE] = {"($0 * $0)", "(uint64_t($0) * uint64_t($0))", NULL},
    [OP_TAN] = {"tanf($0)", NULL, NULL},
    [OP_TANH] = {"tanhf($0)", NULL, NULL},
    [OP_TANHSHRINK] = {"($0 - tanhf($0))", NULL, NULL},
    [OP_THRESHOLD] = {"($0 > $1 ? $0 : ($0 == $0 ? $2 : $0))", NULL, NULL},
    [OP_TRUNC] = {"truncf($0)", NULL, NULL},
    [OP_ISFINITE] = {NULL, NULL, "(fabsf($0) < " C_INFINITY ")"},
    [OP_ISINF] = {NULL, NULL, "(fabsf($0) == " C_INFINITY ")"},
    [OP_ISNAN] = {NULL, NULL, "($0 != $0)"},
    [OP_LOGICAL_AND] = {NULL, NULL, "($0 && $1)"},
    [OP_LOGICAL_NOT] = {NULL, NULL, "(!$0)"},
    [OP_LOGICAL_OR] = {NULL, NULL, "($0 || $1)"},
    [OP_LOGICAL_XOR] = {NULL, NULL, "(!$0 != !$1)"},
};

static const struct c_fast_function fast[OP_COUNT] = {
    [OP_EXP] = {"exp_rough($0)", "quick_exp($0)"},
    [OP_GELU] = {"gelu_rough($0)", NULL},
    [OP_GELU_TANH] = {"gelu_tanh_rough($0)", "quick_gelu($0)"},
    [OP_SIGMOID] = {"ratio_rough(1.f, 1.f + exp_rough(-$0))", "quick_sigmoid($0)"},
    [OP_SILU] = {"ratio_rough($0, 1.f + exp_rough(-$0))", "($0 * quick_sigmoid($0))"},
    [OP_TANH] = {NULL, "quick_tanh($0)"},
};

const struct c_fast_function *c_fast_function(enum graph_op op)
{
    return &fast[op];
}

const struct c_function *c_function(enum graph_op op)
{
    return &functions[op];
}
