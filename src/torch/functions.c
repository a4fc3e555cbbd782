/*
 * functions.c - the table of PyTorch's functions, and how arguments find their parameters.
 */
#include "torch/functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { BOTH = IN_TORCH | IN_METHODS };

/* Rows of the table:
 *    ELEMENTWISE, UNARY, BINARY  exactly one operation, whose operands are the arguments
 *    VALUE                       returns a tensor
 *    OBJECT                      may return a tuple
 *    VIEW                        the result may share memory with the input
 *    VIEW_OF                     a view that also accepts separate integers: x.permute(0, 2, 1)
 *    PIECES                      a view that returns a tuple
 *    METHOD, QUESTION            only methods; a QUESTION does not return a tensor
 *    TORCH                       returns a tensor; not a method
 *    LINALG                      in torch.linalg */
#define ELEMENTWISE(names, takes, op)                                 \
    {                                                                 \
        names, takes, op, build_elementwise, NULL, BOTH, false, false \
    }
#define UNARY(names, op) ELEMENTWISE(names, "input", op)
#define BINARY(names, op) ELEMENTWISE(names, "input other", op)
#define VALUE(names, takes, op, build)                    \
    {                                                     \
        names, takes, op, build, NULL, BOTH, false, false \
    }
#define OBJECT(names, takes, build)                             \
    {                                                           \
        names, takes, OP_INPUT, NULL, build, BOTH, false, false \
    }
#define VIEW(names, takes, build)                              \
    {                                                          \
        names, takes, OP_INPUT, build, NULL, BOTH, false, true \
    }
#define VIEW_OF(names, takes, build)                          \
    {                                                         \
        names, takes, OP_INPUT, build, NULL, BOTH, true, true \
    }
#define PIECES(names, takes, build)                            \
    {                                                          \
        names, takes, OP_INPUT, NULL, build, BOTH, false, true \
    }
#define METHOD(names, takes, build)                                  \
    {                                                                \
        names, takes, OP_INPUT, build, NULL, IN_METHODS, false, true \
    }
#define QUESTION(names, takes, build)                                 \
    {                                                                 \
        names, takes, OP_INPUT, NULL, build, IN_METHODS, false, false \
    }
#define TORCH(names, takes, op, build)                        \
    {                                                         \
        names, takes, op, build, NULL, IN_TORCH, false, false \
    }
#define LINALG(names, takes, build)                                 \
    {                                                               \
        names, takes, OP_NORM, build, NULL, IN_LINALG, false, false \
    }

