/* SPDX-License-Identifier: Apache-2.0
 * Files of spaces of machines: what is read of them, in which order and form, and what is wrong
 * where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "targets/accel/isa/machine.h"

static char file[] = "/tmp/wick-space-XXXXXX";

/* "array: 8 16; bus: 32", or the message, of which the file's name is "FILE". */
static const struct {
  const char *text, *want;
} spaces[] = {
    {"array = 8;", "array: 8"},
    {"array = [8, 16, 32];", "array: 8 16 32"},
    {"array = [32, 8];\nbus = 32;", "array: 32 8; bus: 32"},
    {"bus = [16, 32]; array = [8];", "bus: 16 32; array: 8"},
    {"energy_scratchpad = (1, 2.5, 0.25);", "energy_scratchpad: 1 2.5 0.25"},
    {"energy_scratchpad = (2.5);\nbanks = [4, 8];\ndram_latency = [100, 200, 300];",
     "energy_scratchpad: 2.5; banks: 4 8; dram_latency: 100 200 300"},
    {"", "FILE: names no key: the space is empty"},
    {"# nothing\n", "FILE: names no key: the space is empty"},
    {"array = [];", "FILE:1: array has no value"},
    {"bus = 32;\narray = ();", "FILE:2: array has no value"},
    {"array = [8, 16, 8];", "FILE:1: 8 stands there twice"},
    {"array = [8, 16, 16];", "FILE:1: 16 stands there twice"},
    {"array = [8, 8];", "FILE:1: 8 stands there twice"},
    {"energy_scratchpad = (2.5, 1, 2.50);", "FILE:1: 2.5 stands there twice"},
    {"array = [8, 7];", "FILE:1: array = 7 is outside 8 to 32 lanes"},
    {"array = [64, 8];", "FILE:1: array = 64 is outside 8 to 32 lanes"},
    {"array = (8, 2.5);", "FILE:1: array must be a whole number"},
    {"array = (8, \"x\");", "FILE:1: a value is a number, no text"},
    {"array = (8, (9));", "FILE:1: array must be a whole number"},
    {"energy_scratchpad = (1, [2]);", "FILE:1: energy_scratchpad must be a number"},
    {"array = 8;\nbus = 32;\narrey = 8;", "FILE:3: unknown key 'arrey'; did you mean 'array'?"},
    {"bus = [32];\narray = [8\n", "FILE:3: syntax error"},
};

static void print(wk_str *b, const wk_machine_choices *c) {
  for (size_t i = 0; i < c->n; i++) {
    wk_str_printf(b, "%s%s:", i ? "; " : "", c->data[i].key->name);
    for (size_t k = 0; k < c->data[i].values.n; k++)
      wk_str_printf(b, " %s", c->data[i].values.data[k]);
  }
}

static void print_status(wk_str *b, wk_status s) {
  const char *place = s->place ? s->place : "";
  bool is_file = !strncmp(place, file, strlen(file));
  wk_str_printf(b, "%s%s: %s", is_file ? "FILE" : "", is_file ? place + strlen(file) : place,
                s->message);
  wk_status_free(s);
}

static void spaces_are_read(void **state) {
  int wrong = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(spaces); i++) {
    wk_arena *a = wk_arena_new();
    wk_machine_choices c = {0};
    wk_str got = {0};
    wk_str_add(&got, "");
    assert_null(wk_write_file(file, spaces[i].text, strlen(spaces[i].text)));
    wk_status s = wk_machine_space_read(file, a, &c);
    if (s) print_status(&got, s);
    else print(&got, &c);
    if (strcmp(got.s, spaces[i].want) != 0) {
      print_error("%s\n  gives %s\n  not   %s\n", spaces[i].text, got.s, spaces[i].want);
      wrong++;
    }
    wk_str_free(&got);
    wk_machine_choices_free(&c);
    wk_arena_free(a);
  }
  assert_int_equal(wrong, 0);
}

static int setup(void **state) {
  (void)state;
  int fd = mkstemp(file);
  return fd < 0 || close(fd);
}

static int teardown(void **state) {
  (void)state;
  return unlink(file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(spaces_are_read)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
