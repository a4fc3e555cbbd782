/*
 * call.c - executes calls, direct and through pointers, and the functions that the emulator itself
 * provides.
 *
 * Arguments and results are .param variables. The caller's frame holds a copy of them for each
 * lane. A call copies the arguments to the callee's frame, and the results back. Lanes that call
 * together share the callee's frame until they return.
 */
#include "base/util.h"
#include "emu/core/lanes.h"
#include "emu/core/mem.h"

#define MAX_DEPTH 2000u
#define MAX_CALL_BYTES (64u << 20)

struct call_info;
typedef int (*builtin_fn)(struct warp *w, const struct insn *in, const struct call_info *c);

struct call_info {
    struct code_func *target; /* NULL: call through the pointer in o[0] */
    builtin_fn builtin;
    const char *name;
    uint32_t narg, nret;
    struct ptx_var **arg, **ret; /* the caller's variables */
};

static char *param_at(const struct frame *f, const struct ptx_var *v, uint32_t lane)
{
    return f->params + (size_t)lane * f->func->param_bytes + v->addr;
}

void call_return_values(struct warp *w, struct frame *callee, uint32_t lanes)
{
    const struct call_info *c = callee->call->aux;
    const struct ptx_func *f = callee->func->src;
    (void)w;
    for (uint32_t k = 0; k < MIN(c->nret, f->nret); k++)
        for (uint32_t m = lanes; m; m &= m - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(m);
            memcpy(param_at(callee->caller, c->ret[k], i), param_at(callee, f->ret[k], i),
                   MIN(c->ret[k]->bytes, f->ret[k]->bytes));
        }
}

static int enter_function(struct warp *w, const struct insn *in, const struct call_info *c,
                          struct code_func *f, uint32_t lanes)
{
    int lane = __builtin_ctz(lanes);
    if (!f->decoded)
        return emu_fault(w, in, lane, RESULT_UNSUPPORTED, FIND_UNSUPPORTED,
                         "unsupported: call of '%s', which is not defined", f->src->name);
    if (c->narg != f->src->nparam || c->nret > f->src->nret)
        return emu_fault(w, in, lane, RESULT_FAULT, FIND_OTHER,
                         "'%s' takes %u parameters, %u are given", f->src->name, f->src->nparam,
                         c->narg);
    if (w->frame->depth >= MAX_DEPTH || w->call_bytes > MAX_CALL_BYTES ||
        w->frame->local_top + f->local_bytes > w->launch->local_bytes)
        return emu_fault(w, in, lane, RESULT_FAULT, FIND_OTHER, "stack overflow: %u calls deep",
                         w->frame->depth + 1);
    struct frame *fr = frame_push(w, f, lanes);
    for (uint32_t k = 0; k < c->narg; k++)
        for (uint32_t m = lanes; m; m &= m - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(m);
            memcpy(param_at(fr, f->src->param[k], i), param_at(w->frame, c->arg[k], i),
                   MIN(c->arg[k]->bytes, f->src->param[k]->bytes));
        }
    return warp_call(w, lanes, fr);
}

static int exec_call(struct warp *w, const struct insn *in)
{
    const struct call_info *c = in->aux;
    return enter_function(w, in, c, c->target, w->active);
}

static int exec_call_builtin(struct warp *w, const struct insn *in)
{
    const struct call_info *c = in->aux;
    return c->builtin(w, in, c);
}

static int exec_call_pointer(struct warp *w, const struct insn *in)
{
    const struct call_info *c = in->aux;
    const uint64_t *t = opnd(w, in->o[0]);
    uint32_t first = (uint32_t)__builtin_ctz(w->active), same = 0;
    FOR_LANES(i, w)
    same |= (uint32_t)(t[i] == t[first]) << i;
    struct code_func *f = code_from_addr(w->launch->code, t[first]);
    if (!f || f->src->is_entry)
        return emu_fault(w, in, (int)first, RESULT_FAULT, FIND_OTHER,
                         "call through a pointer (0x%llx) that is not a function",
                         (unsigned long long)t[first]);
    uint32_t rest = w->active & ~same;
    int rc = enter_function(w, in, c, f, same);
    if (rest && rc == EX_JUMP) /* the other lanes execute the call again */
        w->frags[w->nfrags - 1].pc = in;
    return rc;
}

/* ---- functions of the CUDA runtime ----------------------------------------------------------- */

