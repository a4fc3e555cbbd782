/*
 * roles.h - makes the prompt of each role and turns its reply into a candidate. The templates are
 * in prompts/. A strategy decides which role is asked when.
 */
#ifndef AGENT_ROLES_H
#define AGENT_ROLES_H

#include "agent/agent.h"
#include "agent/anchors.h"

enum move_stage { STAGE_STRUCTURE, STAGE_MOVEMENT, STAGE_PIPELINING, STAGE_TUNING };
extern const char *const move_stage_names[4];

/* The parts of a prompt that change from call to call. Each pointer may be NULL. */
struct situation {
    const struct node *node;   /* the candidate that the prompt is about */
    const struct node *parent; /* the candidate to compare `node` with */
    const char *stage;         /* a name of move_stage_names */
    uint32_t step;
    const char *advice;               /* from the planner or the debugger */
    const char *context;              /* about other candidates (context.h) */
    const char *earlier;              /* about earlier attempts that failed */
    const struct anchor_vec *anchors; /* places that may change; NULL means the whole file */
    /* For the tester: the prompt and the facts mention no candidate. */
    bool blind;
    const char *given; /* the file that the porter must port */
};

/* For a role that answers in words. Release `q` also after an error. */
int role_ask(struct agent *a, struct ask *q, enum author_role author, const char *role,
             const char *template, const struct situation *s, double temperature, struct err *err);

struct writing {
    struct ask ask;
    struct node *parent; /* of the new node; edits apply to its source */
    const struct anchor_vec *anchors;
    bool any_dialect; /* also accept a file without CuTe */
    bool propose;     /* ask for cfg->proposals and keep the one with the least modelled time */
    size_t moves;     /* moves that the prompt asks for (moves_try()); 0 = one */
    /* Set by writings_try(): */
    char *source; /* NULL if the reply was refused */
    char move[160], kind[24];
    /* If the reply was refused: why, and the verdict's kind and detector. */
    char reason[700];
    enum verdict_kind refusal;
    const char *detector;
};

/* For a role that answers with a file or edits. */
int role_write(struct agent *a, struct writing *w, enum author_role author, const char *role,
               const char *template, const struct situation *s, struct node *parent,
               double temperature, struct err *err);
/* Asks for all writings, and judges the new nodes out[i]. A refused reply gives a node with a
 * verdict that says why. Returns 0, 1 if the run must stop, or -1 on an error. */
int writings_try(struct agent *a, struct writing *w, size_t n, const char *stage, struct node **out,
                 struct err *err);
/* Does the same for a prompt that asks for cfg->moves moves in one reply. Each move that can be
 * used becomes a node, and all nodes are judged together. `out` has room for cfg->moves nodes; *n
 * becomes their number, which is at least 1. */
int moves_try(struct agent *a, struct writing *w, const char *stage, struct node **out, size_t *n,
              struct err *err);
void writing_release(struct writing *w);

/* Makes up to cfg->repairs attempts: a diagnosis, then an edit. Sets *out to the node that passes,
 * or to NULL. */
int repair_node(struct agent *a, struct node *failed, struct node **out, struct err *err);

/* Adds a line such as "- candidate 4 (from 2), repair: fixed the tail. pass, 12.3 us". */
void node_line(const struct agent *a, const struct node *n, struct strbuf *out);

/* Judges a source with a launch plan, and repairs it if it fails. *out is the node that passes, or
 * NULL. */
int start_from_source(struct agent *a, const char *source, const char *name, struct node **out,
                      struct err *err);
/* The same for the file of --from. If it has no plan, the porter adds one. Returns as
 * judge_given_file(). */
int start_from_file(struct agent *a, struct node **out, struct err *err);
/* Judges the file of --from, which must have a plan. Returns 0, 1 if the run must stop, or -1 on an
 * error. The built-in author cannot repair code: if it is the debugger and the file cannot be
 * built, the run stops. */
int judge_given_file(struct agent *a, struct node **out, struct err *err);

#endif
