/*
 * ptxas.c - follows the .loc lines of the PTX from an error of ptxas to the line of the source.
 */
#include "compile/ptxas.h"

#include <stdlib.h>

#include "base/strbuf.h"
#include "base/util.h"

enum {
    INLINED_MAX = 32, /* levels of inlining to follow from an error outwards */
    SHOWN_MAX = 120   /* characters of the instruction that an error shows */
};

struct place {
    unsigned long file, line, column;
};

/* One directive `.loc FILE LINE COLUMN[, function_name LABEL, inlined_at FILE LINE COLUMN]`. */
struct loc {
    struct place at, outer; /* `outer` is the place after inlined_at */
    bool inlined;
};

static const char *blanks(const char *s)
{
    return s + strspn(s, " \t");
}

static const char *next_line(const char *s)
{
    const char *nl = strchr(s, '\n');
    return nl ? nl + 1 : NULL;
}

static bool read_place(const char *s, struct place *p)
{
    char *end;
    p->file = strtoul(s, &end, 10);
    if (end == s)
        return false;
    p->line = strtoul(end, &end, 10);
    p->column = strtoul(end, &end, 10);
    return true;
}

static bool read_loc(const char *line, struct loc *out)
{
    line = blanks(line);
    if (!str_starts(line, ".loc") || !read_place(line + 4, &out->at))
        return false;
    const char *nl = strchr(line, '\n');
    const char *in = memmem(line, nl ? (size_t)(nl - line) : strlen(line), "inlined_at ", 11);
    out->inlined = in && read_place(in + 11, &out->outer);
    return true;
}

/* Returns the number that a .file directive of the PTX gives to the candidate's file; 0 if there is
 * none. */
static unsigned long own_file(const char *ptx, const char *name)
{
    for (const char *l = ptx; l; l = next_line(l)) {
        const char *s = blanks(l);
        if (!str_starts(s, ".file"))
            continue;
        char *end;
        unsigned long n = strtoul(s + 5, &end, 10);
        end += strspn(end, " \t");
        size_t len = *end == '"' ? strcspn(end + 1, "\"\n") : 0, k = strlen(name);
        const char *tail = end + 1 + len - k;
        if (len >= k && strncmp(tail, name, k) == 0 && (len == k || tail[-1] == '/'))
            return n;
    }
    return 0;
}

/* Finds the last .loc before `end`. If `of` is not NULL, finds the last .loc that names the place
 * *of and says where that place was inlined. */
static bool last_loc(const char *ptx, const char *end, const struct place *of, struct loc *out)
{
    bool found = false;
    struct loc l;
    for (const char *s = ptx; s && s < end; s = next_line(s))
        if (read_loc(s, &l) && (!of || (l.inlined && l.at.file == of->file &&
                                        l.at.line == of->line && l.at.column == of->column))) {
            *out = l;
            found = true;
        }
    return found;
}

static unsigned long line_in_source(const char *ptx, const char *insn, unsigned long own)
{
    struct loc l;
    bool any = last_loc(ptx, insn, NULL, &l);
    for (int i = 0; any && i < INLINED_MAX; i++) {
        if (l.at.file == own)
            return l.at.line;
        if (!l.inlined)
            return 0;
        if (l.outer.file == own)
            return l.outer.line;
        struct place outer = l.outer;
        any = last_loc(ptx, insn, &outer, &l);
    }
    return 0;
}

/* Returns the line of the source with the call of the undefined function `callee`, whose name has k
 * characters; 0 if unknown. In PTX the name of a called function is on a line of its own, before
 * the arguments. */
static unsigned long call_line(const char *ptx, const char *callee, size_t k, unsigned long own)
{
    for (const char *l = ptx; l; l = next_line(l)) {
        const char *s = blanks(l);
        if (strncmp(s, callee, k) == 0 && s[k] == ',')
            return line_in_source(ptx, l, own);
    }
    return 0;
}

unsigned long ptxas_call_line(const char *ptx, const char *callee, const char *name)
{
    unsigned long own = own_file(ptx, name);
    return own ? call_line(ptx, callee, strlen(callee), own) : 0;
}

static const char *after(const char *s, size_t n, const char *piece)
{
    const char *p = memmem(s, n, piece, strlen(piece));
    return p ? p + strlen(piece) : NULL;
}

/* If a line of the log is an error whose place in the source is known, appends the error with this
 * place. Returns false for any other line, which stays as it is. */
static bool place_error(const char *s, size_t n, const char *ptx, unsigned long own,
                        const char *name, struct strbuf *out)
{
    const char *insn = NULL, *msg = after(s, n, "error   : "), *at, *callee;
    unsigned long line = 0;
    if (!msg)
        msg = after(s, n, "fatal   : ");
    if (!own || !msg || !str_starts(s, "ptxas "))
        return false;
    size_t mlen = n - (size_t)(msg - s);
    if ((at = after(s, (size_t)(msg - s), "ptx input, line "))) {
        insn = ptx;
        for (unsigned long i = strtoul(at, NULL, 10); insn && i > 1; i--)
            insn = next_line(insn);
        line = insn ? line_in_source(ptx, insn, own) : 0;
    } else if ((callee = after(msg, mlen, "Unresolved extern function '"))) {
        line = call_line(ptx, callee, strcspn(callee, "'\n"), own);
    }
    if (!line)
        return false;
    strbuf_addf(out, "%s(%lu): error: ptxas: %.*s", name, line, (int)mlen, msg);
    if (insn) {
        insn = blanks(insn);
        size_t shown = strcspn(insn, "\n");
        strbuf_addf(out, ", in `%.*s%s`", (int)MIN(shown, (size_t)SHOWN_MAX), insn,
                    shown > SHOWN_MAX ? "..." : "");
    }
    return true;
}

const char *ptxas_places(const char *log, const char *ptx, const char *name, struct arena *a)
{
    struct strbuf out = STRBUF_INIT(strlen(log) * 4 + 4096);
    unsigned long own = own_file(ptx, name);
    for (const char *s = log; s && *s; s = next_line(s)) {
        size_t n = strcspn(s, "\n");
        if (!place_error(s, n, ptx, own, name, &out))
            strbuf_add(&out, s, n);
        strbuf_addc(&out, '\n');
    }
    const char *r = arena_strndup(a, out.buf ? out.buf : "", out.len);
    strbuf_release(&out);
    return r;
}
