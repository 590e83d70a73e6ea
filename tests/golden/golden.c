/* SPDX-License-Identifier: Apache-2.0
 * Golden tests: golden [--bless] PATH… runs every case file (*.txt) in the given files and folders
 * and prints `N passed, N failed`. A case is
 *
 *   # what it is about, and the steps to take, one per line, in this order:
 *   # quantize: WORD… (quantise.h) | # step: WORD… (step.h) | # gradient | # integer |
 *   # pass: NAME | # blocks: BITS BLOCK | # lower | # layout | # layout: channels-last |
 *   # order | # generate |
 *   # inst-pass: NAME | # place
 *   module … or program …
 *   ----
 *   the text after the last step, or: error: MESSAGE
 *
 * --bless writes what came out into the file. Beside the comparison, the text that comes out must
 * read back to itself, and a graph must give the same numbers as before (`quantize` has checks of
 * its own, a `step` computes something else). */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compiler/grad/grad.h"
#include "compiler/integer/integer.h"
#include "compiler/lower/lower.h"
#include "compiler/passes/passes.h"
#include "tests/golden/quantise.h"
#include "tests/golden/step.h"
#include "tests/random_graph.h"

#define SEPARATOR "\n----\n"

typedef struct {
  wk_module *m;  /* until `generate` */
  wk_program *p; /* from then on */
  wk_module *before; /* of `quantize` and `step`: m computes something else */
} subject;

/* ---- steps ----------------------------------------------------------------------------------- */

static wk_status run_pass(subject *s, const char *name) {
  const wk_pass *p = wk_pass_find(name);
  int64_t changes;
  if (!p || !s->m) return wk_error(WK_USAGE, "no such pass on graphs: %s", name);
  return wk_pass_run_one(s->m, p, NULL, &changes);
}

/* fuse-nests is a pass that targets ask for. */
static wk_status run_inst_pass(subject *s, const char *name) {
  for (size_t i = 0; i <= wk_inst_passes_count; i++) {
    static const wk_inst_pass nests = {"fuse-nests", wk_inst_fuse_nests, ""};
    const wk_inst_pass *pass = i < wk_inst_passes_count ? &wk_inst_passes[i] : &nests;
    if (strcmp(pass->name, name) || !s->p) continue;
    wk_arena *scratch = wk_arena_new();
    int64_t changes = 0;
    wk_status st = pass->run(s->p, scratch, &changes);
    wk_arena_free(scratch);
    return st ? st : wk_program_verify(s->p);
  }
  return wk_error(WK_USAGE, "no such pass on programs: %s", name);
}

static wk_status lower(subject *s, const char *arg) {
  (void)arg;
  return wk_lower_nodes(s->m, NULL, NULL);
}

static wk_status layout(subject *s, const char *arg) {
  return wk_layout_assign(s->m, !strcmp(arg, "channels-last"));
}

static wk_status order(subject *s, const char *arg) {
  int64_t before, after;
  (void)arg;
  return wk_order_nodes(s->m, &before, &after);
}

/* The program points into the constants of the module: both stay. */
static wk_status generate(subject *s, const char *arg) {
  (void)arg;
  WK_TRY(wk_generate(s->m, 1, &s->p));
  return wk_program_verify(s->p);
}

static wk_status place(subject *s, const char *arg) {
  (void)arg;
  if (!s->p) return wk_error(WK_USAGE, "only programs are placed");
  WK_TRY(wk_place(s->p, 64));
  return wk_place_check(s->p);
}

static wk_status integer(subject *s, const char *arg) {
  int64_t changes;
  (void)arg;
  return wk_integer_convert(s->m, &changes);
}

