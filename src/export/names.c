/* names.c - the words that exported code must not use as names, and the names that replace them. */
#include "export/names.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"

/* The keywords of C and C++, their common macros, and names that the templates use. A tensor or an
 * axis of the task with one of these names gets another name in the exported code. */
static const char *const c_words[] = {"alignas",
                                      "alignment",
                                      "alignof",
                                      "and",
                                      "arg_double",
                                      "arg_float",
                                      "arg_half",
                                      "arg_int",
                                      "arg_map",
                                      "arg_pointer",
                                      "args",
                                      "asm",
                                      "assert",
                                      "auto",
                                      "axis",
                                      "plan_fail",
                                      "bool",
                                      "break",
                                      "case",
                                      "catch",
                                      "cdiv",
                                      "char",
                                      "class",
                                      "const",
                                      "constexpr",
                                      "continue",
                                      "default",
                                      "delete",
                                      "do",
                                      "double",
                                      "else",
                                      "enum",
                                      "errno",
                                      "explicit",
                                      "export",
                                      "extern",
                                      "false",
                                      "float",
                                      "for",
                                      "friend",
                                      "goto",
                                      "if",
                                      "inline",
                                      "int",
                                      "linux",
                                      "long",
                                      "main",
                                      "max",
                                      "min",
                                      "mutable",
                                      "namespace",
                                      "new",
                                      "nullptr",
                                      "operator",
                                      "or",
                                      "plan",
                                      "pow2ceil",
                                      "private",
                                      "protected",
                                      "public",
                                      "register",
                                      "restrict",
                                      "return",
                                      "short",
                                      "signed",
                                      "sizeof",
                                      "static",
                                      "stderr",
                                      "stdin",
                                      "stdout",
                                      "stream",
                                      "struct",
                                      "switch",
                                      "template",
                                      "this",
                                      "throw",
                                      "true",
                                      "try",
                                      "typedef",
                                      "typename",
                                      "typeof",
                                      "union",
                                      "unix",
                                      "unsigned",
                                      "using",
                                      "virtual",
                                      "void",
                                      "volatile",
                                      "while",
                                      "workspace",
                                      "workspace_bytes",
                                      "xor",
                                      "align",
                                      "not",
                                      "NULL",
                                      "EOF",
                                      "I",
                                      "noexcept",
                                      "decltype",
                                      "concept",
                                      "requires",
                                      "thread_local",
                                      "static_assert",
                                      "wchar_t"};

static const char *const python_words[] = {
    "False", "None",   "True",  "align",  "and",      "as",       "assert", "async",
    "await", "bool",   "break", "case",   "class",    "continue", "ctx",    "def",
    "del",   "device", "elif",  "else",   "except",   "finally",  "float",  "for",
    "from",  "global", "if",    "import", "in",       "int",      "is",     "lambda",
    "len",   "match",  "max",   "min",    "nonlocal", "not",      "or",     "pass",
    "plan",  "print",  "raise", "return", "self",     "tensor",   "torch",  "try",
    "tuple", "type",   "while", "with",   "yield",    "math",     "F"};

const char *name_suffix(enum export_lang lang, const char *name)
{
    const char *const *words = lang == LANG_C ? c_words : python_words;
    size_t n = lang == LANG_C ? ARRAY_LEN(c_words) : ARRAY_LEN(python_words);
    for (size_t i = 0; i < n; i++)
        if (str_eq(words[i], name))
            return "_";
    /* The exported code's own names begin like this: checked_mul, map_dim, launch_grid, ... */
    static const char *const prefixes[] = {"checked_", "map_", "launch_", "tensor_",
                                           "use_",     "arg_", "KERNEL_"};
    for (size_t i = 0; lang == LANG_C && i < ARRAY_LEN(prefixes); i++)
        if (str_starts(name, prefixes[i]))
            return "_";
    return "";
}

const char *name_in(enum export_lang lang, const char *name, struct arena *a)
{
    return arena_printf(a, "%s%s", name, name_suffix(lang, name));
}

const char *name_of_text(const char *text, struct arena *a)
{
    size_t n = strlen(text);
    char *out = arena_alloc(a, n + 4), *p = out;
    if (!n || !isalpha((unsigned char)*text))
        *p++ = 'k';
    for (size_t i = 0; i < n && i < 80; i++)
        *p++ = isalnum((unsigned char)text[i]) ? text[i] : '_';
    if (*name_suffix(LANG_C, out) || *name_suffix(LANG_PYTHON, out))
        *p++ = '_';
    return out;
}
