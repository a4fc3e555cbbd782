/* table.c - writes the table of a campaign as text, Markdown, CSV and JSON. */
#include "campaign/table.h"

#include <string.h>
#include <time.h>

#include "base/util.h"
#include "job/torch_variants.h"
#include "report/run_summary.h"
#include "sys/json.h"
#include "sys/term.h"

/* ---- cells ----------------------------------------------------------------------------------- */

static void add_date(int64_t ms, struct strbuf *out)
{
    time_t t = (time_t)(ms / 1000);
    struct tm tm;
    char text[32] = "";
    if (gmtime_r(&t, &tm))
        strftime(text, sizeof text, "%Y-%m-%d", &tm);
    strbuf_adds(out, text);
}

static void add_ratio(const struct verdict_ratio *x, bool is_model, struct strbuf *out)
{
    if (!x->who)
        return;
    strbuf_addf(out, "%.2fx", x->mid);
    if (is_model)
        strbuf_adds(out, " model");
    else
        strbuf_addf(out, " [%.2f, %.2f]", x->lo, x->hi);
}

static void add_time(double ns, struct strbuf *out)
{
    if (ns > 0)
        print_time(ns, false, out);
}

static void add_marks(const struct campaign_row *r, struct strbuf *out)
{
    size_t from = out->len;
    const char *const marks[] = {
        row_standing_names[r->standing],        r->ours_ns > 0 && r->is_model ? "modelled" : "",
        r->kind.degenerate ? "degenerate" : "", r->kind.collapsed ? "collapsed by algebra" : "",
        r->is_old ? "of another version" : "",
    };
    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        if (*marks[i])
            strbuf_addf(out, "%s%s", out->len > from ? ", " : "", marks[i]);
    if (!r->ratio.who && !r->is_model && r->ours_ns > 0 && r->known_ns > 0)
        strbuf_addf(out, "%s%.2fx as fast as PyTorch's known time", out->len > from ? ", " : "",
                    r->known_ns / r->ours_ns);
    if (r->program_note && *r->program_note)
        strbuf_addf(out, "%s%.*s", out->len > from ? ", " : "", (int)strcspn(r->program_note, "\n"),
                    r->program_note);
    if (r->state != ROW_PASS && *r->reason)
        strbuf_addf(out, "%s%.*s", out->len > from ? ", " : "", (int)strcspn(r->reason, "\n"),
                    r->reason);
}

static void add_cost(const struct campaign_row *r, struct strbuf *out)
{
    strbuf_addf(out, "%.2f%s", r->usd, r->usd_unknown ? "+?" : "");
}

/* ---- text ------------------------------------------------------------------------------------ */

void campaign_print_heading(struct strbuf *out)
{
    strbuf_addf(out, "%3s %-28s %-8s %-18s %5s %10s %10s %-14s %-20s %6s %4s %4s  %s\n", "", "task",
                "state", "kind", "sizes", "ours", "baseline", "", "ratio", "roof", "cand", "ktok",
                "notes");
}

/* Appends the text, cut or padded to `width` columns. */
static void add_cell(const char *text, unsigned width, struct strbuf *out)
{
    char cell[256];
    snprintf(cell, sizeof cell, "%s", text);
    term_clean(cell, width);
    strbuf_addf(out, "%-*s ", (int)width, cell);
}

/* The time of the baseline with which the row is compared; 0 if there is none. */
static double counted_ns(const struct campaign_row *r)
{
    vec_each (struct row_baseline, b, &r->baselines)
        if (r->ratio.who && str_eq(b->who, r->ratio.who))
            return b->ns;
    return 0;
}

