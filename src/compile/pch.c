/*
 * pch.c - locks, checks, completes and deletes precompiled headers on disk.
 *
 * Beside each header is a file with its checksum. The checksum finds damage, not attacks: whoever
 * can write to the cache directory can change the user's kernels anyway. It must be fast (about 50
 * ms for 300 MB), because every compile service checks each header before the first use.
 */
#include "compile/pch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

static int checksum(const char *path, uint64_t *sum, uint64_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || st.st_size < 64) {
        close(fd);
        return -1;
    }
    size_t n = (size_t)st.st_size;
    const uint8_t *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return -1;
    uint64_t h[4] = {1, 2, 3, 4}, w[4];
    size_t i = 0;
    for (; i + sizeof w <= n; i += sizeof w) {
        memcpy(w, p + i, sizeof w);
        for (int k = 0; k < 4; k++)
            h[k] = (h[k] ^ w[k]) * 0x9e3779b97f4a7c15u + (h[k] >> 29);
    }
    for (; i < n; i++)
        h[0] = (h[0] ^ p[i]) * 0x9e3779b97f4a7c15u;
    munmap((void *)p, n);
    *sum = h[0] ^ (h[1] << 1 | h[1] >> 63) ^ (h[2] << 2 | h[2] >> 62) ^ (h[3] << 3 | h[3] >> 61);
    *size = n;
    return 0;
}

/* All headers share one lock file. The hash of the header's name says which byte to lock. */
int pch_lock(const char *path)
{
    const char *slash = strrchr(path, '/');
    char file[PCH_PATH_MAX + 8];
    uint64_t h = 0xcbf29ce484222325u;
    for (const char *p = slash ? slash : path; *p; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    snprintf(file, sizeof file, "%.*slock", slash ? (int)(slash + 1 - path) : 0, path);
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct flock byte = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)(h >> 2), .l_len = 1};
    while (fd >= 0 && fcntl(fd, F_OFD_SETLKW, &byte) < 0) {
        if (errno == EINTR)
            continue;
        close(fd);
        fd = -1;
    }
    return fd;
}

static void sum_path(const char *path, char out[PCH_PATH_MAX + 8])
{
    snprintf(out, PCH_PATH_MAX + 8, "%s.sum", path);
}

bool pch_valid(const char *path)
{
    char name[PCH_PATH_MAX + 8], text[64] = "";
    unsigned long long want_sum, want_size;
    uint64_t sum, size;
    sum_path(path, name);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 && sscanf(text, "%llx %llu", &want_sum, &want_size) == 2 &&
           checksum(path, &sum, &size) == 0 && sum == want_sum && size == want_size;
}

/* Renames the checksum first. If the process dies between the two renames, the checksum matches no
 * header, and Hone builds the header again. */
int pch_seal(const char *tmp, const char *path)
{
    char name[PCH_PATH_MAX + 8], tmp_name[PCH_PATH_MAX + 32], text[64];
    uint64_t sum, size;
    if (checksum(tmp, &sum, &size) < 0)
        return -1;
    sum_path(path, name);
    snprintf(tmp_name, sizeof tmp_name, "%s.%d.tmp", name, (int)getpid());
    int n = snprintf(text, sizeof text, "%llx %llu\n", (unsigned long long)sum,
                     (unsigned long long)size);
    int fd = open(tmp_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    bool ok = write(fd, text, (size_t)n) == n;
    close(fd);
    if (!ok || rename(tmp_name, name) < 0 || rename(tmp, path) < 0) {
        unlink(tmp_name);
        return -1;
    }
    return 0;
}

int pch_discard(const char *path)
{
    char name[PCH_PATH_MAX + 8];
    sum_path(path, name);
    unlink(name);
    return unlink(path);
}
