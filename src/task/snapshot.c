/*
 * snapshot.c - writes, reads and compares snapshots of tasks.
 *
 * A snapshot is a line "hone-task 1", then for each file a line "NAME BYTES", its bytes and a
 * newline. Files that the task does not have are left out.
 */
#include "task/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "sys/hash.h"
#include "sys/json.h"

#define HEAD "hone-task 1\n"

static const char *const file_names[] = {"task.json", "reference.c", "naive.cu"};
enum { TASK_JSON, REFERENCE_C, NAIVE_CU, FILES };

struct part {
    const char *data; /* not NUL-terminated; NULL = no such file */
    size_t len;
};

static void add_file(struct strbuf *out, const char *name, const char *data)
{
    if (!data)
        return;
    strbuf_addf(out, "%s %zu\n", name, strlen(data));
    strbuf_adds(out, data);
    strbuf_addc(out, '\n');
}

void task_snapshot(const struct task *t, struct strbuf *out)
{
    const char *files[FILES] = {t->text, t->reference_c, task_naive_source(t)};
    strbuf_adds(out, HEAD);
    for (int i = 0; i < FILES; i++)
        add_file(out, file_names[i], files[i]);
}

void task_hash(const struct task *t, char hex[TASK_HASH])
{
    struct strbuf sb = STRBUF_INIT(TASK_MAX_SNAPSHOT);
    task_snapshot(t, &sb);
    hash_hex(sb.buf, sb.len, hex);
    strbuf_release(&sb);
}

/* Finds the files in a snapshot. parts[i] becomes the file with the name file_names[i]. Returns
 * false if the text is not a snapshot. */
static bool split(const char *text, size_t len, struct part parts[FILES])
{
    const char *p = text, *end = text + len;
    memset(parts, 0, FILES * sizeof *parts);
    if (len < strlen(HEAD) || memcmp(p, HEAD, strlen(HEAD)) != 0)
        return false;
    for (p += strlen(HEAD); p < end;) {
        char line[64], name[33];
        const char *eol = memchr(p, '\n', MIN((size_t)(end - p), sizeof line - 1));
        unsigned long long n;
        if (!eol)
            return false;
        snprintf(line, sizeof line, "%.*s", (int)(eol - p), p);
        int i = FILES;
        if (sscanf(line, "%32s %llu", name, &n) == 2)
            for (i = 0; i < FILES && !str_eq(name, file_names[i]);)
                i++;
        if (i == FILES || n > TASK_MAX_SNAPSHOT || (size_t)(end - eol - 1) < n + 1 ||
            eol[1 + n] != '\n' || memchr(eol + 1, '\0', n))
            return false;
        parts[i] = (struct part){eol + 1, n};
        p = eol + 2 + n;
    }
    return parts[TASK_JSON].data != NULL;
}

struct task *task_from_snapshot(const char *text, size_t len, const char *name,
                                struct problem_vec *problems)
{
    struct part parts[FILES];
    if (!split(text, len, parts)) {
        vec_push(problems)->text = xasprintf("%s: its copy of the task is damaged", name);
        return NULL;
    }
    const struct part *ref = &parts[REFERENCE_C], *naive = &parts[NAIVE_CU];
    char *reference = ref->data ? xstrndup(ref->data, ref->len) : NULL;
    char *file = xasprintf("%s (task.json)", name);
    struct task *t =
        task_parse(parts[TASK_JSON].data, parts[TASK_JSON].len, file, reference, problems);
    if (t) {
        /* A `dir` of "" would mean a built-in task, for which Hone has a compiled oracle. */
        t->dir = arena_strdup(&t->arena, name);
        t->is_copy = true;
        t->naive_cu = naive->data ? arena_strndup(&t->arena, naive->data, naive->len) : NULL;
    }
    free(file);
    free(reference);
    return t;
}

static json_t *parse(const struct part *p)
{
    return json_read_text(p->data, p->len, "task.json", NULL, NULL);
}

static void diff_keys(const struct part *was, const struct part *now, struct strbuf *out)
{
    json_t *a = parse(was), *b = parse(now), *values[] = {a, b}, *x;
    const char *key;
    unsigned n = 0;
    for (int side = 0; side < 2; side++)
        json_object_foreach(values[side], key, x)
        {
            json_t *other = json_object_get(values[1 - side], key);
            if (side == 0 ? !other || !json_equal(x, other) : !other)
                strbuf_addf(out, "%s\"%s\"", n++ ? ", " : ": ", key);
        }
    if (!n)
        strbuf_adds(out, ": the order of its keys");
    json_decref(a);
    json_decref(b);
}

void task_snapshot_diff(const struct strbuf *was, const struct strbuf *now, struct strbuf *out)
{
    struct part a[FILES], b[FILES];
    size_t begin = out->len;
    if (!split(was->buf, was->len, a) || !split(now->buf, now->len, b))
        return;
    for (int i = 0; i < FILES; i++) {
        bool same = a[i].len == b[i].len && !a[i].data == !b[i].data &&
                    (!a[i].data || memcmp(a[i].data, b[i].data, a[i].len) == 0);
        if (same)
            continue;
        strbuf_addf(out, "%s%s", out->len > begin ? "; " : "", file_names[i]);
        if (!a[i].data || !b[i].data)
            strbuf_adds(out, a[i].data ? " (removed)" : " (new)");
        else if (i == TASK_JSON)
            diff_keys(&a[i], &b[i], out);
    }
}