/* The adjoints of all inputs that have one become outputs, dNAME. */
static wk_status gradient(subject *s, const char *arg) {
  wk_graph *g = s->m->main;
  wk_value_id *of = wk_arena_alloc(s->m->arena, g->outputs.n * sizeof *of);
  wk_value_id *wrt = wk_arena_alloc(s->m->arena, g->inputs.n * sizeof *wrt);
  wk_value_id *out = wk_arena_alloc(s->m->arena, g->inputs.n * sizeof *out);
  wk_grad_request r = {.of = of, .wrt = wrt, .out = out};
  (void)arg;
  for (size_t k = 0; k < g->outputs.n; k++)
    if (wk_dtype_is_float(wk_val(g, g->outputs.data[k])->type.dtype))
      of[r.n_of++] = g->outputs.data[k];
  for (size_t k = 0; k < g->inputs.n; k++)
    if (wk_dtype_is_float(wk_val(g, g->inputs.data[k])->type.dtype))
      wrt[r.n_wrt++] = g->inputs.data[k];
  WK_TRY(wk_grad(g, &r));
  for (size_t k = 0; k < r.n_wrt; k++)
    if (out[k] != WK_NONE)
      wk_graph_output(g, wk_arena_printf(s->m->arena, "d%s", wk_val(g, wrt[k])->name), out[k]);
  WK_TRY(wk_module_normalise(s->m));
  return wk_module_verify(s->m);
}

static wk_status narrow(subject *s, const char *arg) {
  int64_t changes;
  (void)arg;
  return wk_integer_narrow(s->m, &changes);
}

/* "BITS BLOCK" */
static wk_status blocks(subject *s, const char *arg) {
  wk_block_report r = {0};
  int64_t changes = 0;
  char *rest;
  int bits = (int)strtol(arg, &rest, 10);
  wk_status st = wk_convert_blocks(s->m, bits, strtol(rest, NULL, 10), &r, &changes);
  wk_block_report_free(&r);
  return st;
}

static wk_status quantise(subject *s, const char *arg) {
  if (!s->m || s->before) return wk_error(WK_USAGE, "only graphs are quantised, and once");
  s->before = s->m;
  s->m = NULL;
  return golden_quantise(s->before, arg, &s->m);
}

/* Its numbers are not those of the model. */
static wk_status step(subject *s, const char *arg) {
  if (!s->m || s->before) return wk_error(WK_USAGE, "only graphs are trained, and once");
  s->before = wk_module_clone(s->m);
  return golden_step(s->m, arg);
}

static const struct {
  const char *name;
  wk_status (*run)(subject *s, const char *arg);
} steps[] = {{"pass", run_pass}, {"integer", integer},   {"narrow", narrow},  {"lower", lower},
             {"layout", layout}, {"order", order},       {"generate", generate},
             {"place", place},   {"inst-pass", run_inst_pass}, {"quantize", quantise},
             {"gradient", gradient}, {"step", step}, {"blocks", blocks}};

/* Runs the step that a line "# NAME" or "# NAME: ARGUMENT" asks for; other comments ask none. */
static wk_status run_line(subject *s, const char *line, size_t n) {
  char text[128];
  if (n < 3 || n >= sizeof text) return NULL;
  memcpy(text, line + 2, n - 2);
  text[n - 2] = 0;
  char *colon = strstr(text, ": ");
  if (colon) *colon = 0;
  for (size_t i = 0; i < WK_COUNTOF(steps); i++)
    if (!strcmp(text, steps[i].name)) return steps[i].run(s, colon ? colon + 2 : "");
  return NULL;
}

/* ---- one case -------------------------------------------------------------------------------- */

static wk_status parse(const char *text, const char *name, subject *s) {
  const char *at = text;
  while (*at == '#') at += strcspn(at, "\n") + 1;
  if (!strncmp(at, "program", 7)) return wk_program_parse(text, name, &s->p);
  return wk_module_parse(text, name, &s->m);
}

static void print(wk_str *b, const subject *s) {
  if (s->p) wk_program_print(b, s->p, WK_PRINT_FULL);
  else wk_module_print(b, s->m, WK_PRINT_FULL);
}

static void drop(subject *s) {
  wk_program_free(s->p);
  wk_module_free(s->m);
  wk_module_free(s->before);
  *s = (subject){0};
}

