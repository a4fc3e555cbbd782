/* Some PyTorch functions become several operations in Hone's graph. Compares the values of these
 * graphs with plain loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "graph_eval.h"
#include "torch_rig.h"

enum { N = 2, C = 4, H = 3, W = 5 };
static const int64_t sizes[] = {N, C, H, W}; /* axes, as `tensors` names them */
static const char tensors[] =
    "x float32 N,C,H,W; a float32 C; c float32 W; l int64 N; d int64 N,H,W;"
    " s float32 N,C; g int64 N,2,H,W; three float32 N,3,W; four float32 N,4,H,W; nine float32 "
    "N,C,9,9";

static double x_data[N * C * H * W], a_data[C], c_data[W], l_data[N], d_data[N * H * W],
    s_data[N * C], g_data[N * 2 * H * W], three_data[N * 3 * W], nine_data[N * C * 9 * 9];
static double *const inputs[] = {x_data, a_data, c_data,     l_data, d_data,
                                 s_data, g_data, three_data, x_data, nine_data};

static double x(int64_t n, int64_t k, int64_t h, int64_t w)
{
    return x_data[((n * C + k) * H + h) * W + w];
}

static void fill_inputs(void)
{
    for (int i = 0; i < N * C * H * W; i++)
        x_data[i] = sin(1 + 3.7 * i);
    for (int i = 0; i < N * 3 * W; i++)
        three_data[i] = sin(5 * i);
    for (int i = 0; i < N * C * 9 * 9; i++)
        nine_data[i] = i;
    for (int i = 0; i < C; i++)
        a_data[i] = 0.5 + i;
    for (int i = 0; i < W; i++)
        c_data[i] = 2 - i;
    for (int i = 0; i < N * C; i++)
        s_data[i] = 3 * cos(2.3 * i);
    for (int i = 0; i < N * H * W; i++)
        d_data[i] = i * 7 % C;
    for (int i = 0; i < N * 2 * H * W; i++)
        g_data[i] = i * 5 % C;
    l_data[0] = 3;
    l_data[1] = 1;
}

/* ---- one element of each function; `i` is its index along each axis -------------------------- */

static double cat_three(const int64_t *i)
{
    return i[1] < C    ? x(i[0], i[1], i[2], i[3])
           : i[1] == C ? -x(i[0], 0, i[2], i[3])
                       : x(i[0], i[1] - C - 1, i[2], i[3]) * 2;
}

static double stacked(const int64_t *i)
{
    double v = x(i[0], i[1], i[3], i[4]);
    return i[2] ? v * v : v;
}

static double third_of_unbind(const int64_t *i)
{
    return three_data[(i[0] * 3 + 2) * W + i[1]] - three_data[i[0] * 3 * W + i[1]];
}

static double rolled(const int64_t *i)
{
    return x(i[0], i[1], (i[2] + 2 * H - 4) % H, (i[3] + 2) % W);
}

static double rolled_flat(const int64_t *i)
{
    return s_data[(i[0] * C + i[1] + N * C - 3) % (N * C)];
}

static double repeated(const int64_t *i)
{
    return s_data[i[1] % N * C + i[2] % C];
}

static double interleaved(const int64_t *i)
{
    return s_data[i[0] * C + i[1] / 3];
}

static double interleaved_flat(const int64_t *i)
{
    return s_data[i[0] / 2];
}

static double enlarged(const int64_t *i)
{
    return x(i[0], i[1], i[2] / 2, i[3] / 3);
}

static double shuffled(const int64_t *i)
{
    return x(i[0], (i[1] * 2 + i[2] % 2) * 2 + i[3] % 2, i[2] / 2, i[3] / 2);
}

static double unshuffled(const int64_t *i)
{
    int64_t h = i[2] * 3 + i[1] / 3 % 3, w = i[3] * 3 + i[1] % 3;
    return nine_data[((i[0] * C + i[1] / 9) * 9 + h) * 9 + w];
}

static double outer(const int64_t *i)
{
    return a_data[i[0]] * c_data[i[1]];
}

static double odd_numbers(const int64_t *i)
{
    return (double)(2 * i[0] + 1);
}

static double halves(const int64_t *i)
{
    return 0.5;
}

static double one_hot(const int64_t *i)
{
    return l_data[i[0]] == (double)i[1];
}

static double gathered(const int64_t *i)
{
    return x(i[0], (int64_t)g_data[((i[0] * 2 + i[1]) * H + i[2]) * W + i[3]], i[2], i[3]);
}

/* Returns (x - mean) / sqrt(variance + 0.1), with the mean and the variance over `each`
 * neighbouring channels. */