static const struct function functions[] = {
    /* arithmetic */
    VALUE("add", "input other alpha=1", OP_ADD, build_scaled),
    VALUE("sub subtract", "input other alpha=1", OP_SUB, build_scaled),
    BINARY("mul multiply", OP_MUL),
    VALUE("div divide", "input other rounding_mode=None", OP_DIV, build_div),
    BINARY("true_divide", OP_DIV),
    BINARY("floor_divide", OP_FLOOR_DIV),
    BINARY("remainder", OP_REMAINDER),
    BINARY("fmod", OP_FMOD),
    ELEMENTWISE("pow", "input exponent", OP_POW),
    VALUE("addcmul", "input tensor1 tensor2 value=1", OP_MUL, build_addc),
    VALUE("addcdiv", "input tensor1 tensor2 value=1", OP_DIV, build_addc),
    ELEMENTWISE("lerp", "input end weight", OP_LERP),
    VALUE("clamp clip", "input min=None max=None", OP_CLAMP, build_clamp),
    ELEMENTWISE("clamp_min", "input min", OP_CLAMP_MIN),
    ELEMENTWISE("clamp_max", "input max", OP_CLAMP_MAX),
    ELEMENTWISE("hardtanh", "input min_val=-1 max_val=1", OP_CLAMP),
    VALUE("relu6", "input", OP_CLAMP, build_relu6),
    BINARY("maximum", OP_MAXIMUM),
    BINARY("minimum", OP_MINIMUM),
    UNARY("neg negative", OP_NEG),
    UNARY("abs absolute", OP_ABS),
    UNARY("square", OP_SQUARE),
    UNARY("sign sgn", OP_SIGN),
    UNARY("relu", OP_RELU),

    /* bits, comparisons, choices */
    BINARY("bitwise_and", OP_AND),
    BINARY("bitwise_or", OP_OR),
    BINARY("bitwise_xor", OP_XOR),
    UNARY("bitwise_not", OP_NOT),
    BINARY("bitwise_left_shift", OP_SHL),
    BINARY("bitwise_right_shift", OP_SHR),
    BINARY("eq", OP_EQ),
    BINARY("ne not_equal", OP_NE),
    BINARY("lt less", OP_LT),
    BINARY("le less_equal", OP_LE),
    BINARY("gt greater", OP_GT),
    BINARY("ge greater_equal", OP_GE),
    UNARY("isfinite", OP_ISFINITE),
    UNARY("isinf", OP_ISINF),
    UNARY("isnan", OP_ISNAN),
    BINARY("logical_and", OP_LOGICAL_AND),
    BINARY("logical_or", OP_LOGICAL_OR),
    BINARY("logical_xor", OP_LOGICAL_XOR),
    UNARY("logical_not", OP_LOGICAL_NOT),
    ELEMENTWISE("where", "condition input other", OP_WHERE),
    VALUE("masked_fill", "input mask value", OP_WHERE, build_masked_fill),
    VALUE("triu", "input diagonal=0", OP_GE, build_triangle),
    VALUE("tril", "input diagonal=0", OP_LE, build_triangle),

    /* functions of reals */
    UNARY("acos arccos", OP_ACOS),
    UNARY("acosh arccosh", OP_ACOSH),
    UNARY("asin arcsin", OP_ASIN),
    UNARY("asinh arcsinh", OP_ASINH),
    UNARY("atan arctan", OP_ATAN),
    BINARY("atan2 arctan2", OP_ATAN2),
    UNARY("atanh arctanh", OP_ATANH),
    UNARY("ceil", OP_CEIL),
    ELEMENTWISE("celu", "input alpha=1", OP_CELU),
    BINARY("copysign", OP_COPYSIGN),
    UNARY("cos", OP_COS),
    UNARY("cosh", OP_COSH),
    ELEMENTWISE("elu", "input alpha=1", OP_ELU),
    UNARY("erf", OP_ERF),
    UNARY("erfc", OP_ERFC),
    UNARY("exp", OP_EXP),
    UNARY("exp2", OP_EXP2),
    UNARY("expm1", OP_EXPM1),
    UNARY("floor", OP_FLOOR),
    UNARY("frac", OP_FRAC),
    VALUE("gelu", "input approximate='none'", OP_GELU, build_gelu),
    VALUE("glu", "input dim=-1", OP_MUL, build_glu),
    ELEMENTWISE("hardshrink", "input lambd=0.5", OP_HARDSHRINK),
    UNARY("hardsigmoid", OP_HARDSIGMOID),
    UNARY("hardswish", OP_HARDSWISH),
    BINARY("hypot", OP_HYPOT),
    ELEMENTWISE("leaky_relu", "input negative_slope=0.01", OP_LEAKY_RELU),
    UNARY("log", OP_LOG),
    UNARY("log10", OP_LOG10),
    UNARY("log1p", OP_LOG1P),
    UNARY("log2", OP_LOG2),
    BINARY("logaddexp", OP_LOGADDEXP),
    UNARY("logsigmoid", OP_LOGSIGMOID),
    UNARY("mish", OP_MISH),
    UNARY("reciprocal", OP_RECIPROCAL),
    UNARY("round", OP_ROUND),
    UNARY("rsqrt", OP_RSQRT),
    UNARY("selu", OP_SELU),
    UNARY("sigmoid expit", OP_SIGMOID),
    UNARY("silu", OP_SILU),
    UNARY("sin", OP_SIN),
    UNARY("sinh", OP_SINH),
    ELEMENTWISE("softplus", "input beta=1 threshold=20", OP_SOFTPLUS),
    ELEMENTWISE("softshrink", "input lambd=0.5", OP_SOFTSHRINK),
    UNARY("softsign", OP_SOFTSIGN),
    UNARY("sqrt", OP_SQRT),
    UNARY("tan", OP_TAN),
    UNARY("tanh", OP_TANH),
    UNARY("tanhshrink", OP_TANHSHRINK),
    ELEMENTWISE("threshold", "input threshold value", OP_THRESHOLD),
    UNARY("trunc fix", OP_TRUNC),

    /* reductions */
    VALUE("sum", "input dim=None keepdim=False dtype=None", OP_SUM, build_reduce_as),
    VALUE("mean", "input dim=None keepdim=False dtype=None", OP_MEAN, build_reduce_as),
    VALUE("prod", "input dim=None keepdim=False dtype=None", OP_PROD, build_reduce_as),
    VALUE("amax", "input dim=None keepdim=False", OP_AMAX, build_reduce),
    VALUE("amin", "input dim=None keepdim=False", OP_AMIN, build_reduce),
    VALUE("argmax", "input dim=None keepdim=False", OP_ARGMAX, build_reduce),
    VALUE("argmin", "input dim=None keepdim=False", OP_ARGMIN, build_reduce),
    VALUE("any", "input dim=None keepdim=False", OP_ANY, build_reduce),
    VALUE("all", "input dim=None keepdim=False", OP_ALL, build_reduce),
    VALUE("logsumexp", "input dim keepdim=False", OP_LOGSUMEXP, build_reduce),
    VALUE("var", "input dim=None unbiased=True keepdim=False correction=None", OP_VAR,
          build_spread),
    VALUE("std", "input dim=None unbiased=True keepdim=False correction=None", OP_STD,
          build_spread),
    VALUE("norm", "input p=2 dim=None keepdim=False dtype=None", OP_NORM, build_norm),
    LINALG("vector_norm", "input p=2 dim=None keepdim=False dtype=None", build_vector_norm),
    LINALG("norm", "input p=None dim=None keepdim=False dtype=None", build_linalg_norm),
    VALUE("count_nonzero", "input dim=None", OP_SUM, build_count_nonzero),
    OBJECT("max", "input dim=None keepdim=False other=None", build_max),
    OBJECT("min", "input dim=None keepdim=False other=None", build_min),
    VALUE("adaptive_avg_pool1d", "input output_size", OP_MEAN, build_pool1d),
    VALUE("adaptive_avg_pool2d", "input output_size", OP_MEAN, build_pool2d),
    VALUE("adaptive_max_pool2d", "input output_size", OP_AMAX, build_pool2d),

    /* along one axis */
    VALUE("softmax", "input dim=None dtype=None", OP_SOFTMAX, build_along),
    VALUE("log_softmax", "input dim=None dtype=None", OP_LOG_SOFTMAX, build_along),
    VALUE("softmin", "input dim=None dtype=None", OP_SOFTMIN, build_along),
    VALUE("cumsum", "input dim dtype=None", OP_CUMSUM, build_along),
    VALUE("cumprod", "input dim dtype=None", OP_CUMPROD, build_along),
    OBJECT("cummax", "input dim", build_cummax),
    OBJECT("cummin", "input dim", build_cummin),

    /* norms and losses */
    VALUE("layer_norm", "input normalized_shape weight=None bias=None eps=1e-05", OP_LAYER_NORM,
          build_layer_norm),
    VALUE("rms_norm", "input normalized_shape weight=None eps=None", OP_RMS_NORM, build_rms_norm),
    VALUE("batch_norm",
          "input running_mean running_var weight=None bias=None training=False momentum=0.1 "
          "eps=1e-05",
          OP_MUL, build_batch_norm),
    TORCH("group_norm", "input num_groups weight=None bias=None eps=1e-05", OP_MUL,
          build_group_norm),
    TORCH("instance_norm",
          "input running_mean=None running_var=None weight=None bias=None use_input_stats=True "
          "momentum=0.1 eps=1e-05",
          OP_MUL, build_instance_norm),
    VALUE("normalize", "input p=2 dim=1 eps=1e-12", OP_NORMALIZE, build_normalize),
    VALUE("mse_loss", "input target size_average=None reduce=None reduction='mean'", OP_SQUARE,
          build_mse_loss),
    VALUE("l1_loss", "input target size_average=None reduce=None reduction='mean'", OP_ABS,
          build_l1_loss),
    VALUE("cross_entropy",
          "input target weight=None size_average=None ignore_index=-100 reduce=None "
          "reduction='mean' label_smoothing=0",
          OP_CROSS_ENTROPY, build_cross_entropy),
    TORCH("nll_loss",
          "input target weight=None size_average=None ignore_index=-100 reduce=None "
          "reduction='mean'",
          OP_GATHER, build_nll_loss),
    VALUE("triplet_margin_loss",
          "anchor positive negative margin=1 p=2 eps=1e-06 swap=False size_average=None "
          "reduce=None reduction='mean'",
          OP_TRIPLET_MARGIN_LOSS, build_triplet),

    /* products */
    VALUE("matmul", "input other", OP_MATMUL, build_matmul),
    VALUE("mm", "input mat2", OP_MATMUL, build_mm),
    VALUE("bmm", "input mat2", OP_MATMUL, build_bmm),
    VALUE("mv", "input vec", OP_MATMUL, build_mv),
    VALUE("dot", "input tensor", OP_MATMUL, build_dot),
    VALUE("outer ger", "input vec2", OP_MUL, build_outer),
    VALUE("addmm", "input mat1 mat2 beta=1 alpha=1", OP_MATMUL, build_addmm),
    VALUE("baddbmm", "input batch1 batch2 beta=1 alpha=1", OP_MATMUL, build_addmm),
    VALUE("linear", "input weight bias=None", OP_MATMUL, build_linear),
    VALUE("conv1d", "input weight bias=None stride=1 padding=0 dilation=1 groups=1", OP_CONV,
          build_conv1d),
    VALUE("conv2d", "input weight bias=None stride=1 padding=0 dilation=1 groups=1", OP_CONV,
          build_conv2d),
    VALUE("conv3d", "input weight bias=None stride=1 padding=0 dilation=1 groups=1", OP_CONV,
          build_conv3d),
    VALUE("scaled_dot_product_attention",
          "query key value attn_mask=None dropout_p=0 is_causal=False scale=None enable_gqa=False",
          OP_ATTENTION, build_attention),

    /* by index */
    VALUE("embedding",
          "input weight padding_idx=None max_norm=None norm_type=2 scale_grad_by_freq=False "
          "sparse=False",
          OP_INDEX_SELECT, build_embedding),
    VALUE("embedding_bag",
          "input weight offsets=None max_norm=None norm_type=2 scale_grad_by_freq=False "
          "mode='mean' sparse=False per_sample_weights=None include_last_offset=False "
          "padding_idx=None",
          OP_EMBEDDING_BAG, build_embedding_bag),
    VALUE("index_select", "input dim index", OP_INDEX_SELECT, build_index_select),
    VALUE("gather", "input dim index sparse_grad=False", OP_GATHER, build_gather),
    TORCH("one_hot", "tensor num_classes=-1", OP_EQ, build_one_hot),
    VALUE("index_add", "input dim index source alpha=1", OP_INDEX_ADD, build_index_add),

    /* views */
    VIEW_OF("reshape view", "input shape", build_reshape),
    VIEW("flatten", "input start_dim=0 end_dim=-1", build_flatten),
    VIEW("ravel", "input start_dim=0 end_dim=-1", build_flatten),
    VIEW_OF("unflatten", "input dim sizes", build_unflatten),
    VIEW("squeeze", "input dim=None", build_squeeze),
    VIEW("unsqueeze", "input dim", build_unsqueeze),
    VIEW_OF("expand broadcast_to", "input size", build_expand),
    VIEW("expand_as", "input other", build_expand_as),
    VIEW_OF("permute", "input dims", build_permute),
    VIEW("transpose swapaxes swapdims", "input dim0 dim1", build_transpose),
    VIEW("t", "input", build_t),
    VIEW("adjoint", "input", build_mt),
    VIEW("movedim moveaxis", "input source destination", build_movedim),
    VIEW("narrow", "input dim start length", build_narrow),
    VIEW("select", "input dim index", build_select),
    {"flip", "input dims", OP_FLIP, build_flip, NULL, BOTH, true, false},
    VALUE("pad", "input pad mode='constant' value=None", OP_PAD, build_pad),
    PIECES("chunk", "input chunks dim=0", build_chunk),
    PIECES("split", "input split_size_or_sections dim=0", build_split),

    PIECES("unbind", "input dim=0", build_unbind),

    /* joins and repeats */
    TORCH("cat concat concatenate", "tensors dim=0", OP_CAT, build_cat),
    TORCH("stack", "tensors dim=0", OP_CAT, build_stack),
    VALUE("roll", "input shifts dims=None", OP_CAT, build_roll),
    {"repeat", "input repeats", OP_EXPAND, build_repeat, NULL, IN_METHODS, true, false},
    VALUE("repeat_interleave", "input repeats dim=None", OP_EXPAND, build_repeat_interleave),
    TORCH("interpolate",
          "input size=None scale_factor=None mode='nearest' align_corners=None "
          "recompute_scale_factor=None antialias=False",
          OP_EXPAND, build_interpolate),
    TORCH("pixel_shuffle", "input upscale_factor", OP_PERMUTE, build_pixel_shuffle),
    TORCH("pixel_unshuffle", "input downscale_factor", OP_PERMUTE, build_pixel_unshuffle),

    /* tensors from sizes and numbers */
    TORCH("arange", "start end=None step=1 dtype=None device=None", OP_IOTA, build_arange),
    TORCH("zeros_like", "input dtype=None device=None", OP_EXPAND, build_zeros_like),
    TORCH("ones_like", "input dtype=None device=None", OP_EXPAND, build_ones_like),
    TORCH("full_like", "input fill_value dtype=None device=None", OP_EXPAND, build_full_like),

    /* methods that only a tensor has */
    METHOD("contiguous", "input memory_format=None", build_nothing),
    METHOD("clone", "input memory_format=None", build_nothing),
    METHOD("detach cpu cuda", "input", build_nothing),
    METHOD("to",
           "input a=None b=None dtype=None device=None non_blocking=False copy=False "
           "memory_format=None",
           build_to),
    METHOD("type", "input dtype", build_type),
    METHOD("type_as", "input other", build_type),
    METHOD("float", "input", build_float),
    METHOD("half", "input", build_half),
    METHOD("bfloat16", "input", build_bfloat16),
    METHOD("double", "input", build_double),
    METHOD("long", "input", build_long),
    METHOD("int", "input", build_int),
    METHOD("short", "input", build_short),
    METHOD("bool", "input", build_bool),
    QUESTION("size", "input dim=None", build_size),
    QUESTION("dim ndimension", "input", build_dim),
    QUESTION("numel nelement", "input", build_numel),
};

