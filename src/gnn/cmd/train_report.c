/* train_report.c - draws the curves and the time line of a training run as SVG in an HTML page. */
#include "gnn/cmd/train_report.h"

#include <math.h>
#include <stdio.h>

#include "base/html.h"
#include "base/util.h"
#include "sys/file.h"

/* The frame of a drawing, in SVG units. */
enum { WIDTH = 640, HEIGHT = 220, LEFT = 52, RIGHT = 12, TOP = 10, BOTTOM = 28 };

struct series {
    const char *key, *label, *colour;
};

struct chart {
    struct strbuf *out;
    const json_t *epochs;
    size_t n;
    double low, high;
};

/* Returns the value of `key` (for example "loss") in epoch i, or NaN if there is no such value. */
static double number(const json_t *epochs, size_t i, const char *key)
{
    const json_t *v = json_object_get(json_array_get(epochs, i), key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static double x_at(const struct chart *c, double i)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (c->n > 1 ? i / (double)(c->n - 1) : 0.5);
}

static double y_at(const struct chart *c, double v)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (v - c->low) / (c->high - c->low);
}

static void set_range(struct chart *c, const struct series *s, size_t n)
{
    c->low = INFINITY;
    c->high = -INFINITY;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < c->n; i++) {
            double v = number(c->epochs, i, s[k].key);
            if (isfinite(v)) {
                c->low = MIN(c->low, v);
                c->high = MAX(c->high, v);
            }
        }
    double room = isfinite(c->high) ? (c->high - c->low) * 0.05 : 0;
    if (!isfinite(c->high))
        c->low = c->high = 0;
    if (room <= 0)
        room = MAX(fabs(c->high) * 0.05, 1e-6);
    c->low -= room;
    c->high += room;
}

static void begin_drawing(struct chart *c, const char *title, const struct series *s, size_t n)
{
    strbuf_addf(c->out, "<h2>%s</h2>\n<p class=\"key\">", title);
    for (size_t k = 0; k < n; k++)
        strbuf_addf(c->out, "<span style=\"color:%s\">&#9632;</span> %s ", s[k].colour, s[k].label);
    strbuf_addf(c->out, "</p>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", WIDTH,
                HEIGHT, title);
}

/* Draws three horizontal lines with their values, and the numbers of the first and last epochs. */
static void draw_axes(const struct chart *c, const char *format, double factor)
{
    for (int k = 0; k <= 2; k++) {
        double v = c->low + (c->high - c->low) * k / 2, y = y_at(c, v);
        char text[32];
        snprintf(text, sizeof text, format, factor * v);
        strbuf_addf(c->out,
                    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                    LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, text);
    }
    for (size_t k = 0; k < (c->n > 1 ? 2u : c->n); k++) {
        size_t i = k ? c->n - 1 : 0;
        strbuf_addf(c->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">epoch %g</text>\n",
                    x_at(c, (double)i), HEIGHT - 8, number(c->epochs, i, "epoch"));
    }
}

static void draw_curve(const struct chart *c, const struct series *s)
{
    strbuf_addf(c->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
                s->colour);
    for (size_t i = 0; i < c->n; i++) {
        double v = number(c->epochs, i, s->key);
        if (isfinite(v))
            strbuf_addf(c->out, "%.1f,%.1f ", x_at(c, (double)i), y_at(c, v));
    }
    strbuf_adds(c->out, "\"/>\n");
}

static void add_curves(struct strbuf *out, const json_t *epochs, const char *title,
                       const struct series *s, size_t n, const char *format, double factor)
{
    struct chart c = {.out = out, .epochs = epochs, .n = json_array_size(epochs)};
    set_range(&c, s, n);
    begin_drawing(&c, title, s, n);
    draw_axes(&c, format, factor);
    for (size_t k = 0; k < n; k++)
        draw_curve(&c, &s[k]);
    strbuf_adds(out, "</svg>\n");
}

