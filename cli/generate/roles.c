/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/generate/roles.h"

#include <string.h>

#include "compiler/pipeline/state.h"

enum { MAX_NAMES = 6 };
#define BIT(t) (1u << (t))
#define INTEGERS (BIT(WK_I64) | BIT(WK_I32))
#define FLOATS (BIT(WK_F64) | BIT(WK_F32) | BIT(WK_F16) | BIT(WK_BF16))

/* In the order in which --role lists them; names: what exporters call them. */
static const struct {
  const char *role;
  uint32_t dtypes;
  int least_rank, most_rank;
  const char *takes; /* what the types and ranks are, for messages */
  const char *names[MAX_NAMES];
} table[WK_DECODER_ROLES] = {
    [WK_DECODER_IDS] = {"ids", INTEGERS, 1, 2, "i32 or i64 of one or two axes",
                     {"input_ids", "tokens", "token_ids", "ids"}},
    [WK_DECODER_MASK] = {"mask", INTEGERS | FLOATS | BIT(WK_BOOL), 1, 2,
                      "numbers or bool of one or two axes", {"attention_mask", "mask"}},
    [WK_DECODER_POSITIONS] = {"positions", INTEGERS, 1, 3, "i32 or i64 of one to three axes",
                           {"position_ids", "cache_position", "positions", "input_pos"}},
    [WK_DECODER_LAST] = {"last", INTEGERS, 0, 2, "i32 or i64 of up to two axes",
                      {"seqlens_k", "last"}},
    [WK_DECODER_TOTAL] = {"total", INTEGERS, 0, 2, "i32 or i64 of up to two axes",
                       {"total_sequence_length", "total_seq_len", "total"}},
    [WK_DECODER_PAST] = {"past", INTEGERS, 0, 2, "i32 or i64 of up to two axes",
                      {"past_sequence_length", "past_seq_len", "past_length", "start_pos"}},
    [WK_DECODER_BRANCH] = {"branch", BIT(WK_BOOL), 0, 1, "bool of up to one axis",
                        {"use_cache_branch"}},
    [WK_DECODER_LOGITS] = {"logits", FLOATS, 1, 3, "floats of one to three axes",
                        {"logits", "lm_logits"}},
};

void wk_roles_list(wk_str *out) {
  for (int k = WK_DECODER_IDS; k < WK_DECODER_ROLES; k++)
    wk_str_printf(out, "%s%s", k == WK_DECODER_IDS ? "" : k + 1 < WK_DECODER_ROLES ? ", " : " or ",
                  table[k].role);
}

typedef struct {
  wk_roles *r;
  wk_arena *a;
  bool *is_cache; /* of the outputs */
} finding;

static const size_t nowhere = SIZE_MAX;

static size_t port_named(const wk_role_port *ports, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(ports[i].name, name)) return i;
  return nowhere;
}

static bool fits(wk_decoder_role role, const wk_role_port *p) {
  if (!(table[role].dtypes & BIT(p->dtype))) return false;
  return p->rank < 0 || (p->rank >= table[role].least_rank && p->rank <= table[role].most_rank);
}

/* ---- by --role and --input ------------------------------------------------------------------- */

static wk_decoder_role role_called(const char *text) {
  for (int k = WK_DECODER_IDS; k < WK_DECODER_ROLES; k++)
    if (!strcmp(table[k].role, text)) return (wk_decoder_role)k;
  return WK_DECODER_NONE;
}

/* The end of a name that is followed by =: names may have a = in them, roles have none. */
static wk_status take_role(finding *f, const char *text) {
  const char *eq = strrchr(text, '=');
  wk_decoder_role role = eq ? role_called(eq + 1) : WK_DECODER_NONE;
  if (role == WK_DECODER_NONE) {
    wk_str all = {0};
    wk_roles_list(&all);
    wk_status s = wk_error(WK_USAGE, "--role %s: NAME=ROLE is expected, where ROLE is %s", text,
                           all.s);
    wk_str_free(&all);
    return s;
  }
  const char *name = wk_arena_strndup(f->a, text, (size_t)(eq - text));
  bool is_output = role == WK_DECODER_LOGITS;
  const wk_role_port *ports = is_output ? f->r->out : f->r->in;
  size_t i = port_named(ports, is_output ? f->r->n_out : f->r->n_in, name);
  if (i == nowhere)
    return wk_error(WK_USAGE, "--role %s: there is no %s '%s'", text,
                    is_output ? "output" : "input", name);
  if (!fits(role, &ports[i]))
    return wk_error(WK_USAGE, "--role %s: %s is %s: %s are expected", text, name, ports[i].type,
                    table[role].takes);
  if (is_output) f->r->logits = i;
  else f->r->roles[i] = role;
  return NULL;
}

static wk_status take_given(finding *f, const wk_strings *roles, const wk_strings *given) {
  for (size_t i = 0; i < given->n; i++)
    f->r->roles[port_named(f->r->in, f->r->n_in, given->data[i])] = WK_DECODER_GIVEN;
  for (size_t i = 0; i < roles->n; i++) WK_TRY(take_role(f, roles->data[i]));
  return NULL;
}