void campaign_print_row(const struct campaign_row *r, struct strbuf *out)
{
    struct strbuf ours = STRBUF_INIT(64), base = STRBUF_INIT(64), ratio = STRBUF_INIT(128);
    struct strbuf marks = STRBUF_INIT(4096);
    char sizes[16], roof[16] = "";
    add_time(r->ours_ns, &ours);
    add_time(counted_ns(r), &base);
    add_ratio(&r->ratio, r->is_model, &ratio);
    add_marks(r, &marks);
    term_clean(marks.buf, 100);
    snprintf(sizes, sizeof sizes, "%u", r->kind.free_axes);
    if (r->roofline_pct > 0)
        snprintf(roof, sizeof roof, "%.0f%%", r->roofline_pct);
    strbuf_addf(out, "%3llu ", (unsigned long long)r->index + 1);
    add_cell(r->label, 28, out);
    add_cell(row_state_names[r->state], 8, out);
    add_cell(r->kind.name, 18, out);
    strbuf_addf(out, "%5s %10s %10s ", sizes, ours.buf, base.buf);
    add_cell(r->ratio.who ? r->ratio.who : "", 14, out);
    add_cell(ratio.buf, 20, out);
    strbuf_addf(out, "%6s %4u %4.0f  %s\n", roof, r->judged, (double)r->tokens / 1e3, marks.buf);
    strbuf_release(&ours);
    strbuf_release(&base);
    strbuf_release(&ratio);
    strbuf_release(&marks);
}

static void print_means(const struct score *s, const char *what, bool is_model, const char *indent,
                        struct strbuf *out)
{
    strbuf_addf(out, "%s%s: %u of %u pass, %u fail", indent, what, s->passes, s->n, s->failures);
    if (s->in_mean)
        strbuf_addf(out, "; geometric mean %.2fx (a failure counts as 1.00x), %.2fx over %u passes",
                    s->mean, s->mean_passes, s->in_mean);
    if (s->in_mean && !is_model)
        strbuf_addf(out, "; %u wins, %u losses, %u ties", s->wins, s->losses, s->ties);
    if (s->no_ratio)
        strbuf_addf(out, "; %u passes have no ratio", s->no_ratio);
    strbuf_addc(out, '\n');
}

static void print_default(const struct default_score *s, const char *what, const char *indent,
                          struct strbuf *out)
{
    if (s->n)
        strbuf_addf(out,
                    "%sagainst %s with default settings: geometric mean %.2fx over %u passes\n",
                    indent, what, s->mean, s->n);
}

/* Appends the means and counts in words, one in each line. Each line begins with `indent`. */
static void print_score(const struct campaign_table *t, const char *indent, struct strbuf *out)
{
    struct campaign_score s;
    campaign_score(t, &s);
    print_means(&s.all, "all", s.is_model, indent, out);
    if (s.collapsed)
        print_means(&s.without_collapsed, "without tasks that algebra collapses", s.is_model,
                    indent, out);
    if (s.is_model && s.all.in_mean)
        strbuf_addf(out,
                    "%sratios are modelled on the emulator, against each task's first baseline: "
                    "they say nothing about PyTorch\n",
                    indent);
    if (s.kinds.n > 1)
        for (size_t i = 0; i < s.kinds.n; i++)
            print_means(&s.kinds.items[i].score, s.kinds.items[i].kind, s.is_model, indent, out);
    print_default(&s.default_eager, "eager", indent, out);
    print_default(&s.default_compile, "torch.compile", indent, out);
    vec_each (struct beside_score, b, &s.beside)
        strbuf_addf(out,
                    "%sbeside %s: geometric mean %.2fx over %u passes; no other line counts it\n",
                    indent, b->who, b->mean, b->n);
    if (s.unfinished)
        strbuf_addf(out, "%s%u of %u tasks are not done\n", indent, s.unfinished, s.rows);
    if (s.degenerate)
        strbuf_addf(out, "%s%u degenerate tasks are left out\n", indent, s.degenerate);
    if (s.left_out)
        strbuf_addf(out, "%s%u modelled rows are left out\n", indent, s.left_out);
    if (s.old)
        strbuf_addf(out, "%s%u rows are of another version of Hone\n", indent, s.old);
    campaign_score_release(&s);
}

void campaign_print(const struct campaign_table *t, struct strbuf *out)
{
    campaign_print_heading(out);
    vec_each (struct campaign_row, r, &t->rows)
        campaign_print_row(r, out);
    strbuf_addf(out, "%s\n", t->campaign.name);
    print_score(t, "  ", out);
}

/* ---- Markdown -------------------------------------------------------------------------------- */

/* Appends a cell of a Markdown table: no line breaks, and a backslash before characters that mean
 * something in Markdown or HTML. */
