/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/accel_parts.h"
#include "cli/sweep/sweep.h"
#include "cli/text.h"
#include "compiler/pipeline/runner.h"
#include "wick_version.h"

/* ---- axes ------------------------------------------------------------------------------------ */

/* "50,100,500": none is empty, none stands there twice. */
static wk_status parse_values(wk_sweep *s, wk_sweep_axis *axis, const char *option,
                              const char *text) {
  if (!*text) return wk_error_at(WK_USAGE, option, "no value for %s", axis->name);
  for (const char *at = text; at;) {
    size_t n = strcspn(at, ",");
    const char *value = wk_arena_strndup(s->arena, at, n);
    if (!n) return wk_error_at(WK_USAGE, option, "a value of %s is empty", axis->name);
    for (size_t i = 0; i < axis->values.n; i++)
      if (!strcmp(axis->values.data[i], value))
        return wk_error_at(WK_USAGE, option, "%s stands there twice", value);
    wk_vec_push(&axis->values, value);
    at = at[n] ? at + n + 1 : NULL;
  }
  return NULL;
}

static wk_status find_key(const char *name, const char *option, const wk_machine_key **out) {
  const char *names[WK_KEY_COUNT];
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    names[i] = wk_machine_keys[i].name;
    if (strcmp(names[i], name) != 0) continue;
    *out = &wk_machine_keys[i];
    return NULL;
  }
  const char *near = wk_nearest(name, names, WK_KEY_COUNT);
  if (near)
    return wk_error_at(WK_USAGE, option, "unknown key '%s'; did you mean '%s'?", name, near);
  return wk_error_at(WK_USAGE, option, "unknown key '%s'; 'wick isa --machine base' lists them",
                     name);
}

static wk_status add_axis(wk_sweep *s, const wk_machine_key *key, const char *name,
                          const char *option, const char *values) {
  for (size_t i = 0; i < s->axes.n; i++)
    if (!strcmp(s->axes.data[i].name, name))
      return wk_error_at(WK_USAGE, option, "%s is set twice", name);
  wk_sweep_axis axis = {.name = name, .key = key};
  wk_vec_push(&s->axes, axis);
  return parse_values(s, &s->axes.data[s->axes.n - 1], option, values);
}

static bool is_number(const char *text) {
  const char *digits = text + (*text == '-');
  size_t whole = strspn(digits, "0123456789"), rest = 0;
  if (digits[whole] == '.') rest = strspn(digits + whole + 1, "0123456789") + 1;
  return whole && rest != 1 && !digits[whole + rest];
}

/* Nor does a number stand there twice, as 50 and 050 would be. */
static wk_status check_numbers(const wk_sweep_axis *axis, const char *option) {
  for (size_t i = 0; i < axis->values.n; i++) {
    const char *value = axis->values.data[i];
    if (!is_number(value)) return wk_error_at(WK_USAGE, option, "'%s' is no number", value);
    for (size_t k = 0; k < i; k++)
      if (strtod(axis->values.data[k], NULL) == strtod(value, NULL))
        return wk_error_at(WK_USAGE, option, "%s and %s are the same number",
                           axis->values.data[k], value);
  }
  return NULL;
}

static wk_status add_set(wk_sweep *s, const char *text) {
  const wk_machine_key *key = NULL;
  const char *equals = strchr(text, '='), *option = wk_arena_printf(s->arena, "--set %s", text);
  if (!equals || equals == text)
    return wk_error_at(WK_USAGE, option, "must be KEY=NUMBER,NUMBER,…");
  const char *name = wk_arena_strndup(s->arena, text, (size_t)(equals - text));
  WK_TRY(find_key(name, option, &key));
  WK_TRY(add_axis(s, key, key->name, option, equals + 1));
  const wk_sweep_axis *axis = &s->axes.data[s->axes.n - 1];
  return check_numbers(axis, option);
}

