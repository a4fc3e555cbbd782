/* catalogue.c - a small checker for the part of JSON Schema that schema/mcp.json uses. */
#include "mcp/catalogue.h"

#include <string.h>

#include "base/options.h"
#include "base/util.h"
#include "sys/asset.h"

json_t *catalogue_load(void)
{
    struct err err = ERR_INIT;
    const struct asset *a = asset_find("schema/mcp.json");
    json_t *j = a ? json_read_text(a->data, a->len, a->path, NULL, &err) : NULL;
    if (!j)
        BUG("schema/mcp.json: %s", a ? err.msg : "not embedded");
    return j;
}

json_t *catalogue_tool(const json_t *catalogue, const char *name)
{
    size_t i;
    json_t *tool;
    json_array_foreach(
        json_object_get(catalogue, "tools"), i,
        tool) if (str_eq(json_string_value(json_object_get(tool, "name")), name)) return tool;
    return NULL;
}

/* ---- checking a value ------------------------------------------------------------------------ */

static bool has_type(const json_t *v, const char *type)
{
    return str_eq(type, "string")    ? json_is_string(v)
           : str_eq(type, "integer") ? json_is_integer(v)
           : str_eq(type, "number")  ? json_is_number(v)
           : str_eq(type, "boolean") ? json_is_boolean(v)
           : str_eq(type, "array")   ? json_is_array(v)
                                     : json_is_object(v);
}

static int check_enum(const char *name, const json_t *v, const json_t *words, struct err *err)
{
    struct strbuf list = STRBUF_INIT(1024);
    size_t i;
    json_t *word;
    json_array_foreach(words, i, word)
    {
        if (json_equal(word, v)) {
            strbuf_release(&list);
            return 0;
        }
        strbuf_addf(&list, "%s%s", i ? ", " : "", json_string_value(word));
    }
    err_set(err, ERR_INPUT, "argument '%s' must be one of: %s", name, list.buf);
    strbuf_release(&list);
    return -1;
}

static int check_value(const char *name, const json_t *v, const json_t *schema, struct err *err);

static int check_items(const char *name, const json_t *v, const json_t *items, struct err *err)
{
    size_t i;
    json_t *item;
    json_array_foreach(v, i, item) if (check_value(name, item, items, err) < 0) return -1;
    return 0;
}

static int check_keyword(const char *name, const json_t *v, const char *key, const json_t *want,
                         struct err *err)
{
    double limit = json_number_value(want), number = json_number_value(v);
    size_t len = json_string_length(v);
    if (str_eq(key, "description"))
        return 0;
    if (str_eq(key, "type"))
        return has_type(v, json_string_value(want))
                   ? 0
                   : err_set(err, ERR_INPUT, "argument '%s' must be of type %s", name,
                             json_string_value(want));
    if (str_eq(key, "enum"))
        return check_enum(name, v, want, err);
    if (str_eq(key, "items"))
        return check_items(name, v, want, err);
    if (str_eq(key, "minLength") && (double)len < limit)
        return err_set(err, ERR_INPUT, "argument '%s' must not be empty", name);
    if ((str_eq(key, "maxLength") && (double)len > limit) ||
        (str_eq(key, "maxItems") && (double)json_array_size(v) > limit))
        return err_set(err, ERR_INPUT, "argument '%s' must have at most %.0f %s", name, limit,
                       str_eq(key, "maxItems") ? "items" : "bytes");
    if ((str_eq(key, "minimum") && number < limit) ||
        (str_eq(key, "exclusiveMinimum") && !(number > limit)))
        return err_set(err, ERR_INPUT, "argument '%s' must be %s %.0f", name,
                       str_eq(key, "minimum") ? "at least" : "larger than", limit);
    if (str_eq(key, "maximum") && !(number <= limit))
        return err_set(err, ERR_INPUT, "argument '%s' must be at most %.0f", name, limit);
    if (!json_is_number(want))
        BUG("schema/mcp.json has the keyword '%s', which this check does not know", key);
    return 0;
}

static int check_value(const char *name, const json_t *v, const json_t *schema, struct err *err)
{
    const char *key;
    json_t *want;
    /* The type comes first, because the other keywords rely on it. */
    if (check_keyword(name, v, "type", json_object_get(schema, "type"), err) < 0)
        return -1;
    json_object_foreach((json_t *)schema, key,
                        want) if (check_keyword(name, v, key, want, err) < 0) return -1;
    return 0;
}

/* ---- checking the arguments ------------------------------------------------------------------ */

static int unknown_argument(const char *name, const json_t *properties, struct err *err)
{
    const char *names[64], *key;
    size_t n = 0;
    json_t *unused;
    json_object_foreach((json_t *)properties, key, unused) if (n < ARRAY_LEN(names)) names[n++] =
        key;
    const char *near = strlen(name) < 100 ? suggest_word(name, names, n) : NULL;
    return err_set(err, ERR_INPUT, "there is no argument '%.100s'%s%s%s", name,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int catalogue_check(const json_t *tool, const json_t *arguments, struct err *err)
{
    const json_t *schema = json_object_get(tool, "inputSchema");
    const json_t *properties = json_object_get(schema, "properties");
    const char *name;
    size_t i;
    json_t *value, *required;
    json_array_foreach(
        json_object_get(schema, "required"), i,
        required) if (!json_object_get(arguments,
                                       json_string_value(
                                           required))) return err_set(err, ERR_INPUT,
                                                                      "argument '%s' is missing",
                                                                      json_string_value(required));
    json_object_foreach((json_t *)arguments, name, value)
    {
        const json_t *property = json_object_get(properties, name);
        if (!property)
            return unknown_argument(name, properties, err);
        if (check_value(name, value, property, err) < 0)
            return -1;
    }
    return 0;
}
