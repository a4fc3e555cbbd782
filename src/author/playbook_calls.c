/* playbook_calls.c - what PyTorch's functions take, by place and by name. */
#include <string.h>

#include "author/playbook_functions.h"
#include "author/playbook_read.h"
#include "author/playbook_tree.h"
#include "base/util.h"

enum { MAX_PARAMS = 12 };

/* Parameters in order, with their defaults; those after "|" are printed by their names. */
static const struct {
    const char *name, *takes;
} signatures[] = {
    {"adaptive_avg_pool1d", "input output_size"},
    {"adaptive_avg_pool2d", "input output_size"},
    {"adaptive_max_pool2d", "input output_size"},
    {"add", "input other|alpha=1"},
    {"addcdiv", "input tensor1 tensor2|value=1"},
    {"addcmul", "input tensor1 tensor2|value=1"},
    {"addmm", "input mat1 mat2|beta=1 alpha=1"},
    {"all", "input dim=None|keepdim=False"},
    {"amax", "input dim=None|keepdim=False"},
    {"amin", "input dim=None|keepdim=False"},
    {"any", "input dim=None|keepdim=False"},
    {"argmax", "input dim=None|keepdim=False"},
    {"argmin", "input dim=None|keepdim=False"},
    {"baddbmm", "input batch1 batch2|beta=1 alpha=1"},
    {"batch_norm", "input running_mean running_var weight=None bias=None training=False "
                   "momentum=0.1 eps=1e-05"},
    {"bmm", "input mat2"},
    {"celu", "input alpha=1"},
    {"chunk", "input chunks dim=0"},
    {"clamp", "input min=None max=None"},
    {"clamp_max", "input max"},
    {"clamp_min", "input min"},
    {"conv1d", "input weight bias=None|stride=1 padding=0 dilation=1 groups=1"},
    {"conv2d", "input weight bias=None|stride=1 padding=0 dilation=1 groups=1"},
    {"count_nonzero", "input dim=None"},
    {"cross_entropy",
     "input target weight=None|ignore_index=-100 reduction='mean' label_smoothing=0"},
    {"cummax", "input dim"},
    {"cummin", "input dim"},
    {"cumprod", "input dim|dtype=None"},
    {"cumsum", "input dim|dtype=None"},
    {"div", "input other|rounding_mode=None"},
    {"dot", "input tensor"},
    {"elu", "input alpha=1"},
    {"embedding", "input weight|padding_idx=None max_norm=None norm_type=2 "
                  "scale_grad_by_freq=False sparse=False"},
    {"embedding_bag",
     "input weight offsets=None|max_norm=None norm_type=2 scale_grad_by_freq=False "
     "mode='mean' sparse=False per_sample_weights=None include_last_offset=False padding_idx=None"},
    {"flip", "input dims"},
    {"floor_divide", "input other"},
    {"gelu", "input|approximate='none'"},
    {"glu", "input dim=-1"},
    {"hardshrink", "input lambd=0.5"},
    {"hardtanh", "input min_val=-1 max_val=1"},
    {"index_add", "input dim index source|alpha=1"},
    {"index_add_", "input dim index source|alpha=1"},
    {"index_select", "input dim index"},
    {"l1_loss", "input target|size_average=None reduce=None reduction='mean'"},
    {"layer_norm", "input normalized_shape weight=None bias=None eps=1e-05"},
    {"leaky_relu", "input negative_slope=0.01"},
    {"lerp", "input end weight"},
    {"linear", "input weight bias=None"},
    {"log_softmax", "input dim=None|dtype=None"},
    {"logsumexp", "input dim|keepdim=False"},
    {"masked_fill", "input mask value"},
    {"matmul", "input other"},
    {"max", "input dim=None|keepdim=False"},
    {"mean", "input dim=None|keepdim=False dtype=None"},
    {"min", "input dim=None|keepdim=False"},
    {"mm", "input mat2"},
    {"movedim", "input source destination"},
    {"mse_loss", "input target|size_average=None reduce=None reduction='mean'"},
    {"mv", "input vec"},
    {"narrow", "input dim start length"},
    {"norm", "input p=2 dim=None|keepdim=False dtype=None"},
    {"normalize", "input p=2 dim=1 eps=1e-12"},
    {"permute", "input dims"},
    {"pow", "input exponent"},
    {"prod", "input dim=None|keepdim=False dtype=None"},
    {"remainder", "input other"},
    {"reshape", "input shape"},
    {"rms_norm", "input normalized_shape weight=None eps=None"},
    {"softmax", "input dim=None|dtype=None"},
    {"softmin", "input dim=None|dtype=None"},
    {"softplus", "input beta=1 threshold=20"},
    {"softshrink", "input lambd=0.5"},
    {"split", "input split_size_or_sections dim=0"},
    {"std", "input dim=None|unbiased=True keepdim=False correction=None"},
    {"sub", "input other|alpha=1"},
    {"sum", "input dim=None|keepdim=False dtype=None"},
    {"t", "input"},
    {"threshold", "input threshold value"},
    {"transpose", "input dim0 dim1"},
    {"triplet_margin_loss", "anchor positive negative|margin=1 p=2 eps=1e-06 swap=False "
                            "size_average=None reduce=None reduction='mean'"},
    {"unsqueeze", "input dim"},
    {"var", "input dim=None|unbiased=True keepdim=False correction=None"},
    {"where", "condition input other"},
};

