/* SPDX-License-Identifier: Apache-2.0
 * The assembler runs through the lines as an interpreter: loops jump back, everything else takes
 * effect at once. So a name, a label or a region must stand before its use, and waits can only
 * name earlier commands. */
#include "targets/accel/isa/asm.h"

#include <stdlib.h>

#define TEXT_MAX (256u << 20)
#define LOOPS_MAX 16

/* ---- machine --------------------------------------------------------------------------------- */

static wk_status begin_with(wk_asm_state *a, const wk_machine *m) {
  a->s = wk_stream_new(m, a->file);
  if (!a->s) return wk_error(WK_RESOURCE, "out of memory");
  uint32_t row = wk_asm_symbol_row(a, "N");
  a->symbols.data[row].is_defined = true;
  a->symbols.data[row].kind = WK_ASM_LOOP; /* not to be defined again */
  a->symbols.data[row].value = m->array;
  return NULL;
}

wk_status wk_asm_start(wk_asm_state *a) {
  wk_machine m;
  if (a->s) return NULL;
  if (a->o.machine) return begin_with(a, a->o.machine);
  WK_TRY(wk_machine_read("base", &m));
  return begin_with(a, &m);
}

/* .machine NAME | "file" */
static wk_status machine(wk_asm_state *a) {
  wk_asm_name name;
  wk_machine m;
  const char *at = (wk_asm_at_end(a), a->at), *path;
  if (a->s) return wk_asm_error(a, at, ".machine comes before everything else");
  if (*at == '"') {
    wk_file f;
    WK_TRY(wk_asm_string(a, &path));
    if (a->o.machine) return wk_asm_start(a);
    if (!a->folder) return wk_asm_error(a, at, "this stream may name no files");
    WK_TRY(wk_asm_place(a, at, wk_file_map_beneath(a->folder, NULL, path, &f)));
    wk_status s = wk_machine_parse((const char *)f.data, f.size, path, &m);
    wk_file_unmap(&f);
    WK_TRY(s);
    return begin_with(a, &m);
  }
  WK_TRY(wk_asm_need_word(a, "the name of a machine", &name));
  if (!wk_machine_preset_text(name.s)) {
    const char *names[16];
    size_t n = 0;
    for (; n < wk_machine_preset_count() && n < WK_COUNTOF(names); n++)
      names[n] = wk_machine_preset_name(n);
    return wk_asm_unknown(a, at, "machine", name.s, names, n);
  }
  if (a->o.machine) return wk_asm_start(a);
  WK_TRY(wk_asm_place(a, at, wk_machine_read(name.s, &m)));
  return begin_with(a, &m);
}

/* ---- names and loops ------------------------------------------------------------------------- */

static wk_status check_free(wk_asm_state *a, const char *at, const char *name, wk_asm_kind kind) {
  const wk_asm_symbol *old = wk_asm_find(a, name);
  if (!old || (old->kind == WK_ASM_NUMBER && kind == WK_ASM_NUMBER)) return NULL;
  if (kind == WK_ASM_LOOP && old->kind == WK_ASM_LOOP && strcmp(name, "N") != 0) return NULL;
  if (kind == WK_ASM_LOOP && old->kind == WK_ASM_NUMBER) return NULL;
  return wk_asm_error(a, at, "the name '%s' is taken", name);
}

/* .define NAME expr */
static wk_status define(wk_asm_state *a) {
  wk_asm_name name;
  int64_t v;
  WK_TRY(wk_asm_start(a));
  const char *at = (wk_asm_at_end(a), a->at);
  WK_TRY(wk_asm_need_word(a, "a name", &name));
  WK_TRY(check_free(a, at, name.s, WK_ASM_NUMBER));
  WK_TRY(wk_asm_expr(a, &v));
  uint32_t row = wk_asm_symbol_row(a, name.s); /* may move the rows */
  wk_asm_symbol *symbol = &a->symbols.data[row];
  symbol->kind = WK_ASM_NUMBER;
  symbol->is_defined = true;
  symbol->value = v;
  return NULL;
}

