/* template.c - fills the slots of a template file. See template.h. */
#include "export/template.h"

#include <string.h>

#include "base/util.h"
#include "sys/asset.h"

/* Returns the length of the slot's name if a slot begins at p, else 0. */
static size_t slot_at(const char *p)
{
    if (p[0] != '{' || p[1] != '{')
        return 0;
    size_t n = strspn(p + 2, "abcdefghijklmnopqrstuvwxyz_");
    return n && p[2 + n] == '}' && p[3 + n] == '}' ? n : 0;
}

static size_t find_slot(const char *file, const char *name, size_t len,
                        const struct template_slot *slots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(slots[i].name) == len && memcmp(slots[i].name, name, len) == 0)
            return i;
    BUG("template %s: the slot %.*s has no text", file, (int)len, name);
}

void template_fill(struct strbuf *out, const char *file, const struct template_slot *slots,
                   size_t n)
{
    char path[128];
    bool used[64] = {false};
    snprintf(path, sizeof path, "src/export/templates/%s", file);
    const struct asset *a = asset_find(path);
    if (!a || n > ARRAY_LEN(used))
        BUG("there is no template %s, or it has too many slots", file);
    for (const char *p = a->data; *p;) {
        size_t len = slot_at(p);
        if (!len) {
            size_t plain = 1 + strcspn(p + 1, "{");
            strbuf_add(out, p, plain);
            p += plain;
            continue;
        }
        size_t i = find_slot(file, p + 2, len, slots, n);
        used[i] = true;
        strbuf_adds(out, slots[i].text);
        p += len + 4;
    }
    for (size_t i = 0; i < n; i++)
        if (!used[i])
            BUG("template %s has no slot %s", file, slots[i].name);
}
