/* SPDX-License-Identifier: Apache-2.0
 * Settings of targets, by name: their rows are the targets' own, and values go there as typed. */
#include <string.h>

#include "compiler/pipeline/targets.h"

/* ---- rows ------------------------------------------------------------------------------------ */

static const wk_target_setting *find_in(const wk_target *t, const char *name) {
  for (const wk_target_setting *s = t->settings; s && s->name; s++)
    if (!strcmp(s->name, name)) return s;
  return NULL;
}

const wk_target_setting *wk_setting_find(const char *name) {
  const wk_target *t;
  const wk_target_setting *s = NULL;
  for (size_t i = 0; !s && (t = wk_target_at(i)); i++) s = find_in(t, name);
  return s;
}

const wk_target_setting *wk_setting_at(size_t i) {
  const wk_target *t;
  for (size_t k = 0; (t = wk_target_at(k)); k++)
    for (const wk_target_setting *s = t->settings; s && s->name; s++)
      if (wk_setting_find(s->name) == s && i-- == 0) return s;
  return NULL;
}

static bool row_of(size_t i, bool explains, wk_option *out) {
  const wk_target_setting *s;
  for (size_t k = 0; (s = wk_setting_at(k)); k++)
    if (s->explains == explains && i-- == 0) break;
  if (!s) return false;
  out->name = s->name;
  out->arg = s->arg;
  out->help = s->help ? s->help : s->doc;
  return true;
}

bool wk_setting_row(size_t i, wk_option *out) { return row_of(i, false, out); }
bool wk_setting_explains_row(size_t i, wk_option *out) { return row_of(i, true, out); }

/* ---- values ---------------------------------------------------------------------------------- */

const char *wk_settings_given(const wk_option_pairs *settings) {
  const wk_target_setting *s;
  for (size_t i = 0; (s = wk_setting_at(i)); i++)
    if (wk_option_pairs_get(settings, s->name)) return s->name;
  return NULL;
}

void wk_settings_text(wk_str *b, const wk_option_pairs *settings) {
  const wk_target_setting *s;
  for (size_t i = 0; (s = wk_setting_at(i)); i++) {
    const char *value = wk_option_pairs_get(settings, s->name);
    if (value && !s->explains) wk_str_printf(b, " --%s=%s", s->name, value);
  }
}

static wk_status no_setting(const wk_targets *t, const char *name) {
  const wk_target *x;
  wk_status s = t->n == 1 ? wk_error(WK_USAGE, "--%s: target %s has no such setting", name,
                                     t->list[0]->target->name)
                          : wk_error(WK_USAGE, "--%s: no target has such a setting", name);
  for (size_t i = 0; (x = wk_target_at(i)); i++)
    if (find_in(x, name)) s = wk_status_note(s, "--target %s has it", x->name);
  return s;
}

/* The value's place in messages is its option. */
static wk_status set(wk_instance *x, const wk_target_setting *s, const char *value) {
  wk_str option = {0};
  wk_str_printf(&option, "--%s", s->name);
  wk_status status = wk_status_place(s->set(x, value), option.s);
  wk_str_free(&option);
  return status;
}

static wk_status apply_one(const wk_targets *t, const char *name, const char *value) {
  size_t takers = 0;
  for (size_t k = 0; k < t->n; k++) {
    const wk_target_setting *s = find_in(t->list[k]->target, name);
    if (!s) continue;
    WK_TRY(set(t->list[k], s, value));
    takers++;
  }
  return takers ? NULL : no_setting(t, name);
}

wk_status wk_settings_apply(const wk_option_pairs *settings, const wk_targets *t) {
  const wk_target_setting *s;
  for (size_t i = 0; i < settings->n; i++)
    if (!wk_setting_find(settings->data[i].name)) return no_setting(t, settings->data[i].name);
  for (size_t i = 0; (s = wk_setting_at(i)); i++) {
    const char *value = wk_option_pairs_get(settings, s->name);
    if (value) WK_TRY(apply_one(t, s->name, value));
  }
  return NULL;
}