static uint64_t arg64(const struct warp *w, const struct call_info *c, uint32_t k, uint32_t lane)
{
    uint64_t v = 0;
    if (k < c->narg)
        memcpy(&v, param_at(w->frame, c->arg[k], lane), MIN(c->arg[k]->bytes, 8u));
    return v;
}

static void set_result(struct warp *w, const struct call_info *c, uint32_t lane, uint64_t v)
{
    if (c->nret)
        memcpy(param_at(w->frame, c->ret[0], lane), &v, MIN(c->ret[0]->bytes, 8u));
}

/* Copies a string at a generic address to buf, which has n bytes, and cuts off what does not fit.
 * Returns buf, or NULL after a fault. */
static char *read_string(struct warp *w, const struct insn *in, uint32_t lane, uint64_t addr,
                         char *buf, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++) {
        const char *p = mem_at(w, in, lane, SP_GENERIC, addr + i, 1, MEM_READ);
        if (!p)
            return NULL;
        buf[i] = *p;
        if (!*p)
            return buf;
    }
    buf[n - 1] = 0;
    return buf;
}

/* Reads the next argument of a printf from the generic address *at, and moves *at past it.
 * Arguments are naturally aligned. Returns false after a fault. */
static bool take_arg(struct warp *w, const struct insn *in, uint32_t lane, uint64_t *at,
                     uint32_t bytes, uint64_t *out)
{
    *at = (*at + bytes - 1) & ~(uint64_t)(bytes - 1);
    const void *p = mem_at(w, in, lane, SP_GENERIC, *at, bytes, MEM_READ);
    if (!p)
        return false;
    *out = 0;
    memcpy(out, p, bytes);
    *at += bytes;
    return true;
}

static int format_one(struct warp *w, const struct insn *in, uint32_t lane, const char **fmt,
                      uint64_t *at, struct strbuf *out)
{
    char spec[48] = "%", text[2048];
    size_t n = 1;
    const char *f = *fmt + 1;
    uint64_t v;
    int longs = 0, shorts = 0;
    for (int digits = 0; *f && strchr("-+ #0123456789.*", *f);) {
        digits = *f >= '0' && *f <= '9' ? digits + 1 : 0;
        if (digits > 3) { /* drop further digits of a width, so that the result fits into text[] */
            f++;
            continue;
        }
        if (*f == '*') {
            if (!take_arg(w, in, lane, at, 4, &v))
                return -1;
            n += (size_t)snprintf(spec + n, sizeof spec - n, "%d", (int)(int32_t)v % 500);
        } else if (n < 30) {
            spec[n++] = *f;
        }
        n = MIN(n, 30u);
        f++;
    }
    for (; *f == 'h'; f++)
        shorts++;
    while (*f && strchr("lLzjt", *f))
        longs += *f == 'l' || *f == 'z' || *f == 'j' || *f == 't', f++;
    char conv = *f;
    *fmt = conv ? f + 1 : f;
    spec[n] = 0;
    if (conv == '%') {
        strbuf_addc(out, '%');
        return 0;
    }
    if (conv && strchr("diouxXc", conv)) {
        if (!take_arg(w, in, lane, at, longs && conv != 'c' ? 8 : 4, &v))
            return -1;
        snprintf(spec + n, sizeof spec - n, "%s%c", conv == 'c' ? "" : "ll", conv);
        long long s = longs ? (long long)v : conv == 'd' || conv == 'i' ? (int32_t)v : (long long)v;
        if (shorts && !longs) {
            bool sign = conv == 'd' || conv == 'i';
            s = shorts > 1 ? (sign ? (int8_t)v : (uint8_t)v) : sign ? (int16_t)v : (uint16_t)v;
        }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        if (conv == 'c')
            snprintf(text, sizeof text, spec, (int)v);
        else
            snprintf(text, sizeof text, spec, s);
#pragma GCC diagnostic pop
    } else if (conv && strchr("eEfFgGaA", conv)) {
        double d;
        if (!take_arg(w, in, lane, at, 8, &v))
            return -1;
        memcpy(&d, &v, 8);
        snprintf(spec + n, sizeof spec - n, "%c", conv);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, spec, d);
#pragma GCC diagnostic pop
    } else if (conv == 's') {
        char str[1024];
        if (!take_arg(w, in, lane, at, 8, &v) || !read_string(w, in, lane, v, str, sizeof str))
            return -1;
        snprintf(spec + n, sizeof spec - n, "s");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, spec, str);
