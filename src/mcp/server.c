/*
 * server.c - the loop of the MCP server: reads messages, starts and moves calls, writes answers.
 *
 * Invariants:
 *     1. Every request gets exactly one answer, or none if the client cancels it.
 *     2. No message ends the server. It ends at a signal, or when its input or output is closed.
 *     3. Only send_message() adds to the output, one message per line.
 *     4. When the server ends, it ends everything that it started.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/utf8.h"
#include "base/util.h"
#include "mcp/catalogue.h"
#include "mcp/mcp.h"
#include "mcp/optimize.h"
#include "mcp/resource.h"
#include "mcp/secrets.h"
#include "mcp/tools.h"
#include "sys/term.h"

enum {
    MAX_CALLS = 64,
    MAX_RUNNING = 4,           /* besides the optimisations */
    PATIENT_BYTES = 4 << 20,   /* with more unwritten output, the server reads no input */
    PROGRESS_BYTES = 256 << 10 /* with more, the server sends no progress */
};
#define PROGRESS_EVERY (200 * MS)
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

struct server {
    struct desk desk;
    json_t *catalogue;
    const struct revision *agreed; /* of the handshake; NULL = none */
    struct line_reader reader;
    struct strbuf out;
    size_t written;
    struct call *calls; /* in order of arrival */
    struct secret_vec secrets;
    bool ended; /* no more input, or nobody reads the output */
};

/* ---- output ---------------------------------------------------------------------------------- */

static void on_writable(struct loop *l, int fd, short revents, void *ctx)
{
    struct server *s = ctx;
    (void)revents;
    while (s->written < s->out.len) {
        ssize_t n = write(fd, s->out.buf + s->written, s->out.len - s->written);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            loop_watch(l, fd, POLLOUT, on_writable, s);
            return;
        }
        if (n < 0) {
            s->ended = true;
            break;
        }
        s->written += (size_t)n;
    }
    loop_unwatch(l, fd);
    strbuf_release(&s->out);
    s->written = 0;
}

/* Takes ownership of the message. */
static void send_message(struct server *s, json_t *m)
{
    if (!m)
        BUG("a message that JSON cannot hold");
    size_t from = s->out.len;
    json_add_text(&s->out, m, false);
    while (s->out.len > from && s->out.buf[s->out.len - 1] == '\n')
        s->out.len--;
    secrets_scrub(&s->secrets, s->out.buf + from, s->out.len - from);
    strbuf_addc(&s->out, '\n');
    json_decref(m);
    on_writable(s->desk.host.loop, s->desk.host.config.out_fd, 0, s);
}

static void send_result(struct server *s, const struct revision *r, const json_t *id,
                        json_t *result)
{
    send_message(s, protocol_result(r, id, result, s->desk.host.config.version));
}

static void send_error(struct server *s, const json_t *id, enum rpc_code code, const char *text,
                       json_t *data)
{
    send_message(s, protocol_error(id, code, text, data));
}

