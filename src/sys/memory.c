/* memory.c - reads from /proc and /sys how much memory is left and used. See memory.h. */
#include "sys/memory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

/* Reads a small file of /proc or /sys. */
static bool read_small(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[MAX(n, 0)] = '\0';
    return n > 0;
}

/* Reads "NAME:   123 kB" from a file of /proc. Returns bytes. */
static uint64_t proc_bytes(const char *path, const char *name)
{
    char text[8192];
    if (!read_small(path, text, sizeof text))
        return 0;
    size_t n = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0 && line[n] == ':')
            return strtoull(line + n + 1, NULL, 10) * 1024;
    }
    return 0;
}

/* Returns how many bytes the memory limit of this container leaves; UINT64_MAX if there is no
 * limit. Cached pages of files do not count as used, because the kernel can drop them. */
static uint64_t left_in_container(void)
{
    char most[32], used[32], text[8192];
    if (!read_small("/sys/fs/cgroup/memory.max", most, sizeof most) || str_starts(most, "max") ||
        !read_small("/sys/fs/cgroup/memory.current", used, sizeof used))
        return UINT64_MAX;
    uint64_t file = 0, limit = strtoull(most, NULL, 10), now = strtoull(used, NULL, 10);
    const char *at = read_small("/sys/fs/cgroup/memory.stat", text, sizeof text)
                         ? strstr(text, "\ninactive_file ")
                         : NULL;
    if (at)
        file = strtoull(at + strlen("\ninactive_file "), NULL, 10);
    now -= MIN(now, file);
    return limit > now ? limit - now : 1;
}

uint64_t memory_available(void)
{
    const char *instead = getenv("HONE_MEMINFO");
    if (instead)
        return proc_bytes(instead, "MemAvailable");
    return MIN(proc_bytes("/proc/meminfo", "MemAvailable"), left_in_container());
}

static uint64_t of_process(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", pid ? (int)pid : (int)getpid());
    return proc_bytes(path, name);
}

uint64_t memory_resident(pid_t pid)
{
    return of_process(pid, "VmRSS");
}

uint64_t memory_peak(pid_t pid)
{
    return of_process(pid, "VmHWM");
}
