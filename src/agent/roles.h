/*
 * roles.h - what each role is asked, and how a candidate comes out of its answer.
 *
 * Each function fills one `struct ask` or `struct writing` for one role from the state of the run;
 * the strategies decide who is asked when. The texts are in prompts/.
 */
#ifndef AGENT_ROLES_H
#define AGENT_ROLES_H

#include "agent/agent.h"
#include "agent/anchors.h"

enum stage { STAGE_STRUCTURE, STAGE_MOVEMENT, STAGE_PIPELINING, STAGE_TUNING };
extern const char *const stage_names[4];

/* Where a role's prompt differs from the last: everything else is the same for all. */
struct situation {
    const struct node *node;   /* the file it is about; NULL = none yet */
    const struct node *parent; /* to compare with; may be NULL */
    const char *stage;         /* a stage's name, or NULL */
    uint32_t step;
    const char *advice;  /* plan or diagnosis; NULL = none */
    const char *context; /* other candidates, as the strategy chose them; NULL = none */
    const char *earlier; /* what was tried on this very failure; NULL = none */
    const struct anchor_vec *anchors;
    bool blind;        /* the tester: no candidate is told, not even as a fact */
    const char *given; /* first: a file to start from; port: the original; NULL = none */
};

/* A role that answers in words. */
int role_ask(struct agent *a, struct ask *q, enum author_role author, const char *role,
             const char *template, const struct situation *s, double temperature, struct err *err);

/* A role that answers with a file or edits. */
struct writing {
    struct ask ask;
    struct node *parent; /* of the node to be; edits apply to its source */
    const struct anchor_vec *anchors;
    bool any_dialect; /* the porter may keep what it was given */
    bool propose;     /* one of several proposals, as the emulator's model chooses */
    /* out */
    char *source; /* NULL: refused */
    char move[160], kind[24];
    char reason[700];
    enum verdict_kind refusal;
    const char *detector;
};

int role_write(struct agent *a, struct writing *w, enum author_role author, const char *role,
               const char *template, const struct situation *s, struct node *parent,
               double temperature, struct err *err);
/* ... and grows a node from each and has it judged (or refused). */
int writings_try(struct agent *a, struct writing *w, size_t n, const char *stage, struct node **out,
                 struct err *err);
void writing_release(struct writing *w);

/* Repairs a failed node: diagnosis, then edit, up to cfg->repairs times. *out is the last node
 * that passes, or NULL. */
int repair_loop(struct agent *a, struct node *failed, struct node **out, struct err *err);

/* Texts for situations. */
/* "node 4, child of 2, repair: fixed the tail. pass, 12.3 us" */
void node_line(const struct agent *a, const struct node *n, struct strbuf *out);

/* A file with a plan, judged as it is and repaired if need be; *out is NULL if it never passed. */
int judge_given(struct agent *a, const char *source, const char *name, struct node **out,
                struct err *err);
/* The file --from names, likewise; without a plan the porter makes it one first. */
int given_kernel(struct agent *a, struct node **out, struct err *err);

#endif