static void enter(wk_asm_state *a, wk_asm_loop *l) {
  wk_asm_symbol *symbol = &a->symbols.data[l->symbol];
  symbol->kind = WK_ASM_LOOP;
  symbol->is_defined = true;
  symbol->value = l->at;
  a->line = l->line; /* what follows .for is next */
}

/* .for NAME FROM TO: FROM, FROM + 1, … TO - 1 */
static wk_status for_loop(wk_asm_state *a) {
  wk_asm_name name;
  wk_asm_loop l = {.line = a->line};
  WK_TRY(wk_asm_start(a));
  const char *at = (wk_asm_at_end(a), a->at);
  WK_TRY(wk_asm_need_word(a, "a name", &name));
  WK_TRY(check_free(a, at, name.s, WK_ASM_LOOP));
  WK_TRY(wk_asm_expr(a, &l.at));
  WK_TRY(wk_asm_expr(a, &l.to));
  WK_TRY(wk_asm_expect_end(a));
  if (a->loops.n == LOOPS_MAX) return wk_asm_error(a, at, "loops are nested too deeply");
  if (l.at >= l.to) {
    a->line = a->match[a->line];
    a->at = "";
    return NULL;
  }
  l.symbol = wk_asm_symbol_row(a, name.s);
  l.hidden = a->symbols.data[l.symbol];
  wk_vec_push(&a->loops, l);
  enter(a, &l);
  return NULL;
}

