/* plot.c - draws the time of each candidate of a run as SVG. */
#include <math.h>
#include <string.h>

#include "base/html.h"
#include "base/util.h"
#include "report/page.h"

enum { W = 760, H = 320, LEFT = 70, RIGHT = 20, TOP = 30, BOTTOM = 45 };

struct scale {
    double lo, hi; /* the ends of the time axis, in ns */
    bool log;
    size_t n; /* the number of candidates */
};

static double y_of(const struct scale *s, double t)
{
    double f =
        s->log ? (log(t) - log(s->lo)) / (log(s->hi) - log(s->lo)) : (t - s->lo) / (s->hi - s->lo);
    return TOP + (1 - f) * (H - TOP - BOTTOM);
}

static double x_of(const struct scale *s, size_t i)
{
    return LEFT + (double)(i + 1) * (W - LEFT - RIGHT) / (double)(s->n + 1);
}

static struct scale make_scale(const struct run_summary *m)
{
    struct scale s = {.lo = INFINITY, .n = m->nodes.n};
    vec_each (struct node_rec, n, &m->nodes)
        if (n->time_ns > 0) {
            s.lo = MIN(s.lo, n->time_ns);
            s.hi = MAX(s.hi, n->time_ns);
        }
    s.log = s.hi > 6 * s.lo;
    if (s.hi > 0) {
        s.lo = s.log ? s.lo / 1.3 : 0;
        s.hi *= s.log ? 1.3 : 1.1;
    }
    return s;
}

static void axis(const struct scale *s, bool model, struct strbuf *out)
{
    for (int k = 0; k <= 4; k++) {
        double f = k / 4.0;
        double t =
            s->log ? exp(log(s->lo) + f * (log(s->hi) - log(s->lo))) : s->lo + f * (s->hi - s->lo);
        double y = t > 0 ? y_of(s, t) : H - BOTTOM;
        strbuf_addf(out,
                    "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>"
                    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
                    LEFT, y, W - RIGHT, y, LEFT - 6, y + 4);
        print_time(t, false, out);
        strbuf_adds(out, "</text>\n");
    }
    strbuf_addf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">candidate</text>\n",
                (LEFT + W - RIGHT) / 2, H - 8);
    if (model)
        strbuf_addf(out, "<text x=\"%d\" y=\"18\" text-anchor=\"end\">modelled times</text>\n",
                    W - RIGHT);
}

static void best_line(const struct run_summary *m, const struct scale *s, struct strbuf *out)
{
    double best = 0;
    bool begun = false;
    strbuf_adds(out, "<path fill=\"none\" stroke=\"#2a7\" stroke-width=\"2\" d=\"");
    for (size_t i = 0; i < m->nodes.n; i++) {
        const struct node_rec *n = &m->nodes.items[i];
        double t = n->time_ns;
        if (t > 0 && str_eq(n->kind, "pass") && (!best || t < best)) {
            if (begun)
                strbuf_addf(out, "L%.1f %.1f ", x_of(s, i), y_of(s, best));
            best = t;
        }
        if (best)
            strbuf_addf(out, "%c%.1f %.1f ", begun ? 'L' : 'M', x_of(s, i), y_of(s, best));
        begun |= best > 0;
    }
    strbuf_adds(out, "\"/>\n");
}

void report_plot(const struct run_summary *m, struct strbuf *out)
{
    struct scale s = make_scale(m);
    bool any = s.hi > 0;
    strbuf_addf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"%d\" y=\"18\">",
                W, H, W, H, LEFT);
    html_escape(m->run.name, out);
    strbuf_adds(out, "</text>\n");
    if (any) {
        axis(&s, m->best && m->best->is_model, out);
        best_line(m, &s, out);
    }
    for (size_t i = 0; i < m->nodes.n; i++) {
        const struct node_rec *n = &m->nodes.items[i];
        bool pass = any && n->time_ns > 0;
        strbuf_addf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\"><title>",
                    x_of(&s, i), pass ? y_of(&s, n->time_ns) : H - BOTTOM + 12.0, pass ? 4 : 3,
                    n == m->best ? "#2a7"
                    : pass       ? "#48c"
                                 : "#c44");
        strbuf_addf(out, "%llu ", (unsigned long long)n->index);
        html_escape(n->kind, out);
        strbuf_adds(out, ": ");
        html_escape(n->move, out);
        strbuf_adds(out, "</title></circle>\n");
    }
    strbuf_adds(out, "</svg>\n");
}
