/* Files that Hone reads: recordings, tar files of bundles. The first byte says which. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "author/replay.h"
#include "base/util.h"
#include "sys/file.h"
#include "worker/tar.h"

static void recording(const char *path)
{
    struct replay *r;
    struct err err = ERR_INIT;
    if (replay_load(&r, path, &err) < 0) {
        if (!*err.msg)
            BUG("refused without a word");
        return;
    }
    for (uint64_t i = 0; i < 4; i++) {
        replay_call(r, "code", i);
        replay_verdict(r, i);
        replay_node(r, i);
    }
    replay_free(r);
}

static void bundles(const char *path)
{
    struct temp_dir dir;
    struct err err = ERR_INIT;
    if (temp_dir_make(&dir, NULL) < 0)
        return;
    char *todo = xasprintf("%s/todo", dir.path);
    if (dir_make(todo, NULL) == 0 && tar_unpack(path, dir.path, &err) < 0 && !*err.msg)
        BUG("refused without a word");
    free(todo);
    temp_dir_release(&dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)size - 1)
        BUG("no file to write to");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (data[0] % 2)
        bundles(path);
    else
        recording(path);
    close(fd);
    return 0;
}
