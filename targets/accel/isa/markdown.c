/* SPDX-License-Identifier: Apache-2.0
 * docs/isa.md and docs/machine.md: templates whose @WORDS@ become tables and numbers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "targets/accel/isa/internal.h"

/* A text in a cell: '|' would end it. */
static void cell(wk_str *b, const char *s) {
  for (; *s; s++) {
    if (*s == '|') wk_str_add(b, "\\");
    wk_str_addn(b, s, 1);
  }
}

/* ---- commands -------------------------------------------------------------------------------- */

static void add_bits(wk_str *b, int lsb, int bits) {
  if (bits == 1) wk_str_printf(b, "%d", lsb);
  else wk_str_printf(b, "%d-%d", lsb, lsb + bits - 1);
}

static void add_queues(wk_str *b, unsigned queues) {
  int n = 0;
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    if (queues >> q & 1) wk_str_printf(b, "%s`%s`", n++ ? ", " : "", wk_isa_queue_name(q));
  if (!n) wk_str_add(b, "none: 0");
}

static void header(wk_str *b) {
  wk_str_add(b, "| bits | field | |\n|---|---|---|\n");
  for (int i = 0; i < WK_HEADER_COUNT; i++) {
    const wk_isa_field *f = &wk_isa_header[i];
    wk_str_add(b, "| ");
    add_bits(b, f->lsb, f->bits);
    wk_str_printf(b, " | %s | ", f->name);
    cell(b, f->doc);
    wk_str_add(b, " |\n");
  }
  wk_str_add(b, "\n| opcode | command | queue | |\n|---|---|---|---|\n");
  for (size_t i = 0; i < wk_isa_commands_count; i++) {
    const wk_isa_command_info *c = &wk_isa_commands[i];
    wk_str_printf(b, "| %d | %s | ", c->opcode, c->name);
    add_queues(b, c->queues);
    wk_str_add(b, " | ");
    cell(b, c->doc);
    wk_str_add(b, " |\n");
  }
  wk_str_add(b, "\nQueues by number:");
  for (int q = 0; q < WK_QUEUE_COUNT; q++)
    wk_str_printf(b, "%s %d `%s`", q ? "," : "", q, wk_isa_queue_name(q));
  wk_str_add(b, ". Bits behind a command's last field are zero.\n");
}

static void fields(wk_str *b, const wk_isa_command_info *c) {
  wk_str_add(b, "| bits | field | kind | default | |\n|---|---|---|---|---|\n");
  for (int i = 0; i < c->n_fields; i++) {
    const wk_isa_field *f = &c->fields[i];
    bool is_choice = wk_isa_is_choice(f->kind);
    wk_str_add(b, "| ");
    add_bits(b, f->lsb, f->bits);
    wk_str_printf(b, " | %s | %s | %s | ", f->name,
                  is_choice ? "choice" : wk_isa_kind_text(f->kind),
                  wk_isa_is_needed(f) ? "" : f->def);
    cell(b, f->doc);
    int n = 0;
    for (size_t k = 0; is_choice && k < wk_isa_choices_count; k++)
      if (wk_isa_choices[k].kind == f->kind)
        wk_str_printf(b, "%s %d %s", n++ ? "," : ":", wk_isa_choices[k].value,
                      wk_isa_choices[k].name);
    wk_str_add(b, " |\n");
  }
  if (c->n_fields == 0) wk_str_add(b, "| | | | | none |\n");
}

static void choices(wk_str *b, const char *name) {
  wk_str_add(b, "| value | name | |\n|---|---|---|\n");
  for (size_t i = 0; i < wk_isa_choices_count; i++) {
    const wk_isa_choice *c = &wk_isa_choices[i];
    if (strcasecmp(wk_isa_kind_text(c->kind), name) != 0) continue;
    wk_str_printf(b, "| %d | %s | ", c->value, c->name);
    cell(b, c->doc);
    wk_str_add(b, " |\n");
  }
}

