/*
 * interrupt.c - catches the signals that ask Hone to end.
 */
#include "sys/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/util.h"

enum { GRACE_S = 10 }; /* after the first signal, Hone has this time to end */
/* Signals this close together count as one, because timeout(1) signals a process and then its
 * whole group. */
#define SAME_NS 250000000ull

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
/* Static, because signals concern the whole process. */
static volatile sig_atomic_t seen;
static uint64_t first_ns; /* time of the first signal; written once, before `seen` */
static int wake_fd = -1;

static void on_signal(int sig)
{
    int saved = errno;
    uint64_t one = 1;
    if (seen && now_ns() - first_ns > SAME_NS)
        _exit(INTERRUPT_EXIT);
    if (!seen) {
        first_ns = now_ns();
        seen = 1;
        alarm(GRACE_S);
        if (wake_fd >= 0 && write(wake_fd, &one, sizeof one) < 0)
            errno = 0; /* the counter is full: the descriptor is readable already */
    }
    errno = saved;
}

static void on_alarm(int sig)
{
    _exit(INTERRUPT_EXIT);
}

void interrupt_catch(void)
{
    struct sigaction late = {.sa_handler = on_alarm};
    if (wake_fd < 0)
        wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sigemptyset(&late.sa_mask);
    sigaction(SIGALRM, &late, NULL);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        struct sigaction old, sa = {.sa_handler = on_signal};
        sigemptyset(&sa.sa_mask);
        /* If a signal is ignored already, as under nohup, it stays ignored. */
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

int interrupt_check(struct err *err)
{
    return interrupted() ? err_set(err, ERR_SYSTEM, "interrupted") : 0;
}

void interrupt_default(void)
{
    alarm(0);
    signal(SIGALRM, SIG_DFL);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        struct sigaction old;
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == on_signal)
            signal(signals[i], SIG_DFL);
    }
}
