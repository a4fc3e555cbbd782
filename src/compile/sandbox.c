/*
 * sandbox.c - restricts the files that a compile child can open, with Landlock.
 */
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "compile/compile_service.h"

/* The access rights of the first Landlock version. Every Linux with Landlock knows them. */
#define FS_READ \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_FILE \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE)
#define FS_ALL ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

static void allow(int ruleset, const char *path, uint64_t rights)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rights &= FS_FILE;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(fd);
}

void sandbox_enter(const char *const *roots, size_t n, const char *const *rw, size_t nrw)
{
    struct landlock_ruleset_attr attr = {.handled_access_fs = FS_ALL};
    int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (fd < 0)
        return;
    for (size_t i = 0; i < n; i++)
        allow(fd, roots[i], FS_READ);
    for (size_t i = 0; i < nrw; i++)
        if (*rw[i])
            allow(fd, rw[i], FS_ALL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        syscall(SYS_landlock_restrict_self, fd, 0);
    close(fd);
}
