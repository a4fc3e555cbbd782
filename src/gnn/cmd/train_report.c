/* train_report.c - draws the curves of a training run as SVG in an HTML page. */
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
        {"exposed_preparation_s", "exposed preparation s", "%.3f", 1},
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

int train_report_write(const char *path, const json_t *run, struct err *err)
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
    add_table(&out, epochs);
    strbuf_adds(&out, "</body></html>\n");
    int rc = out.truncated ? err_set(err, ERR_LIMIT, "the report is longer than 16 MiB")
                           : file_write(path, out.buf, out.len, err);
    strbuf_release(&out);
    return rc;
}