/* What comes out reads back to itself. */
static wk_status check_reading(const char *text, const char *name) {
  subject again = {0};
  wk_str b = {0};
  wk_status s = wk_status_note(parse(text, name, &again), "reading what was printed");
  if (!s) print(&b, &again);
  if (!s && strcmp(b.s, text)) s = wk_error(WK_INTERNAL, "printing, reading, printing differs");
  wk_str_free(&b);
  drop(&again);
  return s;
}

static wk_tensor *outputs_of(const wk_graph *g, const wk_tensor *in, wk_status *s) {
  wk_tensor *out = wk_xcalloc(g->outputs.n + 1, sizeof *out);
  *s = wk_eval_graph(g, in, out, NULL, NULL);
  return out;
}

static bool changes_type(const wk_graph *a, const wk_graph *b, size_t input) {
  return !wk_type_equal(&wk_val(a, a->inputs.data[input])->type,
                        &wk_val(b, b->inputs.data[input])->type);
}

static void begin(const wk_graph *g, size_t input, wk_tensor *t) {
  const wk_value *v = wk_val(g, g->inputs.data[input]);
  wk_tensor_free(t);
  wk_xcheck(wk_tensor_alloc(&v->type, t));
  memcpy(t->data, v->initial, (size_t)wk_type_bytes(&v->type));
}

/* Variables that have become others begin on both sides as they do; callers do not see what they
 * are at the end. */
static wk_tensor *begin_changed(const wk_graph *before, const wk_graph *after, wk_tensor *in) {
  wk_tensor *own = random_inputs(before);
  for (size_t i = 0; i < after->inputs.n; i++) {
    bool is_changed = wk_is_variable(after, after->inputs.data[i]) &&
                      changes_type(before, after, i);
    if (is_changed) begin(before, i, &in[i]), begin(after, i, &own[i]);
  }
  return own;
}

static void forget_changed(const wk_graph *before, const wk_graph *after, const wk_tensor *want,
                           wk_tensor *got) {
  for (size_t k = 0; k < before->outputs.n && k < after->outputs.n; k++) {
    if (wk_type_equal(&want[k].type, &got[k].type) || after->updates.data[k] == WK_NONE) continue;
    wk_tensor_free(&got[k]);
    wk_xcheck(wk_tensor_alloc(&want[k].type, &got[k]));
    memcpy(got[k].data, want[k].data, (size_t)wk_type_bytes(&want[k].type));
  }
}

static wk_status check_numbers(const wk_module *before, const wk_module *after) {
  wk_status s = NULL;
  wk_str why = {0};
  wk_tensor *in = random_inputs(before->main), *own = NULL, *want, *got = NULL;
  if (before->main->inputs.n == after->main->inputs.n)
    own = begin_changed(before->main, after->main, in);
  want = outputs_of(before->main, in, &s);
  if (!s) got = outputs_of(after->main, own ? own : in, &s);
  if (!s) forget_changed(before->main, after->main, want, got);
  if (own) random_tensors_free(own, before->main->inputs.n);
  if (!s && !random_same(before->main, got, want, &why)) s = wk_error(WK_FAILED, "%s", why.s);
  random_tensors_free(got, after->main->outputs.n);
  random_tensors_free(want, before->main->outputs.n);
  random_tensors_free(in, before->main->inputs.n);
  wk_str_free(&why);
  return s;
}

/* The steps of the head of the case, then the checks. */
static wk_status run_steps(subject *s, const char *head) {
  wk_module *before = s->m ? wk_module_clone(s->m) : NULL;
  wk_status st = NULL;
  for (const char *line = head; !st && *line == '#'; line += strcspn(line, "\n") + 1)
    st = run_line(s, line, strcspn(line, "\n"));
  if (!st && before && !s->before) st = check_numbers(before, s->m);
  wk_module_free(before);
  return st;
}

static void run_case(const char *text, const char *name, wk_str *out) {
  subject s = {0};
  wk_status st = parse(text, name, &s);
  if (!st) st = run_steps(&s, text);
  if (!st) {
    print(out, &s);
    st = check_reading(out->s, name);
    if (st) wk_str_free(out), *out = (wk_str){0};
  }
  if (st) wk_str_printf(out, "error: %s%s%s\n", st->place ? st->place : "", st->place ? ": " : "",
                        st->message);
  wk_status_free(st);
  drop(&s);
}

