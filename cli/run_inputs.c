/* SPDX-License-Identifier: Apache-2.0
 * Inputs of `wick run`. The files come first: their shapes bind the model's dimensions, or choose
 * the entry of a package; what is left is made up. */
#include <stdlib.h>
#include <string.h>

#include "cli/run.h"
#include "cli/trust.h"
#include "compiler/calibrate/quantize.h"

/* ---- files ----------------------------------------------------------------------------------- */

typedef WK_VEC(const char *) name_list;

static bool known(const name_list *names, const char *s, size_t n) {
  for (size_t i = 0; i < names->n; i++)
    if (strlen(names->data[i]) == n && !strncmp(names->data[i], s, n)) return true;
  return false;
}

static const wk_run_file *file_for(const wk_run_job *job, const char *name) {
  for (size_t i = 0; i < job->files.n; i++)
    if (job->files.data[i].name && !strcmp(job->files.data[i].name, name))
      return &job->files.data[i];
  return NULL;
}

/* NAME=FILE when NAME is an input; otherwise the whole is a file, for the first input without one.
 */
static wk_status read_file(wk_run_job *job, const name_list *names, const char *arg) {
  wk_run_file f = {.arg = arg};
  const char *path = arg;
  for (const char *eq = strchr(arg, '='); eq && !f.name; eq = strchr(eq + 1, '=')) {
    if (!known(names, arg, (size_t)(eq - arg))) continue;
    f.name = wk_arena_strndup(job->arena, arg, (size_t)(eq - arg));
    path = eq + 1;
  }
  for (size_t i = 0; i < names->n && !f.name; i++)
    if (!file_for(job, names->data[i])) f.name = wk_arena_strdup(job->arena, names->data[i]);
  if (!f.name) return wk_error(WK_USAGE, "--input %s: every input already has a file", arg);
  if (file_for(job, f.name)) return wk_error(WK_USAGE, "--input: two files for input %s", f.name);
  if (!*path) return wk_error(WK_USAGE, "--input %s: the file name is empty", arg);
  wk_status s = wk_tensor_read(path, &f.t, NULL);
  if (s && path == arg && strchr(arg, '=')) {
    char *typed = wk_arena_strndup(job->arena, arg, strcspn(arg, "="));
    const char *near = wk_nearest(typed, names->data, names->n);
    wk_status_free(s);
    s = wk_error(WK_USAGE, "--input %s: there is no input '%s'%s%s%s", arg, typed,
                 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  WK_TRY(s);
  f.path = path;
  wk_vec_push(&job->files, f);
  return NULL;
}

/* As typed, for messages. */
static const char *option_of(const wk_run_job *job, const wk_run_file *f) {
  return wk_arena_printf(job->arena, "--input %s", f->arg);
}

static wk_status read_files(const wk_strings *input, wk_run_job *job, const name_list *names) {
  for (size_t i = 0; i < input->n; i++) WK_TRY(read_file(job, names, input->data[i]));
  return NULL;
}

/* ---- models ---------------------------------------------------------------------------------- */

static bool has_value(const wk_binding_set *b, const char *name) {
  for (size_t i = 0; i < b->values.n; i++)
    if (!strcmp(b->values.data[i].input, name)) return true;
  return false;
}

/* Shapes of files come after those that are asked for: the first of an input holds. */
static wk_status import(wk_run_job *job, const wk_onnx_info *info, wk_binding_set *b,
                        const char *path, wk_import_purpose purpose, wk_import_report *report,
                        wk_module **m) {
  size_t n = job->files.n;
  wk_bind_value *data = wk_arena_alloc(job->arena, n * sizeof *data);
  bool *fixed = wk_arena_alloc(job->arena, n);
  for (size_t i = 0; i < n; i++) {
    const wk_run_file *f = &job->files.data[i];
    wk_bind_shape shape = {.input = f->name, .rank = f->t.type.rank, .file = option_of(job, f)};
    memcpy(shape.dims, f->t.type.dims, sizeof shape.dims);
    data[i] = (wk_bind_value){.input = f->name, .value = f->t, .file = shape.file};
    for (size_t k = 0; k < info->inputs.n; k++)
      if (!strcmp(info->inputs.data[k].name, f->name)) fixed[i] = info->inputs.data[k].has_default;
    if (!fixed[i] && !has_value(b, f->name)) wk_vec_push(&b->shapes, shape);
  }
  wk_import_options io = wk_binding_import_options(b, job->list_all);
  io.purpose = purpose;
  wk_status s = wk_model_import_real(path, &io, data, fixed, n, report, m);
  if (!s) wk_model_notes(&job->notes, path, &io, report, *m);
  return s;
}

/* What files can be given for: a tensor, or each element of a sequence. */
static void add_names(const wk_run_job *job, const wk_onnx_io *io, const wk_binding_set *b,
                      name_list *names) {
  const wk_bind_length *l = NULL;
  for (size_t i = 0; i < b->lengths.n; i++)
    if (!strcmp(b->lengths.data[i].input, io->name)) l = &b->lengths.data[i];
  if (!io->is_sequence && !(l && l->n == WK_NO_ELEMENT)) wk_vec_push(names, io->name);
  for (int64_t k = 0; io->is_sequence && l && k < l->n; k++)
    wk_vec_push(names, wk_arena_printf(job->arena, "%s[%lld]", io->name, (long long)k));
}

static wk_status read_and_import(wk_run_job *job, const char *path, const wk_strings *input,
                                 const wk_onnx_info *info, wk_binding_set *b,
                                 wk_import_purpose purpose, wk_import_report *report,
                                 wk_module **m) {
  name_list names = {0};
  for (int pass = 0; pass < 2; pass++) /* inputs without a default come first by position */
    for (size_t i = 0; i < info->inputs.n; i++)
      if (info->inputs.data[i].has_default == (pass == 1))
        add_names(job, &info->inputs.data[i], b, &names);
  wk_status s = read_files(input, job, &names);
  wk_vec_free(&names);
  return s ? s : import(job, info, b, path, purpose, report, m);
}

wk_status wk_run_import(wk_run_job *job, const char *path, const wk_binding_args *binding,
                        const wk_strings *input, wk_import_purpose purpose,
                        wk_import_report *report, wk_module **m) {
  wk_binding_set sets[WK_MAX_BINDINGS];
  size_t n;
  wk_onnx_info info;
  *report = (wk_import_report){0};
  WK_TRY(wk_binding_sets_parse(binding, sets, WK_MAX_BINDINGS, &n));
  wk_status s = n > 1 ? wk_error(WK_USAGE, "one binding at a time: give --bind and --shape once")
                      : NULL;
  const wk_import_options io = wk_binding_import_options(&sets[0], false);
  if (!s) s = wk_net_inspect(path, &io, &info);
  if (!s) {
    s = read_and_import(job, path, input, &info, &sets[0], purpose, report, m);
    wk_onnx_info_free(&info);
  }
  for (size_t i = 0; i < n; i++) wk_binding_set_free(&sets[i]);
  return s;
}

static wk_status open_model(const wk_run_opts *o, const char *path, wk_run_job *job) {
  wk_import_report report;
  wk_module *m = NULL;
  if (o->entry) return wk_error(WK_USAGE, "--entry chooses from a package; %s is a model", path);
  wk_status s = wk_run_import(job, path, &o->binding, &o->input, WK_FOR_INFERENCE, &report, &m);
  wk_import_report_free(&report);
  if (!s) s = wk_status_place(wk_model_convert(&m), path);
  if (!s && o->quantize) s = wk_quantize_module(&m, path, o->quantize);
  wk_runner_options ro = {.target = o->target, .threads = o->threads,
                          .model_name = wk_model_name(job->arena, path),
                          .notes = &job->notes, .path = path};
  return s ? s : wk_status_place(wk_runner_of_module(m, &ro, &job->runner), path);
}

/* ---- packages -------------------------------------------------------------------------------- */

static bool has_entry_name(const wick_entry_info *e, uint32_t index, const char *wanted) {
  char *end;
  unsigned long number = strtoul(wanted, &end, 10);
  return !strcmp(e->name, wanted) || (*wanted && !*end && number == index);
}

/* The smallest size of an axis of an input. */
static int64_t least_of(const wick_entry_info *e, uint32_t input, uint32_t axis) {
  for (uint32_t i = 0; i < e->extent_count; i++)
    if (e->extents[i].tensor == input && e->extents[i].axis == axis) return e->extents[i].least;
  return e->inputs[input].dims[axis];
}

static bool has_shape(const wick_entry_info *e, uint32_t input, const wk_type *t) {
  const wick_tensor_info *x = &e->inputs[input];
  bool fits = (uint32_t)t->rank == x->rank;
  for (uint32_t k = 0; fits && k < x->rank; k++)
    fits = t->dims[k] <= x->dims[k] && t->dims[k] >= least_of(e, input, k);
  return fits;
}

/* Files that name an input of another shape do not fit. */
static bool entry_fits(const wk_run_job *job, const wick_entry_info *e) {
  for (uint32_t i = 0; i < e->input_count; i++) {
    const wk_run_file *f = file_for(job, e->inputs[i].name);
    if (f && !has_shape(e, i, &f->t.type)) return false;
  }
  return true;
}

static wk_status choose_entry(const wk_run_opts *o, const char *path, wk_run_job *job,
                              const wick_model *m, uint32_t *entry) {
  uint32_t n = wick_model_describe(m)->entry_count;
  name_list names = {0};
  for (uint32_t i = 0; i < wick_model_entry(m, 0)->input_count; i++)
    wk_vec_push(&names, wk_arena_strdup(job->arena, wick_model_entry(m, 0)->inputs[i].name));
  wk_status s = read_files(&o->input, job, &names);
  wk_vec_free(&names);
  WK_TRY(s);
  for (uint32_t i = 0; i < n; i++) {
    const wick_entry_info *e = wick_model_entry(m, i);
    if (o->entry ? !has_entry_name(e, i, o->entry) : !entry_fits(job, e)) continue;
    *entry = i;
    return NULL;
  }
  if (o->entry) return wk_error_at(WK_USAGE, path, "the package has no entry '%s'", o->entry);
  *entry = 0; /* running says how it differs */
  return n == 1 ? NULL : wk_error_at(WK_INPUT, path,
                                     "no entry of the package has the shapes of the given inputs");
}

static const char *trust_given(const wk_run_opts *o) {
  return o->key              ? "--key"
         : o->signature      ? "--signature"
         : o->memory_limit   ? "--memory-limit"
         : o->no_native_code ? "--no-native-code"
                             : NULL;
}

static wk_status load_package(const wk_run_opts *o, const char *path, uint32_t entry,
                              wk_runner **out) {
  wk_trusted trust;
  uint64_t limit;
  WK_TRY(wk_memory_limit_parse(o->memory_limit, &limit));
  WK_TRY(wk_trust_open(path, o->key, o->signature, &trust));
  const wick_load_options lo = {.size = sizeof lo,
                                .flags = o->no_native_code ? WICK_LOAD_NO_NATIVE_CODE : 0,
                                .verifier = trust.verifier, .user = trust.user,
                                .memory_limit = limit};
  wk_status s = wk_runner_of_package(path, entry, o->threads, &lo, out);
  wk_trust_close(&trust);
  return s;
}

static wk_status open_package(const wk_run_opts *o, const char *path, wk_run_job *job) {
  wick_model *m;
  wick_error_detail detail = {{0}};
  wick_load_options lo = {.size = sizeof lo, .flags = WICK_LOAD_DESCRIBE | WICK_LOAD_UNCHECKED,
                          .detail = &detail};
  uint32_t entry = 0;
  const char *setting = wk_settings_given(&o->target.settings);
  const char *given = o->quantize ? "--quantize-random" : wk_binding_given(&o->binding);
  if (o->target.target || o->target.cpu || o->target.no_host)
    return wk_error_at(WK_USAGE, path, "is a compiled package: --target, --cpu and --no-host are "
                                       "for models");
  if (given) return wk_error_at(WK_USAGE, path, "is a compiled package: %s is for models", given);
  if (setting)
    return wk_error_at(WK_USAGE, path, "is a compiled package: --%s is for models", setting);
  WK_TRY(wk_wick_error(wick_model_load(path, &lo, &m), detail.text, path));
  wk_status s = choose_entry(o, path, job, m, &entry);
  wick_model_free(m);
  return s ? s : load_package(o, path, entry, &job->runner);
}

/* ---- all ------------------------------------------------------------------------------------- */

wk_status wk_run_given(wk_run_job *job, const char *name, const wk_type *want,
                       const wk_tensor **out) {
  const wk_run_file *f = file_for(job, name);
  *out = NULL;
  if (!f) return NULL;
  wk_tensor *t = (wk_tensor *)(uintptr_t)&f->t;
  wk_tensor_adopt(t, want->dtype);
  *out = t;
  if (wk_type_equal(&t->type, want)) return NULL;
  return wk_error_at(WK_INPUT, option_of(job, f), "input %s is %s but %s was given", name,
                     wk_type_text(job->arena, want), wk_type_text(job->arena, &t->type));
}

/* The size of this name in a file that is given; otherwise: there is none. */
static int64_t given_size(const wk_run_job *job, const char *name, int64_t otherwise) {
  for (size_t i = 0; i < wk_runner_inputs(job->runner); i++) {
    const wk_run_file *f = file_for(job, wk_runner_input_name(job->runner, i));
    for (int k = 0; f && k < f->t.type.rank; k++) {
      const char *own = wk_runner_size_name(job->runner, i, k);
      if (own && !strcmp(own, name)) return f->t.type.dims[k];
    }
  }
  return otherwise;
}

/* Of an input without a file: open sizes are those of files, or the most. */
static wk_type type_without_file(const wk_run_job *job, size_t i) {
  wk_type t = *wk_runner_input_type(job->runner, i);
  for (int k = 0; k < t.rank; k++) {
    const char *name = wk_runner_size_name(job->runner, i, k);
    if (name) t.dims[k] = given_size(job, name, t.dims[k]);
  }
  return t;
}

static wk_status make_inputs(const wk_run_opts *o, wk_run_job *job) {
  size_t n = wk_runner_inputs(job->runner), made = 0;
  wk_rng rng = {.s = (uint64_t)o->random};
  job->in = wk_arena_alloc(job->arena, n * sizeof *job->in);
  job->is_own = wk_arena_alloc(job->arena, n);
  for (size_t i = 0; i < n; i++) {
    const wk_run_file *f = file_for(job, wk_runner_input_name(job->runner, i));
    if (f) {
      job->in[i] = f->t;
      wk_tensor_adopt(&job->in[i], wk_runner_input_type(job->runner, i)->dtype);
      WK_TRY(wk_status_place(wk_runner_check_input(job->runner, i, &job->in[i]),
                             option_of(job, f)));
      continue;
    }
    const wk_type t = type_without_file(job, i);
    WK_TRY(wk_tensor_random(&t, &rng, &job->in[i]));
    job->is_own[i] = true;
    made++;
  }
  if (made)
    wk_notes_add(&job->notes, NULL, "%zu of %zu %s random, seed %lld", made, n,
                 n == 1 ? "input is" : "inputs are", (long long)o->random);
  return NULL;
}

wk_status wk_run_load(const wk_run_opts *o, const char *path, wk_run_job *job) {
  wk_file f;
  uint64_t limit;
  *job = (wk_run_job){.arena = wk_arena_new(), .list_all = o->verbose};
  WK_TRY(wk_memory_limit_parse(o->memory_limit, &limit)); /* now, whatever the path is */
  WK_TRY(wk_file_map(path, &f));
  bool package = wk_is_package(&f);
  wk_file_unmap(&f);
  if (!package && trust_given(o))
    return wk_error_at(WK_USAGE, path, "is a model: %s is for packages", trust_given(o));
  WK_TRY(wk_status_place(wk_run_check_state(o, package), path));
  if (package) WK_TRY(open_package(o, path, job));
  else WK_TRY(open_model(o, path, job));
  WK_TRY(wk_run_load_state(o, job));
  job->of_model = job->notes.n;
  return wk_status_place(make_inputs(o, job), path);
}

void wk_run_job_free(wk_run_job *job) {
  for (size_t i = 0; job->in && i < wk_runner_inputs(job->runner); i++)
    if (job->is_own[i]) wk_tensor_free(&job->in[i]);
  for (size_t i = 0; i < job->files.n; i++) wk_tensor_free(&job->files.data[i].t);
  wk_vec_free(&job->files);
  wk_notes_free(&job->notes);
  wk_runner_free(job->runner);
  wk_arena_free(job->arena);
}
