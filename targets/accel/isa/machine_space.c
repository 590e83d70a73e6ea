/* SPDX-License-Identifier: Apache-2.0
 * Spaces of machines: files of machines in which a key may have several values. */
#include <stdlib.h>
#include <string.h>

#include "targets/accel/isa/machine_file.h"

/* The value is one that the key can have, and not one that it has. */
static wk_status add_value(const config_setting_t *s, const char *name, wk_arena *a,
                           wk_machine_choice *c) {
  wk_machine m;
  wk_str text = {0};
  wk_machine_defaults(&m);
  WK_TRY(wk_machine_setting_value(s, name, c->key, &m));
  wk_machine_key_text(&text, &m, c->key);
  const char *value = wk_arena_strdup(a, text.s);
  wk_str_free(&text);
  for (size_t i = 0; i < c->values.n; i++)
    if (!strcmp(c->values.data[i], value))
      return wk_error_at(WK_INPUT, wk_machine_place(name, s).s, "%s stands there twice", value);
  wk_vec_push(&c->values, value);
  return NULL;
}

static wk_status add_values(const config_setting_t *s, const char *name, wk_arena *a,
                            wk_machine_choice *c) {
  if (!config_setting_is_array(s) && !config_setting_is_list(s)) return add_value(s, name, a, c);
  if (!config_setting_length(s))
    return wk_error_at(WK_INPUT, wk_machine_place(name, s).s, "%s has no value", c->key->name);
  for (int i = 0; i < config_setting_length(s); i++)
    WK_TRY(add_value(config_setting_get_elem(s, (unsigned)i), name, a, c));
  return NULL;
}

static wk_status read_all(const config_t *config, const char *name, wk_arena *a,
                          wk_machine_choices *out) {
  const config_setting_t *root = config_root_setting(config);
  for (int i = 0; i < config_setting_length(root); i++) {
    const config_setting_t *s = config_setting_get_elem(root, (unsigned)i);
    wk_machine_choice c = {0};
    WK_TRY(wk_machine_setting_key(s, name, &c.key));
    wk_vec_push(out, c);
    WK_TRY(add_values(s, name, a, &out->data[out->n - 1]));
  }
  return out->n ? NULL : wk_error_at(WK_INPUT, name, "names no key: the space is empty");
}

wk_status wk_machine_space_read(const char *path, wk_arena *a, wk_machine_choices *out) {
  config_t config;
  wk_file f;
  WK_TRY(wk_file_map(path, &f));
  wk_status status = wk_machine_config((const char *)f.data, f.size, path, &config);
  wk_file_unmap(&f);
  WK_TRY(status);
  status = read_all(&config, path, a, out);
  config_destroy(&config);
  return status;
}

void wk_machine_choices_free(wk_machine_choices *c) {
  for (size_t i = 0; i < c->n; i++) wk_vec_free(&c->data[i].values);
  wk_vec_free(c);
}
