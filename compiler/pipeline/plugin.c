/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pipeline/plugin.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/pipeline/targets.h"
#include "compiler/onnx/onnx.h"
#include "compiler/target/plugin.h"
#include "runtime/device.h"
#include "runtime/routine.h"

/* What a process has loaded is known to the whole process. */
static struct {
  void *handles[WK_MAX_PLUGINS];
  const wk_target *targets[WK_MAX_PLUGINS];
  size_t n;
  atomic_size_t n_targets; /* grows behind its target, for those who read meanwhile */
} plugins;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of whoever loads */

const wk_target *wk_plugin_target(size_t i) {
  return i < plugins.n_targets ? plugins.targets[i] : NULL;
}

/* ---- targets --------------------------------------------------------------------------------- */

static bool is_name(const char *s) {
  if (!s || !islower((unsigned char)*s)) return false;
  for (; *s; s++)
    if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && *s != '_') return false;
  return true;
}

static const char *missing_in(const wk_target *t) {
  return !t->doc        ? "a text that says what it is"
         : !t->open     ? "open"
         : !t->close    ? "close"
         : !t->supports ? "supports"
         : !t->compile  ? "compile"
                        : NULL;
}

/* "opt-level": an option of commands. */
static bool is_option(const char *s) {
  bool fine = islower((unsigned char)*s) && strcmp(s, "help") != 0;
  for (; *s; s++) fine &= islower((unsigned char)*s) || isdigit((unsigned char)*s) || *s == '-';
  return fine;
}

static wk_status check_settings(const char *file, const wk_target *t) {
  for (const wk_target_setting *s = t->settings; s && s->name; s++) {
    if (!is_option(s->name))
      return wk_error(WK_INPUT, "plugin %s: '%s' is no name for a setting; small letters, digits "
                                "and - are, and help is an option already", file, s->name);
    if (!s->arg || !s->values || !s->doc || !s->set)
      return wk_error(WK_INPUT, "plugin %s: setting %s of target %s lacks %s", file, s->name,
                      t->name, s->set ? "its texts" : "set");
  }
  return NULL;
}

static wk_status check_target(const char *file, const wk_target *t) {
  if (!t) return wk_error(WK_INPUT, "plugin %s: gives no target", file);
  if (!is_name(t->name))
    return wk_error(WK_INPUT, "plugin %s: '%s' is no name for a target; small letters, digits and "
                              "_ are", file, t->name ? t->name : "");
  if (missing_in(t))
    return wk_error(WK_INPUT, "plugin %s: target %s lacks %s", file, t->name, missing_in(t));
  const wk_target *other;
  bool taken = !strcmp(t->name, WK_TARGET_EVAL);
  for (size_t i = 0; (other = wk_target_at(i)) && !taken; i++)
    taken = !strcmp(other->name, t->name);
  if (taken) return wk_error(WK_USAGE, "plugin %s: there is a target %s already", file, t->name);
  return check_settings(file, t);
}

typedef const wk_target *(*target_fn)(void);

static wk_status load_target(const char *file, void *handle) {
  target_fn get = (target_fn)(uintptr_t)dlsym(handle, "wk_target_plugin");
  if (!get) return NULL;
  const wk_target *t = get();
  WK_TRY(check_target(file, t));
  plugins.targets[plugins.n_targets] = t;
  plugins.n_targets++;
  return NULL;
}

/* ---- custom operators ------------------------------------------------------------------------ */

static bool is_wicks_own(const wk_custom_op *op) {
  bool found = false;
  for (size_t i = 0; i < wk_onnx_op_count() && op->domain && op->name && !found; i++) {
    wk_onnx_op known = wk_onnx_op_get(i);
    found = !strcmp(known.domain, op->domain) && !strcmp(known.name, op->name);
  }
  return found;
}

static wk_status load_custom(const char *file, void *handle) {
  const wk_custom_op *const *(*get)(void) =
      (const wk_custom_op *const *(*)(void))(uintptr_t)dlsym(handle, "wk_custom_plugin");
  for (const wk_custom_op *const *op = get ? get() : NULL; op && *op; op++) {
    if (is_wicks_own(*op))
      return wk_error(WK_USAGE, "plugin %s: there is an operator %s.%s already", file,
                      (*op)->domain, (*op)->name);
    wk_status s = wk_custom_register(*op);
    if (!s) continue;
    wk_status named = wk_error(s->code, "plugin %s: %s", file, s->message);
    wk_status_free(s);
    return named;
  }
  return NULL;
}

static wk_status load_routines(const char *file, void *handle) {
  const wick_routine *(*get)(void) =
      (const wick_routine *(*)(void))(uintptr_t)dlsym(handle, "wick_routine_plugin");
  const wick_routine *r = get ? get() : NULL;
  for (; r && r->name; r++) {
    wick_status s = wick_routine_register(r);
    if (s == WICK_BUSY)
      return wk_error(WK_USAGE, "plugin %s: there is a routine %s already", file, r->name);
    if (s == WICK_NO_MEMORY)
      return wk_error(WK_RESOURCE, "plugin %s: more than %d routines", file, WICK_MAX_ROUTINES);
    if (s != WICK_OK)
      return wk_error(WK_INPUT, "plugin %s: routine '%s' has no name of C, or no function", file,
                      r->name);
  }
  return NULL;
}