static void add_plain(const char *s, struct strbuf *out)
{
    for (; *s; s++) {
        if ((unsigned char)*s < ' ')
            strbuf_addc(out, ' ');
        else if (strchr("|\\`*_[]<>#~", *s))
            strbuf_addf(out, "\\%c", *s);
        else
            strbuf_addc(out, *s);
    }
}

static const struct row_baseline *find_baseline(const struct campaign_row *r, const char *who)
{
    vec_each (struct row_baseline, b, &r->baselines)
        if (str_eq(b->who, who))
            return b;
    return NULL;
}

/* Returns the row's baseline that is the user's own PyTorch program; NULL if there is none. */
static const struct row_baseline *find_program(const struct campaign_row *r)
{
    vec_each (struct row_baseline, b, &r->baselines)
        if (contender_is_program(b->who))
            return b;
    return NULL;
}

/* True if this variant of PyTorch ran beside the baselines, and some row has its time. */
static bool has_column(const struct campaign_table *t, const struct torch_variant *v)
{
    vec_each (struct campaign_row, r, &t->rows)
        if (v->beside && find_baseline(r, v->name))
            return true;
    return false;
}

static bool has_defaults(const struct campaign_table *t)
{
    vec_each (struct campaign_row, r, &t->rows)
        if (r->default_eager.who || r->default_compile.who)
            return true;
    return false;
}

static void markdown_default_cell(const struct campaign_row *r, const struct row_baseline *b,
                                  struct strbuf *out)
{
    strbuf_addc(out, ' ');
    if (b->who) {
        add_time(b->ns, out);
        strbuf_adds(out, ", ");
        add_ratio(&b->ratio, r->is_model, out);
        strbuf_adds(out, r->kind.may_convolve ? "" : ", same run");
    }
    strbuf_adds(out, " |");
}

static void markdown_beside_names(const struct campaign_table *t, struct strbuf *out)
{
    for (size_t i = 0; i < TORCH_VARIANTS; i++)
        if (has_column(t, &torch_variants[i]))
            strbuf_addf(out, " beside: %s |", torch_variants[i].name);
}

static void markdown_beside_line(const struct campaign_table *t, struct strbuf *out)
{
    for (size_t i = 0; i < TORCH_VARIANTS; i++)
        if (has_column(t, &torch_variants[i]))
            strbuf_adds(out, " --- |");
}

static void markdown_beside_cells(const struct campaign_table *t, const struct campaign_row *r,
                                  struct strbuf *out)
{
    for (size_t i = 0; i < TORCH_VARIANTS; i++) {
        if (!has_column(t, &torch_variants[i]))
            continue;
        const struct row_baseline *b = find_baseline(r, torch_variants[i].name);
        strbuf_addc(out, ' ');
        if (b) {
            add_time(b->ns, out);
            strbuf_adds(out, ", ");
            add_ratio(&b->ratio, r->is_model, out);
        }
        strbuf_adds(out, " |");
    }
}

static void markdown_row(const struct campaign_table *t, const struct campaign_row *r,
                         struct strbuf *out)
{
    struct strbuf marks = STRBUF_INIT(4096);
    add_marks(r, &marks);
    strbuf_addf(out, "| %llu | ", (unsigned long long)r->index + 1);
    add_plain(r->label, out);
    strbuf_addf(out, " | %s | %s | %u | ", row_state_names[r->state], r->kind.name,
                r->kind.free_axes);
    add_plain(r->precision, out);
    strbuf_adds(out, " | ");
    add_time(r->ours_ns, out);
    strbuf_adds(out, " | ");
    const char *between = "";
    vec_each (struct row_baseline, b, &r->baselines) {
        if (contender_is_beside(b->who))
            continue;
        strbuf_adds(out, between);
        add_plain(b->who, out);
        strbuf_addc(out, ' ');
        add_time(b->ns, out);
        between = ", ";
    }
    strbuf_adds(out, " | ");
    add_ratio(&r->ratio, r->is_model, out);
    strbuf_adds(out, " | ");
    if (r->roofline_pct > 0)
        strbuf_addf(out, "%.0f%%", r->roofline_pct);
    strbuf_addf(out, " | %u | %llu | ", r->judged, (unsigned long long)r->tokens);
    add_cost(r, out);
    strbuf_adds(out, " | ");
    if (*r->hone)
        add_date(r->at_ms, out);
    strbuf_adds(out, " | ");
    add_plain(r->hone, out);
    strbuf_adds(out, " | ");
    add_plain(marks.buf, out);
    strbuf_adds(out, " |");
    if (has_defaults(t)) {
        markdown_default_cell(r, &r->default_eager, out);
        markdown_default_cell(r, &r->default_compile, out);
    }
    markdown_beside_cells(t, r, out);
    strbuf_addc(out, '\n');
    strbuf_release(&marks);
}

