/* SPDX-License-Identifier: Apache-2.0
 * [label:] command[.queue] field=value flag … [op=n] [prio=n] [wait label label? queue:n …] */
#include "targets/accel/isa/asm.h"

typedef struct {
  const wk_isa_command_info *info;
  wk_isa_command c;
  uint64_t given; /* bit i: field i */
  bool has_op, has_prio;
} builder;

/* ---- the name -------------------------------------------------------------------------------- */

static wk_status find_command(wk_asm_state *a, const char *at, const char *name, builder *b) {
  b->info = wk_isa_command_named(name);
  if (b->info) {
    b->c = wk_isa_command_default(&a->s->machine, b->info->opcode);
    return NULL;
  }
  wk_text24 texts[32];
  const char *names[32];
  size_t n = 0;
  for (; n < wk_isa_commands_count && n < WK_COUNTOF(names); n++) {
    texts[n] = wk_isa_command_text(&wk_isa_commands[n]);
    names[n] = texts[n].s;
  }
  return wk_asm_unknown(a, at, "command", name, names, n);
}

static int queue_named(const char *name) {
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (strcmp(wk_isa_queue_name(q), name) == 0) return q;
  return -1;
}

static wk_status unknown_queue(const wk_asm_state *a, const char *at, const char *name) {
  const char *names[WK_QUEUE_COUNT];
  for (int q = 0; q < WK_QUEUE_COUNT; q++) names[q] = wk_isa_queue_name(q);
  return wk_asm_unknown(a, at, "queue", name, names, WK_QUEUE_COUNT);
}

