/*
 * mcp.c - `hone mcp`: serves Hone's tools to coding agents, on stdin and stdout.
 */
#include "mcp/mcp.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "author/author.h"
#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "sys/interrupt.h"
#include "sys/jail.h"

static bool costs_money(const char *author)
{
    return str_starts(author, "openai:") || str_starts(author, "anthropic:");
}

/* Only protocol messages may go to stdout. So the server writes to a copy of it, and everything
 * else that prints goes to stderr. */
static int take_stdout(struct err *err)
{
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return err_errno(err, "standard output");
    return fd;
}

static int serve(struct mcp_config *c)
{
    struct err err = ERR_INIT;
    if (!jail_can_limit_files())
        fputs("hone: this machine's Linux has no Landlock: tasks of the directory are refused "
              "unless you give --allow-unconfined\n",
              stderr);
    if ((c->out_fd = take_stdout(&err)) < 0 || mcp_serve(c, &err) < 0)
        return cmd_fail(&err);
    return interrupted() ? HONE_INTERRUPTED : HONE_OK;
}

static int run(int argc, const char **argv)
{
    struct str_vec authors = VEC_INIT;
    struct mcp_config c = {.version = hone_version, .in_fd = STDIN_FILENO};
    const struct option opts[] = {
        OPT_STR('d', "dir", &c.dir, "DIR",
                "the only directory in which the server reads and writes; required"),
        OPT_STRS(
            'a', "author", &authors, "WHO",
            "an author that clients may use besides playbook (see hone optimize); may be given\n"
            "several times. The server limits files and network of what it runs, but not those\n"
            "of exec: and mailbox: authors"),
        OPT_POS_REAL(0, "budget-usd", &c.budget_usd, "USD",
                     "the most that all runs of this server may cost together; required for\n"
                     "openai: and anthropic:, and limits no other author"),
        OPT_FLAG(0, "allow-python", &c.allow_python,
                 "let import_task and checks run Python files of the directory, and let Hone time\n"
                 "PyTorch beside kernels on a GPU"),
        OPT_FLAG(0, "allow-unconfined", &c.allow_unconfined,
                 "run tasks of the directory even if this machine's Linux has no Landlock, which\n"
                 "keeps their code away from your other files; without it, Hone refuses them"),
        OPT_POS_TIME(
            0, "call-limit", &c.call_ns, "TIME",
            "end a longer tool call (default 20m); an optimisation in the background goes on"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone mcp --dir DIR [options]",
        .about = "Serves Hone to a coding agent, with the Model Context Protocol on stdin and\n"
                 "stdout: tools for tasks, kernels, optimisations and exports. It speaks the\n"
                 "revisions 2026-07-28, 2025-11-25 and 2025-06-18. docs/mcp.md says how to add it\n"
                 "to an agent, and what it allows an agent to do.",
        .example = "hone mcp --dir ~/project\n"
                   "claude mcp add hone -- hone mcp --dir ~/project",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc || !c.dir)
        return cmd_usage(&spec, argc ? "no operand is expected" : "give --dir");
    int rc = HONE_OK;
    for (size_t i = 0; i < authors.n && rc == HONE_OK; i++)
        if (!author_is_known(authors.items[i]))
            rc = cmd_usage(&spec, "there is no author '%s'; `hone optimize --help` lists them",
                           authors.items[i]);
        else if (costs_money(authors.items[i]) && !(c.budget_usd > 0))
            rc = cmd_usage(&spec, "--author %s costs money: set a cap with --budget-usd",
                           authors.items[i]);
    c.authors = authors.items;
    c.nauthors = authors.n;
    if (rc == HONE_OK)
        rc = serve(&c);
    vec_release(&authors);
    return rc;
}

const struct command cmd_mcp = {"mcp", "serve Hone's tools to coding agents", run};
