/* models.c - the layers of sage, gat, gin and sage-ri. See models.h. */
#include "gnn/model/models.h"

#include <math.h>

#include "base/options.h"
#include "base/util.h"

static const char *const names[GNN_MODEL_KINDS] = {
    [GNN_SAGE] = "sage", [GNN_GAT] = "gat", [GNN_GIN] = "gin", [GNN_SAGE_RI] = "sage-ri"};

const char *model_name(enum gnn_model_kind kind)
{
    return names[kind];
}

int model_kind(const char *name, enum gnn_model_kind *out, struct err *err)
{
    for (int i = 0; i < GNN_MODEL_KINDS; i++)
        if (str_eq(name, names[i])) {
            *out = (enum gnn_model_kind)i;
            return 0;
        }
    const char *near = suggest_word(name, names, GNN_MODEL_KINDS);
    return err_set(err, ERR_USAGE,
                   "there is no model '%s'%s%s%s; models are sage, gat, gin, sage-ri", name,
                   near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static const struct gnn_after nothing = {GNN_LINEAR, 0, 0};

/* Adds a weight. Its elements are drawn within Glorot's bound times `gain`, as
 * torch.nn.init.xavier_uniform_ does. */
static int glorot(struct gnn_program *p, const char *name, int64_t in, int64_t out, double gain)
{
    return program_weight(p, name, in, out, GNN_INIT_SPREAD, gain * sqrt(6.0 / (double)(in + out)));
}

/* Adds a weight. Its elements are drawn within the bound of torch.nn.Linear: 1 / sqrt(all), where
 * `all` counts the inputs of all terms of the product. */
static int plain(struct gnn_program *p, const char *name, int64_t in, int64_t out, int64_t all)
{
    return program_weight(p, name, in, out, GNN_INIT_SPREAD, 1 / sqrt((double)all));
}

static int linear(struct gnn_program *p, int level, int x, int64_t width, int w, bool bias,
                  struct gnn_after after)
{
    int64_t in = p->value.items[x].width;
    int b = bias ? plain(p, "bias", 1, width, in) : GNN_NO_BIAS;
    return program_product(p, level, width, &x, &w, 1, b, after);
}

/* Adds mean(x) A + self B, where A and B are new weights. `aggregate` may ask for a sum or a
 * maximum in place of the mean. */
static int sage_conv(struct gnn_program *p, enum gnn_segment aggregate, int x, int self,
                     int64_t width, struct gnn_after after)
{
    int64_t in = p->value.items[x].width;
    int level = p->value.items[x].level - 1;
    int from[2] = {program_segment(p, aggregate, x), self};
    int w[2] = {glorot(p, "neighbours", in, width, M_SQRT2), glorot(p, "self", in, width, M_SQRT2)};
    return program_product(p, level, width, from, w, 2, GNN_NO_BIAS, after);
}

static int sage_layer(const struct gnn_model_config *c, struct gnn_program *p, int x, bool last)
{
    struct gnn_after hidden = {GNN_RELU, 0, c->dropout};
    return sage_conv(p, (enum gnn_segment)c->aggregate, x, x, last ? c->classes : c->hidden,
                     last ? nothing : hidden);
}

static int gat_layer(const struct gnn_model_config *c, struct gnn_program *p, int x, bool last)
{
    int64_t dim = last ? c->classes : c->hidden / c->heads, width = dim * c->heads;
    int64_t in = p->value.items[x].width;
    int level = p->value.items[x].level;
    int w = glorot(p, "values", in, width, 1);
    int z = linear(p, level, x, width, w, false, nothing);
    double bound = sqrt(6.0 / (double)(c->heads + dim));
    int a_src = program_weight(p, "from", 1, width, GNN_INIT_SPREAD, bound);
    int a_dst = program_weight(p, "to", 1, width, GNN_INIT_SPREAD, bound);
    struct gnn_after hidden = {GNN_RELU, 0, c->dropout};
    int y = program_attend(p, z, c->heads, 0.2, a_src, a_dst, last ? nothing : hidden);
    return last && c->heads > 1 ? program_head_mean(p, y, c->heads) : y;
}

static int gin_layer(const struct gnn_model_config *c, struct gnn_program *p, int x)
{
    struct gnn_after relu = {GNN_RELU, 0, 0};
    int64_t in = p->value.items[x].width;
    int level = p->value.items[x].level - 1;
    int y = program_add(p, level, 1, x, program_segment(p, (enum gnn_segment)c->aggregate, x));
    int a = glorot(p, "inner", in, c->hidden, M_SQRT2);
    y = program_norm(p, linear(p, level, y, c->hidden, a, true, nothing), relu);
    int b = glorot(p, "outer", c->hidden, c->hidden, M_SQRT2);
    return linear(p, level, y, c->hidden, b, true, relu);
}

static int gin_head(const struct gnn_model_config *c, struct gnn_program *p, int x)
{
    struct gnn_after drop = {GNN_RELU, 0, c->dropout};
    int a = plain(p, "head inner", c->hidden, c->hidden, c->hidden);
    int y = linear(p, 0, x, c->hidden, a, true, drop);
    int b = plain(p, "head outer", c->hidden, c->classes, c->hidden);
    return linear(p, 0, y, c->classes, b, true, nothing);
}

static int sage_ri_layer(const struct gnn_model_config *c, struct gnn_program *p, int x)
{
    struct gnn_after drop = {GNN_LINEAR, 0, c->dropout}, leaky = {GNN_LEAKY, 0.01, c->dropout};
    const struct gnn_value in = p->value.items[x];
    int level = in.level - 1;
    int from = program_apply(p, in.level, x, drop), self = program_apply(p, level, x, drop);
    int y = program_norm(p, sage_conv(p, GNN_MEAN, from, self, c->hidden, nothing), leaky);
    if (p->now == 0) {
        int w = plain(p, "residual", in.width, c->hidden, in.width);
        x = linear(p, level, x, c->hidden, w, true, nothing);
    }
    return program_add(p, level, 1, y, x);
}

/* The head puts the input and the results of all layers side by side, and multiplies them by one
 * matrix. We compute this as a sum of products, one for each of these values. */
static int sage_ri_head(const struct gnn_model_config *c, struct gnn_program *p)
{
    int w[GNN_MAX_TERMS];
    int64_t all = c->features + c->layers * c->hidden, inner = 2 * c->classes;
    for (int l = 0; l <= c->layers; l++)
        w[l] = plain(p, "head inner", p->value.items[p->carry[l]].width, inner, all);
    int bias = plain(p, "bias", 1, inner, all);
    int y = program_product(p, 0, inner, p->carry, w, c->layers + 1, bias, nothing);
    int b = plain(p, "head outer", inner, c->classes, inner);
    return linear(p, 0, y, c->classes, b, true, nothing);
}

static int layer(const struct gnn_model_config *c, struct gnn_program *p, int x)
{
    bool last = p->now == c->layers - 1;
    switch (c->kind) {
    case GNN_SAGE:
        return sage_layer(c, p, x, last);
    case GNN_GAT:
        return gat_layer(c, p, x, last);
    case GNN_GIN:
        return gin_layer(c, p, x);
    default:
        return sage_ri_layer(c, p, x);
    }
}

static int check_sizes(const struct gnn_model_config *c, struct err *err)
{
    if (c->layers < 1 || c->layers > GNN_MAX_LAYERS)
        return err_set(err, ERR_USAGE, "a model has 1 to %d layers, not %d", GNN_MAX_LAYERS,
                       c->layers);
    if (c->hidden < 1 || c->hidden > GNN_MAX_WIDTH)
        return err_set(err, ERR_USAGE, "the hidden width must be 1 to %d, not %lld", GNN_MAX_WIDTH,
                       (long long)c->hidden);
    if (c->features < 1 || c->features > GNN_MAX_WIDTH || c->classes < 1 ||
        c->classes > GNN_MAX_WIDTH)
        return err_set(err, ERR_INPUT, "%lld features and %lld classes: each must be 1 to %d",
                       (long long)c->features, (long long)c->classes, GNN_MAX_WIDTH);
    if (c->kind == GNN_GAT && (c->heads < 1 || c->heads > 64 || c->hidden % c->heads != 0))
        return err_set(err, ERR_USAGE,
                       "gat needs 1 to 64 heads that divide the hidden width %lld, not %lld",
                       (long long)c->hidden, (long long)c->heads);
    if (!(c->dropout < 1))
        return err_set(err, ERR_USAGE, "dropout must be below 1, not %g", c->dropout);
    return 0;
}

int model_build(const struct gnn_model_config *given, struct gnn_program *p, struct err *err)
{
    struct gnn_model_config c = *given;
    if (c.heads == 0)
        c.heads = 1;
    if (c.dropout < 0)
        c.dropout = c.kind == GNN_SAGE_RI ? 0.1 : 0.5;
    if (c.aggregate < 0)
        c.aggregate = c.kind == GNN_GIN ? GNN_SUM : GNN_MEAN;
    if (check_sizes(&c, err) < 0)
        return -1;
    program_init(p, c.layers, c.features, c.classes);
    int x = p->input;
    if (c.kind == GNN_SAGE_RI)
        x = program_apply(p, c.layers, x, (struct gnn_after){GNN_LINEAR, 0, c.dropout});
    p->carry[0] = x;
    for (p->now = 0; p->now < c.layers; p->now++)
        x = p->carry[p->now + 1] = layer(&c, p, x);
    if (c.kind == GNN_GIN)
        x = gin_head(&c, p, x);
    else if (c.kind == GNN_SAGE_RI)
        x = sage_ri_head(&c, p);
    p->output = x;
    return 0;
}
