/*
 * shared_state.h - a plain struct that several processes of one user change, one at a time.
 *
 *     struct shared_state *s;
 *     shared_state_open(&s, "/home/me/.cache/hone/limits/ab12", MAGIC, sizeof(struct mine), err);
 *     struct mine *m = shared_state_begin(s);      waits while another process changes it
 *     m->count++;
 *     shared_state_end(s, true);                   false: forget the change
 *
 * Invariants:
 *  1. The file holds two copies of the struct. The caller changes the one that is not current, and
 *     end() makes it current by writing one word. So a killed process leaves the old state or the
 *     new one, never a mixture.
 *  2. Linux drops the lock of begin() when the process that holds it dies.
 *  3. A new state is all zeros.
 *  4. Each process that opens the file is a member, and holds a lock on a byte of its own. It is
 *     alive as long as that byte is locked.
 *
 * Only the file's owner can open it. The state is valid only on this machine until the next boot.
 * So callers put shared_state_boot_id() into the file's name.
 */
#ifndef SYS_SHARED_STATE_H
#define SYS_SHARED_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SHARED_STATE_MEMBERS 128

struct shared_state;

/* Creates the file if necessary, and becomes a member. `magic` names the struct and its version.
 * Without a path, the state is private to this process. */
int shared_state_open(struct shared_state **out, const char *path, uint64_t magic, size_t size,
                      struct err *err);
void shared_state_close(struct shared_state *s);

void *shared_state_begin(struct shared_state *s);
void shared_state_end(struct shared_state *s, bool keep);

/* Returns the number of this process as a member, below SHARED_STATE_MEMBERS. A dead member may
 * have had the same number. So a new member must first clear what the state holds under its
 * number. */
unsigned shared_state_member(const struct shared_state *s);
bool shared_state_is_alive(const struct shared_state *s, unsigned member);

/* Writes the system's boot id to `out`. It changes with each boot. Writes "" if the system does not
 * tell. */
void shared_state_boot_id(char out[64]);

#endif