static void costs(wk_str *b) {
  wk_str_add(b, "| constant | cycles | |\n|---|---|---|\n");
  for (size_t i = 0; i < wk_isa_costs_count; i++) {
    wk_str_printf(b, "| %s | %d | ", wk_isa_costs[i].name, wk_isa_costs[i].number);
    cell(b, wk_isa_costs[i].doc);
    wk_str_add(b, " |\n");
  }
}

/* The table that @word@ stands for; false when there is none. */
static bool expand_isa(wk_str *b, const char *word) {
  char name[32];
  if (!strcmp(word, "HEADER")) header(b);
  else if (!strcmp(word, "COSTS")) costs(b);
  else if (!strncmp(word, "CHOICE_", 7)) choices(b, word + 7);
  else if (sscanf(word, "FIELDS %31s", name) == 1) {
    for (size_t i = 0; i < wk_isa_commands_count; i++)
      if (!strcmp(wk_isa_commands[i].name, name)) {
        fields(b, &wk_isa_commands[i]);
        return true;
      }
    return false;
  } else {
    return false;
  }
  return true;
}

/* A page with what every @word@ stands for; one that stands for nothing stays. A table takes the
 * place of its line. */
static void expand_page(wk_str *b, const unsigned char *page,
                        bool (*expand)(wk_str *b, const char *word)) {
  for (const char *at = (const char *)page; *at;) {
    char word[64] = "";
    size_t n = *at == '@' ? strcspn(at + 1, "@\n") : 0;
    if (n && n < sizeof word && at[n + 1] == '@') memcpy(word, at + 1, n);
    if (*word && expand(b, word)) {
      at += n + 2;
      if (b->s[b->n - 1] == '\n' && *at == '\n') at++;
    } else {
      wk_str_addn(b, at++, 1);
    }
  }
}

void wk_isa_markdown(wk_str *b) { expand_page(b, wk_accel_isa_page, expand_isa); }

/* ---- machines -------------------------------------------------------------------------------- */

static void key_rows(wk_str *b, bool is_hardware) {
  wk_str_add(b, "| key | default | range | unit | |\n|---|---|---|---|---|\n");
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    const wk_machine_key *k = &wk_machine_keys[i];
    if ((k->kind == WK_KEY_HARDWARE) != is_hardware) continue;
    wk_str_printf(b, "| `%s` | %s | %s to %s%s | %s | ", k->name, k->def, k->min, k->max,
                  k->is_pow2 ? ", a power of two" : k->kind == WK_KEY_FRACTION ? ", decimals" : "",
                  k->unit);
    cell(b, k->doc);
    wk_str_add(b, " |\n");
  }
}

static void presets(wk_str *b) {
  size_t n = wk_machine_preset_count();
  wk_machine *m = wk_xcalloc(n, sizeof *m);
  wk_str_add(b, "| key |");
  for (size_t i = 0; i < n; i++) {
    wk_status s = wk_machine_read(wk_machine_preset_name(i), &m[i]);
    if (s) WK_BUG("a preset is not read"); /* they are built in, and tested */
    wk_str_printf(b, " %s |", m[i].name);
  }
  wk_str_add(b, "\n|---|");
  for (size_t i = 0; i < n; i++) wk_str_add(b, "---|");
  wk_str_add(b, "\n");
  for (size_t k = 0; k < WK_KEY_COUNT; k++) {
    wk_str row = {0};
    bool differs = false;
    for (size_t i = 0; i < n; i++) {
      wk_str text = {0}, first = {0};
      wk_machine_key_text(&text, &m[i], &wk_machine_keys[k]);
      wk_machine_key_text(&first, &m[0], &wk_machine_keys[k]);
      differs = differs || strcmp(text.s, first.s) != 0;
      wk_str_printf(&row, " %s |", text.s);
      wk_str_free(&text);
      wk_str_free(&first);
    }
    if (differs) wk_str_printf(b, "| `%s` |%s\n", wk_machine_keys[k].name, row.s);
    wk_str_free(&row);
  }
  wk_str_add(b, "| hash |");
  for (size_t i = 0; i < n; i++) wk_str_printf(b, " %016" PRIx64 " |", wk_machine_hash(&m[i]));
  wk_str_add(b, "\n");
  free(m);
}