static wk_status end_loop(wk_asm_state *a) {
  wk_asm_loop *l = &a->loops.data[a->loops.n - 1];
  WK_TRY(wk_asm_expect_end(a));
  if (++l->at < l->to) {
    enter(a, l);
    a->at = "";
    return NULL;
  }
  a->symbols.data[l->symbol] = l->hidden;
  a->loops.n--;
  return NULL;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static wk_status stream_address(wk_asm_state *a) {
  int64_t v;
  WK_TRY(wk_asm_start(a));
  WK_TRY(wk_asm_number(a, "address", 0, UINT32_MAX, &v));
  a->s->address = (uint64_t)v;
  a->s->is_address_given = true;
  return NULL;
}

static wk_status marks_address(wk_asm_state *a) {
  int64_t v;
  WK_TRY(wk_asm_start(a));
  WK_TRY(wk_asm_number(a, "address", 0, UINT32_MAX, &v));
  a->s->marks = (uint64_t)v;
  a->s->is_marks_given = true;
  return NULL;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  wk_status (*run)(wk_asm_state *a);
} directives[] = {
    {"machine", machine},         {"define", define},        {"for", for_loop},
    {"end", end_loop},            {"stream", stream_address}, {"marks", marks_address},
    {"memory", wk_asm_memory},    {"random", wk_asm_random}, {"file", wk_asm_file},
    {"bytes", wk_asm_bytes},      {"words", wk_asm_words},   {"record", wk_asm_record},
    {"entry", wk_asm_entry},      {"output", wk_asm_output}, {"raw", wk_asm_raw}};

static wk_status directive(wk_asm_state *a) {
  wk_asm_name name;
  const char *at = a->at++;
  WK_TRY(wk_asm_need_word(a, "the name of a directive", &name));
  for (size_t i = 0; i < WK_COUNTOF(directives); i++) {
    if (strcmp(directives[i].name, name.s) != 0) continue;
    WK_TRY(directives[i].run(a));
    return wk_asm_expect_end(a);
  }
  const char *names[WK_COUNTOF(directives)];
  for (size_t i = 0; i < WK_COUNTOF(directives); i++) names[i] = directives[i].name;
  return wk_asm_unknown(a, at, "directive", name.s, names, WK_COUNTOF(names));
}

static wk_status run_line(wk_asm_state *a) {
  a->at = a->lines[a->line];
  a->depth = 0;
  if (wk_asm_at_end(a)) return NULL;
  if (*a->at == '.') return directive(a);
  WK_TRY(wk_asm_start(a));
  WK_TRY(wk_asm_command(a));
  return wk_asm_expect_end(a);
}

static wk_status run_lines(wk_asm_state *a) {
  for (a->line = 0; a->line < a->n_lines; a->line++) {
    if (++a->passed > a->o.max_lines)
      return wk_asm_error_at(a, WK_RESOURCE, a->lines[a->line], __FILE__, __LINE__,
                             "more than %llu lines with what loops repeat",
                             (unsigned long long)a->o.max_lines);
    WK_TRY(run_line(a));
  }
  return NULL;
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool is_directive(wk_asm_state *a, const char *which) {
  wk_asm_name name;
  a->at = a->lines[a->line];
  return wk_asm_accept(a, '.') && wk_asm_word(a, &name) && strcmp(name.s, which) == 0;
}

/* Which .end belongs to which .for. */
static wk_status match_loops(wk_asm_state *a) {
  WK_VEC(uint32_t) open = {0};
  wk_status s = NULL;
  for (a->line = 0; !s && a->line < a->n_lines; a->line++) {
    const char *line = a->lines[a->line];
    if (is_directive(a, "for")) wk_vec_push(&open, a->line);
    if (!is_directive(a, "end")) continue;
    if (open.n == 0) {
      s = wk_asm_error(a, line, ".end without .for");
      break;
    }
    a->match[a->line] = open.data[--open.n];
    a->match[open.data[open.n]] = a->line;
  }
  if (!s && open.n) {
    a->line = open.data[open.n - 1];
    s = wk_asm_error(a, a->lines[a->line], ".for without .end");
  }
  wk_vec_free(&open);
  return s;
}

/* Copies the text; lines end in zeros there. */
static wk_status split(wk_asm_state *a, const char *text, size_t n) {
  if (n > TEXT_MAX) return wk_error_at(WK_RESOURCE, a->file, "is longer than 256 MiB");
  const char *zero = n ? memchr(text, 0, n) : NULL;
  if (zero) return wk_error_at(WK_INPUT, a->file, "is not a text file: it contains a zero byte");
  char *copy = wk_arena_strndup(a->arena, n ? text : "", n), *at = copy;
  a->n_lines = 1;
  for (size_t i = 0; i < n; i++) a->n_lines += copy[i] == '\n';
  a->lines = wk_arena_alloc(a->arena, a->n_lines * sizeof *a->lines);
  a->match = wk_arena_alloc(a->arena, a->n_lines * sizeof *a->match);
  for (uint32_t i = 0; i < a->n_lines; i++) {
    char *end = strchr(at, '\n');
    a->lines[i] = at;
    if (!end) break;
    *end = 0;
    at = end + 1;
  }
  return match_loops(a);
}

static wk_status assemble(wk_asm_state *a, const char *text, size_t n) {
  WK_TRY(split(a, text, n));
  WK_TRY(run_lines(a));
  WK_TRY(wk_asm_start(a));
  WK_TRY(wk_status_place(wk_stream_finish(a->s), a->file));
  return a->o.unchecked ? NULL : wk_stream_validate(a->s);
}

wk_status wk_asm(const char *text, size_t n, const char *file, const char *folder,
                 const wk_asm_options *o, wk_stream **out) {
  wk_asm_state a = {.file = file, .folder = folder, .arena = wk_arena_new()};
  if (o) a.o = *o;
  if (!a.o.max_commands) a.o.max_commands = WK_STREAM_COMMANDS - 1;
  if (!a.o.max_bytes) a.o.max_bytes = 1u << 30;
  if (!a.o.max_lines) a.o.max_lines = 1u << 24;
  a.symbol_of = wk_map_new();
  a.label_of = wk_map_new();
  wk_status s = assemble(&a, text, n);
  wk_map_free(a.symbol_of);
  wk_map_free(a.label_of);
  wk_vec_free(&a.symbols);
  wk_vec_free(&a.labels);
  wk_vec_free(&a.loops);
  wk_arena_free(a.arena);
  if (s) wk_stream_free(a.s);
  else *out = a.s;
  return s;
}