/* Commas part the values of an axis: a list has '+' for them, and "none" is one of nothing. */
static const char *value_of(wk_arena *a, const wk_target_setting *setting, const char *value) {
  static const char list[] = ",…";
  size_t n = strlen(setting->arg), end = sizeof list - 1;
  if (n < end || strcmp(setting->arg + n - end, list) != 0) return value;
  if (!strcmp(value, "none")) return NULL;
  char *text = wk_arena_strdup(a, value);
  for (char *at = text; (at = strchr(at, '+')); at++) *at = ',';
  return text;
}

/* A setting is the target's: it says itself which values there are. */
wk_status wk_sweep_check_settings(const wk_option_pairs *settings) {
  const wk_target_args args = {.target = WK_ACCEL_TARGET, .no_host = true, .settings = *settings};
  wk_targets t;
  wk_status status = wk_targets_open(&args, &t);
  wk_targets_close(&t);
  return status;
}

static wk_status add_setting(wk_sweep *s, const wk_target_setting *setting) {
  const char *text = wk_option_pairs_get(&s->o->settings, setting->name);
  if (!text) return NULL;
  const char *option = wk_arena_printf(s->arena, "--%s", setting->name);
  WK_TRY(add_axis(s, NULL, setting->name, option, text));
  const wk_sweep_axis *axis = &s->axes.data[s->axes.n - 1];
  for (size_t i = 0; i < axis->values.n; i++) {
    const char *value = value_of(s->arena, setting, axis->values.data[i]);
    const wk_option_pairs one = WK_SETTINGS({setting->name, value});
    WK_TRY(wk_sweep_check_settings(&one));
  }
  return NULL;
}

/* ---- models ---------------------------------------------------------------------------------- */

static uint64_t hash_file(const wk_file *f, uint64_t seed) {
  return wk_hash64(f->data, f->size, seed);
}

/* Children change their working folder. */
static const char *absolute(wk_sweep *s, const char *path) {
  char *real = path ? realpath(path, NULL) : NULL;
  const char *copy = real ? wk_arena_strdup(s->arena, real) : path;
  free(real);
  return copy;
}

/* The model is imported to see that it can be, and which files it has. */
static wk_status read_model(wk_sweep *s, const char *path, wk_sweep_model *m) {
  wk_file f;
  wk_notes notes = {0};
  wk_module *module = NULL;
  WK_TRY(wk_file_map(path, &f));
  bool is_package = wk_is_package(&f);
  wk_file_unmap(&f);
  if (is_package) return wk_error_at(WK_INPUT, path, "is a Wick package, not an ONNX model");
  m->path = absolute(s, path);
  m->name = wk_model_name(s->arena, path);
  wk_status status = wk_model_import(path, &s->binding, false, &notes, &m->hash, &module);
  if (!status) status = wk_module_no_open(module, "wick sweep");
  for (size_t i = 0; !status && i < module->files.n; i++)
    m->hash = hash_file(&module->files.data[i], m->hash);
  wk_module_free(module);
  wk_text_notes(stderr, notes.data, notes.n);
  wk_notes_free(&notes);
  return status;
}

static wk_status read_models(wk_sweep *s, const wk_strings *models) {
  for (size_t i = 0; i < models->n; i++) {
    wk_sweep_model m = {0};
    WK_TRY(wk_status_place(read_model(s, models->data[i], &m), models->data[i]));
    for (size_t k = 0; k < s->models.n; k++) {
      if (!strcmp(s->models.data[k].path, m.path))
        return wk_error(WK_USAGE, "%s stands there twice", models->data[i]);
      if (!strcmp(s->models.data[k].name, m.name)) m.name = m.path;
    }
    wk_vec_push(&s->models, m);
  }
  return NULL;
}

/* ---- points ---------------------------------------------------------------------------------- */

/* The program itself counts as the compiler's version: whoever changes it gets new rows. */
static wk_status program_text(wk_sweep *s, const char **out) {
  wk_file f;
  WK_TRY(wk_file_map("/proc/self/exe", &f));
  *out = wk_arena_printf(s->arena, "wick %s %016" PRIx64 "\n", WICK_VERSION, hash_file(&f, 0));
  wk_file_unmap(&f);
  return NULL;
}