static bool is_listed(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = list; *s; s += strspn(s, " ")) {
        size_t len = strcspn(s, " ");
        if (len == n && memcmp(s, word, n) == 0)
            return true;
        s += len;
    }
    return false;
}

const struct function *function_find(const char *name, enum function_scope scope)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if ((functions[i].scopes & scope) && is_listed(functions[i].names, name))
            return &functions[i];
    return NULL;
}

/* ---- arguments at their places --------------------------------------------------------------- */

struct param {
    char name[40];
    const char *value; /* default as text; NULL = none */
    size_t len;
};

static size_t read_params(const char *s, struct param *out)
{
    size_t n = 0;
    for (; *s && n < TORCH_MAX_PARAMS; n++) {
        size_t len = strcspn(s, "= ");
        snprintf(out[n].name, sizeof out[n].name, "%.*s", (int)len, s);
        s += len;
        out[n].value = *s == '=' ? s + 1 : NULL;
        out[n].len = out[n].value ? strcspn(out[n].value, " ") : 0;
        s += out[n].value ? 1 + out[n].len : 0;
        s += *s == ' ';
    }
    return n;
}

static struct object default_of(struct build *b, const struct param *p)
{
    const char *s = arena_strndup(b->mem, p->value, p->len);
    if (str_eq(s, "None"))
        return obj_none();
    if (str_eq(s, "True") || str_eq(s, "False"))
        return obj_bool(*s == 'T');
    if (*s == '\'')
        return (struct object){.kind = OBJ_TEXT, .text = arena_strndup(b->mem, s + 1, p->len - 2)};
    return strpbrk(s, ".e") ? obj_float(strtod(s, NULL)) : obj_number(b, strtoll(s, NULL, 10));
}