static double normalised(const int64_t *i, int64_t each)
{
    double mean = 0, var = 0, count = (double)(each * H * W);
    int64_t first = i[1] / each * each;
    for (int64_t k = first; k < first + each; k++)
        for (int64_t p = 0; p < H * W; p++)
            mean += x(i[0], k, p / W, p % W) / count;
    for (int64_t k = first; k < first + each; k++)
        for (int64_t p = 0; p < H * W; p++)
            var += pow(x(i[0], k, p / W, p % W) - mean, 2) / count;
    return (x(i[0], i[1], i[2], i[3]) - mean) / sqrt(var + 0.1);
}

static double group_norm(const int64_t *i)
{
    return normalised(i, 2) * a_data[i[1]] + 2 * a_data[i[1]];
}

static double instance_norm(const int64_t *i)
{
    return normalised(i, 1) * a_data[i[1]];
}

/* Returns -log(softmax(s[row])[k]). */
static double entropy(int64_t row, int64_t k)
{
    double sum = 0;
    for (int64_t j = 0; j < C; j++)
        sum += exp(s_data[row * C + j]);
    return log(sum) - s_data[row * C + k];
}

static double mean_entropy(const int64_t *i)
{
    return (entropy(0, 3) + entropy(1, 1)) / 2;
}

static double one_entropy(const int64_t *i)
{
    return entropy(0, 3);
}

static double weighted_entropy(const int64_t *i)
{
    return (entropy(0, 3) * a_data[3] + entropy(1, 1) * a_data[1]) / (a_data[3] + a_data[1]);
}

static double smooth_entropy(const int64_t *i)
{
    double sum = 0;
    for (int64_t row = 0; row < N; row++) {
        sum += 0.8 * entropy(row, (int64_t)l_data[row]);
        for (int64_t k = 0; k < C; k++)
            sum += 0.2 / C * entropy(row, k);
    }
    return sum;
}

/* Returns the cross-entropy at one place of an image, or 0 if the label is 2, which is ignored. */
static double image_entropy(const int64_t *i)
{
    int64_t k = (int64_t)d_data[(i[0] * H + i[1]) * W + i[2]];
    double sum = 0;
    for (int64_t j = 0; j < C; j++)
        sum += exp(x(i[0], j, i[1], i[2]) - x(i[0], k, i[1], i[2]));
    return k == 2 ? 0 : log(sum);
}

static double picked_image(const int64_t *i)
{
    double sum = 0, weights = 0;
    for (int64_t p = 0; p < N * H * W; p++) {
        int64_t k = (int64_t)d_data[p];
        sum -= k == 2 ? 0 : a_data[k] * x(p / (H * W), k, p / W % H, p % W);
        weights += k == 2 ? 0 : a_data[k];
    }
    return sum / weights;
}

/* In this attention, two heads of the query share one head of key and value. The query is
 * x [N, C, H, W], with the channels as heads. Its channels 0 and 2 are also the keys and the
 * values. */
static double grouped_attention(const int64_t *i)
{
    double sum = 0, value = 0;
    int64_t head = i[1] / 2 * 2;
    for (int64_t k = 0; k <= i[2]; k++) {
        double score = 0;
        for (int64_t w = 0; w < W; w++)
            score += x(i[0], i[1], i[2], w) * x(i[0], head, k, w) / sqrt(W);
        sum += exp(score);
        value += exp(score) * x(i[0], head, k, i[3]);
    }
    return value / sum;
}

static double rotated_halves(const int64_t *i)
{
    bool low = i[1] < C / 2;
    double other = s_data[i[0] * C + (low ? i[1] + C / 2 : i[1] - C / 2)];
    return s_data[i[0] * C + i[1]] * 0.6 + (low ? -other : other) * 0.8;
}

static double rotated_pairs(const int64_t *i)
{
    double even = s_data[i[0] * C + i[1] / 2 * 2], odd = s_data[i[0] * C + i[1] / 2 * 2 + 1];
    return i[1] % 2 ? even * 0.8 + odd * 0.6 : even * 0.6 - odd * 0.8;
}

/* ---- the test -------------------------------------------------------------------------------- */