static const char *binding_text(wk_sweep *s) {
  const wk_binding_set *b = &s->binding;
  wk_str text = {0};
  wk_str_printf(&text, "binding %s\n", b->name);
  for (size_t i = 0; i < b->cut.n; i++) wk_str_printf(&text, "cut %s\n", b->cut.data[i]);
  for (size_t i = 0; i < b->values.n; i++) {
    const wk_bind_value *v = &b->values.data[i];
    wk_str_printf(&text, "value %s %016" PRIx64 "\n", v->input,
                  wk_hash64(v->value.data, (size_t)wk_type_bytes(&v->value.type), 0));
  }
  const char *copy = wk_arena_strdup(s->arena, text.s);
  wk_str_free(&text);
  return copy;
}

static void identify(wk_sweep *s, wk_sweep_point *p) {
  static const char *const kinds[] = {[WK_SWEEP_TIMING] = "", [WK_SWEEP_RTL] = "by rtl\n",
                                      [WK_SWEEP_SCHEDULE] = "by schedule\n"};
  wk_str text = {0};
  wk_str_printf(&text, "%smodel %016" PRIx64 "\n%s", s->shared, p->model->hash, kinds[p->kind]);
  wk_str_add(&text, "settings");
  wk_settings_text(&text, &p->settings);
  wk_str_add(&text, "\n");
  if (s->o->what_if) wk_str_add(&text, "what-if\n");
  wk_machine_text(&text, &p->machine);
  p->identity = wk_arena_strdup(s->arena, text.s);
  snprintf(p->key, sizeof p->key, "%016" PRIx64, wk_hash64(text.s, text.n, 0));
  wk_str_free(&text);
}

/* As a file of the base machine's keys would say it, with some of them changed. */
const char *wk_sweep_machine_of(wk_sweep *s, const char *const *values, wk_machine *out) {
  const char *refusal = NULL;
  wk_str text = {0};
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    const wk_machine_key *key = &wk_machine_keys[i];
    const char *value = NULL;
    for (size_t k = 0; k < s->axes.n; k++)
      if (s->axes.data[k].key == key) value = values[k];
    wk_str_printf(&text, "%s = ", key->name);
    if (value) wk_str_add(&text, value);
    else wk_machine_key_text(&text, &s->base, key);
    wk_str_add(&text, ";\n");
  }
  wk_status status = wk_machine_parse(text.s, text.n, s->base.name, out);
  if (status) refusal = wk_arena_strdup(s->arena, status->message);
  wk_status_free(status);
  wk_str_free(&text);
  return refusal;
}

/* Point i of all: its digits, of the axes' sizes. */
static wk_sweep_point point_at(wk_sweep *s, size_t i) {
  wk_sweep_point p = {.values = wk_arena_alloc(s->arena, s->axes.n * sizeof *p.values),
                      .kind = (wk_sweep_model_kind)s->o->model};
  p.settings.data = wk_arena_alloc(s->arena, s->axes.n * sizeof *p.settings.data);
  for (size_t k = s->axes.n; k-- > 0;) {
    const wk_sweep_axis *axis = &s->axes.data[k];
    p.values[k] = axis->values.data[i % axis->values.n];
    i /= axis->values.n;
    if (!axis->key)
      p.settings.data[p.settings.n++] = (wk_option_pair){
          axis->name, value_of(s->arena, wk_setting_find(axis->name), p.values[k])};
  }
  p.model = &s->models.data[i];
  return p;
}

enum { MAX_POINTS = 1000000 };

void wk_sweep_add(wk_sweep *s, const wk_sweep_point *p) {
  wk_vec_push(&s->points, *p);
  if (!p->refusal) identify(s, &s->points.data[s->points.n - 1]);
}

