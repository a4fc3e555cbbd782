/* key.c - looks for a provider's key, and removes keys from texts (key.h). */
#include "author/key.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

#define KEY_MAX 4096

/* Accepts a key if all its characters are printable and none is a space; spaces around the key are
 * dropped. The key becomes part of an HTTP header, and a line break in the key would begin a second
 * header. */
static int accept_key(const char *text, size_t n, const char *where, struct strbuf *out,
                      struct err *err)
{
    while (n && isspace((unsigned char)text[n - 1]))
        n--;
    while (n && isspace((unsigned char)*text)) {
        text++;
        n--;
    }
    if (!n)
        return err_set(err, ERR_ENV, "%s is empty", where);
    for (size_t i = 0; i < n; i++)
        if (!isgraph((unsigned char)text[i]))
            return err_set(err, ERR_ENV, "%s holds a character that no key may hold", where);
    strbuf_clear(out);
    strbuf_add(out, text, n);
    return 0;
}

static int read_key_file(const char *path, struct strbuf *out, struct err *err)
{
    char buf[KEY_MAX + 1];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ELOOP)
        return err_set(err, ERR_ENV, "key file '%s' is a symbolic link: name the file itself",
                       path);
    if (fd < 0)
        return err_errno(err, "key file '%s'", path);
    int rc = -1;
    ssize_t n;
    if (fstat(fd, &st) < 0)
        err_errno(err, "key file '%s'", path);
    else if (!S_ISREG(st.st_mode))
        err_set(err, ERR_ENV, "key file '%s' is not a regular file", path);
    else if (st.st_mode & 077)
        err_set(err, ERR_ENV,
                "key file '%s' can be read by others (mode %03o): run chmod 600 on it", path,
                (unsigned)st.st_mode & 0777);
    else if ((n = read(fd, buf, sizeof buf)) < 0)
        err_errno(err, "key file '%s'", path);
    else if (n > KEY_MAX)
        err_set(err, ERR_ENV, "key file '%s' is larger than a key can be", path);
    else
        rc = accept_key(buf, (size_t)n, path, out, err);
    explicit_bzero(buf, sizeof buf);
    close(fd);
    return rc;
}

int key_find(const char *env_name, struct strbuf *out, struct err *err)
{
    char name[96], path[1024];
    const char *v = getenv(env_name);
    if (v && *v)
        return accept_key(v, strlen(v), env_name, out, err);
    snprintf(name, sizeof name, "%s_FILE", env_name);
    v = getenv(name);
    if (v && *v)
        return read_key_file(v, out, err);
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config)
        snprintf(path, sizeof path, "%s/hone/%s", config, env_name);
    else
        snprintf(path, sizeof path, "%s/.config/hone/%s", home ? home : "", env_name);
    for (char *p = strrchr(path, '/'); *p; p++)
        *p = (char)tolower((unsigned char)*p);
    if (access(path, F_OK) == 0)
        return read_key_file(path, out, err);
    return err_set(err, ERR_ENV, "no key: set %s, or %s to a 0600 file, or write the key to %s",
                   env_name, name, path);
}

void key_redact(char *text, size_t len, const char *key)
{
    size_t n = strlen(key);
    if (n < 8)
        return;
    for (char *p = text; len >= n && (p = memmem(p, len - (size_t)(p - text), key, n)); p += n)
        memset(p, '*', n);
}
