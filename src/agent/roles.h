/*
 * roles.h - makes the prompt of each role from a template in prompts/, and turns the reply into a
 * candidate. A strategy decides which role is asked when. An int function returns 0, 1 if the run
 * must stop, or -1 on an error.
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
    const struct node *parent; /* the candidate with which the prompt compares `node` */
    const char *stage;         /* one of move_stage_names */
    uint32_t step;
    const char *advice;               /* from the planner or the debugger */
    const char *context;              /* other candidates (context.h) */
    const char *earlier;              /* earlier attempts that failed */
    const struct anchor_vec *anchors; /* places that may change; NULL means the whole file */
    bool blind;                       /* for the tester: the facts mention no candidate */
    const char *given;
};

/* Makes the prompt and the author facts of a call. Release `q` also after an error. */
int role_ask(struct agent *a, struct ask *q, enum author_role author, const char *role,
             const char *template, const struct situation *s, double temperature, struct err *err);

struct writing {
    struct ask ask;
    struct node *parent; /* edits apply to its source */
    const struct anchor_vec *anchors;
    bool any_dialect; /* also accept a file without CuTe */
    bool propose; /* ask for cfg->proposals replies; keep the one with the least modelled time */
    size_t moves; /* how many moves the prompt asks for; 0 means one */
    /* Set by writings_try(): */
    char *source; /* NULL if the reply was refused */
    char move[160], kind[24];
    /* For a refused reply: why, and the verdict's kind and detector. */
    char reason[700];
    enum verdict_kind refusal;
    const char *detector;
};

int role_write(struct agent *a, struct writing *w, enum author_role author, const char *role,
               const char *template, const struct situation *s, struct node *parent,
               double temperature, struct err *err);
/* Asks for all writings and judges the new nodes out[i]. The node of a refused reply has a verdict
 * that says why. */
int writings_try(struct agent *a, struct writing *w, size_t n, const char *stage, struct node **out,
                 struct err *err);
/* The same for one reply with several moves. Each usable move becomes a node. If there is none,
 * out[0] is a node whose verdict says why. `out` has room for cfg->moves nodes; *n becomes their
 * number. */
int moves_try(struct agent *a, struct writing *w, const char *stage, struct node **out, size_t *n,
              struct err *err);
void writing_release(struct writing *w);

/* Makes up to cfg->repairs attempts. *out is a node that passes, or NULL. */
int repair_node(struct agent *a, struct node *failed, struct node **out, struct err *err);

/* Appends a line such as "- candidate 4 (from 2), repair: fixed the tail. pass, 12.3 us". */
void node_line(const struct agent *a, const struct node *n, struct strbuf *out);

/* Judges a source, which must have a plan. If it fails, has it repaired. *out is a node that
 * passes, or NULL. */
int start_from_source(struct agent *a, const char *source, const char *name, struct node **out,
                      struct err *err);
/* The same for the file of --from. If it has no plan, the porter adds one. */
int start_from_file(struct agent *a, struct node **out, struct err *err);
/* Judges the file of --from, which must have a plan. Stops the run if the file cannot be built and
 * the debugger is the built-in author, which cannot repair code. */
int judge_given_file(struct agent *a, struct node **out, struct err *err);

#endif
