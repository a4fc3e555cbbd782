/* playbook_form.c - is a task's PyTorch expression one of the forms an op is written in? */
#include "author/playbook_form.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "author/playbook_read.h"
#include "base/util.h"

enum { MAX_TOKEN = 64 };

static size_t word(const char *s)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_')
        n++;
    return n;
}

static int find(const char *const *names, size_t n, const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (text_is(name, len, names[i]))
            return (int)i;
    return -1;
}

/* What .to(...) makes of a value, at what follows "(". */
static enum dtype target(const char *s, const struct form_names *v)
{
    if (text_take(&s, "dtype"))
        text_take(&s, "=");
    if (text_take(&s, "torch."))
        return torch_dtype(s, text_word(s));
    int i = find(v->names, v->n, s, text_word(s));
    return i >= 0 && str_starts(s + text_word(s), ".dtype") ? v->types[i] : DT_NONE;
}

/* The length of a cast that does not matter here; `whole`: of an integer. */
static size_t idle_cast(const char *s, const struct form_names *v, bool whole)
{
    size_t n = *s == '.' ? text_word(s + 1) : 0, close = n ? 1 + n + strcspn(s + 1 + n, ")") : 0;
    if (!n || s[1 + n] != '(' || !s[close])
        return 0;
    if (str_starts(s, ".contiguous()"))
        return close + 1;
    enum dtype t = str_starts(s, ".to(") ? target(s + 4, v) : torch_cast_method(s + 1, n);
    bool idle = t == DT_I32 || t == DT_I64 ? whole : dtype_is_float(t) && dtype_bytes(t) > 1;
    return idle ? close + 1 : 0;
}

/* The length of what does not matter here: blanks, modules, names of axis and eps arguments. */
static size_t idle(const char *s, bool after_word)
{
    static const char *const modules[] = {"torch.nn.functional.", "torch.", "F."};
    static const char *const keys[] = {"dim", "dims", "axis", "eps"};
    if (isspace((unsigned char)*s))
        return 1;
    for (size_t i = 0; !after_word && i < ARRAY_LEN(modules); i++)
        if (str_starts(s, modules[i]))
            return strlen(modules[i]);
    for (size_t i = 0; !after_word && i < ARRAY_LEN(keys); i++) {
        size_t n = strlen(keys[i]);
        if (str_starts(s, keys[i]) && s[n] == '=' && s[n + 1] != '=')
            return n + 1;
    }
    return 0;
}

/* The next token after `before`: a word, a number with its sign, or one character; "" at the end.
 * An axis in brackets of its own is the axis. */
static const char *token(const char *s, const struct form_names *v, const char *before,
                         char out[MAX_TOKEN])
{
    char last = *before ? before[strlen(before) - 1] : 0;
    bool after_word = isalnum((unsigned char)last) || last == '_';
    int name = find(v->names, v->n, before, strlen(before));
    bool whole = name >= 0 && !dtype_is_float(v->types[name]);
    for (size_t n; (n = idle(s, after_word)) || (n = idle_cast(s, v, whole)); s += n)
        after_word = false;
    size_t n = word(s), sign = *s == '-' && isdigit((unsigned char)s[1]) && !after_word &&
                               last != ')' && last != ']';
    if (sign)
        n = 1 + word(s + 1);
    if (*s == '[' && last && !after_word && last != ')') {
        size_t k = s[1] == '-', digits = word(s + 1 + k);
        if (digits && isdigit((unsigned char)s[1 + k]) && s[1 + k + digits] == ']') {
            snprintf(out, MAX_TOKEN, "%.*s", (int)MIN(k + digits, MAX_TOKEN - 1), s + 1);
            return s + k + digits + 2;
        }
    }
    n = n ? n : *s ? 1 : 0;
    snprintf(out, MAX_TOKEN, "%.*s", (int)MIN(n, MAX_TOKEN - 1), s);
    return s + n;
}

/* Is the token what the form has here, ROLE.shape[AXIS], from the dot on? *form moves past it. */
static bool is_dim(const char **form, const char *tok, const struct form_names *v, int name)
{
    char *end;
    if (name < 0 || !v->dim || !str_starts(*form, ".shape["))
        return false;
    long axis = strtol(*form + strlen(".shape["), &end, 10);
    const char *dim = *end == ']' ? v->dim(v->ctx, (size_t)name, axis) : NULL;
    *form = end + 1;
    return dim && str_eq(dim, tok);
}

bool form_matches(const char *form, const char *text, const struct form_names *v, int *stands_for)
{
    char f[MAX_TOKEN] = "", t[MAX_TOKEN] = "", next[MAX_TOKEN], last[24];
    snprintf(last, sizeof last, "%zu", v->rank ? v->rank - 1 : 0);
    for (size_t i = 0; i < v->nroles; i++)
        stands_for[i] = -1;
    do {
        form = token(form, v, f, next);
        snprintf(f, sizeof f, "%s", next);
        text = token(text, v, t, next);
        snprintf(t, sizeof t, "%s", next);
        if (str_eq(f, "$")) { /* $last */
            form = token(form, v, "", f);
            if (!str_eq(t, "-1") && !str_eq(t, last))
                return false;
            continue;
        }
        int role = find(v->roles, v->nroles, f, strlen(f));
        if (role >= 0) {
            int name = find(v->names, v->n, t, strlen(t));
            if (name < 0 && is_dim(&form, t, v, stands_for[role]))
                continue;
            if (name < 0 || (stands_for[role] >= 0 && stands_for[role] != name))
                return false;
            stands_for[role] = name;
        } else if (!str_eq(f, t)) {
            return false;
        }
    } while (*f);
    return true;
}