static bool output_is_full(const struct server *s, size_t limit)
{
    return s->out.len - s->written > limit;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static struct call *find_call(const struct server *s, const json_t *id)
{
    for (struct call *c = s->calls; c; c = c->next)
        if (json_equal(c->id, id))
            return c;
    return NULL;
}

static void remove_call(struct server *s, struct call *c)
{
    struct call **at = &s->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    call_release(c);
}

static void answer(struct server *s, struct call *c, enum call_step step, const struct err *err)
{
    c->state = CALL_ENDED;
    if (step == CALL_FAILED && c->is_resource) {
        enum rpc_code code = c->revision->stateless ? RPC_INVALID_PARAMS : RPC_NO_RESOURCE;
        send_error(s, c->id, code, err->msg,
                   json_pack("{s:O}", "uri", json_object_get(c->args, "uri")));
        return;
    }
    if (step == CALL_FAILED)
        reply_fail(&c->reply, err);
    json_t *result;
    if (c->is_resource) {
        result = json_incref(c->reply.structured);
        protocol_cacheable(c->revision, result, 0, false);
    } else {
        result = reply_finish(&c->reply);
    }
    send_result(s, c->revision, c->id, result);
}

static unsigned running_calls(const struct server *s)
{
    unsigned n = 0;
    for (const struct call *c = s->calls; c; c = c->next)
        n += c->state == CALL_RUNNING;
    return n;
}

static void on_child_end(struct child_process *p, void *ctx)
{
    (void)p;
    struct call *c = ctx;
    c->state = CALL_ENDED;
}

static int start_child(struct server *s, struct call *c, struct err *err)
{
    host_prepare(&s->desk.host, HOST_BUILT_IN, &c->child);
    *vec_push(&c->argv) = NULL;
    c->child.argv = c->argv.items;
    c->child.limit_ns = s->desk.host.config.call_ns;
    c->child.on_end = on_child_end;
    c->child.ctx = c;
    c->state = CALL_RUNNING;
    return child_start(&c->child, s->desk.host.loop, err);
}

/* Returns true if the call has been answered. */
static bool begin(struct server *s, struct call *c)
{
    struct err err = ERR_INIT;
    enum call_step step = c->tool->start(c, &err);
    if (step == CALL_CHILD && start_child(s, c, &err) < 0)
        step = CALL_FAILED;
    if (step == CALL_WAIT)
        c->state = CALL_WAITING;
    if (step == CALL_DONE || step == CALL_FAILED)
        answer(s, c, step, &err);
    return step == CALL_DONE || step == CALL_FAILED;
}

static bool wait_is_over(const struct call *c)
{
    const struct optimization *o = c->run;
    return o &&
           (o->ended || (c->until_named && o->name) || (c->until_ns && now_ns() >= c->until_ns));
}

static bool move_call(struct server *s, struct call *c)
{
    struct err err = ERR_INIT;
    switch (c->state) {
    case CALL_QUEUED:
        return running_calls(s) < MAX_RUNNING && begin(s, c);
    case CALL_WAITING:
        if (!wait_is_over(c))
            return false;
        c->waited = true;
        return begin(s, c);
    case CALL_RUNNING:
        return false;
    case CALL_ENDED:
        answer(s, c, c->tool->finish(c, &err), &err);
        return true;
    }
    return false;
}

static void move_calls(struct server *s)
{
    for (struct call *c = s->calls, *next; c; c = next) {
        next = c->next;
        if (move_call(s, c))
            remove_call(s, c);
    }
}

/* ---- progress -------------------------------------------------------------------------------- */

static void send_progress(struct server *s, struct call *c, const char *line)
{
    c->said_ns = now_ns();
    send_message(
        s, protocol_notification("notifications/progress",
                                 json_pack("{s:O, s:f, s:o}", "progressToken", c->token, "progress",
                                           ++c->progress, "message", json_text(line))));
}

static bool new_line(struct call *c, char line[400])
{
    const struct strbuf *sb = &c->child.err;
    const char *end = memrchr(sb->buf + c->said, '\n', sb->len - c->said);
    if (!end)
        return false;
    const char *start = memrchr(sb->buf + c->said, '\n', (size_t)(end - sb->buf) - c->said);
    start = start ? start + 1 : sb->buf + c->said;
    snprintf(line, 400, "%.*s", (int)MIN(end - start, 399), start);
    c->said = (size_t)(end + 1 - sb->buf);
    utf8_trim(line);
    term_clean(line, 300);
    return true;
}

static void report_progress(struct server *s)
{
    char line[400];
    for (struct call *c = s->calls; c; c = c->next) {
        if (!c->token || now_ns() - c->said_ns < PROGRESS_EVERY ||
            output_is_full(s, PROGRESS_BYTES))
            continue;
        if (c->state == CALL_WAITING && c->run && c->run->lines != c->lines) {
            c->lines = c->run->lines;
            send_progress(s, c, c->run->last);
        } else if (c->state == CALL_RUNNING && new_line(c, line)) {
            send_progress(s, c, line);
        }
    }
}

/* ---- methods --------------------------------------------------------------------------------- */

struct request {
    struct server *server;
    const struct message *message;
    const struct revision *revision;
};

static void result_of(const struct request *r, json_t *result)
{
    send_result(r->server, r->revision, r->message->id, result);
}

static void fault_of(const struct request *r, enum rpc_code code, const char *text)
{
    send_error(r->server, r->message->id, code, text, NULL);
}

static json_t *capabilities(void)
{
    return json_pack("{s:{}, s:{}}", "tools", "resources");
}

static void add_instructions(const struct server *s, json_t *result)
{
    json_object_set(result, "instructions", json_object_get(s->catalogue, "instructions"));
}

static void on_initialize(const struct request *r)
{
    struct server *s = r->server;
    const json_t *asked = json_object_get(r->message->params, "protocolVersion");
    if (!json_is_string(asked)) {
        fault_of(r, RPC_INVALID_PARAMS, "\"protocolVersion\" must be a string");
        return;
    }
    s->agreed = protocol_agree(json_string_value(asked));
    json_t *result = json_pack("{s:s, s:o, s:{s:s, s:s, s:s}}", "protocolVersion", s->agreed->name,
                               "capabilities", capabilities(), "serverInfo", "name", "hone",
                               "title", "Hone", "version", s->desk.host.config.version);
    add_instructions(s, result);
    send_result(s, s->agreed, r->message->id, result);
}

static void on_discover(const struct request *r)
{
    json_t *result = json_pack("{s:o, s:o}", "supportedVersions", protocol_versions(),
                               "capabilities", capabilities());
    add_instructions(r->server, result);
    protocol_cacheable(r->revision, result, 3600000, true);
    result_of(r, result);
}

static void on_ping(const struct request *r)
{
    result_of(r, json_object());
}

/* Returns whether the request has a cursor, and refuses the request if so. All lists fit one page,
 * so the server never hands out a cursor. */
static bool has_cursor(const struct request *r)
{
    if (!json_object_get(r->message->params, "cursor"))
        return false;
    fault_of(r, RPC_INVALID_PARAMS, "there is no such page");
    return true;
}

static void list(const struct request *r, const char *name, json_t *items)
{
    json_t *result = json_pack("{s:o}", name, items);
    protocol_cacheable(r->revision, result, 3600000, true);
    result_of(r, result);
}

static void on_list_tools(const struct request *r)
{
    if (!has_cursor(r))
        list(r, "tools", json_incref(json_object_get(r->server->catalogue, "tools")));
}

static void on_list_resources(const struct request *r)
{
    if (!has_cursor(r))
        list(r, "resources", resource_list());
}

static void on_list_templates(const struct request *r)
{
    json_t *templates = json_object_get(r->server->catalogue, "resourceTemplates");
    if (!has_cursor(r))
        list(r, "resourceTemplates", json_incref(templates));
}

/* This call ends only when the client cancels it or the server ends. */
static enum call_step listen_start(struct call *c, struct err *err)
{
    (void)c;
    (void)err;
    return CALL_WAIT;
}

static const struct tool listener = {"subscriptions/listen", listen_start, NULL};

static struct call *add_call(const struct request *r, const struct tool *tool, json_t *args)
{
    struct server *s = r->server;
    struct call **at = &s->calls, *c;
    size_t n = 0;
    for (; *at; at = &(*at)->next)
        n++;
    if (n >= MAX_CALLS) {
        json_decref(args);
        fault_of(r, RPC_INTERNAL, "too many requests wait already: ask again later");
        return NULL;
    }
    json_t *token = protocol_progress_token(r->message->params);
    *at = c = xcalloc(1, sizeof *c);
    *c = (struct call){.desk = &s->desk,
                       .tool = tool,
                       .args = args,
                       .id = json_incref(r->message->id),
                       .token = token ? json_incref(token) : NULL,
                       .revision = r->revision,
                       .tmp = TEMP_DIR_INIT,
                       .child = CHILD_INIT};
    return c;
}

static void on_call_tool(const struct request *r)
{
    struct server *s = r->server;
    const json_t *name = json_object_get(r->message->params, "name");
    json_t *args = json_object_get(r->message->params, "arguments");
    struct reply reply = REPLY_INIT;
    struct err err = ERR_INIT;
    const struct tool *tool = json_is_string(name) ? tool_find(json_string_value(name)) : NULL;
    if (!json_is_string(name)) {
        fault_of(r, RPC_INVALID_PARAMS, "\"name\" must be a string: the name of a tool");
        return;
    }
    if (!tool) {
        err_set(&err, ERR_INPUT, "Unknown tool: %.100s", json_string_value(name));
        fault_of(r, RPC_INVALID_PARAMS, err.msg);
        return;
    }
    if (args && !json_is_object(args)) {
        fault_of(r, RPC_INVALID_PARAMS, "\"arguments\" must be an object");
        return;
    }
    args = args ? json_incref(args) : json_object();
    /* We report wrong arguments as a failure of the tool, not as an error of the protocol. So the
     * model sees the message and can correct them. */
    if (catalogue_check(catalogue_tool(s->catalogue, tool->name), args, &err) < 0) {
        json_decref(args);
        reply_fail(&reply, &err);
        result_of(r, reply_finish(&reply));
        return;
    }
    add_call(r, tool, args);
}

static void on_read_resource(const struct request *r)
{
    json_t *uri = json_object_get(r->message->params, "uri");
    if (!json_is_string(uri)) {
        fault_of(r, RPC_INVALID_PARAMS, "\"uri\" must be a string");
        return;
    }
    struct call *c = add_call(r, &resource_reader, json_pack("{s:O}", "uri", uri));
    if (c)
        c->is_resource = true;
}

/* The client asks to hear about changes of the lists. The lists never change, so the server sends
 * only an acknowledgement. */
static void on_listen(const struct request *r)
{
    struct server *s = r->server;
    if (!json_is_object(json_object_get(r->message->params, "notifications"))) {
        fault_of(r, RPC_INVALID_PARAMS, "\"notifications\" must be an object");
        return;
    }
    struct call *c = add_call(r, &listener, json_object());
    if (c)
        send_message(s,
                     protocol_notification("notifications/subscriptions/acknowledged",
                                           json_pack("{s:{s:O}, s:{}}", "_meta", META_SUBSCRIPTION,
                                                     c->id, "notifications")));
}

/* Bits of method.eras. A method exists in revisions of MCP with a handshake, in stateless revisions
 * (protocol.h), or in both. */
enum { HANDSHAKE = 1, STATELESS = 2 };

static const struct method {
    const char *name;
    int eras;
    void (*run)(const struct request *r);
} methods[] = {
    {"initialize", HANDSHAKE, on_initialize},
    {"ping", HANDSHAKE, on_ping},
    {"server/discover", STATELESS, on_discover},
    {"tools/list", HANDSHAKE | STATELESS, on_list_tools},
    {"tools/call", HANDSHAKE | STATELESS, on_call_tool},
    {"resources/list", HANDSHAKE | STATELESS, on_list_resources},
    {"resources/templates/list", HANDSHAKE | STATELESS, on_list_templates},
    {"resources/read", HANDSHAKE | STATELESS, on_read_resource},
    {"subscriptions/listen", STATELESS, on_listen},
};

/* ---- messages -------------------------------------------------------------------------------- */

static void on_request(struct server *s, const struct message *m)
{
    struct err err = ERR_INIT;
    enum rpc_code code = RPC_INTERNAL;
    json_t *data = NULL;
    const struct revision *r = protocol_choose(m, s->agreed, &code, &data, &err);
    if (!r) {
        send_error(s, m->id, code, err.msg, data);
        return;
    }
    if (find_call(s, m->id)) {
        send_error(s, NULL, RPC_INVALID_REQUEST, "another request with this id is in progress",
                   NULL);
        return;
    }
    struct request q = {s, m, r};
    for (size_t i = 0; i < ARRAY_LEN(methods); i++)
        if (str_eq(methods[i].name, m->method) &&
            (methods[i].eras & (r->stateless ? STATELESS : HANDSHAKE))) {
            methods[i].run(&q);
            return;
        }
    err_set(&err, ERR_INPUT, "Method not found: %.100s", m->method);
    send_error(s, m->id, RPC_NO_METHOD, err.msg, NULL);
}

/* Removes the call that the client cancels. If the call was about to return the name of a new run,
 * also stops the run: the client never learns its name. */
static void on_cancelled(struct server *s, const struct message *m)
{
    const json_t *id = json_object_get(m->params, "requestId");
    struct call *c = id ? find_call(s, id) : NULL;
    if (!c)
        return;
    if (c->run && c->until_named)
        optimization_stop(c->run);
    remove_call(s, c);
}

static void on_message(struct server *s, const char *line, size_t len)
{
    struct message m;
    message_read(&m, line, len);
    switch (m.kind) {
    case MESSAGE_REQUEST:
        on_request(s, &m);
        break;
    case MESSAGE_NOTIFICATION:
        if (str_eq(m.method, "notifications/cancelled"))
            on_cancelled(s, &m);
        break;
    case MESSAGE_BAD:
        send_error(s, m.id, m.code, m.err.msg, NULL);
        break;
    case MESSAGE_RESPONSE:
    case MESSAGE_BLANK:
        break;
    }
    message_release(&m);
}

static void on_too_long(struct server *s)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_LIMIT, "a message may have %u bytes at most", MESSAGE_MAX_BYTES);
    send_error(s, NULL, RPC_INVALID_REQUEST, err.msg, NULL);
}