void campaign_markdown(const struct campaign_table *t, struct strbuf *out)
{
    strbuf_adds(out, "# ");
    add_plain(t->campaign.name, out);
    strbuf_adds(out, "\n\n");
    print_score(t, "- ", out);
    strbuf_adds(
        out,
        "\nA ratio is a baseline's time divided by the kernel's, with its 95% interval; both "
        "times come from one evaluation. A measured kernel is\ncompared with the fastest PyTorch "
        "baseline, a modelled one with its task's first baseline. Times are geometric "
        "means\nover the timed shapes.\n\n");
    if (has_defaults(t))
        strbuf_adds(out, "PyTorch's times are with `cudnn.benchmark`. The columns `default eager` "
                         "and `default compile` are without it, as\nPyTorch does by default. It "
                         "matters only for convolutions: elsewhere one run stands for both (`same "
                         "run`).\n\n");
    strbuf_adds(out,
                "| | task | state | kind | free sizes | precision | ours | baselines | ratio | "
                "roofline | candidates | tokens | USD | date | Hone | notes |");
    if (has_defaults(t))
        strbuf_adds(out, " default eager | default compile |");
    markdown_beside_names(t, out);
    strbuf_adds(out,
                "\n| ---: | --- | --- | --- | ---: | --- | ---: | --- | --- | ---: | ---: | ---: | "
                "---: | --- | --- | --- |");
    if (has_defaults(t))
        strbuf_adds(out, " --- | --- |");
    markdown_beside_line(t, out);
    strbuf_addc(out, '\n');
    vec_each (struct campaign_row, r, &t->rows)
        markdown_row(t, r, out);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Appends a field, in quotes if it needs them. A spreadsheet would read some texts as formulas;
 * they get a ' in front. */
static void add_field(const char *s, struct strbuf *out)
{
    bool formula = *s && strchr("=+-@\t\r", *s);
    if (!formula && !strpbrk(s, ",\"\r\n")) {
        strbuf_adds(out, s);
        return;
    }
    strbuf_addc(out, '"');
    if (formula)
        strbuf_addc(out, '\'');
    for (; *s; s++)
        strbuf_addf(out, *s == '"' ? "\"\"" : "%c", *s);
    strbuf_addc(out, '"');
}

static void add_number(double v, struct strbuf *out)
{
    strbuf_addc(out, ',');
    if (v > 0)
        strbuf_addf(out, "%.6g", v);
}

static double ns_of(const struct campaign_row *r, const char *who)
{
    const struct row_baseline *b = find_baseline(r, who);
    return b ? b->ns : 0;
}

/* Appends the names of a baseline's four columns: for "torch.high", from torch_high_ns to
 * torch_high_ratio_hi. */
static void csv_baseline_names(const char *who, struct strbuf *out)
{
    static const char *const ends[] = {"ns", "ratio", "ratio_lo", "ratio_hi"};
    for (size_t k = 0; k < ARRAY_LEN(ends); k++) {
        strbuf_addc(out, ',');
        for (const char *p = who; *p; p++)
            strbuf_addc(out, *p == '.' || *p == '-' ? '_' : *p);
        strbuf_addf(out, "_%s", ends[k]);
    }
}

static void csv_baseline(const struct row_baseline *b, struct strbuf *out)
{
    static const struct row_baseline none = {.who = NULL};
    b = b && b->who ? b : &none;
    add_number(b->ns, out);
    add_number(b->ratio.mid, out);
    add_number(b->ratio.lo, out);
    add_number(b->ratio.hi, out);
}

/* Appends the names of the columns for PyTorch: for the variants that a user can ask for, for
 * PyTorch with its default settings, and for the user's own program. */
static void csv_torch_names(struct strbuf *out)
{
    for (size_t i = 0; i < TORCH_VARIANTS; i++)
        if (torch_variant_is_choice(&torch_variants[i]))
            csv_baseline_names(torch_variants[i].name, out);
    csv_baseline_names("default_eager", out);
    csv_baseline_names("default_compile", out);
    strbuf_adds(out, ",default_run,program");
    csv_baseline_names("program", out);
}

static void csv_torch(const struct campaign_row *r, struct strbuf *out)
{
    for (size_t i = 0; i < TORCH_VARIANTS; i++)
        if (torch_variant_is_choice(&torch_variants[i]))
            csv_baseline(find_baseline(r, torch_variants[i].name), out);
    csv_baseline(&r->default_eager, out);
    csv_baseline(&r->default_compile, out);
    bool any = r->default_eager.who || r->default_compile.who;
    strbuf_addf(out, ",%s,", !any ? "" : r->kind.may_convolve ? "own" : "same");
    const struct row_baseline *program = find_program(r);
    add_field(program ? program->who : "", out);
    csv_baseline(program, out);
}

static void csv_row(const struct campaign_row *r, struct strbuf *out)
{
    struct strbuf marks = STRBUF_INIT(4096);
    const char *const texts[] = {r->label,
                                 row_state_names[r->state],
                                 r->kind.name,
                                 r->precision,
                                 r->run,
                                 r->gpu,
                                 r->hone,
                                 r->is_model ? "modelled" : "measured",
                                 r->ratio.who ? r->ratio.who : ""};
    strbuf_addf(out, "%llu", (unsigned long long)r->index + 1);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        strbuf_addc(out, ',');
        add_field(texts[i], out);
    }
    const double numbers[] = {r->ours_ns,
                              ns_of(r, "torch"),
                              ns_of(r, "torch.compile"),
                              ns_of(r, "naive"),
                              r->known_ns,
                              r->ratio.who ? r->ratio.mid : 0,
                              r->ratio.who ? r->ratio.lo : 0,
                              r->ratio.who ? r->ratio.hi : 0,
                              r->roofline_pct};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        add_number(numbers[i], out);
    strbuf_addf(out, ",%u,%u,%u,%llu,%.4f,", r->kind.free_axes, r->judged, r->passes,
                (unsigned long long)r->tokens, r->usd);
    add_date(r->at_ms, out);
    add_marks(r, &marks);
    strbuf_addc(out, ',');
    add_field(marks.buf, out);
    csv_torch(r, out);
    strbuf_addc(out, '\n');
    strbuf_release(&marks);
}