static void registers(wk_str *b) {
  wk_str_add(b, "| offset | register | access | |\n|---|---|---|---|\n");
  for (size_t i = 0; i < wk_isa_registers_count; i++) {
    wk_str_printf(b, "| 0x%02x | %s | %s | ", (unsigned)wk_isa_registers[i].offset,
                  wk_isa_registers[i].name, wk_isa_registers[i].access);
    cell(b, wk_isa_registers[i].doc);
    wk_str_add(b, " |\n");
  }
}

static void errors(wk_str *b) {
  wk_str_add(b, "| code | error | |\n|---|---|---|\n");
  for (size_t i = 0; i < wk_isa_errors_count; i++) {
    wk_str_printf(b, "| %d | %s | ", wk_isa_errors[i].number, wk_isa_errors[i].name);
    cell(b, wk_isa_errors[i].doc);
    wk_str_add(b, " |\n");
  }
}

static void counters(wk_str *b) {
  wk_str_add(b, "| counter | name | |\n|---|---|---|\n");
  for (size_t i = 0; i < wk_isa_counters_count; i++) {
    wk_str_printf(b, "| %d | `%s` | ", wk_isa_counters[i].number, wk_isa_counters[i].name);
    cell(b, wk_isa_counters[i].doc);
    wk_str_add(b, " |\n");
  }
}

static void states(wk_str *b) {
  wk_str_add(b, "| in the queue | name | |\n|---|---|---|\n");
  for (int i = 0; i < WK_STATE_COUNT; i++) {
    bool is_wait = i == WK_STATE_wait;
    if (is_wait) wk_str_printf(b, "| %d + r | `QUEUE.wait.R` | ", i);
    else wk_str_printf(b, "| %d | `QUEUE.%s` | ", i, wk_isa_states[i].name);
    cell(b, wk_isa_states[i].doc);
    wk_str_add(b, " |\n");
  }
}

static void hardware_keys(wk_str *b) { key_rows(b, true); }
static void simulation_keys(wk_str *b) { key_rows(b, false); }

static const struct {
  const char *word;
  void (*table)(wk_str *b);
} machine_tables[] = {{"HARDWARE", hardware_keys}, {"SIMULATION", simulation_keys},
                      {"PRESETS", presets},        {"REGISTERS", registers},
                      {"ERRORS", errors},          {"COUNTERS", counters},
                      {"STATES", states}};

static const struct {
  const char *word;
  int value;
} machine_numbers[] = {{"ENTRIES_MAX", WK_ENTRIES_MAX},
                       {"COUNTER_BITS", WK_COUNTER_BITS},
                       {"MARK_BYTES", WK_MARK_BYTES},
                       {"FIRST_OF_QUEUES", WK_COUNTER_QUEUES},
                       {"OF_A_QUEUE", WK_QUEUE_COUNTERS},
                       {"COUNTERS_IN_ALL", WK_COUNTER_COUNT}};

static bool expand_machine(wk_str *b, const char *word) {
  for (size_t i = 0; i < WK_COUNTOF(machine_tables); i++)
    if (!strcmp(word, machine_tables[i].word)) {
      machine_tables[i].table(b);
      return true;
    }
  for (size_t i = 0; i < WK_COUNTOF(machine_numbers); i++)
    if (!strcmp(word, machine_numbers[i].word)) {
      wk_str_printf(b, "%d", machine_numbers[i].value);
      return true;
    }
  if (strcmp(word, "LD0_WAIT_VE") != 0) return false;
  wk_str_printf(b, "%d", wk_isa_counter(WK_QUEUE_ld0, WK_STATE_wait, WK_QUEUE_ve));
  return true;
}

void wk_machine_markdown(wk_str *b) { expand_page(b, wk_accel_machine_page, expand_machine); }
