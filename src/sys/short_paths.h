/*
 * short_paths.h - removes the paths of this machine, and the user's name in them, from a text that
 * may be published.
 */
#ifndef SYS_SHORT_PATHS_H
#define SYS_SHORT_PATHS_H

#include <stdbool.h>

#include "base/strbuf.h"

/*
 * Appends the text to `out`, with each absolute path shortened to its last part:
 * "mailbox:/home/me/box" becomes "mailbox:box". A home directory becomes "~". In code, "a /b/c" may
 * be a division. So with `code`, only paths count whose first directory is a usual one (/home,
 * /usr, /tmp, ...), or that of $HOME or of the working directory.
 */
void short_paths(const char *text, bool code, struct strbuf *out);

#endif