void campaign_csv(const struct campaign_table *t, struct strbuf *out)
{
    strbuf_adds(out, "number,task,state,kind,precision,run,gpu,hone,times,against,ours_ns,torch_ns,"
                     "torch_compile_ns,naive_ns,known_torch_ns,ratio,ratio_lo,ratio_hi,"
                     "roofline_pct,free_sizes,candidates,passes,tokens,usd,date,notes");
    csv_torch_names(out);
    strbuf_addc(out, '\n');
    vec_each (struct campaign_row, r, &t->rows)
        csv_row(r, out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *ratio_json(const struct verdict_ratio *x)
{
    if (!x->who)
        return json_null();
    return json_pack("{s:o, s:f, s:f, s:f}", "who", json_text(x->who), "ratio", x->mid, "lo", x->lo,
                     "hi", x->hi);
}

static json_t *baseline_json(const struct row_baseline *b)
{
    if (!b->who)
        return json_null();
    return json_pack("{s:o, s:f, s:f, s:f, s:f}", "who", json_text(b->who), "ns", b->ns, "ratio",
                     b->ratio.mid, "lo", b->ratio.lo, "hi", b->ratio.hi);
}

static json_t *row_json(const struct campaign_row *r)
{
    json_t *baselines = json_array();
    vec_each (struct row_baseline, b, &r->baselines)
        json_array_append_new(baselines,
                              json_pack("{s:o, s:f, s:f, s:f, s:f, s:b}", "who", json_text(b->who),
                                        "ns", b->ns, "ratio", b->ratio.mid, "lo", b->ratio.lo, "hi",
                                        b->ratio.hi, "beside", contender_is_beside(b->who)));
    json_t *j = json_pack(
        "{s:I, s:o, s:o, s:o, s:s, s:o, s:I, s:o, s:b, s:s, s:b, s:b, s:I, s:o, s:o}", "number",
        (json_int_t)r->index + 1, "task", json_text(r->label), "operand", json_text(r->operand),
        "run", json_text(r->run), "state", row_state_names[r->state], "reason",
        json_text(r->reason), "at_ms", (json_int_t)r->at_ms, "hone", json_text(r->hone),
        "other_version", r->is_old, "kind", r->kind.name, "degenerate", r->kind.degenerate,
        "collapsed", r->kind.collapsed, "free_sizes", (json_int_t)r->kind.free_axes, "precision",
        json_text(r->precision), "gpu", json_text(r->gpu));
    json_t *more = json_pack(
        "{s:b, s:f, s:I, s:o, s:o, s:s, s:f, s:f, s:I, s:I, s:I, s:f, s:b, s:f}", "model",
        r->is_model, "ours_ns", r->ours_ns, "shapes", (json_int_t)r->shapes, "baselines", baselines,
        "against", ratio_json(&r->ratio), "standing", row_standing_names[r->standing],
        "roofline_pct", r->roofline_pct, "known_torch_ns", r->known_ns, "candidates",
        (json_int_t)r->judged, "passes", (json_int_t)r->passes, "tokens", (json_int_t)r->tokens,
        "usd", r->usd, "usd_unknown", r->usd_unknown, "wall_s", r->wall_s);
    json_object_update(j, more);
    json_decref(more);
    json_object_set_new(j, "default_eager", baseline_json(&r->default_eager));
    json_object_set_new(j, "default_compile", baseline_json(&r->default_compile));
    return j;
}

static json_t *default_json(const struct default_score *s)
{
    return json_pack("{s:i, s:f}", "in_mean", (int)s->n, "mean", s->mean);
}

static json_t *score_json(const struct score *s)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:i, s:i, s:i}", "tasks", (int)s->n,
                     "passes", (int)s->passes, "failures", (int)s->failures, "no_ratio",
                     (int)s->no_ratio, "in_mean", (int)s->in_mean, "mean", s->mean, "mean_passes",
                     s->mean_passes, "wins", (int)s->wins, "losses", (int)s->losses, "ties",
                     (int)s->ties);
}

