/*
 * roles.h - makes the prompt of each role and turns its reply into a candidate.
 *
 * role_ask() fills a `struct ask`, and role_write() a `struct writing`, from the state of the run.
 * The strategies decide which role is asked when. The templates of the prompts are in prompts/.
 */
#ifndef AGENT_ROLES_H
#define AGENT_ROLES_H

#include "agent/agent.h"
#include "agent/anchors.h"

enum move_stage { STAGE_STRUCTURE, STAGE_MOVEMENT, STAGE_PIPELINING, STAGE_TUNING };
extern const char *const move_stage_names[4];

/* The parts of a prompt that change from call to call. */
struct situation {
    const struct node *node; /* the candidate that the prompt is about; NULL if there is none yet */
    const struct node *parent; /* the candidate to compare `node` with; may be NULL */
    const char *stage;         /* the name of a move stage, or NULL */
    uint32_t step;
    const char *advice;  /* what the planner or the debugger advised; NULL if nothing */
    const char *context; /* a text about other candidates (context.h); NULL if there is none */
    const char *earlier; /* a text about earlier attempts that failed; NULL if there is none */
    const struct anchor_vec *anchors; /* the places that may change; NULL means the whole file */
    /* For the tester, who must not know the candidates. Neither the prompt nor the author
     * facts (JSON for authors that are programs) mention a candidate. */
    bool blind;
    const char *given; /* the file that the porter must port; NULL if there is none */
};

/* Fills `q` for a role that answers in words. The caller releases `q`, also after an error. */
int role_ask(struct agent *a, struct ask *q, enum author_role author, const char *role,
             const char *template, const struct situation *s, double temperature, struct err *err);

/* An author call whose reply is a file or edits. */
struct writing {
    struct ask ask;
    struct node *parent; /* the parent of the new node; edits apply to its source */
    const struct anchor_vec *anchors;
    bool any_dialect; /* accept a file that is not CuTe, even if the run demands CuTe */
    bool propose;     /* ask for several proposals and keep the one with the least modelled time */
    size_t moves;     /* how many moves the prompt asks for (moves_try()); 0 = one */
    /* writings_try() sets the following members. */
    char *source; /* NULL if the reply was refused */
    char move[160], kind[24];
    /* If the reply was refused, these say why, and give the kind and the detector of the
     * verdict. */
    char reason[700];
    enum verdict_kind refusal;
    const char *detector;
};

/* Fills `w` for a role that answers with a file or edits. */
int role_write(struct agent *a, struct writing *w, enum author_role author, const char *role,
               const char *template, const struct situation *s, struct node *parent,
               double temperature, struct err *err);
/* Asks for all writings and sets out[i] to a new node for w[i]. If the reply was refused, the node
 * gets a verdict that says why. Otherwise the function has the node judged. Returns 0, 1 if the run
 * must stop, or -1 on an error. */
int writings_try(struct agent *a, struct writing *w, size_t n, const char *stage, struct node **out,
                 struct err *err);
/* Does the same for a prompt that asks for cfg->moves moves in one reply. Each move that can be
 * used becomes a node, and all nodes are judged together. `out` has room for cfg->moves nodes; *n
 * becomes their number, which is at least 1. */
int moves_try(struct agent *a, struct writing *w, const char *stage, struct node **out, size_t *n,
              struct err *err);
void writing_release(struct writing *w);

/* Repairs a failed node: diagnosis, then edit, up to cfg->repairs times. *out is the repaired
 * node, or NULL if no repair passed. */
int repair_node(struct agent *a, struct node *failed, struct node **out, struct err *err);

/* Adds a line such as "- candidate 4 (from 2), repair: fixed the tail. pass, 12.3 us". */
void node_line(const struct agent *a, const struct node *n, struct strbuf *out);

/* Gives a source file, which must have a launch plan, to the judge. If the file fails, has it
 * repaired. Sets *out to the node that passes, or to NULL if none does. */
int start_from_source(struct agent *a, const char *source, const char *name, struct node **out,
                      struct err *err);
/* Does the same with the file of --from. If that file has no plan, the porter first turns it into a
 * candidate with a plan. Returns 1 in the same cases as judge_given_file(). */
int start_from_file(struct agent *a, struct node **out, struct err *err);
/* Gives the file of --from, which must have a plan, to the judge. Returns 0, 1 if the run must
 * stop, or -1 on an error. The run must also stop if the file cannot be built and the built-in
 * author is the one for repairs, because that author cannot repair code. */
int judge_given_file(struct agent *a, struct node **out, struct err *err);

#endif