static wk_status add_points(wk_sweep *s) {
  size_t n = s->models.n;
  for (size_t k = 0; k < s->axes.n; k++) {
    n *= s->axes.data[k].values.n;
    if (n > MAX_POINTS)
      return wk_error(WK_RESOURCE, "the space has more than %d points", MAX_POINTS);
  }
  for (size_t i = 0; i < n; i++) {
    wk_sweep_point p = point_at(s, i);
    p.refusal = wk_sweep_machine_of(s, p.values, &p.machine);
    wk_sweep_add(s, &p);
  }
  return NULL;
}

wk_status wk_sweep_fill(wk_sweep *s) {
  for (size_t i = 0; i < s->o->set.n; i++) WK_TRY(add_set(s, s->o->set.data[i]));
  const wk_target_setting *setting;
  for (size_t i = 0; (setting = wk_setting_at(i)); i++) WK_TRY(add_setting(s, setting));
  return add_points(s);
}

/* ---- what the points share ------------------------------------------------------------------- */

static wk_status check_task(const char *text) {
  char *slash, *end;
  if (!text) return NULL;
  long task = strtol(text, &slash, 10), tasks = *slash == '/' ? strtol(slash + 1, &end, 10) : 0;
  if (slash == text || *slash != '/' || end == slash + 1 || *end || task < 0 || task >= tasks ||
      tasks > INT_MAX)
    return wk_error(WK_USAGE, "--task %s: must be I/N, such as 0/8 to 7/8", text);
  return NULL;
}

static wk_status check_work(const wk_sweep_opts *o) {
  if (!o->output) return wk_error(WK_USAGE, "where to? (--output DIR)");
  if (o->slurm && o->task)
    return wk_error(WK_USAGE, "--task is for the processes that --slurm starts: give one of them");
  return check_task(o->task);
}

static wk_status absolute_dir(wk_sweep *s) {
  char folder[PATH_MAX];
  const char *dir = s->o->output;
  if (*dir != '/' && !getcwd(folder, sizeof folder))
    return wk_error(WK_IO, "the working folder has no path: %s", strerror(errno));
  s->dir = *dir == '/' ? dir : wk_arena_printf(s->arena, "%s/%s", folder, dir);
  return NULL;
}

static wk_status read_shared(wk_sweep *s) {
  const char *program;
  WK_TRY(wk_machine_read(s->o->machine ? s->o->machine : "base", &s->base));
  WK_TRY(program_text(s, &program));
  const char *quantised = s->o->quantize
                              ? wk_arena_printf(s->arena, "quantised %" PRId64 "\n", s->o->quantize)
                              : "";
  s->shared = wk_arena_printf(s->arena, "%s%s%s", program, binding_text(s), quantised);
  return NULL;
}

wk_status wk_sweep_open(const wk_sweep_opts *o, const wk_cmd *cmd, const void *values,
                        const wk_strings *models, wk_sweep *s) {
  wk_binding_set sets[WK_MAX_BINDINGS];
  size_t n;
  *s = (wk_sweep){.o = o, .cmd = cmd, .values = values, .paths = models, .arena = wk_arena_new()};
  WK_TRY(check_work(o));
  WK_TRY(wk_out_check_folder(o->output));
  WK_TRY(absolute_dir(s));
  WK_TRY(wk_binding_sets_parse(&o->binding, sets, WK_MAX_BINDINGS, &n));
  s->binding = sets[0];
  for (size_t i = 1; i < n; i++) wk_binding_set_free(&sets[i]);
  s->binding.init_net = absolute(s, s->binding.init_net);
  s->binding.value_info = absolute(s, s->binding.value_info);
  if (n > 1) return wk_error(WK_USAGE, "a sweep has one binding: give --bind and --shape once");
  WK_TRY(read_shared(s));
  return read_models(s, models);
}

void wk_sweep_free(wk_sweep *s) {
  for (size_t i = 0; i < s->axes.n; i++) wk_vec_free(&s->axes.data[i].values);
  wk_vec_free(&s->axes);
  wk_vec_free(&s->models);
  wk_vec_free(&s->points);
  if (s->binding.arena) wk_binding_set_free(&s->binding);
  wk_arena_free(s->arena);
}