/* ---- devices --------------------------------------------------------------------------------- */

static wk_status load_device(const char *file, void *handle) {
  const wick_device *(*get)(void) =
      (const wick_device *(*)(void))(uintptr_t)dlsym(handle, "wick_device_plugin");
  const wick_device *d = get ? get() : NULL;
  if (!get) return NULL;
  if (!d) return wk_error(WK_INPUT, "plugin %s: gives no device", file);
  wick_status s = wick_device_register(d);
  if (s == WICK_OK) return NULL;
  if (s == WICK_BUSY)
    return wk_error(WK_USAGE, "plugin %s: there is a device for target %s already", file,
                    d->target);
  if (s == WICK_NO_MEMORY)
    return wk_error(WK_RESOURCE, "plugin %s: more than %d devices", file, WICK_MAX_DEVICES);
  return wk_error(WK_INPUT, "plugin %s: its device is not one of version %d, or incomplete", file,
                  WICK_DEVICE_VERSION);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Its message begins with the path. */
static wk_status not_loaded(const char *file, const char *path) {
  const char *why = dlerror();
  size_t n = strlen(path);
  if (why && !strncmp(why, path, n) && why[n] == ':') why += n + 1 + strspn(why + n + 1, " ");
  return wk_error(WK_INPUT, "plugin %s: %s", file, why ? why : "cannot be loaded");
}

static wk_status check_symbols(const char *file, void *handle) {
  const char *(*abi)(void) = (const char *(*)(void))(uintptr_t)dlsym(handle, "wk_target_abi");
  bool is_compilers = dlsym(handle, "wk_target_plugin") || dlsym(handle, "wk_custom_plugin");
  if (!is_compilers && !dlsym(handle, "wick_device_plugin") &&
      !dlsym(handle, "wick_routine_plugin"))
    return wk_error(WK_INPUT, "plugin %s: is none: it exports neither wk_target_plugin nor "
                              "wick_device_plugin, wk_custom_plugin or wick_routine_plugin", file);
  if (!is_compilers) return NULL;
  if (!abi) return wk_error(WK_INPUT, "plugin %s: does not say which Wick it is for", file);
  if (!strcmp(abi(), WICK_TARGET_ABI)) return NULL;
  return wk_error(WK_INPUT, "plugin %s: built for another Wick, whose targets are %s; here they "
                            "are %s: build it with the headers of this one", file, abi(),
                  WICK_TARGET_ABI);
}

/* It is looked at before everything in it is linked: a plugin for another Wick may need what this
 * one has not. */
static wk_status check_plugin(const char *file, const char *path) {
  void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (!handle) return not_loaded(file, path);
  wk_status s = check_symbols(file, handle);
  dlclose(handle);
  return s;
}

static wk_status load(const char *file, const char *path) {
  if (access(path, R_OK) != 0) return wk_error(WK_IO, "plugin %s: %s", file, strerror(errno));
  void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle) dlclose(handle); /* it was counted once more */
  for (size_t i = 0; handle && i < plugins.n; i++)
    if (plugins.handles[i] == handle) return NULL;
  if (plugins.n == WK_MAX_PLUGINS)
    return wk_error(WK_RESOURCE, "plugin %s: more than %d plugins", file, WK_MAX_PLUGINS);
  WK_TRY(check_plugin(file, path));
  handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return not_loaded(file, path);
  WK_TRY(load_target(file, handle));
  WK_TRY(load_device(file, handle));
  WK_TRY(load_custom(file, handle));
  WK_TRY(load_routines(file, handle));
  plugins.handles[plugins.n++] = handle;
  return NULL;
}

/* dlopen looks for a name without a slash in the system's folders. */
static wk_status load_named(const char *file) {
  wk_str path = {0};
  if (!*file) return wk_error(WK_USAGE, "--plugin: the name of a file is missing");
  wk_str_printf(&path, "%s%s", strchr(file, '/') ? "" : "./", file);
  wk_status s = load(file, path.s);
  wk_str_free(&path);
  return s;
}

static wk_status load_listed(const char *text) {
  char *list = wk_xstrdup(text);
  wk_status s = NULL;
  for (char *file = list; file && !s;) {
    char *colon = strchr(file, ':');
    if (colon) *colon++ = '\0';
    if (*file) s = load_named(file);
    file = colon;
  }
  free(list);
  return s;
}

static wk_status load_all(const wk_strings *files) {
  for (size_t i = 0; i < files->n; i++) WK_TRY(load_named(files->data[i]));
  return NULL;
}

wk_status wk_plugins_load(const wk_strings *files) {
  pthread_mutex_lock(&lock);
  wk_status s = load_all(files);
  pthread_mutex_unlock(&lock);
  return s;
}

wk_status wk_plugins_load_listed(void) {
  const char *listed = getenv("WICK_PLUGINS");
  pthread_mutex_lock(&lock);
  wk_status s = listed ? load_listed(listed) : NULL;
  pthread_mutex_unlock(&lock);
  return s;
}
