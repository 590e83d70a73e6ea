/* SPDX-License-Identifier: Apache-2.0 */
#include "targets/accel/isa/isa.h"

static const wk_isa_uses of_map[] = {[WK_CHOICE_MAP_move] = {0},
                                     [WK_CHOICE_MAP_add] = {.second = true, .record = true},
                                     [WK_CHOICE_MAP_mul] = {.second = true, .record = true},
                                     [WK_CHOICE_MAP_max] = {.second = true, .record = true},
                                     [WK_CHOICE_MAP_min] = {.second = true, .record = true},
                                     [WK_CHOICE_MAP_table] = {.tables = 1},
                                     [WK_CHOICE_MAP_scale] = {.record = true}};

static const wk_isa_uses of_pool[] = {
    [WK_CHOICE_POOL_max] = {0},
    [WK_CHOICE_POOL_mean] = {.record = true, .entries = WK_USES_ENTRY_0},
    [WK_CHOICE_POOL_valid_mean] = {.record = true, .entries = WK_USES_ENTRY_OF_TAPS}};

static const wk_isa_uses of_row[] = {
    [WK_CHOICE_ROW_softmax] = {.record = true, .entries = WK_USES_ENTRY_0, .tables = 3},
    [WK_CHOICE_ROW_layernorm] = {.record = true, .entries = WK_USES_ENTRY_OF_COLUMN},
    [WK_CHOICE_ROW_mean] = {.record = true, .entries = WK_USES_ENTRY_0, .reduces = true},
    [WK_CHOICE_ROW_max] = {.reduces = true},
    [WK_CHOICE_ROW_rmsnorm] = {.record = true, .entries = WK_USES_ENTRY_OF_COLUMN}};

static const struct {
  const wk_isa_uses *uses;
  size_t n;
  int fn; /* the field that chooses among them */
} functions[] = {[WK_CMD_MAP] = {of_map, WK_COUNTOF(of_map), WK_MAP_fn},
                 [WK_CMD_POOL] = {of_pool, WK_COUNTOF(of_pool), WK_POOL_fn},
                 [WK_CMD_ROW] = {of_row, WK_COUNTOF(of_row), WK_ROW_fn}};

wk_isa_uses wk_isa_uses_of(const wk_isa_command *c) {
  if (c->opcode >= WK_COUNTOF(functions)) return (wk_isa_uses){0};
  uint64_t fn = (uint64_t)c->v[functions[c->opcode].fn];
  return fn < functions[c->opcode].n ? functions[c->opcode].uses[fn] : (wk_isa_uses){0};
}
