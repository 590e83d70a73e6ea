/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/study/report.h"

/* ---- texts ----------------------------------------------------------------------------------- */

enum { OPCODES = 256 };

typedef struct {
  wk_str text;
  char *last[OPCODES]; /* of each opcode, NULL: there was none */
} texts;

static size_t word(const char *s) { return strcspn(s, " "); }

static void add_text(texts *t, int opcode, const char *text) {
  const char *before = t->last[opcode] ? t->last[opcode] : "";
  for (const char *at = text; *at;) {
    size_t n = word(at), m = word(before);
    if (n != m || strncmp(at, before, n) != 0) wk_str_addn(&t->text, at, n);
    at += n;
    before += m;
    if (*before) before++;
    if (*at) wk_str_add(&t->text, " "), at++;
  }
  wk_str_add(&t->text, "\n");
  free(t->last[opcode]);
  t->last[opcode] = wk_xstrdup(text);
}

static void free_texts(texts *t) {
  for (int i = 0; i < OPCODES; i++) free(t->last[i]);
  wk_str_free(&t->text);
}

/* ---- commands -------------------------------------------------------------------------------- */

typedef enum { QUEUES, COMMANDS, OPERATORS, STARTS, CYCLES, RELEASED, COLUMNS } column;
static const char *const column_names[COLUMNS] = {"queues", "opcodes", "operators",
                                                  "starts", "cycles",  "released"};

static void add_command(wk_str c[COLUMNS], const wk_sim_run *r, uint32_t i, uint64_t *before) {
  const wk_sched_span *s = &r->spans[i];
  bool has_run = wk_sched_has_run(s);
  wk_str_printf(&c[QUEUES], "%d ", s->queue);
  wk_str_printf(&c[COMMANDS], "%d ", s->opcode);
  wk_str_printf(&c[OPERATORS], "%d ", s->operator);
  wk_str_printf(&c[RELEASED], "%" PRIu32 " ",
                s->released_by == WK_SCHED_NOBODY ? 0 : i - s->released_by);
  if (has_run) wk_str_printf(&c[STARTS], "%" PRId64 " ", (int64_t)(s->start - *before));
  else wk_str_add(&c[STARTS], "- ");
  wk_str_printf(&c[CYCLES], "%" PRIu64 " ", has_run ? s->retire - s->start : 0);
  if (has_run) *before = s->start;
}

static json_t *names(void) {
  json_t *o = json_object();
  for (int i = 0; i < OPCODES; i++) {
    char key[8];
    const wk_isa_command_info *info = wk_isa_command_of(i);
    snprintf(key, sizeof key, "%d", i);
    if (info) json_object_set_new(o, key, json_string(info->name));
  }
  return o;
}

static void set_text(json_t *o, const char *name, wk_str *s) {
  json_object_set_new(o, name, json_stringn(s->n ? s->s : "", s->n));
  wk_str_free(s);
}

json_t *wk_report_timeline(const wk_sim_shown *x) {
  wk_str columns[COLUMNS] = {0};
  texts t = {0};
  uint64_t before = 0;
  json_t *o = json_object(), *queues = json_array();
  for (uint32_t i = 0; i < x->run->n; i++) {
    wk_isa_command c;
    wk_str text = {0};
    add_command(columns, x->run, i, &before);
    (void)wk_stream_get(x->stream, i, &c);
    wk_disasm_command(&text, x->machine, &c);
    add_text(&t, x->run->spans[i].opcode, text.s);
    wk_str_free(&text);
  }
  for (int q = 0; q < wk_machine_queues(x->machine); q++)
    json_array_append_new(queues, json_string(wk_isa_queue_name(q)));
  json_object_set_new(o, "queue_names", queues);
  json_object_set_new(o, "names", names());
  for (int k = 0; k < COLUMNS; k++) set_text(o, column_names[k], &columns[k]);
  json_object_set_new(o, "texts", json_stringn(t.text.n ? t.text.s : "", t.text.n));
  free_texts(&t);
  return o;
}