/* Elementwise functions take one value, or two. */
static const char *takes(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(signatures); i++)
        if (str_eq(signatures[i].name, name))
            return signatures[i].takes;
    size_t n = strlen(name);
    bool one = torch_function(OF_REALS, name, n, 1) || torch_function(TESTS, name, n, 1);
    return one ? "input" : torch_knows(name, n) ? "input other" : NULL;
}

bool call_known(const char *name)
{
    return takes(name) != NULL;
}

struct param {
    char name[40];
    const char *value; /* its default, up to a blank; NULL: it has none */
    size_t len;
    bool by_name;
};

static size_t read_params(const char *s, struct param *out)
{
    size_t n = 0;
    for (bool by_name = false; *s && n < MAX_PARAMS; n++) {
        size_t len = strcspn(s, "= |");
        snprintf(out[n].name, sizeof out[n].name, "%.*s", (int)len, s);
        out[n].by_name = by_name;
        s += len;
        out[n].value = *s == '=' ? s + 1 : NULL;
        out[n].len = *s == '=' ? strcspn(s + 1, " |") : 0;
        s += out[n].value ? 1 + out[n].len : 0;
        by_name |= *s == '|';
        s += *s != '\0';
    }
    return n;
}

static struct tree *default_of(struct arena *a, const struct param *p)
{
    return p->value ? tree_parse(a, arena_strndup(a, p->value, p->len)) : NULL;
}

/* Another name of the parameter: dims, axis, p. */
static bool is_named(const struct param *p, const char *key)
{
    static const char *const same[][2] = {
        {"dim", "axis"},        {"dim", "dims"},  {"keepdim", "keepdims"}, {"p", "ord"},
        {"input", "self"},      {"input", "a"},   {"input", "x"},          {"input", "A"},
        {"min", "a_min"},       {"max", "a_max"}, {"dim0", "axis0"},       {"dim1", "axis1"},
        {"value", "fill_value"}};
    if (str_eq(p->name, key))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        if (str_eq(p->name, same[i][0]) && str_eq(key, same[i][1]))
            return true;
    return false;
}

struct tree *call_filled(struct arena *a, struct tree *call)
{
    const char *sig = call->module == TREE_TORCH ? takes(call->text) : NULL;
    struct param params[MAX_PARAMS];
    if (!sig)
        return call;
    size_t n = read_params(sig, params), place = 0;
    struct tree *t = tree_call(a, call->text, n);
    for (size_t i = 0; i < call->n; i++) {
        struct tree *arg = call->at[i];
        size_t k = place;
        if (arg->kind == TREE_KEY) {
            for (k = 0; k < n && !is_named(&params[k], arg->text);)
                k++;
            arg = arg->at[0];
        } else {
            place++;
        }
        if (k >= n || t->at[k])
            return NULL;
        t->at[k] = arg;
    }
    for (size_t k = 0; k < n; k++)
        if (!t->at[k] && !(t->at[k] = default_of(a, &params[k])))
            return NULL;
    return t;
}

bool call_printed(const struct tree *call, struct call_print *out, size_t n)
{
    const char *sig = call->module == TREE_TORCH ? takes(call->text) : NULL;
    struct param params[MAX_PARAMS];
    if (!sig || read_params(sig, params) != n)
        return false;
    for (size_t k = 0; k < n; k++)
        if (call->at[k]->kind == TREE_KEY) /* it was not filled */
            return false;
    struct arena mem = ARENA_INIT;
    bool last = true; /* of those by place */
    for (size_t k = n; k-- > 0;) {
        const struct tree *value = default_of(&mem, &params[k]);
        bool usual = value && tree_same(value, call->at[k]);
        out[k].left_out = usual && (params[k].by_name || last);
        snprintf(out[k].key, sizeof out[k].key, "%s", params[k].by_name ? params[k].name : "");
        last = last && (params[k].by_name || usual);
    }
    arena_release(&mem);
    return true;
}