static void on_readable(struct loop *l, int fd, short revents, void *ctx)
{
    struct server *s = ctx;
    char buf[MESSAGE_MAX_CHUNK];
    const char *line;
    size_t len;
    enum line_kind kind;
    (void)l;
    (void)revents;
    ssize_t n = read(fd, buf, sizeof buf);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        s->ended = true;
        return;
    }
    line_reader_add(&s->reader, buf, (size_t)n);
    while ((kind = line_reader_next(&s->reader, &line, &len)) != LINE_NONE) {
        if (kind == LINE_TOO_LONG)
            on_too_long(s);
        else
            on_message(s, line, len);
        move_calls(s);
    }
}

/* ---- the server ------------------------------------------------------------------------------ */

static uint64_t sleep_ns(const struct server *s)
{
    uint64_t now = now_ns(), sleep = LOOP_FOREVER;
    for (const struct call *c = s->calls; c; c = c->next) {
        if (c->token)
            sleep = MIN(sleep, PROGRESS_EVERY);
        if (c->state == CALL_WAITING && c->until_ns)
            sleep = MIN(sleep, c->until_ns > now ? c->until_ns - now : 0);
    }
    return sleep;
}

static void serve(struct server *s, struct err *err)
{
    const struct mcp_config *c = &s->desk.host.config;
    while (!s->ended) {
        if (output_is_full(s, PATIENT_BYTES))
            loop_unwatch(s->desk.host.loop, c->in_fd);
        else
            loop_watch(s->desk.host.loop, c->in_fd, POLLIN, on_readable, s);
        if (loop_step(s->desk.host.loop, sleep_ns(s), err) < 0)
            break;
        optimizations_read(&s->desk);
        report_progress(s);
        move_calls(s);
    }
    loop_unwatch(s->desk.host.loop, c->in_fd);
    loop_unwatch(s->desk.host.loop, c->out_fd);
}

static void end_calls(struct server *s)
{
    while (s->calls) {
        struct call *c = s->calls;
        if (c->tool == &listener)
            send_result(s, c->revision, c->id,
                        json_pack("{s:{s:O}}", "_meta", META_SUBSCRIPTION, c->id));
        remove_call(s, c);
    }
}

int mcp_serve(const struct mcp_config *c, struct err *err)
{
    struct server s = {.reader = LINE_READER_INIT, .out = STRBUF_INIT(1u << 30)};
    int rc = host_open(&s.desk.host, c, err);
    if (rc == 0) {
        int flags = fcntl(c->out_fd, F_GETFL);
        fcntl(c->out_fd, F_SETFL, flags | O_NONBLOCK);
        s.catalogue = catalogue_load();
        secrets_find(&s.secrets);
        serve(&s, err);
        end_calls(&s);
        optimizations_end(&s.desk);
        fcntl(c->out_fd, F_SETFL, flags);
    }
    secrets_release(&s.secrets);
    json_decref(s.catalogue);
    shelf_release(&s.desk.shelf);
    strbuf_release(&s.out);
    line_reader_release(&s.reader);
    host_close(&s.desk.host);
    return rc;
}
