#include "sys/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/util.h"

/* Process-wide by nature: signals are. */
static volatile sig_atomic_t seen;
static int wake_fd = -1;

static void on_signal(int sig)
{
    int saved = errno;
    uint64_t one = 1;
    seen = 1;
    if (wake_fd >= 0 && write(wake_fd, &one, sizeof one) < 0)
        seen = 1;
    errno = saved;
}

void interrupt_catch(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    if (wake_fd < 0)
        wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        struct sigaction old, sa = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
        sigemptyset(&sa.sa_mask);
        /* What the caller ignores (nohup) stays ignored. */
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &sa, NULL);
    }
}

bool interrupted(void)
{
    return seen != 0;
}

int interrupt_fd(void)
{
    return wake_fd;
}