/* Without a suffix there must be only one queue that can run it. */
static wk_status find_queue(wk_asm_state *a, const char *at, builder *b) {
  wk_asm_name name;
  wk_str which = {0};
  int only = -1, n = 0;
  if (*a->at == '.') {
    const char *suffix = ++a->at;
    if (wk_asm_at_end(a) || a->at != suffix) return wk_asm_error(a, suffix, "a queue is missing");
    WK_TRY(wk_asm_need_word(a, "a queue", &name));
    int q = queue_named(name.s);
    if (q < 0) return unknown_queue(a, suffix, name.s);
    b->c.queue = (uint32_t)q;
    return NULL;
  }
  for (int q = 0; q < wk_machine_queues(&a->s->machine); q++) {
    if (!(b->info->queues >> q & 1)) continue;
    wk_str_printf(&which, "%s%s", n++ ? ", " : "", wk_isa_queue_name(q));
    only = q;
  }
  wk_status s = n > 1 ? wk_asm_error(a, at, "in which queue? (%s)", which.s) : NULL;
  if (n == 1) b->c.queue = (uint32_t)only;
  wk_str_free(&which);
  return s;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static wk_status unknown_field(const wk_asm_state *a, const char *at, const builder *b,
                               const char *name) {
  const char *names[WK_FIELDS_MAX + 3] = {"op", "prio", "wait"};
  size_t n = 3;
  for (int i = 0; i < b->info->n_fields; i++) names[n++] = b->info->fields[i].name;
  char what[48];
  snprintf(what, sizeof what, "field of %s", wk_isa_command_text(b->info).s);
  return wk_asm_unknown(a, at, what, name, names, n);
}

static wk_status header_field(wk_asm_state *a, const char *at, const char *name, bool *given,
                              int64_t max, uint32_t *out) {
  int64_t v;
  if (*given) return wk_asm_error(a, at, "'%s' is given twice", name);
  *given = true;
  if (!wk_asm_accept(a, '=')) return wk_asm_error(a, a->at, "'=' expected after '%s'", name);
  WK_TRY(wk_asm_number(a, name, 0, max, &v));
  *out = (uint32_t)v;
  return NULL;
}

/* The name of a choice, or a number. */
static wk_status choice(wk_asm_state *a, const wk_isa_field *f, int64_t *out) {
  const char *names[16], *at = (wk_asm_at_end(a), a->at);
  wk_asm_name name;
  size_t n = 0;
  if (!wk_asm_word(a, &name)) return wk_asm_expr(a, out);
  for (size_t i = 0; i < wk_isa_choices_count; i++) {
    if (wk_isa_choices[i].kind != f->kind) continue;
    if (strcmp(wk_isa_choices[i].name, name.s) == 0) {
      *out = wk_isa_choices[i].value;
      return NULL;
    }
    if (n < WK_COUNTOF(names)) names[n++] = wk_isa_choices[i].name;
  }
  char what[48];
  snprintf(what, sizeof what, "value of '%s'", f->name);
  return wk_asm_unknown(a, at, what, name.s, names, n);
}

static wk_status field(wk_asm_state *a, const char *at, const char *name, builder *b) {
  int i = 0;
  while (i < b->info->n_fields && strcmp(b->info->fields[i].name, name) != 0) i++;
  if (i == b->info->n_fields) return unknown_field(a, at, b, name);
  const wk_isa_field *f = &b->info->fields[i];
  if (b->given >> i & 1) return wk_asm_error(a, at, "'%s' is given twice", name);
  b->given |= UINT64_C(1) << i;
  if (!wk_asm_accept(a, '=')) {
    if (f->kind != WK_KIND_FLAG) return wk_asm_error(a, at, "'%s' needs a value", name);
    b->c.v[i] = 1;
    return NULL;
  }
  const char *value = (wk_asm_at_end(a), a->at);
  if (wk_isa_is_choice(f->kind)) WK_TRY(choice(a, f, &b->c.v[i]));
  else WK_TRY(wk_asm_expr(a, &b->c.v[i]));
  int64_t low, high, v = b->c.v[i];
  wk_isa_field_range(f, &low, &high);
  if (v >= low && v <= high) return NULL;
  return wk_asm_error(a, value, "%s: %lld is outside %lld to %lld", name, (long long)v,
                      (long long)low, (long long)high);
}

static wk_status check_needed(const wk_asm_state *a, const char *at, const builder *b) {
  for (int i = 0; i < b->info->n_fields; i++)
    if (!(b->given >> i & 1) && wk_isa_is_needed(&b->info->fields[i]))
      return wk_asm_error(a, at, "%s needs a value for '%s'", wk_isa_command_text(b->info).s,
                          b->info->fields[i].name);
  return NULL;
}

/* ---- waits ----------------------------------------------------------------------------------- */

static wk_status unknown_label(const wk_asm_state *a, const char *at, const char *name) {
  const char *names[256];
  size_t n = 0;
  for (size_t i = a->labels.n; i > 0 && n < WK_COUNTOF(names); i--)
    names[n++] = a->labels.data[i - 1].name;
  const char *near = wk_nearest(name, names, n);
  if (near)
    return wk_asm_error(a, at, "no command before this one has the label '%s'; did you mean '%s'?",
                        name, near);
  return wk_asm_error(a, at, "no command before this one has the label '%s'", name);
}

static wk_status one_wait(wk_asm_state *a, builder *b) {
  wk_asm_name name;
  const char *at = (wk_asm_at_end(a), a->at);
  uint32_t row;
  WK_TRY(wk_asm_label_name(a, &name));
  if (!*name.s) return wk_asm_error(a, at, "a label, or queue:number, is expected");
  if (*a->at == ':') {
    int64_t v;
    int q = queue_named(name.s);
    a->at++;
    if (q < 0) return unknown_queue(a, at, name.s);
    WK_TRY(wk_asm_number(a, "threshold", 0, WK_STREAM_COMMANDS - 1, &v));
    wk_isa_wait(&b->c, q, (uint32_t)v);
    return NULL;
  }
  bool is_optional = *a->at == '?';
  a->at += is_optional;
  if (wk_map_get(a->label_of, name.s, &row)) {
    const wk_asm_label *l = &a->labels.data[row];
    wk_isa_wait(&b->c, (int)l->queue, l->ordinal);
    return NULL;
  }
  return is_optional ? NULL : unknown_label(a, at, name.s);
}

static wk_status waits(wk_asm_state *a, builder *b) {
  if (wk_asm_at_end(a)) return wk_asm_error(a, a->at, "a label is missing after 'wait'");
  while (!wk_asm_at_end(a)) WK_TRY(one_wait(a, b));
  return NULL;
}

/* ---- commands -------------------------------------------------------------------------------- */

static wk_status items(wk_asm_state *a, builder *b) {
  while (!wk_asm_at_end(a)) {
    wk_asm_name name;
    const char *at = a->at;
    if (!wk_asm_word(a, &name)) return wk_asm_expect_end(a);
    if (!strcmp(name.s, "wait")) WK_TRY(waits(a, b));
    else if (!strcmp(name.s, "op"))
      WK_TRY(header_field(a, at, "op", &b->has_op, UINT16_MAX, &b->c.operator));
    else if (!strcmp(name.s, "prio"))
      WK_TRY(header_field(a, at, "prio", &b->has_prio, 7, &b->c.priority));
    else WK_TRY(field(a, at, name.s, b));
  }
  return NULL;
}

static wk_status define_label(wk_asm_state *a, const char *at, const char *name, const builder *b) {
  uint32_t row;
  if (b->info->opcode == WK_CMD_END) return wk_asm_error(a, at, "nothing can wait for the end");
  if (wk_map_get(a->label_of, name, &row))
    return wk_asm_error(a, at, "the label '%s' exists already, in line %u", name,
                        a->labels.data[row].line);
  const wk_asm_label l = {wk_arena_strdup(a->arena, name), a->line + 1, b->c.queue,
                          a->s->issued[b->c.queue]};
  row = (uint32_t)a->labels.n;
  wk_vec_push(&a->labels, l);
  wk_map_put(a->label_of, l.name, row);
  return NULL;
}

static wk_status room_for_one(wk_asm_state *a) {
  if (a->s->n < a->o.max_commands) return NULL;
  return wk_asm_error_at(a, WK_RESOURCE, a->at, __FILE__, __LINE__, "more than %u commands",
                         a->o.max_commands);
}

wk_status wk_asm_command(wk_asm_state *a) {
  wk_asm_name label, name;
  builder b = {0};
  const char *at = a->at, *first = at;
  WK_TRY(room_for_one(a));
  WK_TRY(wk_asm_label_name(a, &label));
  bool has_label = *label.s && wk_asm_accept(a, ':');
  if (has_label && wk_asm_at_end(a))
    return wk_asm_error(a, a->at, "a command is missing behind the label");
  if (!has_label) a->at = first;
  at = (wk_asm_at_end(a), a->at);
  if (!wk_asm_word(a, &name))
    return wk_asm_error(a, at, "a command, a label or a directive is expected");
  WK_TRY(find_command(a, at, name.s, &b));
  WK_TRY(find_queue(a, at, &b));
  WK_TRY(items(a, &b));
  WK_TRY(check_needed(a, at, &b));
  WK_TRY(wk_asm_place(a, at, wk_stream_add(a->s, &b.c, a->line + 1)));
  return has_label ? define_label(a, first, label.s, &b) : NULL;
}

/* .raw w0 … w15: a command as sixteen 32-bit words, whatever they are */
wk_status wk_asm_raw(wk_asm_state *a) {
  uint8_t bytes[WK_COMMAND_BYTES];
  const char *at = a->at;
  WK_TRY(wk_asm_start(a));
  WK_TRY(room_for_one(a));
  for (size_t i = 0; i < WK_COMMAND_BYTES; i += 4) {
    int64_t v;
    WK_TRY(wk_asm_number(a, "word", INT32_MIN, UINT32_MAX, &v));
    for (size_t k = 0; k < 4; k++) bytes[i + k] = (uint8_t)(v >> 8 * k);
  }
  return wk_asm_place(a, at, wk_stream_add_bytes(a->s, bytes, a->line + 1));
}
