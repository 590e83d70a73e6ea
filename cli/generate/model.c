/* SPDX-License-Identifier: Apache-2.0
 * Models for `wick generate`: sizes and states that nobody has given follow from the roles of the
 * inputs. */
#include <stdlib.h>
#include <string.h>

#include "cli/generate/generate.h"
#include "cli/generate/roles.h"
#include "cli/text.h"
#include "cli/trust.h"
#include "compiler/onnx/import/formula.h"
#include "compiler/pipeline/runner.h"

enum { USUAL_CONTEXT = 1024, USUAL_CHUNK = 64 };

typedef struct {
  const wk_onnx_info *info;
  wk_arena *a;
  wk_roles roles;
  wk_strings names;       /* of the inputs that --input gives */
  int64_t context, chunk; /* tokens */
  int64_t least;          /* tokens of a run of the entry at hand */
  bool has_caches;
  bool is_word;           /* of the entry at hand: it is for one token */
  wk_strings symbols;     /* that have a size */
  wk_str bind;
  wk_strings shapes;
} suggesting;

/* ---- roles ----------------------------------------------------------------------------------- */

static wk_role_port *ports_of(const suggesting *x, const wk_onnx_io *list, size_t n) {
  wk_role_port *ports = wk_arena_alloc(x->a, n * sizeof *ports);
  for (size_t i = 0; i < n; i++)
    ports[i] = (wk_role_port){.name = list[i].name, .dtype = list[i].dtype, .rank = list[i].rank,
                              .type = wk_onnx_io_text(x->a, &list[i])};
  return ports;
}

/* Those with a value, by default or --input; what has no such name is found in the package. */
static void add_names(suggesting *x, const wk_strings *input) {
  for (size_t i = 0; i < x->info->inputs.n; i++) {
    const wk_onnx_io *io = &x->info->inputs.data[i];
    size_t n = strlen(io->name);
    bool given = io->has_default;
    for (size_t k = 0; k < input->n && !given; k++)
      given = !strncmp(input->data[k], io->name, n) && input->data[k][n] == '=';
    if (given) wk_vec_push(&x->names, io->name);
  }
}