#pragma GCC diagnostic pop
    } else if (conv == 'p') {
        if (!take_arg(w, in, lane, at, 8, &v))
            return -1;
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)v);
    } else {
        return 0;
    }
    strbuf_adds(out, text);
    return 1;
}

static int builtin_vprintf(struct warp *w, const struct insn *in, const struct call_info *c)
{
    struct emu *e = w->launch->emu;
    FOR_LANES(i, w)
    {
        char fmt[1024];
        struct strbuf out = STRBUF_INIT(8192);
        uint64_t at = arg64(w, c, 1, i);
        uint32_t nargs = 0;
        if (!read_string(w, in, i, arg64(w, c, 0, i), fmt, sizeof fmt))
            return EX_FAULT;
        for (const char *f = fmt; *f;) {
            if (*f != '%') {
                strbuf_addc(&out, *f++);
                continue;
            }
            int took = format_one(w, in, i, &f, &at, &out);
            if (took < 0) {
                strbuf_release(&out);
                return EX_FAULT;
            }
            nargs += (uint32_t)took;
        }
        pthread_mutex_lock(&e->lock);
        strbuf_add(&e->printf_text, out.buf, out.len);
        pthread_mutex_unlock(&e->lock);
        set_result(w, c, i,
                   nargs); /* CUDA's printf returns the number of arguments, not of characters */
        strbuf_release(&out);
    }
    return EX_NEXT;
}

static int builtin_assertfail(struct warp *w, const struct insn *in, const struct call_info *c)
{
    uint32_t i = (uint32_t)__builtin_ctz(w->active);
    char msg[256], file[256], *slash;
    if (!read_string(w, in, i, arg64(w, c, 0, i), msg, sizeof msg) ||
        !read_string(w, in, i, arg64(w, c, 1, i), file, sizeof file))
        return EX_FAULT;
    slash = strrchr(file, '/');
    for (char *p = msg; *p; p++)
        *p = (unsigned char)*p < ' ' ? ' ' : *p; /* a message holds no newlines or escapes */
    for (char *p = file; *p; p++)
        *p = (unsigned char)*p < ' ' ? ' ' : *p;
    return emu_fault(w, in, (int)i, RESULT_FAULT, FIND_ASSERT, "%s:%u: assertion `%s' failed",
                     slash ? slash + 1 : file, (uint32_t)arg64(w, c, 2, i), msg);
}

static int builtin_malloc(struct warp *w, const struct insn *in, const struct call_info *c)
{
    struct code *code = w->launch->code;
    (void)in;
    FOR_LANES(i, w)
    {
        uint64_t n = (arg64(w, c, 0, i) + 15) & ~15ull, addr = 0;
        if (n && n <= HEAP_BYTES && code->heap) {
            uint64_t at = __atomic_fetch_add(&code->heap_used, n, __ATOMIC_RELAXED);
            if (at + n <= HEAP_BYTES)
                addr = code->heap->addr + at;
        }
        set_result(w, c, i, addr);
    }
    return EX_NEXT;
}

static int builtin_free(struct warp *w, const struct insn *in, const struct call_info *c)
{
    (void)w;
    (void)in;
    (void)c;
    return EX_NEXT;
}

static builtin_fn builtin_for(const char *name)
{
    static const struct {
        const char *name;
        builtin_fn fn;
    } t[] = {{"vprintf", builtin_vprintf},
             {"__assertfail", builtin_assertfail},
             {"malloc", builtin_malloc},
             {"free", builtin_free}};
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        if (str_eq(t[i].name, name))
            return t[i].fn;
    return NULL;
}

/* ---- decoding ------------------------------------------------------------------------------- */

static int call_list(struct decoder *d, const struct ptx_insn *p, const struct ptx_opnd *o,
                     struct ptx_var ***out, uint32_t *n)
{
    *out = dec_alloc(d, sizeof **out * (o->n ? o->n : 1));
    *n = o->n;
    for (uint32_t i = 0; i < o->n; i++) {
        if (o->list[i].kind != PO_SYM || o->list[i].var->space != SP_PARAM ||
            o->list[i].var->is_kernel_param)
            return dec_unsupported(d, p);
        (*out)[i] = o->list[i].var;
    }
    return 0;
}