/* ---- by names -------------------------------------------------------------------------------- */

static wk_decoder_role role_of_name(const wk_role_port *p, bool is_output) {
  for (int k = WK_DECODER_IDS; k < WK_DECODER_ROLES; k++) {
    if ((k == WK_DECODER_LOGITS) != is_output) continue;
    for (size_t i = 0; i < MAX_NAMES && table[k].names[i]; i++)
      if (!strcmp(p->name, table[k].names[i]) && fits((wk_decoder_role)k, p))
        return (wk_decoder_role)k;
  }
  return WK_DECODER_NONE;
}

static size_t present_of(const finding *f, const char *past) {
  const char *name;
  for (size_t k = 0; (name = wk_state_present_name(f->a, past, k)); k++) {
    size_t output = port_named(f->r->out, f->r->n_out, name);
    if (output != nowhere) return output;
  }
  return nowhere;
}

static void take_names(finding *f) {
  wk_roles *r = f->r;
  for (size_t i = 0; i < r->n_in; i++) {
    if (r->roles[i] != WK_DECODER_NONE) continue;
    r->present[i] = present_of(f, r->in[i].name);
    bool is_cache = r->present[i] != nowhere && !f->is_cache[r->present[i]];
    r->roles[i] = is_cache ? WK_DECODER_CACHE : role_of_name(&r->in[i], false);
    if (is_cache) f->is_cache[r->present[i]] = true;
  }
  for (size_t i = 0; i < r->n_out && r->logits == nowhere; i++)
    if (role_of_name(&r->out[i], true) == WK_DECODER_LOGITS) r->logits = i;
}

/* ---- by types, where only one is left -------------------------------------------------------- */

static void take_only_ids(finding *f) {
  const wk_roles *r = f->r;
  size_t found = nowhere;
  for (size_t i = 0; i < r->n_in; i++) {
    if (r->roles[i] == WK_DECODER_IDS) return;
    if (r->roles[i] != WK_DECODER_NONE || r->in[i].rank < 1 || !fits(WK_DECODER_IDS, &r->in[i]))
      continue;
    if (found != nowhere) return;
    found = i;
  }
  if (found != nowhere) r->roles[found] = WK_DECODER_IDS;
}

static void take_only_logits(finding *f) {
  wk_roles *r = f->r;
  size_t found = nowhere;
  if (r->logits != nowhere) return;
  for (size_t i = 0; i < r->n_out; i++) {
    if (f->is_cache[i] || r->out[i].rank < 2 || !fits(WK_DECODER_LOGITS, &r->out[i])) continue;
    if (found != nowhere) return;
    found = i;
  }
  r->logits = found;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static wk_status find_ids(wk_roles *r) {
  for (size_t i = 0; i < r->n_in; i++) {
    if (r->roles[i] != WK_DECODER_IDS) continue;
    if (r->ids != nowhere)
      return wk_error(WK_USAGE, "inputs %s and %s both take token ids", r->in[r->ids].name,
                      r->in[i].name);
    r->ids = i;
  }
  if (r->ids != nowhere) return NULL;
  return wk_error(WK_USAGE, "is no decoder: no input takes token ids; --role NAME=ids says which "
                            "does");
}

static wk_status check_inputs(const wk_roles *r) {
  for (size_t i = 0; i < r->n_in; i++) {
    const wk_role_port *p = &r->in[i];
    if (r->roles[i] != WK_DECODER_NONE) continue;
    wk_str cache = {0};
    if (FLOATS & BIT(p->dtype) && p->rank >= 3)
      wk_str_printf(&cache, ", or, of a cache, --state %s=OUTPUT of a model", p->name);
    wk_status s = wk_error(WK_USAGE, "input %s is %s: what it takes is not known; --role %s=ROLE "
                                     "or --input %s=FILE or =VALUE says it%s",
                           p->name, p->type, p->name, p->name, cache.s ? cache.s : "");
    wk_str_free(&cache);
    return s;
  }
  return NULL;
}

wk_status wk_roles_find(wk_roles *r, const wk_strings *roles, const wk_strings *given,
                        wk_arena *a) {
  finding f = {r, a, wk_arena_alloc(a, r->n_out * sizeof *f.is_cache)};
  r->roles = wk_arena_alloc(a, r->n_in * sizeof *r->roles);
  r->present = wk_arena_alloc(a, r->n_in * sizeof *r->present);
  r->ids = r->logits = nowhere;
  WK_TRY(take_given(&f, roles, given));
  take_names(&f);
  take_only_ids(&f);
  take_only_logits(&f);
  WK_TRY(find_ids(r));
  if (r->logits == nowhere)
    return wk_error(WK_USAGE, "is no decoder: no output has logits; --role NAME=logits says which "
                              "does");
  return r->is_partial ? NULL : check_inputs(r);
}
