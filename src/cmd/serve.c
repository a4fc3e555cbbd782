/* serve.c - `hone serve`: shows a store in a browser. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/optimize_run.h"
#include "serve/serve.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "sys/interrupt.h"
#include "sys/json.h"

/* Starts a program that outlives Hone, as a browser should. */
static int start_detached(const char *program, const char *argument)
{
    pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        interrupt_default();
        execlp(program, program, argument, (char *)NULL);
        _exit(127);
    }
    return pid < 0 || waitpid(pid, &status, 0) != pid ? -1 : 0;
}

/* Opens the page in a browser. The link to the page contains a secret token, and other users can
 * read the command lines of processes. So the browser's command line does not contain the link, but
 * the path of a file. The file holds the link, and only its owner can read it. */
static int open_browser(const struct server *v, struct temp_dir *dir, struct err *err)
{
    const struct asset *page = asset_find("web/open.html");
    const char *mark = strstr(page->data, "LINK");
    struct strbuf html = STRBUF_INIT(8192), program = STRBUF_INIT(4096);
    char *path = NULL;
    int rc = -1;
    if (!find_program("xdg-open", &program))
        err_set(err, ERR_ENV, "--open needs xdg-open (Debian: xdg-utils); open the link by hand");
    else if (temp_dir_make(dir, err) == 0) {
        path = xasprintf("%s/open.html", dir->path);
        strbuf_add(&html, page->data, (size_t)(mark - page->data));
        strbuf_adds(&html, server_link(v));
        strbuf_adds(&html, mark + strlen("LINK"));
        rc = file_write_mode(path, html.buf, html.len, 0600, err);
        if (rc == 0 && start_detached(program.buf, path) < 0)
            rc = err_errno(err, "cannot start xdg-open");
    }
    strbuf_release(&html);
    strbuf_release(&program);
    free(path);
    return rc;
}

static void print_link(const struct server *v, bool json)
{
    if (json) {
        json_t *j = json_pack("{s:s, s:s, s:i}", "link", server_link(v), "address",
                              server_address(v), "port", (int)server_port(v));
        json_print(stdout, j);
        json_decref(j);
    } else {
        printf("%s\n", server_link(v));
    }
    fflush(stdout);
}

static int run(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct server *v = NULL;
    struct temp_dir dir = TEMP_DIR_INIT;
    struct server_config c = {0};
    const char *path = NULL;
    uint64_t port = SERVE_PORT;
    bool open = false, json = false;
    const struct option opts[] = {
        OPT_UINT('p', "port", &port, "N", "listen on this port (default 4663); 0 takes a free one"),
        OPT_STR(0, "address", &c.address, "ADDR",
                "listen on this address (default 127.0.0.1, which only this machine reaches)"),
        OPT_FLAG(0, "open", &open, "open the page in a browser"),
        OPT_STR(0, "store", &path, "FILE", CMD_STORE_HELP),
        OPT_FLAG(0, "json", &json, "print the link as JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone serve [options]",
        .about = "Shows the store in a browser: runs, lineages, candidates, comparisons. Pages of "
                 "a run\n"
                 "that goes on follow it. Prints a link with a token; whoever has the link can "
                 "read the\n"
                 "store. Nothing can be changed through the pages. Ctrl-C ends the server.",
        .example = "hone serve --open\n"
                   "ssh -L 4663:127.0.0.1:4663 gpubox hone serve    # a store on another machine",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc)
        return cmd_usage(&spec, "no operand is expected");
    if (port > UINT16_MAX)
        return cmd_usage(&spec, "--port is a number up to 65535");
    c.port = (uint16_t)port;
    char *store = cmd_existing_store(path, &err);
    if (!store)
        return cmd_fail(&err);
    c.store = store;
    int rc = HONE_OK;
    if (server_start(&v, &c, &err) < 0) {
        rc = cmd_fail(&err);
        goto out;
    }
    if (!server_is_loopback(v))
        fprintf(stderr,
                "hone: there is no TLS: everyone on the way can read the pages and the "
                "token.\nA tunnel is safer: ssh -L %u:127.0.0.1:%u THIS_MACHINE\n",
                server_port(v), server_port(v));
    print_link(v, json);
    if (open && open_browser(v, &dir, &err) < 0)
        fprintf(stderr, "hone: %s\n", err.msg);
    while (!interrupted())
        if (server_wait(v, &err) < 0 && !interrupted()) {
            rc = cmd_fail(&err);
            break;
        }
out:
    server_stop(v);
    temp_dir_release(&dir);
    free(store);
    return rc;
}

const struct command cmd_serve = {"serve", "show the store in a browser", run};
