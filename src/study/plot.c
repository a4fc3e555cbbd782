/* plot.c - draws a study as SVG. Each arm (study.h) has a line: its score after each candidate. */
#include <stdlib.h>

#include "base/util.h"
#include "study/scores.h"

enum { WIDTH = 760, HEIGHT = 420, LEFT = 50, RIGHT = 210, TOP = 20, BOTTOM = 40 };

static double x_of(const struct study *s, uint32_t c)
{
    return LEFT + (double)(c - 1) / MAX(s->budget - 1, 1) * (WIDTH - LEFT - RIGHT);
}

static double y_of(double score)
{
    return HEIGHT - BOTTOM - score * (HEIGHT - TOP - BOTTOM);
}

static void add_axes(const struct study *s, struct strbuf *out)
{
    strbuf_addf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" "
                "height=\"100%%\" fill=\"white\"/>\n",
                WIDTH, HEIGHT);
    for (int pct = 0; pct <= 100; pct += 20)
        strbuf_addf(out,
                    "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/><text "
                    "x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n",
                    LEFT, WIDTH - RIGHT, y_of(pct / 100.0), y_of(pct / 100.0), LEFT - 6,
                    y_of(pct / 100.0) + 4, pct);
    for (uint32_t c = 1; c <= s->budget; c++)
        strbuf_addf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%u</text>\n", x_of(s, c),
                    HEIGHT - BOTTOM + 16, c);
    strbuf_addf(out,
                "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">candidates (noisy author: a "
                "simulation of models; tasks: %zu, seeds: at most %u)</text>\n",
                (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, s->tasks.n, s->seeds);
}

/* The score of an arm after c candidates: the mean over seeds, and its interval. All three numbers
 * are -1 if there is no seed with a run on every task. */
static struct study_interval score_at(const struct study_scores *x, const char *arm, uint32_t c)
{
    double *v = xcalloc(x->s->seeds + 1, sizeof *v);
    uint32_t n = 0;
    struct study_interval i = {-1, -1, -1};
    for (uint32_t seed = 1; seed <= x->s->seeds; seed++) {
        double score = study_score(x, arm, seed, c);
        if (score >= 0)
            v[n++] = score;
    }
    if (n)
        i = study_mean(v, n);
    free(v);
    return i;
}

static void add_arm(const struct study_scores *x, const struct study_arm *arm, const char *colour,
                    unsigned place, struct strbuf *out)
{
    const struct study *s = x->s;
    const char *dash = arm->ablate || arm->option ? " stroke-dasharray=\"5 3\"" : "";
    struct strbuf band = STRBUF_INIT(16 << 10);
    strbuf_addf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"", colour,
                dash);
    for (uint32_t c = 1; c <= s->budget; c++) {
        struct study_interval i = score_at(x, arm->name, c);
        strbuf_addf(out, "%.1f,%.1f ", x_of(s, c), y_of(i.mean));
        strbuf_addf(
            &band,
            "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" opacity=\"0.4\"/>",
            x_of(s, c), x_of(s, c), y_of(i.lo), y_of(i.hi), colour);
    }
    strbuf_addf(out, "\"/>%s\n", band.buf);
    strbuf_addf(out,
                "<line x1=\"%d\" x2=\"%d\" y1=\"%u\" y2=\"%u\" stroke=\"%s\" stroke-width=\"2\"%s/>"
                "<text x=\"%d\" y=\"%u\">%s</text>\n",
                WIDTH - RIGHT + 12, WIDTH - RIGHT + 34, 26 + 18 * place, 26 + 18 * place, colour,
                dash, WIDTH - RIGHT + 40, 30 + 18 * place, arm->name);
    strbuf_release(&band);
}

int study_plot(const struct study *s, struct strbuf *out, struct err *err)
{
    /* There are at least as many colours as arms. */
    static const char *const colours[] = {
        "#1b6ca8", "#0a8754", "#d1495b", "#7b4fa3", "#c77f0a", "#444444", "#2aa1b3", "#a03b7e",
        "#6b8e23", "#8c564b", "#e377c2", "#17becf", "#bcbd22", "#ff7f0e", "#5566dd", "#d62728",
        "#98a05a", "#008080", "#b8860b", "#9e9e9e", "#556b2f", "#4b0082", "#cd5c5c", "#2f4f4f"};
    struct study_scores x;
    unsigned place = 0;
    if (study_scores_load(&x, s, err) < 0)
        return -1;
    add_axes(s, out);
    for (const struct study_arm *arm = study_arms; arm->name; arm++) {
        if (!study_has_arm(s, arm) || arm->author || arm->words ||
            score_at(&x, arm->name, 1).mean < 0)
            continue;
        add_arm(&x, arm, colours[place % ARRAY_LEN(colours)], place, out);
        place++;
    }
    strbuf_adds(out, "</svg>\n");
    study_scores_release(&x);
    return 0;
}