static wk_status find_roles(suggesting *x, const wk_generate_opts *o) {
  const wk_onnx_info *info = x->info;
  add_names(x, &o->input);
  x->roles = (wk_roles){.in = ports_of(x, info->inputs.data, info->inputs.n),
                        .out = ports_of(x, info->outputs.data, info->outputs.n),
                        .n_in = info->inputs.n, .n_out = info->outputs.n,
                        .is_partial = o->model.state.n > 0}; /* which takes some away */
  WK_TRY(wk_roles_find(&x->roles, &o->role, &x->names, x->a));
  for (size_t i = 0; i < info->inputs.n; i++)
    x->has_caches |= x->roles.roles[i] == WK_DECODER_CACHE;
  x->has_caches |= o->model.state.n > 0;
  return NULL;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* It has a size of its own, not that of the batch. */
static bool is_open(const suggesting *x, const wk_onnx_io *io, int axis) {
  const wk_onnx_io *ids = &x->info->inputs.data[x->roles.ids];
  const char *batch = ids->rank > 1 ? ids->symbols[0] : NULL, *own = io->symbols[axis];
  return io->dims[axis] < 0 && !(batch && own && !strcmp(batch, own));
}

/* Of the axes of a cache the one that grows: the only one that is open behind the batch, or else
 * the last but one. */
static bool is_growing(const suggesting *x, const wk_onnx_io *io, int axis) {
  int open = 0;
  for (int k = 1; k < io->rank; k++) open += is_open(x, io, k);
  return axis ? (open == 1 && is_open(x, io, axis)) || (open != 1 && axis == io->rank - 2)
              : !open && is_open(x, io, 0);
}

/* The size of caches that grow; NULL: there are none, or it has no name. */
static const char *past_symbol(const suggesting *x) {
  for (size_t i = 0; i < x->info->inputs.n; i++) {
    const wk_onnx_io *io = &x->info->inputs.data[i];
    for (int k = 0; x->roles.roles[i] == WK_DECODER_CACHE && k < io->rank; k++)
      if (io->symbols[k] && is_growing(x, io, k)) return io->symbols[k];
  }
  return NULL;
}

/* "past+seq", as long as a mask is; NULL: these have no names that a formula may have. */
static const char *sum_of_lengths(const suggesting *x) {
  const wk_onnx_io *ids = &x->info->inputs.data[x->roles.ids];
  const char *past = past_symbol(x), *seq = ids->rank ? ids->symbols[ids->rank - 1] : NULL;
  wk_formula f;
  if (!past || !seq) return NULL;
  const char *sum = wk_arena_printf(x->a, "%s+%s", past, seq);
  return wk_formula_parse(x->a, sum, &f) && f.n == 2 ? sum : NULL;
}

static const char *range(wk_arena *a, int64_t least, int64_t most) {
  return least == most ? wk_arena_printf(a, "%lld", (long long)most)
                       : wk_arena_printf(a, "%lld..%lld", (long long)least, (long long)most);
}

/* "1..64"; NULL: nothing follows from what the input is. */
static const char *size_of(const suggesting *x, size_t i, int axis) {
  const wk_onnx_io *io = &x->info->inputs.data[i];
  int64_t run = !x->has_caches ? x->context : x->is_word ? 1 : x->chunk;
  bool is_last = axis + 1 == io->rank;
  switch (x->roles.roles[i]) {
    case WK_DECODER_NONE:
    case WK_DECODER_GIVEN: return NULL;
    case WK_DECODER_CACHE:
      if (is_growing(x, io, axis))
        return wk_arena_printf(x->a, "0..%lld", (long long)x->context);
      return axis && is_open(x, io, axis) ? NULL : "1";
    case WK_DECODER_IDS:
    case WK_DECODER_POSITIONS:
      return is_last ? range(x->a, x->least, run) : "1";
    case WK_DECODER_MASK:
      if (is_last && sum_of_lengths(x)) return sum_of_lengths(x);
      return is_last ? range(x->a, x->least, x->has_caches ? run + x->context : run) : "1";
    default: return "1";
  }
}

static bool has_size(const suggesting *x, const char *symbol) {
  for (size_t i = 0; i < x->symbols.n; i++)
    if (!strcmp(x->symbols.data[i], symbol)) return true;
  return false;
}

/* A formula of symbols that have a size has one, too. */
static bool follows(const suggesting *x, const char *symbol) {
  wk_formula f;
  if (!wk_formula_parse(x->a, symbol, &f) || !wk_formula_computes(&f)) return false;
  for (int i = 0; i < f.n; i++)
    for (int k = 0; k < f.terms[i].n; k++)
      if (!has_size(x, f.terms[i].symbols[k])) return false;
  return true;
}

static void bind_symbols(suggesting *x, size_t i) {
  const wk_onnx_io *io = &x->info->inputs.data[i];
  for (int k = 0; k < io->rank; k++) {
    bool is_open = io->symbols[k] && !has_size(x, io->symbols[k]) && !follows(x, io->symbols[k]);
    const char *size = is_open ? size_of(x, i, k) : NULL;
    if (!size) continue;
    wk_vec_push(&x->symbols, io->symbols[k]);
    wk_str_printf(&x->bind, "%s%s=%s", x->bind.n ? "," : "", io->symbols[k], size);
  }
}

/* An input some of whose open sizes have no name. */
static void add_shape(suggesting *x, size_t i) {
  const wk_onnx_io *io = &x->info->inputs.data[i];
  wk_str b = {0};
  bool is_needed = false, is_known = true;
  wk_str_printf(&b, "%s=", io->name);
  for (int k = 0; k < io->rank; k++) {
    const char *size = io->dims[k] < 0 ? size_of(x, i, k) : NULL;
    is_needed |= io->dims[k] < 0 && !io->symbols[k];
    is_known &= io->dims[k] >= 0 || size;
    if (size) wk_str_printf(&b, "%s%s", k ? "x" : "", size);
    else wk_str_printf(&b, "%s%lld", k ? "x" : "", (long long)io->dims[k]);
  }
  if (is_needed && is_known) wk_vec_push(&x->shapes, wk_arena_strdup(x->a, b.s));
  wk_str_free(&b);
}

/* One entry. */
static void suggest_entry(suggesting *x, wk_binding_args *binding) {
  size_t n = x->info->inputs.n;
  x->symbols.n = x->bind.n = x->shapes.n = 0;
  bind_symbols(x, x->roles.ids); /* whose sizes others share */
  for (size_t i = 0; i < n; i++)
    if (x->roles.roles[i] != WK_DECODER_MASK) bind_symbols(x, i);
  for (size_t i = 0; i < n; i++) bind_symbols(x, i); /* masks: the rest follows from the others */
  for (size_t i = 0; i < n; i++) add_shape(x, i);
  if (x->bind.n) wk_vec_push(&binding->bind, wk_arena_strdup(x->a, x->bind.s));
}

/* An entry for a single token, which is the quickest for it, and one for several; a single entry
 * where axes have no names, or there are no caches. */
static void suggest_sizes(suggesting *x, wk_binding_args *binding) {
  binding->bind = (wk_strings){0};
  x->least = 1;
  x->is_word = x->has_caches;
  suggest_entry(x, binding);
  x->is_word = false;
  if (x->shapes.n || !x->has_caches) binding->bind.n = 0;
  x->least = binding->bind.n ? 2 : 1;
  if (x->least <= x->chunk) suggest_entry(x, binding);
  binding->shape = x->shapes;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static bool has_visible_caches(const suggesting *x) {
  bool has = false;
  for (size_t i = 0; i < x->roles.n_in; i++) has |= x->roles.roles[i] == WK_DECODER_CACHE;
  return has;
}

/* Copies the options with what they do not say; lists that are new are the arena's or *x's. */
static wk_status suggest(suggesting *x, const wk_generate_opts *o, wk_compile_options *c) {
  bool sizes = !wk_binding_given(&o->model.binding), state = !o->model.state.n;
  *c = o->model;
  if (!sizes && !state) return NULL;
  WK_TRY(find_roles(x, o));
  if (sizes) suggest_sizes(x, &c->binding);
  if (state && has_visible_caches(x)) wk_vec_push(&c->state, "auto");
  return NULL;
}

/* What differs from the options that were given. */
static void note_suggested(const wk_generate_opts *o, const wk_compile_options *c,
                           const char *path, wk_notes *notes) {
  bool sizes = !wk_binding_given(&o->model.binding);
  wk_str b = {0};
  for (size_t i = 0; sizes && i < c->binding.bind.n; i++)
    wk_str_printf(&b, " --bind '%s'", c->binding.bind.data[i]);
  for (size_t i = 0; sizes && i < c->binding.shape.n; i++)
    wk_str_printf(&b, " --shape '%s'", c->binding.shape.data[i]);
  if (c->state.n > o->model.state.n) wk_str_add(&b, " --state auto");
  if (b.n) wk_notes_add(notes, path, "compiled as with%s", b.s);
  wk_str_free(&b);
}

static wk_status compile(const wk_compile_options *o, const char *path, wk_notes *notes,
                         wick_model **out) {
  wk_compilation c;
  wk_nameless f;
  WK_TRY(wk_nameless_open(&f));
  wk_status s = wk_compilation_open(o, path, &c);
  if (!s) s = wk_targets_check_here(&c.targets, &o->target);
  if (!s) s = wk_compilation_name_output(&c, f.path);
  if (!s) s = wk_compilation_run(&c, NULL);
  wk_progress_end();
  for (size_t i = 0; i < c.notes.n; i++)
    wk_notes_add(notes, c.notes.data[i].place, "%s", c.notes.data[i].text);
  wk_compilation_close(&c);
  wick_error_detail detail = {{0}};
  const wick_load_options lo = {.size = sizeof lo, .flags = WICK_LOAD_UNCHECKED,
                                .detail = &detail};
  if (!s) s = wk_wick_error(wick_model_load(f.path, &lo, out), detail.text, f.path);
  wk_nameless_close(&f);
  return wk_nameless_place(&f, s, path);
}

/* Caches that no state can be made of stay inputs and outputs, unless one was asked for. */
static wk_status compile_suggested(const wk_generate_opts *o, wk_compile_options *c,
                                   const char *path, wick_model **out) {
  wk_notes first = {0}, notes = {0};
  wk_status s = compile(c, path, &notes, out);
  if (s && c->state.n > o->model.state.n && (s->code == WK_USAGE || s->code == WK_UNSUPPORTED)) {
    wk_status_free(s);
    wk_notes_free(&notes);
    c->state.n = 0;
    s = compile(c, path, &notes, out);
  }
  note_suggested(o, c, path, &first);
  wk_text_notes(stderr, first.data, first.n);
  wk_text_notes(stderr, notes.data, notes.n);
  wk_notes_free(&first);
  wk_notes_free(&notes);
  return s;
}

static wk_status compile_model(const wk_generate_opts *o, const char *path, wick_model **out) {
  const wk_import_options io = {.init_net = o->model.binding.init_net,
                                .value_info = o->model.binding.value_info};
  int64_t context = o->context ? o->context : USUAL_CONTEXT;
  int64_t chunk = o->chunk ? o->chunk : USUAL_CHUNK;
  wk_onnx_info info;
  wk_compile_options c;
  WK_TRY(wk_net_inspect(path, &io, &info));
  suggesting x = {.info = &info, .a = wk_arena_new(), .context = context,
                  .chunk = chunk < context ? chunk : context};
  wk_status s = wk_status_place(suggest(&x, o, &c), path);
  if (!s) s = compile_suggested(o, &c, path, out);
  if (c.binding.bind.data != o->model.binding.bind.data) wk_vec_free(&c.binding.bind);
  if (c.state.data != o->model.state.data) wk_vec_free(&c.state);
  wk_vec_free(&x.shapes);
  wk_vec_free(&x.symbols);
  wk_vec_free(&x.names);
  wk_str_free(&x.bind);
  wk_arena_free(x.a);
  wk_onnx_info_free(&info);
  return s;
}

/* ---- loading --------------------------------------------------------------------------------- */

static wk_status load_package(const wk_generate_opts *o, const char *path, wick_model **out) {
  wick_error_detail detail = {{0}};
  wk_trusted trust;
  uint64_t limit;
  WK_TRY(wk_memory_limit_parse(o->memory_limit, &limit));
  WK_TRY(wk_trust_open(path, o->key, o->signature, &trust));
  const wick_load_options lo = {.size = sizeof lo, .detail = &detail, .verifier = trust.verifier,
                                .user = trust.user, .memory_limit = limit};
  wk_status s = wk_wick_error(wick_model_load(path, &lo, out), detail.text, path);
  wk_trust_close(&trust);
  return s;
}

/* The first option that is for a model alone, "--bind"; NULL: there is none. */
static const char *model_option(const wk_generate_opts *o) {
  const wk_target_args *t = &o->model.target;
  return o->model.state.n                    ? "--state"
         : o->model.convert                  ? "--convert"
         : t->target                         ? "--target"
         : t->cpu                            ? "--cpu"
         : t->no_host                        ? "--no-host"
         : t->place.n                        ? "--place"
         : wk_settings_given(&t->settings)   ? wk_settings_given(&t->settings)
                                             : wk_binding_given(&o->model.binding);
}

wk_status wk_generate_load(const wk_generate_opts *o, const char *path, wick_model **out) {
  wk_file f;
  WK_TRY(wk_file_map(path, &f));
  bool is_package = wk_is_package(&f);
  wk_file_unmap(&f);
  const char *wrong = is_package        ? model_option(o)
                      : o->key          ? "--key"
                      : o->signature    ? "--signature"
                      : o->memory_limit ? "--memory-limit"
                                        : NULL;
  if (wrong)
    return wk_error_at(WK_USAGE, path, "is a %s: %s is for %s",
                       is_package ? "compiled package" : "model", wrong,
                       is_package ? "models" : "packages");
  return is_package ? load_package(o, path, out) : compile_model(o, path, out);
}
