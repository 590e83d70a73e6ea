/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/caffe2/net.h"
#include "compiler/pipeline/model.h"
#include "onnx.pb-c.h"
#include "tests/hostile/fields.h"
#include "tests/hostile/hostile.h"
#include "tests/hostile/mutate.h"
#include "tests/hostile/net_files.h"

/* ---- files --------------------------------------------------------------------------------- */

static struct {
  wk_arena *arena;
  WK_VEC(net_files) list;
} nets;

static void find_nets(void) {
  struct dirent **names;
  int n = scandir(WICK_TEST_CAFFE2, &names, NULL, alphasort);
  nets.arena = wk_arena_new();
  for (int i = 0; i < n; i++) {
    net_files f = {0};
    const char *dir = wk_arena_printf(nets.arena, WICK_TEST_CAFFE2 "/%s", names[i]->d_name);
    if (names[i]->d_name[0] != '.') f.predict = wk_model_in_folder(nets.arena, dir, &f.files);
    if (f.predict) wk_vec_push(&nets.list, f);
    free(names[i]);
  }
  if (n >= 0) free(names);
}

size_t net_count(void) {
  if (!nets.arena) find_nets();
  return nets.list.n;
}

const net_files *net_get(size_t i) { return &nets.list.data[i]; }

/* ---- seeds --------------------------------------------------------------------------------- */

/* A seed stands at the place of its net, empty where there is no such file or a large one. */
static void add_file(seed_list *l, const char *path) {
  wk_str b = {0};
  wk_file f = {0};
  wk_status s = path ? wk_file_map(path, &f) : NULL;
  if (!s && f.size && f.size <= WK_MUTANT_MAX) wk_str_addn(&b, (const char *)f.data, f.size);
  wk_str_addn(&b, "", 0);
  wk_vec_push(l, b);
  if (path && !s) wk_file_unmap(&f);
  wk_status_free(s);
}

/* In the wire format or as text, whatever the file is. */
static void add_net(seed_list *l, const char *path, bool as_text) {
  wk_str b = {0};
  wk_net n;
  wk_status s = path ? wk_net_read(path, &n) : NULL;
  if (s) abort();
  size_t size = path ? caffe2__net_def__get_packed_size(n.def) : 0;
  if (path && size <= WK_MUTANT_MAX) {
    uint8_t *packed = wk_arena_alloc(n.arena, size + 1);
    if (as_text) message_text(&b, (ProtobufCMessage *)(uintptr_t)n.def);
    else wk_str_addn(&b, (char *)packed, caffe2__net_def__pack(n.def, packed));
  }
  wk_str_addn(&b, "", 0);
  wk_vec_push(l, b);
  if (path) wk_net_free(&n);
}

void seeds_net(seed_list *l, const char *folder) {
  (void)folder;
  for (size_t i = 0; i < net_count(); i++) add_net(l, net_get(i)->predict, false);
}

void seeds_net_text(seed_list *l, const char *folder) {
  (void)folder;
  for (size_t i = 0; i < net_count(); i++) add_net(l, net_get(i)->predict, true);
}

void seeds_init_net(seed_list *l, const char *folder) {
  (void)folder;
  for (size_t i = 0; i < net_count(); i++) add_net(l, net_get(i)->files.init_net, false);
}

void seeds_value_info(seed_list *l, const char *folder) {
  (void)folder;
  for (size_t i = 0; i < net_count(); i++) add_file(l, net_get(i)->files.value_info);
}

void seeds_model_text(seed_list *l, const char *folder) {
  enum { TEXT_SEED_MAX = 16 << 10 };
  seed_list models = {0};
  seeds_onnx(&models, folder);
  for (size_t i = 0; i < models.n; i++) {
    wk_str *b = &models.data[i], text = {0};
    Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, b->n, (const uint8_t *)b->s);
    if (!m) abort();
    message_text(&text, (ProtobufCMessage *)m);
    if (text.n <= TEXT_SEED_MAX) wk_vec_push(l, text);
    else wk_str_free(&text);
    onnx__model_proto__free_unpacked(m, NULL);
    wk_str_free(b);
  }
  wk_vec_free(&models);
}
