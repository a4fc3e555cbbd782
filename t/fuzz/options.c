/* A command line: words split at NUL bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    bool flag = false;
    int count = 0;
    const char *s = NULL;
    struct str_vec strs = VEC_INIT;
    int64_t i = 0;
    uint64_t u = 0, bytes = 0, ns = 0;
    double real = 0;
    const struct option opts[] = {
        OPT_FLAG('f', "flag", &flag, "h"),      OPT_COUNT('c', "count", &count, "h"),
        OPT_STR('s', "str", &s, "S", "h"),      OPT_STRS('l', "list", &strs, "S", "h"),
        OPT_INT('i', "int", &i, "N", "h"),      OPT_UINT('u', "uint", &u, "N", "h"),
        OPT_REAL('r', "real", &real, "X", "h"), OPT_BYTES('b', "bytes", &bytes, "B", "h"),
        OPT_TIME('t', "time", &ns, "T", "h"),   OPT_END(),
    };
    struct options spec = {.usage = "x", .opts = opts, .stop_at_operand = len && data[0] == '!'};
    char *text = xmalloc(len + 1);
    memcpy(text, data, len);
    text[len] = '\0';
    const char *argv[66] = {"x"};
    int argc = 1;
    for (size_t at = 0; at < len && argc < 65; at += strlen(text + at) + 1)
        argv[argc++] = text + at;
    int given = argc;
    struct err err = ERR_INIT;
    switch (options_parse(&spec, &argc, argv, &err)) {
    case OPTIONS_OK:
        if (argc >= given || argv[argc])
            BUG("operands out of bounds");
        break;
    case OPTIONS_BAD:
        if (!*err.msg)
            BUG("refused without a word");
        break;
    case OPTIONS_HELP:
        break;
    }
    vec_release(&strs);
    free(text);
    return 0;
}