/* ---- files ----------------------------------------------------------------------------------- */

typedef struct {
  bool bless;
  int passed, failed;
  WK_VEC(char *) files;
} run;

static void report_difference(const char *path, const char *want, const char *got) {
  int line = 1;
  const char *w = want, *g = got;
  for (; *w && *w == *g; w++, g++) line += *w == '\n';
  while (w > want && w[-1] != '\n') w--, g--;
  fprintf(stderr, "%s: expectation line %d\n  want: %.*s\n  got:  %.*s\n", path, line,
          (int)strcspn(w, "\n"), w, (int)strcspn(g, "\n"), g);
}

static wk_status run_file(run *r, const char *path) {
  wk_file f;
  WK_TRY(wk_file_map(path, &f));
  char *text = wk_xmalloc(f.size + 1);
  memcpy(text, f.data, f.size);
  text[f.size] = 0;
  wk_file_unmap(&f);
  char *cut = strstr(text, SEPARATOR);
  const char *want = cut ? cut + strlen(SEPARATOR) : "";
  if (cut) cut[1] = 0;
  const char *base = strrchr(path, '/');
  wk_str got = {0};
  wk_status s = NULL;
  run_case(text, base ? base + 1 : path, &got);
  bool same = !strcmp(got.s, want);
  if (!same && r->bless) {
    wk_str all = {0};
    wk_str_printf(&all, "%s%s%s", text, SEPARATOR + 1, got.s);
    s = wk_write_file(path, all.s, all.n);
    printf("blessed %s\n", path);
    wk_str_free(&all);
  } else if (!same) {
    report_difference(path, want, got.s);
  }
  r->passed += same || r->bless;
  r->failed += !same && !r->bless;
  wk_str_free(&got);
  free(text);
  return s;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ends_in_txt(const char *s) {
  size_t n = strlen(s);
  return n > 4 && !strcmp(s + n - 4, ".txt");
}

/* Files and, by a work list, what folders hold. */
static wk_status collect(run *r, const char *path) {
  WK_VEC(char *) work = {0};
  wk_status s = NULL;
  wk_vec_push(&work, wk_xstrdup(path));
  while (work.n) {
    char *at = work.data[--work.n];
    struct stat st;
    if (!s && stat(at, &st)) s = wk_error_at(WK_IO, at, "%s", strerror(errno));
    if (s || !S_ISDIR(st.st_mode)) {
      if (!s && (!strcmp(at, path) || ends_in_txt(at))) wk_vec_push(&r->files, at);
      else free(at);
      continue;
    }
    DIR *dir = opendir(at);
    for (struct dirent *e; dir && (e = readdir(dir));) {
      wk_str full = {0};
      if (e->d_name[0] == '.') continue;
      wk_str_printf(&full, "%s/%s", at, e->d_name);
      wk_vec_push(&work, full.s);
    }
    if (dir) closedir(dir);
    free(at);
  }
  wk_vec_free(&work);
  return s;
}

int main(int argc, char **argv) {
  run r = {0};
  wk_status s = NULL;
  for (int i = 1; i < argc && !s; i++) {
    if (!strcmp(argv[i], "--bless")) r.bless = true;
    else s = collect(&r, argv[i]);
  }
  qsort(r.files.data, r.files.n, sizeof *r.files.data, by_name);
  for (size_t i = 0; i < r.files.n && !s; i++) s = run_file(&r, r.files.data[i]);
  for (size_t i = 0; i < r.files.n; i++) free(r.files.data[i]);
  wk_vec_free(&r.files);
  if (s) wk_status_print(stderr, s);
  bool ok = !s && r.failed == 0 && r.passed > 0;
  wk_status_free(s);
  printf("%d passed, %d failed\n", r.passed, r.failed);
  return ok ? 0 : 1;
}
