/*
 * jail.c - limits the files of a process with Landlock, and its sockets with seccomp.
 *
 * Invariants:
 *  1. jail_enter() allocates nothing, because it runs after fork.
 *  2. The seccomp filter knows the system calls of one architecture. Those of others fail, so a
 *     32-bit program cannot get round the filter. io_uring fails too, because it can open sockets
 *     by itself.
 */
#include "sys/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"

/* ---- files ----------------------------------------------------------------------------------- */

/* Landlock's rights and scopes. FS_FIRST: all rights of version 1. FS_OF_FILES: the rights that a
 * rule may grant on a file. Newer rights are numbers here, because old systems have no names for
 * them in their headers. */
#define FS_READ \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_FIRST ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define FS_REFER (UINT64_C(1) << 13)    /* since version 2 */
#define FS_TRUNCATE (UINT64_C(1) << 14) /* since version 3 */
#define FS_OF_FILES                                                                              \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
     FS_TRUNCATE)
#define SCOPES UINT64_C(3) /* abstract Unix sockets, signals; since version 6 */

/* struct landlock_ruleset_attr of version 6. */
struct ruleset {
    uint64_t fs, net, scoped;
};

static int landlock_version(void)
{
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, 1u /* VERSION */);
}

bool jail_can_limit_files(void)
{
    return landlock_version() >= 1;
}

static uint64_t all_rights(int version)
{
    return FS_FIRST | (version >= 2 ? FS_REFER : 0) | (version >= 3 ? FS_TRUNCATE : 0);
}

static void allow(int ruleset, const char *path, uint64_t rights)
{
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rights &= FS_OF_FILES;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(fd);
}

int jail_prepare(const struct jail *j, int *fd, struct err *err)
{
    *fd = -1;
    if (!j->read)
        return 0;
    int version = landlock_version();
    if (version < 1 && j->optional)
        return 0;
    if (version < 1)
        return err_set(err, ERR_ENV,
                       "this Linux has no Landlock, so Hone cannot limit the files that a program "
                       "may open");
    struct ruleset attr = {.fs = all_rights(version), .scoped = version >= 6 ? SCOPES : 0};
    size_t size = version >= 6 ? sizeof attr : version >= 4 ? 16 : 8;
    *fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (*fd < 0)
        return err_errno(err, "cannot limit the files that a program may open");
    for (const char *const *p = j->read; *p; p++)
        allow(*fd, *p, FS_READ);
    for (const char *const *p = j->write; p && *p; p++)
        allow(*fd, *p, attr.fs);
    return 0;
}

/* ---- network --------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#define FOREIGN_CALLS 0x40000000u /* calls of the x32 ABI begin here */
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#define FOREIGN_CALLS 0xffffffffu /* none */
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(op, value, n) BPF_JUMP(BPF_JMP | (op) | BPF_K, (value), 0, (n))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE(error) ANSWER(SECCOMP_RET_ERRNO | (error))

static int limit_network(enum jail_net net)
{
#ifdef NATIVE_ARCH
    struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
        REFUSE(ENOSYS),
        LOAD(nr),
        SKIP_UNLESS(BPF_JGE, FOREIGN_CALLS, 1),
        REFUSE(ENOSYS),
        SKIP_UNLESS(BPF_JEQ, SYS_io_uring_setup, 1),
        REFUSE(ENOSYS),
        SKIP_UNLESS(BPF_JEQ, SYS_socket, 4),
        LOAD(args[0]), /* the lower half, which has the socket's family */
        SKIP_UNLESS(BPF_JEQ, net == JAIL_NET_LOCAL ? AF_UNIX : 0xffffffffu, 1),
        ANSWER(SECCOMP_RET_ALLOW),
        REFUSE(EACCES),
        ANSWER(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = ARRAY_LEN(filter), .filter = filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
#else
    errno = ENOSYS;
    return -1;
#endif
}

int jail_enter(int fd, enum jail_net net)
{
    if (fd < 0 && net == JAIL_NET_ALL)
        return 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    if (fd >= 0 && syscall(SYS_landlock_restrict_self, fd, 0) < 0)
        return -1;
    return net == JAIL_NET_ALL ? 0 : limit_network(net);
}
