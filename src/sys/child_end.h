/*
 * child_end.h - how a child process ended, for proc.h and for supervise.h.
 */
#ifndef SYS_CHILD_END_H
#define SYS_CHILD_END_H

enum child_end {
    CHILD_RUNNING,
    CHILD_EXITED,   /* it ended by itself; child_process.code (proc.h) is the exit status */
    CHILD_SIGNALED, /* a signal ended it; child_process.code is the signal */
    CHILD_TIMEOUT,  /* Hone ended it at its time limit */
    CHILD_CPU,      /* Hone ended it at its limit of CPU time */
    CHILD_MEMORY,   /* Hone killed it because it used too much memory */
    CHILD_KILLED    /* child_terminate or child_release ended it */
};

#endif