static int decode_call(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    struct call_info *c = dec_alloc(d, sizeof *c);
    uint32_t at = 0;
    in->kind = CK_BRANCH;
    in->flags |= INSN_BRANCH;
    in->aux = c;
    if (at < p->nops && p->ops[at].kind == PO_LIST &&
        call_list(d, p, &p->ops[at++], &c->ret, &c->nret) < 0)
        return -1;
    if (at >= p->nops)
        return dec_bad(d, p, "a function is expected");
    const struct ptx_opnd *target = &p->ops[at++];
    if (at < p->nops && p->ops[at].kind == PO_LIST &&
        call_list(d, p, &p->ops[at++], &c->arg, &c->narg) < 0)
        return -1;
    if (target->kind == PO_REG) {
        in->exec = exec_call_pointer;
        return dec_src(d, p, target, PT_U64, &in->o[0]);
    }
    if (target->kind != PO_FUNC)
        return dec_bad(d, p, "a function is expected");
    c->name = target->func->name;
    c->target = code_find(d->code, c->name);
    in->exec = exec_call;
    if (!target->func->defined) {
        c->builtin = builtin_for(c->name);
        in->exec = exec_call_builtin;
        if (!c->builtin)
            return dec_unsupported(d, p);
    }
    return 0;
}

/* ---- the stack ------------------------------------------------------------------------------ */

static int exec_alloca(struct warp *w, const struct insn *in)
{
    uint64_t most = 0, *d = opnd(w, in->o[0]), align = (uint64_t)in->imm;
    FOR_LANES(i, w)
    {
        uint64_t n = in->sub[0] == 64 ? ((const uint64_t *)opnd(w, in->o[1]))[i]
                                      : ((const uint32_t *)opnd(w, in->o[1]))[i];
        most = MAX(most, n);
    }
    struct frame *f = w->frame;
    uint64_t at = (f->local_top + align - 1) / align * align;
    if (most > w->launch->local_bytes || at + most > w->launch->local_bytes)
        return emu_fault(w, in, __builtin_ctz(w->active), RESULT_FAULT, FIND_OTHER,
                         "stack overflow: alloca of %llu bytes", (unsigned long long)most);
    f->local_top = (uint32_t)(at + most);
    FOR_LANES(i, w)
    d[i] = at;
    return EX_NEXT;
}

static int exec_stack(struct warp *w, const struct insn *in)
{
    uint64_t *r = opnd(w, in->o[0]);
    if (in->sub[0]) {
        uint64_t v = w->frame->local_top;
        LANES(w, i, r[i] = v);
    }
    uint64_t v = r[__builtin_ctz(w->active)];
    if (v >= w->frame->local_base && v <= w->launch->local_bytes)
        w->frame->local_top = (uint32_t)v;
    return EX_NEXT;
}

static int decode_stack(struct decoder *d, const struct ptx_insn *p, struct insn *in)
{
    in->kind = CK_OTHER;
    if (str_eq(p->op, "alloca")) {
        enum ptx_type t = ptx_last_type(p);
        if (p->nops < 2 || (t != PT_U64 && t != PT_U32))
            return dec_bad(d, p, "wrong operands or modifiers");
        in->exec = exec_alloca;
        in->imm = p->nops > 2 && p->ops[2].kind == PO_IMM ? p->ops[2].imm : 8;
        if (in->imm < 1 || in->imm > 1 << 20 || (in->imm & (in->imm - 1)))
            return dec_bad(d, p, "bad alignment");
        in->sub[0] = (uint8_t)ptx_type_bits(t);
        if (dec_dst(d, p, &p->ops[0], 64, &in->o[0]) < 0)
            return -1;
        return dec_src(d, p, &p->ops[1], t, &in->o[1]);
    }
    in->exec = exec_stack;
    in->sub[0] = str_eq(p->op, "stacksave");
    if (p->nops != 1)
        return dec_bad(d, p, "one operand is expected");
    return in->sub[0] ? dec_dst(d, p, &p->ops[0], 64, &in->o[0])
                      : dec_src(d, p, &p->ops[0], PT_U64, &in->o[0]);
}

const struct decode_entry decode_call_ops[] = {{"call", decode_call},
                                               {"alloca", decode_stack},
                                               {"stacksave", decode_stack},
                                               {"stackrestore", decode_stack},
                                               {NULL, NULL}};