static void functions_give_the_values_of_plain_loops(void **state)
{
    static const struct {
        const char *text;
        double (*element)(const int64_t *i);
        const char *shape;
    } cases[] = {
        {"torch.cat([x, -x[:, :1], 2 * x], dim=1)", cat_three, "2 9 3 5"},
        {"torch.stack((x, x * x), 2)", stacked, "2 4 2 3 5"},
        {"torch.stack((x, x * x), dim=-3)", stacked, "2 4 2 3 5"},
        {"(u := torch.unbind(three, 1), u[2] - u[0])[-1]", third_of_unbind, "2 5"},
        {"x.roll((4, -2), (2, 3))", rolled, "2 4 3 5"},
        {"torch.roll(x, shifts=(-2, 1), dims=(-1, -2))", rolled, "2 4 3 5"},
        {"torch.roll(s, 3)", rolled_flat, "2 4"},
        {"s.repeat(3, 2, 2)", repeated, "3 4 8"},
        {"s.repeat_interleave(3, dim=1)", interleaved, "2 12"},
        {"torch.repeat_interleave(s, 2)", interleaved_flat, "16"},
        {"F.interpolate(x, scale_factor=(2.0, 3))", enlarged, "2 4 6 15"},
        {"F.interpolate(x, (2 * H, W * 3), mode='nearest')", enlarged, "2 4 6 15"},
        {"F.pixel_shuffle(four, 2)", shuffled, "2 1 6 10"},
        {"F.pixel_unshuffle(nine, 3)", unshuffled, "2 36 3 3"},
        {"torch.outer(a, c)", outer, "4 5"},
        {"torch.arange(1, 2 * W + 1, 2, device=x.device)", odd_numbers, "5"},
        {"torch.full_like(s, 0.5) + torch.zeros_like(s) * torch.ones_like(s)", halves, "2 4"},
        {"F.one_hot(l, C)", one_hot, "2 4"},
        {"torch.gather(x, 1, g)", gathered, "2 2 3 5"},
        {"F.group_norm(x, 2, a, 2 * a, eps=0.1)", group_norm, "2 4 3 5"},
        {"F.instance_norm(x, weight=a, eps=0.1)", instance_norm, "2 4 3 5"},
        {"F.cross_entropy(s, l)", mean_entropy, ""},
        {"F.nll_loss(torch.log_softmax(s, 1), l)", mean_entropy, ""},
        {"F.cross_entropy(s, l, ignore_index=1)", one_entropy, ""},
        {"F.cross_entropy(s[0], l[0], reduction='none')", one_entropy, ""},
        {"F.cross_entropy(s, l, a)", weighted_entropy, ""},
        {"F.cross_entropy(s, l, label_smoothing=0.2, reduction='sum')", smooth_entropy, ""},
        {"F.cross_entropy(x, d, ignore_index=2, reduction='none')", image_entropy, "2 3 5"},
        {"F.nll_loss(x, d, weight=a, ignore_index=2)", picked_image, ""},
        {"F.scaled_dot_product_attention(four, four[:, ::2], four[:, ::2], is_causal=True, "
         "enable_gqa=True)",
         grouped_attention, "2 4 3 5"},
        {"s * 0.6 + torch.cat((-s[:, C // 2:], s[:, :C // 2]), -1) * 0.8", rotated_halves, "2 4"},
        {"(e := s[:, ::2], o := s[:, 1::2], torch.stack((e * 0.6 - o * 0.8, e * 0.8 + o * 0.6), "
         "-1).flatten(-2))[-1]",
         rotated_pairs, "2 4"},
    };
    struct torch_rig r;
    struct graph g;
    const struct dim *shape[GRAPH_MAX_RANK];
    rig_spec(&r, tensors);
    graph_init(&g, r.task.axes, r.task.naxes);
    dim_divide_by(&g.dims, "C % 2 == 0");
    for (size_t i = 0; i < r.task.ntensors; i++) {
        const struct torch_tensor *t = &r.tensors[i];
        for (uint32_t d = 0; d < t->rank; d++)
            assert_non_null(shape[d] = dim_parse(&g.dims, t->shape[d], NULL));
        graph_input(&g, t->name, t->dtype, t->rank, shape);
    }
    fill_inputs();
    const struct value *made[ARRAY_LEN(cases)];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        made[i] = rig_value(&g, cases[i].text, NULL, &err);
        if (!made[i])
            fail_msg("%s: %s", cases[i].text, err.msg);
    }
    struct array *all = eval_graph(&g, sizes, inputs, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct array *got = &all[made[i]->id];
        char is[64] = "";
        for (uint32_t d = 0; d < got->rank; d++) {
            size_t n = strlen(is);
            snprintf(is + n, sizeof is - n, "%s%lld", d ? " " : "", (long long)got->dim[d]);
        }
        if (!str_eq(is, cases[i].shape))
            fail_msg("%s has the shape %s", cases[i].text, is);
        for (int64_t k = 0; k < got->n; k++) {
            int64_t at[GRAPH_MAX_RANK];
            split(got, k, at);
            double want = cases[i].element(at);
            if (fabs(got->x[k] - want) > 1e-12 * fmax(1, fabs(want)))
                fail_msg("%s: element %lld is %.17g, not %.17g", cases[i].text, (long long)k,
                         got->x[k], want);
        }
    }
    eval_free(all, g.values.n);
    graph_release(&g);
    arena_release(&r.mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_give_the_values_of_plain_loops),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