/* Draws one bar for each epoch; its parts add up to the time that the main thread spent. */
static void add_times(struct strbuf *out, const json_t *epochs, const struct series *s, size_t n)
{
    struct chart c = {.out = out, .epochs = epochs, .n = json_array_size(epochs)};
    double width = (double)(WIDTH - LEFT - RIGHT) / (double)MAX(c.n, 1u);
    for (size_t i = 0; i < c.n; i++) {
        double wall = number(epochs, i, "wall_s");
        c.high = isfinite(wall) ? MAX(c.high, wall) : c.high;
    }
    c.high = MAX(c.high, 1e-9);
    begin_drawing(&c, "Time of each epoch", s, n);
    draw_axes(&c, "%.2f s", 1);
    for (size_t i = 0; i < c.n; i++) {
        double sum = 0;
        for (size_t k = 0; k < n; k++) {
            double v = number(epochs, i, s[k].key);
            if (!(v > 0))
                continue;
            strbuf_addf(
                out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                LEFT + width * (double)i + width * 0.1, y_at(&c, sum + v), width * 0.8,
                y_at(&c, sum) - y_at(&c, sum + v), s[k].colour);
            sum += v;
        }
    }
    strbuf_adds(out, "</svg>\n");
}

static void add_table(struct strbuf *out, const json_t *epochs)
{
    static const struct {
        const char *key, *label, *format;
        double factor;
    } column[] = {
        {"epoch", "epoch", "%.0f", 1},
        {"loss", "loss", "%.4f", 1},
        {"accuracy", "training accuracy", "%.2f%%", 100},
        {"eval_accuracy", "evaluation", "%.2f%%", 100},
        {"batches", "batches", "%.0f", 1},
        {"input_nodes", "input nodes", "%.0f", 1},
        {"edges", "edges", "%.0f", 1},
        {"wall_s", "total s", "%.2f", 1},
        {"train_s", "train s", "%.2f", 1},
        {"exposed_preparation_s", "waited for batches s", "%.3f", 1},
        {"exposed_transfer_s", "GPU waited for copies s", "%.3f", 1},
    };
    strbuf_adds(out, "<table><tr>");
    for (size_t k = 0; k < ARRAY_LEN(column); k++)
        strbuf_addf(out, "<th scope=\"col\">%s</th>", column[k].label);
    for (size_t i = 0; i < json_array_size(epochs); i++) {
        strbuf_adds(out, "</tr>\n<tr>");
        for (size_t k = 0; k < ARRAY_LEN(column); k++) {
            char text[64] = "-";
            double v = number(epochs, i, column[k].key);
            if (isfinite(v))
                snprintf(text, sizeof text, column[k].format, column[k].factor * v);
            strbuf_addf(out, "<td>%s</td>", text);
        }
    }
    strbuf_adds(out, "</tr></table>\n");
}

/* ---- the time line --------------------------------------------------------------------------- */

enum { LINE_BATCHES = 8, LANE = 20, MAX_LANES = 64 };

struct span {
    int thread, work;
    double start_us, end_us;
};

/* The time that the drawing shows. Each thread that works in this time has a lane, which is a row
 * of the drawing. */
struct window {
    double from_us, to_us;
    int lanes;
    int thread[MAX_LANES];
};

static const char *const work_colours[] = {"#2a78d6", "#c2410c", "#2f9e44", "#9c36b5",
                                           "#b08900", "#0c8599", "#6b7280", "#d6336c"};

static const char *work_colour(size_t work)
{
    return work_colours[work % ARRAY_LEN(work_colours)];
}

static struct span span_at(const json_t *spans, size_t i)
{
    const json_t *s = json_array_get(spans, i);
    double start = json_number_value(json_array_get(s, 2));
    return (struct span){.thread = (int)json_integer_value(json_array_get(s, 0)),
                         .work = (int)json_integer_value(json_array_get(s, 1)),
                         .start_us = start,
                         .end_us = start + json_number_value(json_array_get(s, 3))};
}

/* Returns the window of the last LINE_BATCHES batches, without lanes. Each batch ends with an
 * update of the weights. The window ends with the last update. It begins at the end of an earlier
 * update: the one that comes LINE_BATCHES updates before the last. If there are fewer updates, it
 * begins with the first span. The spans are in the order of their ends. */