/* Returns whether `key` is the parameter's name, or an alias of this name in PyTorch. */
static bool is_key(const struct param *p, const char *key)
{
    static const char *const same[][2] = {{"dim", "axis"},
                                          {"dim", "dims"},
                                          {"dims", "dim"},
                                          {"keepdim", "keepdims"},
                                          {"p", "ord"},
                                          {"input", "self"},
                                          {"input", "a"},
                                          {"input", "x"},
                                          {"input", "A"},
                                          {"min", "a_min"},
                                          {"max", "a_max"},
                                          {"dim0", "axis0"},
                                          {"dim1", "axis1"},
                                          {"value", "fill_value"},
                                          {"size", "shape"},
                                          {"shape", "size"},
                                          {"split_size_or_sections", "split_size"}};
    if (str_eq(p->name, key))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        if (str_eq(p->name, same[i][0]) && str_eq(key, same[i][1]))
            return true;
    return false;
}

/* Makes one tuple of the arguments from `from` on, if all are integers without a key, as in
 * x.permute(0, 2, 1). Returns the new number of arguments. */
static size_t gather_integers(struct build *b, struct argument *args, size_t n, size_t from)
{
    struct object all[TORCH_MAX_PARAMS + GRAPH_MAX_RANK];
    size_t k = 0;
    for (size_t i = from; i < n; i++) {
        if (args[i].key || args[i].object.kind != OBJ_INT || k == ARRAY_LEN(all))
            return n;
        all[k++] = args[i].object;
    }
    if (!k)
        return n;
    args[from].object = obj_tuple(b, all, k);
    return from + 1;
}

