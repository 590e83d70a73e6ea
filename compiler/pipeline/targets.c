/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pipeline/targets.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define TARGET(name) extern const wk_target wk_target_##name;
#include "compiler/pipeline/targets.def"
#undef TARGET

static const wk_target *const built_in[] = {
#define TARGET(name) &wk_target_##name,
#include "compiler/pipeline/targets.def"
#undef TARGET
};

const wk_target *wk_target_at(size_t i) {
  size_t own = WK_COUNTOF(built_in) - 1;
  if (i < own) return built_in[i];
  const wk_target *plugin = wk_plugin_target(i - own);
  if (plugin) return plugin;
  bool is_first_past = i == own || wk_plugin_target(i - own - 1);
  return is_first_past ? wk_target_host() : NULL;
}

const wk_target *wk_target_host(void) { return built_in[WK_COUNTOF(built_in) - 1]; }

bool wk_target_is_eval(const wk_target_args *a) {
  return a->target && !strcmp(a->target, WK_TARGET_EVAL);
}

static wk_status find(const char *name, const wk_target **out) {
  const char *names[64];
  size_t n = 0;
  for (const wk_target *t; n < WK_COUNTOF(names) && (t = wk_target_at(n)); n++) {
    names[n] = t->name;
    if (strcmp(t->name, name) != 0) continue;
    *out = t;
    return NULL;
  }
  const char *near = wk_nearest(name, names, n);
  if (near)
    return wk_error(WK_USAGE, "--target: no target '%s'; did you mean '%s'?", name, near);
  return wk_error(WK_USAGE, "--target: no target '%s'; 'wick targets' lists them", name);
}

typedef struct {
  const wk_target_args *a;
  wk_instance **list;
  size_t n;
} opening;

/* A target may be there for several machines, and several times for one if it says so. */
static wk_status check_new(const opening *o, const wk_instance *x) {
  for (size_t i = 0; o->list[i] != x; i++)
    if (o->list[i]->target == x->target && !x->target->has_copies &&
        (!x->spec || !o->list[i]->spec || !strcmp(o->list[i]->spec, x->spec)))
      return wk_error(WK_USAGE, "--target: %s%s%s stands there twice", x->target->name,
                      x->spec ? ":" : "", x->spec ? x->spec : "");
  return NULL;
}

/* `spec` NULL: the default, for the host what --cpu says. */
static wk_status open_target(opening *o, const wk_target *t, const char *spec) {
  bool short_form = t == wk_target_host() && o->a->cpu;
  if (spec && short_form)
    return wk_error(WK_USAGE, "--cpu %s and --target %s:%s: give one of them", o->a->cpu, t->name,
                    spec);
  if (spec && !t->spec_doc)
    return wk_error(WK_USAGE, "--target %s:%s: %s is one machine, and nothing follows its name",
                    t->name, spec, t->name);
  WK_TRY(t->open(short_form ? o->a->cpu : spec, &o->list[o->n]));
  return check_new(o, o->list[o->n++]);
}

static wk_status open_word(opening *o, char *word) {
  const wk_target *t;
  char *colon = strchr(word, ':');
  if (colon) *colon = '\0';
  if (!strcmp(word, WK_TARGET_EVAL))
    return wk_error(WK_USAGE, "--target: the evaluator, eval, runs models on its own and only "
                              "where they are run");
  if (!*word) return wk_error(WK_USAGE, "--target: the name of a target is missing");
  if (colon && !colon[1])
    return wk_error(WK_USAGE, "--target %s: the machine behind the colon is missing", word);
  WK_TRY(find(word, &t));
  return open_target(o, t, colon ? colon + 1 : NULL);
}

/* TARGET of PATTERN=TARGET; NULL: the text is nothing like it. */
static const char *target_of_pin(const char *pin) {
  const char *equals = strrchr(pin, '=');
  return equals && equals != pin && equals[1] ? equals + 1 : NULL;
}

/* The name, "accel" or "accel:tiny", is of that kind of target. */
static bool is_kind(const char *name, const char *target) {
  size_t length = strcspn(name, ":");
  return !strncmp(target, name, length) && !target[length];
}

/* "@ends=cpu" */
static bool is_ends(const char *pin) {
  return !strncmp(pin, WK_TARGET_ENDS "=", sizeof WK_TARGET_ENDS);
}

/* A pattern of --place is the host's. */
static bool names_host(const wk_strings *place) {
  for (size_t i = 0; i < place->n; i++) {
    const char *name = target_of_pin(place->data[i]);
    if (name && is_kind(name, wk_target_host()->name)) return true;
  }
  return false;
}

static bool names_ends(const wk_strings *place) {
  bool any = false;
  for (size_t i = 0; i < place->n; i++) any |= is_ends(place->data[i]);
  return any;
}

static wk_status open_all(opening *o, char *text) {
  for (char *word = text; word;) {
    char *comma = strchr(word, ',');
    if (comma) *comma++ = '\0';
    WK_TRY(open_word(o, word));
    word = comma;
  }
  bool has_host = o->n && o->list[o->n - 1]->target == wk_target_host();
  bool adds_host = !has_host && (!o->a->no_host || names_host(&o->a->place));
  for (size_t i = 0; i + 1 < o->n; i++)
    if (o->list[i]->target == wk_target_host())
      return wk_error(WK_USAGE, "--target: %s runs everything and comes last; what stands behind "
                                "it would get nothing", wk_target_host()->name);
  if (o->a->no_host && has_host)
    return wk_error(WK_USAGE, "--no-host and --target %s: give one of them",
                    wk_target_host()->name);
  if (o->a->no_host && !o->n)
    return wk_error(WK_USAGE, "--no-host: name another target with --target");
  return adds_host ? open_target(o, wk_target_host(), NULL) : NULL;
}