static struct window last_batches(const json_t *timeline)
{
    const json_t *spans = json_object_get(timeline, "spans"),
                 *work = json_object_get(timeline, "work");
    struct window w = {0};
    int updates = 0;
    for (size_t i = json_array_size(spans); i-- > 0 && updates <= LINE_BATCHES;) {
        struct span s = span_at(spans, i);
        const char *what = json_string_value(json_array_get(work, (size_t)s.work));
        w.from_us = w.to_us > 0 ? MIN(w.from_us, s.start_us) : s.start_us;
        if (!what || !str_eq(what, "update"))
            continue;
        w.to_us = updates == 0 ? s.end_us : w.to_us;
        if (updates++ == LINE_BATCHES)
            w.from_us = s.end_us;
    }
    return w;
}

static bool in_window(const struct span *s, const struct window *w)
{
    return s->end_us > w->from_us && s->start_us < w->to_us;
}

/* Returns the lane of the thread. If the thread has none, adds one, or returns -1 if there are too
 * many. */
static int lane_of(struct window *w, int thread)
{
    for (int i = 0; i < w->lanes; i++)
        if (w->thread[i] == thread)
            return i;
    if (w->lanes == MAX_LANES)
        return -1;
    w->thread[w->lanes] = thread;
    return w->lanes++;
}

/* Writes the thread's name in each lane, and below them how long the window is. */
static void name_lanes(struct strbuf *out, const json_t *timeline, const struct window *w)
{
    const json_t *threads = json_object_get(timeline, "threads");
    for (int i = 0; i < w->lanes; i++) {
        const char *name = json_string_value(json_array_get(threads, (size_t)w->thread[i]));
        strbuf_addf(out, "<text x=\"0\" y=\"%d\">", LANE * i + 14);
        html_escape(name ? name : "a thread", out);
        strbuf_adds(out, "</text>\n");
    }
    strbuf_addf(out,
                "<text x=\"%d\" y=\"%d\">0</text>"
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.3g ms</text>\n",
                2 * LEFT, LANE * w->lanes + 14, WIDTH - RIGHT, LANE * w->lanes + 14,
                (w->to_us - w->from_us) / 1e3);
}

static void draw_span(struct strbuf *out, const struct span *s, const struct window *w, int lane,
                      const char *what)
{
    double scale = (WIDTH - RIGHT - 2 * LEFT) / (w->to_us - w->from_us),
           from = MAX(s->start_us, w->from_us), to = MIN(s->end_us, w->to_us);
    strbuf_addf(out, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>",
                2 * LEFT + scale * (from - w->from_us), LANE * lane + 3,
                MAX(scale * (to - from), 0.2), LANE - 6, work_colour((size_t)s->work));
    html_escape(what ? what : "", out);
    strbuf_addf(out, ": %.3g ms</title></rect>\n", (s->end_us - s->start_us) / 1e3);
}

static void add_time_line(struct strbuf *out, const json_t *timeline)
{
    const json_t *spans = json_object_get(timeline, "spans"),
                 *work = json_object_get(timeline, "work");
    struct window w = last_batches(timeline);
    struct strbuf drawn = STRBUF_INIT((size_t)4 << 20);
    for (size_t i = 0; i < json_array_size(spans); i++) {
        struct span s = span_at(spans, i);
        int lane = in_window(&s, &w) ? lane_of(&w, s.thread) : -1;
        if (lane >= 0)
            draw_span(&drawn, &s, &w, lane,
                      json_string_value(json_array_get(work, (size_t)s.work)));
    }
    if (w.lanes > 0) {
        strbuf_adds(out, "<h2>Time line of the last batches</h2>\n<p class=\"key\">");
        for (size_t i = 0; i < json_array_size(work); i++) {
            strbuf_addf(out, "<span style=\"color:%s\">&#9632;</span> ", work_colour(i));
            html_escape(json_string_value(json_array_get(work, i)), out);
            strbuf_adds(out, " ");
        }
        strbuf_addf(out,
                    "</p>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"time line\">\n",
                    WIDTH, LANE * (w.lanes + 1));
        strbuf_add(out, drawn.buf, drawn.len);
        name_lanes(out, timeline, &w);
        strbuf_adds(out, "</svg>\n");
    }
    strbuf_release(&drawn);
}