/* Returns the length of the function's first name, for messages. */
static int usual_name(const struct function *f)
{
    return (int)strcspn(f->names, " ");
}

static bool fill(struct build *b, const struct function *f, const struct argument *args, size_t n,
                 struct object *out, const struct param *params, size_t nparams)
{
    bool given[TORCH_MAX_PARAMS] = {false};
    size_t place = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = args[i].key ? 0 : place++;
        if (args[i].key && str_eq(args[i].key, "inplace"))
            continue; /* in_place_check() has allowed it; the result is the same without it */
        while (args[i].key && k < nparams && !is_key(&params[k], args[i].key))
            k++;
        if (k >= nparams && args[i].key)
            return refuse(b, "'%.*s' has no parameter '%s'", usual_name(f), f->names, args[i].key);
        if (k >= nparams)
            return refuse(b, "'%.*s' takes at most %zu arguments", usual_name(f), f->names,
                          nparams);
        if (given[k])
            return refuse(b, "'%.*s' is given '%s' twice", usual_name(f), f->names, params[k].name);
        given[k] = true;
        out[k] = args[i].object;
    }
    for (size_t k = 0; k < nparams; k++) {
        if (!given[k] && !params[k].value)
            return refuse(b, "'%.*s' lacks its argument '%s'", usual_name(f), f->names,
                          params[k].name);
        if (!given[k])
            out[k] = default_of(b, &params[k]);
    }
    return true;
}

bool function_call(struct build *b, const struct function *f, enum function_scope scope,
                   const struct argument *args, size_t n, struct object *out)
{
    struct param params[TORCH_MAX_PARAMS];
    struct object filled[TORCH_MAX_PARAMS];
    struct argument *own = arena_alloc(b->mem, (n + 1) * sizeof *own);
    size_t nparams = read_params(f->takes, params);
    if (n)
        memcpy(own, args, n * sizeof *own);
    if (f->many && n > 1)
        n = gather_integers(b, own, n, nparams - 1);
    if (scope == IN_METHODS && f->op == OP_WHERE && f->value == build_elementwise && n > 1 &&
        !own[1].key) { /* a.where(condition, b) means where(condition, a, b) */
        struct argument self = own[0];
        own[0] = own[1];
        own[1] = self;
    }
    if (!fill(b, f, own, n, filled, params, nparams))
        return false;
    return f->value ? obj_set(b, f->value(b, f->op, filled), out) : f->object(b, filled, out);
}