/* ---- operators that are put somewhere -------------------------------------------------------- */

/* "accel" or "accel:tiny", if that is one of them. */
static wk_status find_instance(const wk_targets *t, const char *pin, const char *name,
                               uint32_t *out) {
  size_t found = 0, length = strcspn(name, ":");
  for (size_t i = 0; i < t->n; i++) {
    const wk_instance *x = t->list[i];
    bool is_machine = !name[length] || (x->spec && !strcmp(x->spec, &name[length + 1]));
    if (!strcmp(name, wk_targets_name(t, (uint32_t)i).s) && strcmp(name, x->target->name) != 0)
      return *out = (uint32_t)i, NULL;
    if (!is_kind(name, x->target->name) || !is_machine) continue;
    *out = (uint32_t)i;
    found++;
  }
  if (found > 1)
    return wk_error(WK_USAGE, "--place %s: there are several targets %s; say which machine", pin,
                    name);
  return found ? NULL : wk_error(WK_USAGE, "--place %s: --target does not list %s", pin, name);
}

static wk_status add_pins(const wk_strings *place, wk_targets *t) {
  wk_target_pin *pins = wk_xcalloc(place->n, sizeof *pins);
  t->pins = pins;
  for (size_t i = 0; i < place->n; i++) {
    const char *text = place->data[i], *name = target_of_pin(text);
    wk_target_pin pin;
    if (!name)
      return wk_error(WK_USAGE, "--place %s: PATTERN=TARGET is expected: 'layer1.*=accel'", text);
    WK_TRY(find_instance(t, text, name, &pin.target));
    if (is_ends(text)) {
      if (!is_kind(name, wk_target_host()->name))
        return wk_error(WK_USAGE, "--place %s: the ends are what others leave to %s", text,
                        wk_target_host()->name);
      continue;
    }
    char *pattern = wk_xstrdup(text);
    pattern[name - 1 - text] = '\0';
    pin.pattern = pattern;
    pins[t->n_pins++] = pin;
  }
  return NULL;
}

static bool fits_any(const wk_target_pin *pin, const wk_module *m) {
  for (size_t k = 0; k < m->graphs.n; k++)
    for (size_t i = 0; i < m->graphs.data[k]->nodes.n; i++) {
      const wk_node *n = &m->graphs.data[k]->nodes.data[i];
      if (!n->dead && n->name && !fnmatch(pin->pattern, n->name, 0)) return true;
    }
  return false;
}

wk_status wk_targets_check_pins(const wk_targets *t, const wk_module *m) {
  for (size_t i = 0; i < t->n_pins; i++)
    if (!fits_any(&t->pins[i], m))
      return wk_error(WK_USAGE, "--place: no operator is called '%s'; --emit graph shows their "
                                "names", t->pins[i].pattern);
  return NULL;
}

wk_status wk_targets_open(const wk_target_args *a, wk_targets *out) {
  char *text = a->target ? wk_xstrdup(a->target) : NULL;
  size_t most = 2;
  for (const char *p = text; p && *p; p++) most += *p == ',';
  opening o = {.a = a, .list = wk_xcalloc(most, sizeof(wk_instance *))};
  wk_status s = open_all(&o, text);
  free(text);
  *out = (wk_targets){.list = o.list, .n = o.n, .host_by_pin = a->no_host,
                      .host_at_ends = a->no_host && names_ends(&a->place),
                      .host_name = wk_target_host()->name,
                      .has_host = o.n && o.list[o.n - 1] &&
                                  o.list[o.n - 1]->target == wk_target_host()};
  if (!s) s = add_pins(&a->place, out);
  return s ? s : wk_settings_apply(&a->settings, out);
}

void wk_targets_close(wk_targets *t) {
  for (size_t i = 0; i < t->n; i++) t->list[i]->target->close(t->list[i]);
  for (size_t i = 0; i < t->n_pins; i++) free((void *)(uintptr_t)t->pins[i].pattern);
  free((void *)(uintptr_t)t->pins);
  free((void *)(uintptr_t)t->list);
  *t = (wk_targets){0};
}

wk_status wk_targets_check_here(const wk_targets *t, const wk_target_args *a) {
  for (size_t i = 0; i < t->n; i++) {
    const wk_instance *x = t->list[i];
    if (x->is_here) continue;
    if (a->cpu && x->target == wk_target_host())
      return wk_error(WK_UNSUPPORTED, "--cpu %s: code for %s cannot run on this machine", a->cpu,
                      x->spec);
    return wk_error(WK_UNSUPPORTED, "--target %s:%s: code for it cannot run on this machine",
                    x->target->name, x->spec ? x->spec : "");
  }
  return NULL;
}

char *wk_targets_text(const wk_targets *t, wk_arena *a) {
  wk_str b = {0};
  for (size_t i = 0; i < t->n; i++)
    wk_str_printf(&b, "%s%s%s%s", i ? "," : "", t->list[i]->target->name,
                  t->list[i]->spec ? ":" : "", t->list[i]->spec ? t->list[i]->spec : "");
  char *text = wk_arena_strdup(a, b.n ? b.s : "");
  wk_str_free(&b);
  return text;
}
