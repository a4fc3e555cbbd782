/*
 * short_paths.h - removes the paths of this machine, and the user's name in them, from a text that
 * the user may publish.
 */
#ifndef SYS_SHORT_PATHS_H
#define SYS_SHORT_PATHS_H

#include <stdbool.h>

#include "base/strbuf.h"

/*
 * Shortens absolute paths to their last part: "mailbox:/home/me/box" becomes "mailbox:box". A home
 * directory becomes "~". In code, "a /b/c" may be a division. So if `code` is true, this function
 * looks at the path's first directory. It shortens the path only if that is a usual directory
 * (/home, /usr, /tmp, ...), or the first directory of $HOME or of the working directory.
 */
void short_paths(const char *text, bool code, struct strbuf *out);

#endif
