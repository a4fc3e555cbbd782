/* train_record.c - see train_record.h. */
#include "gnn/cmd/train_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "sys/file.h"
#include "sys/json.h"

enum { MAX_EPOCHS = 5000 };

static int make_folder_of(const char *path, struct err *err)
{
    char *folder = xstrdup(path), *slash = strrchr(folder, '/');
    int rc = 0;
    if (slash && slash != folder) {
        *slash = '\0';
        rc = dir_make(folder, err);
    }
    free(folder);
    return rc;
}

/* Keeps about MAX_EPOCHS epochs, evenly spread, and the last one. */
static void thin_epochs(json_t *run)
{
    json_t *all = json_object_get(run, "epochs"), *some = json_array();
    size_t n = json_array_size(all), step = (n + MAX_EPOCHS - 1) / MAX_EPOCHS;
    for (size_t i = 0; i < n; i++)
        if ((n - 1 - i) % step == 0)
            json_array_append(some, json_array_get(all, i));
    json_object_set_new(run, "epochs", some);
}

int train_record_write(const char *path, const struct train_record *r, struct err *err)
{
    struct strbuf text = STRBUF_INIT((size_t)16 << 20);
    json_t *more = json_pack("{s:i, s:s, s:o, s:s, s:I, s:I, s:o}", "hone_training", 1, "state",
                             r->state, "reason", json_text(r->reason), "device", r->device,
                             "begun_ms", (json_int_t)r->begun_s * 1000, "planned_epochs",
                             (json_int_t)r->planned, "timeline", trace_newest(r->trace));
    json_object_set_new(
        more, "epochs_done",
        json_integer((json_int_t)json_array_size(json_object_get(r->run, "epochs"))));
    thin_epochs(r->run);
    json_object_update(r->run, more);
    json_decref(more);
    json_add_text(&text, r->run, false);
    int rc = make_folder_of(path, err);
    if (rc == 0)
        rc = text.truncated ? err_set(err, ERR_LIMIT, "the record is longer than 16 MiB")
                            : file_write(path, text.buf, text.len, err);
    strbuf_release(&text);
    return rc < 0 ? err_prefix(err, "--record") : 0;
}
