/*
 * gpulock.c - locks a file in /tmp for each GPU.
 */
#include "base/gpulock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Finds a name of the GPU that all processes agree on: the GPU's entry in CUDA_VISIBLE_DEVICES if
 * that variable is set, else its number. */
static void gpu_name(int ordinal, char out[48])
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    snprintf(out, 48, "%d", ordinal);
    if (!list || !*list)
        return;
    for (int i = 0; i < ordinal && *list; i++) {
        list += strcspn(list, ",");
        list += *list == ',';
    }
    size_t n = strcspn(list, ","), k = 0;
    if (!n || n >= 48)
        return;
    for (size_t i = 0; i < n; i++)
        if (isalnum((unsigned char)list[i]) || list[i] == '-')
            out[k++] = list[i];
    out[k] = '\0';
}

static int lock_file(const char *name)
{
    char path[4096];
    const char *dir = getenv("HONE_GPU_LOCK_DIR");
    snprintf(path, sizeof path, "%s/hone-gpu-%s.lock", dir && *dir ? dir : "/tmp", name);
    /* We try without O_CREAT first. In a sticky directory such as /tmp, Linux may refuse to open
     * another user's file with O_CREAT. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return GPU_NO_LOCK;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    int busy = errno == EWOULDBLOCK;
    close(fd);
    return busy ? GPU_BUSY : GPU_NO_LOCK;
}

int gpu_lock(int ordinal)
{
    char name[48];
    gpu_name(ordinal, name);
    return lock_file(name);
}

int pretend_gpu_lock(int ordinal)
{
    char name[48];
    snprintf(name, sizeof name, "emu%d", ordinal);
    return lock_file(name);
}

void gpu_unlock(int fd)
{
    if (fd >= 0)
        close(fd);
}