json_t *campaign_json(const struct campaign_table *t)
{
    struct campaign_score s;
    json_t *rows = json_array(), *kinds = json_object(), *beside = json_array();
    campaign_score(t, &s);
    vec_each (struct campaign_row, r, &t->rows)
        json_array_append_new(rows, row_json(r));
    for (size_t i = 0; i < s.kinds.n; i++)
        json_object_set_new(kinds, s.kinds.items[i].kind, score_json(&s.kinds.items[i].score));
    vec_each (struct beside_score, b, &s.beside)
        json_array_append_new(beside, json_pack("{s:s, s:i, s:f}", "who", b->who, "in_mean",
                                                (int)b->n, "mean", b->mean));
    json_t *j = json_pack(
        "{s:o, s:I, s:b, s:b, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:i, s:i, s:o}", "campaign",
        json_text(t->campaign.name), "created_ms", (json_int_t)t->campaign.created_ms, "complete",
        s.unfinished == 0, "model", s.is_model, "all", score_json(&s.all), "without_collapsed",
        score_json(&s.without_collapsed), "kinds", kinds, "beside", beside, "unfinished",
        (int)s.unfinished, "degenerate", (int)s.degenerate, "collapsed", (int)s.collapsed,
        "left_out", (int)s.left_out, "other_version", (int)s.old, "rows", rows);
    json_object_set_new(j, "default_eager", default_json(&s.default_eager));
    json_object_set_new(j, "default_compile", default_json(&s.default_compile));
    campaign_score_release(&s);
    return j;
}