/* ---- the page -------------------------------------------------------------------------------- */

/* Adds the times that `--exposed` measured, if the run has them. */
static void add_exposed(struct strbuf *out, const json_t *run)
{
    const json_t *e = json_object_get(run, "exposed");
    if (!e)
        return;
    strbuf_addf(out,
                "<p>An epoch of %lld batches takes %.3f s: train %.3f s, exposed preparation "
                "%.3f s, exposed transfer %.3f s (measured with %lld batches).</p>\n",
                (long long)json_integer_value(json_object_get(e, "epoch_batches")),
                json_number_value(json_object_get(e, "epoch_s")),
                json_number_value(json_object_get(e, "train_s")),
                json_number_value(json_object_get(e, "preparation_s")),
                json_number_value(json_object_get(e, "transfer_s")),
                (long long)json_integer_value(json_object_get(e, "batches")));
}

static void add_head(struct strbuf *out, const json_t *run)
{
    const char *data = json_string_value(json_object_get(run, "data"));
    const char *model = json_string_value(json_object_get(run, "model"));
    const char *products = json_string_value(json_object_get(run, "products"));
    const char *precision = json_string_value(json_object_get(run, "precision"));
    strbuf_adds(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>hone-gnn: "
        "training</title>\n"
        "<style>:root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;"
        "max-width:60rem;margin:2rem auto;padding:0 1rem}svg{width:100%;max-width:40rem}"
        "svg text{font-size:11px;fill:currentColor}.grid{stroke:currentColor;opacity:.2}"
        ".key{margin:.2rem 0}table{border-collapse:collapse;font-size:13px;display:block;"
        "overflow-x:auto}td,th{padding:.15rem .6rem;text-align:right}</style></head><body>\n<h1>");
    html_escape(model ? model : "a model", out);
    strbuf_adds(out, " on ");
    html_escape(data ? data : "a dataset", out);
    strbuf_addf(out, "</h1>\n<p>%lld weights, %s, %s matrix products by ",
                (long long)json_integer_value(json_object_get(run, "weights")),
                json_integer_value(json_object_get(run, "ranks")) > 1 ? "several ranks"
                                                                      : "one process",
                precision ? precision : "fp32");
    html_escape(products ? products : "plain C", out);
    strbuf_adds(out, ".</p>\n");
}

int train_report_write(const char *path, const json_t *run, const json_t *timeline, struct err *err)
{
    static const struct series loss[] = {{"loss", "training loss", "#2a78d6"}},
                               accuracy[] = {{"accuracy", "training", "#2a78d6"},
                                             {"eval_accuracy", "evaluation", "#c2410c"}},
                               times[] = {
                                   {"train_s", "computing", "#2a78d6"},
                                   {"exposed_preparation_s", "waiting for batches", "#c2410c"},
                                   {"checkpoint_s", "saving", "#6b7280"}};
    const json_t *epochs = json_object_get(run, "epochs");
    struct strbuf out = STRBUF_INIT((size_t)16 << 20);
    add_head(&out, run);
    add_curves(&out, epochs, "Loss", loss, ARRAY_LEN(loss), "%.3g", 1);
    add_curves(&out, epochs, "Accuracy", accuracy, ARRAY_LEN(accuracy), "%.1f%%", 100);
    add_times(&out, epochs, times, ARRAY_LEN(times));
    add_exposed(&out, run);
    add_time_line(&out, timeline);
    add_table(&out, epochs);
    strbuf_adds(&out, "</body></html>\n");
    int rc = out.truncated ? err_set(err, ERR_LIMIT, "the report is longer than 16 MiB")
                           : file_write(path, out.buf, out.len, err);
    strbuf_release(&out);
    return rc;
}
