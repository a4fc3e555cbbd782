/* program.c - builds a program step by step. See program.h. */
#include "gnn/model/program.h"

#include <string.h>

#include "base/util.h"

static int value_new(struct gnn_program *p, int level, int64_t width, bool has_grad)
{
    *vec_push(&p->value) = (struct gnn_value){level, width, has_grad};
    return (int)p->value.n - 1;
}

void program_init(struct gnn_program *p, int layers, int64_t features, int64_t classes)
{
    memset(p, 0, sizeof *p);
    p->layers = layers;
    p->features = features;
    p->classes = classes;
    p->input = value_new(p, layers, features, false);
}

void program_release(struct gnn_program *p)
{
    vec_release(&p->value);
    vec_release(&p->weight);
    vec_release(&p->step);
}

int program_weight(struct gnn_program *p, const char *name, int64_t rows, int64_t width,
                   enum gnn_init init, double bound)
{
    *vec_push(&p->weight) = (struct gnn_weight){name, rows, width, p->n_weights, init, bound};
    p->n_weights += (rows * width + 15) / 16 * 16;
    return (int)p->weight.n - 1;
}

/* Adds a step with one input; its result has a gradient if the step has weights or its input has a
 * gradient. */
static struct gnn_step *step_new(struct gnn_program *p, enum gnn_step_kind kind, int in, int level,
                                 int64_t width, bool weights)
{
    int out = value_new(p, level, width, weights || p->value.items[in].has_grad);
    struct gnn_step *s = vec_push(&p->step);
    s->kind = kind;
    s->layer = p->now;
    s->in[0] = in;
    s->n_in = 1;
    s->bias = GNN_NO_BIAS;
    s->out = out;
    return s;
}

int program_product(struct gnn_program *p, int level, int64_t width, const int *in,
                    const int *weight, int terms, int bias, struct gnn_after after)
{
    if (terms > GNN_MAX_TERMS)
        BUG("a product of %d terms", terms);
    struct gnn_step *s = step_new(p, GNN_STEP_PRODUCT, in[0], level, width, true);
    memcpy(s->in, in, (size_t)terms * sizeof *in);
    memcpy(s->weight, weight, (size_t)terms * sizeof *weight);
    s->n_in = terms;
    s->bias = bias;
    s->after = after;
    return s->out;
}

int program_segment(struct gnn_program *p, enum gnn_segment kind, int in)
{
    const struct gnn_value v = p->value.items[in];
    struct gnn_step *s = step_new(p, GNN_STEP_SEGMENT, in, v.level - 1, v.width, false);
    s->segment = kind;
    return s->out;
}

int program_apply(struct gnn_program *p, int level, int in, struct gnn_after after)
{
    struct gnn_step *s = step_new(p, GNN_STEP_APPLY, in, level, p->value.items[in].width, false);
    s->after = after;
    return s->out;
}

int program_add(struct gnn_program *p, int level, double scale, int a, int b)
{
    struct gnn_step *s =
        step_new(p, GNN_STEP_ADD, a, level, p->value.items[a].width, p->value.items[b].has_grad);
    s->in[1] = b;
    s->n_in = 2;
    s->scale = scale;
    return s->out;
}

int program_norm(struct gnn_program *p, int in, struct gnn_after after)
{
    const struct gnn_value v = p->value.items[in];
    int gain = program_weight(p, "norm", 2, v.width, GNN_INIT_CONSTANT, 1);
    struct gnn_step *s = step_new(p, GNN_STEP_NORM, in, v.level, v.width, true);
    s->weight[0] = gain;
    s->after = after;
    s->running = p->n_running;
    p->n_running += 2 * v.width;
    return s->out;
}

int program_attend(struct gnn_program *p, int in, int64_t heads, double slope, int a_src, int a_dst,
                   struct gnn_after after)
{
    const struct gnn_value v = p->value.items[in];
    struct gnn_step *s = step_new(p, GNN_STEP_ATTEND, in, v.level - 1, v.width, true);
    s->weight[0] = a_src;
    s->weight[1] = a_dst;
    s->attention = (struct gnn_attention){heads, v.width / heads, slope, 0};
    s->after = after;
    return s->out;
}

int program_head_mean(struct gnn_program *p, int in, int64_t heads)
{
    const struct gnn_value v = p->value.items[in];
    struct gnn_step *s = step_new(p, GNN_STEP_HEAD_MEAN, in, v.level, v.width / heads, false);
    s->attention.heads = heads;
    s->attention.dim = v.width / heads;
    return s->out;
}

bool program_head_reads(const struct gnn_program *p, int value)
{
    vec_each (const struct gnn_step, s, &p->step)
        for (int i = 0; s->layer == p->layers && i < s->n_in; i++)
            if (s->in[i] == value)
                return true;
    return false;
}

static bool reads_input(const struct gnn_program *p, const struct gnn_step *s)
{
    for (int i = 0; i < s->n_in; i++)
        if (s->in[i] == p->input)
            return true;
    return false;
}

bool program_reduces_input(const struct gnn_program *p, enum gnn_segment *kind)
{
    bool found = false;
    vec_each (const struct gnn_step, s, &p->step) {
        if (!reads_input(p, s))
            continue;
        bool hop = s->kind == GNN_STEP_SEGMENT || s->kind == GNN_STEP_ATTEND;
        if (s->kind == GNN_STEP_SEGMENT && s->segment != GNN_MAX &&
            (!found || s->segment == *kind)) {
            *kind = s->segment;
            found = true;
        } else if (hop || p->value.items[s->out].level == p->layers) {
            return false;
        }
    }
    return found;
}
