/* SPDX-License-Identifier: Apache-2.0
 * wick diff of two small files: which rows are one layer, their order, every column, what is left
 * out, and the same as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/command_output.h"

#define HEAD "{\"wick\": \"sim\", \"version\": 3, "

static void diff_prints(const char *a, const char *b, const char *most, const char *wanted) {
  char option[32];
  put_file("a.json", a);
  put_file("b.json", b);
  snprintf(option, sizeof option, "--most=%s", most ? most : "");
  expect_printed(&wk_cmd_diff,
                 most ? WORDS((char *)"diff", (char *)"a.json", (char *)"b.json", option)
                      : WORDS((char *)"diff", (char *)"a.json", (char *)"b.json"), wanted);
}

/* ---- parts, layers, causes, the machine ------------------------------------------------------ */

#define LAYER(name, op, cycles, exposed, read, written)                                       \
  "{\"name\": \"" name "\", \"operator\": " #op ", \"cycles\": " #cycles ", \"exposed\": "    \
  #exposed ", \"read\": " #read ", \"written\": " #written "}"
#define CAUSE(op, name, cycles) \
  "{\"operator\": " #op ", \"cause\": \"" name "\", \"cycles\": " #cycles "}"

static const char first[] = HEAD
    "\"parts\": [{\"part\": \"p\", \"cycles\": 4000, \"exposed\": 500, \"counters\": "
    "{\"bytes_ld0\": 1, \"bytes_ld1\": 20, \"bytes_ld2\": 300, \"bytes_st\": 7}, \"causes\": "
    "{\"compute\": 3000, \"latency\": 600, \"space\": 300, \"dispatch\": 100}, "
    "\"machine\": {\"array\": 8, \"clock\": 1.23456789, \"name\": \"tiny\", \"gone\": true, "
    "\"same\": 3}, \"layers\": ["
    LAYER("twice", 1, 100, 10, 1, 1) ", " LAYER("twice", 2, 200, 20, 2, 2) ", "
    LAYER("same", 3, 50, 5, 5, 5) ", " LAYER("written", 4, 70, 7, 7, 7) ", "
    LAYER("read", 5, 70, 7, 7, 7) ", " LAYER("exposed", 6, 70, 7, 7, 7) ", "
    LAYER("why", 7, 900, 0, 0, 0) ", " LAYER("z", 7, 10, 0, 0, 0) ", "
    LAYER("old", 8, 30, 3, 3, 3) "], \"causes_of_layers\": ["
    CAUSE(7, "compute", 100) ", " CAUSE(7, "latency", 60) ", " CAUSE(7, "latency", 40) ", "
    CAUSE(7, "space", 300) ", " CAUSE(7, "order", 50) ", " CAUSE(7, "dispatch", 10) ", "
    CAUSE(7, "unheard of", 10) ", " CAUSE(1, "drain", 9) "]}, "
    "{\"part\": \"q\", \"cycles\": 1000, \"exposed\": 50, \"counters\": {}, "
    "\"causes\": {\"compute\": 2000}, "
    "\"layers\": [" LAYER("b", 1, 10, 0, 0, 0) ", " LAYER("a", 2, 10, 0, 0, 0) "]}]}";

static const char second[] = HEAD
    "\"parts\": [{\"part\": \"p\", \"cycles\": 5000, \"exposed\": 100, \"counters\": "
    "{\"bytes_ld0\": 2, \"bytes_ld1\": 10, \"bytes_ld2\": 300, \"bytes_st\": 1234567}, "
    "\"causes\": {\"compute\": 3000, \"drain\": 1000, \"latency\": 350, \"space\": 301, "
    "\"dispatch\": 349}, \"machine\": {\"array\": 16, \"clock\": 2.5, \"name\": \"base\", "
    "\"same\": 3, \"new\": 1}, \"layers\": ["
    LAYER("twice", 1, 101, 10, 1, 1) ", " LAYER("twice", 2, 196, 20, 2, 2) ", "
    LAYER("same", 3, 50, 5, 5, 5) ", " LAYER("written", 4, 72, 7, 7, 9) ", "
    LAYER("read", 5, 72, 7, 9, 7) ", " LAYER("exposed", 6, 72, 9, 7, 7) ", "
    LAYER("why", 7, 900, 0, 0, 0) ", " LAYER("z", 7, 8, 0, 0, 0) ", "
    LAYER("new", 9, 31, 3, 3, 3) "], \"causes_of_layers\": ["
    CAUSE(7, "compute", 125) ", " CAUSE(7, "latency", 120) ", " CAUSE(7, "space", 270) ", "
    CAUSE(7, "order", 50) ", " CAUSE(7, "dispatch", 20) ", " CAUSE(1, "drain", 10) "]}, "
    "{\"part\": \"q\", \"cycles\": 0, \"exposed\": 51, \"counters\": {}, "
    "\"causes\": {\"compute\": 500}, "
    "\"layers\": [" LAYER("b", 1, 12, 0, 0, 0) ", " LAYER("a", 2, 8, 0, 0, 0) "]}]}";

#define FILES "A\ta.json\nB\tb.json\n"
#define MACHINES \
  "\n" \
  "machine        A     B\n" \
  "array          8    16\n" \
  "clock    1.23457   2.5\n" \
  "name        tiny  base\n" \
  "gone        true     -\n"
#define PARTS \
  "\npart  cycles A      B  change       %  exposed  read     written  cycles" \
  " that went to\n" \
  "p        4,000  5,000  +1,000   +25.0     -400    -9  +1,234,560  drain " \
  "+1,000, latency -250, dispatch +249\n" \
  "q        1,000      0  -1,000  -100.0       +1     0           0  compute -1,500\n" \
  "all      5,000  5,000       0    +0.0     -399    -9  +1,234,560  comput" \
  "e -1,500, drain +1,000, latency -250\n"
#define LAYERS \
  "\nlayer       cycles A    B  change      %  exposed  read  written  cycles" \
  " that went to\n" \
  "p: new             -   31     +31      -       +3    +3       +3\n" \
  "p: old            30    -     -30      -       -3    -3       -3\n" \
  "p: twice         200  196      -4   -2.0        0     0        0\n" \
  "p: exposed        70   72      +2   +2.9       +2     0        0\n" \
  "p: read           70   72      +2   +2.9        0    +2        0\n" \
  "p: written        70   72      +2   +2.9        0     0       +2\n" \
  "p: z              10    8      -2  -20.0        0     0        0  space " \
  "-30, compute +25, latency +20\n" \
  "q: a              10    8      -2  -20.0        0     0        0\n" \
  "q: b              10   12      +2  +20.0        0     0        0\n" \
  "p: twice         100  101      +1   +1.0        0     0        0  drain +1\n" \
  "p: why           900  900       0   +0.0        0     0        0  space " \
  "-30, compute +25, latency +20\n"
#define FIRST_LAYER \
  "\nlayer   cycles A   B  change  %  exposed  read  written  cycles that went to\n" \
  "p: new         -  31     +31  -       +3    +3       +3\n"

static void every_column(void **state) {
  (void)state;
  diff_prints(first, second, NULL, FILES MACHINES PARTS LAYERS
              "\n11 of 12 layers changed; 1 are only in A, 1 only in B\n");
}

static void those_that_changed_most(void **state) {
  (void)state;
  diff_prints(first, second, "1", FILES MACHINES PARTS FIRST_LAYER
              "\n11 of 12 layers changed; 1 are only in A, 1 only in B (not all are shown)\n");
  diff_prints(first, second, "11", FILES MACHINES PARTS LAYERS
              "\n11 of 12 layers changed; 1 are only in A, 1 only in B\n");
}

/* A row of zeros is one, too; of what is there in one file alone the other has none. */
#define ZERO LAYER("zero", 0, 0, 0, 0, 0)
#define ONE LAYER("one", 1, 1, 0, 0, 0)

static void layers_of_one_file(void **state) {
  (void)state;
  static const char both[] = HEAD "\"layers\": [" ZERO ", " ONE "]}";
  diff_prints(both, HEAD "\"layers\": [" LAYER("one", 1, 2, 0, 0, 0) "]}", NULL, FILES
              "\npart    cycles A  B  change  %  exposed  read  written\n"
              "stream         0  0       0  -        0     0        0\n"
              "\nlayer  cycles A  B  change       %  exposed  read  written\n"
              "one           1  2      +1  +100.0        0     0        0\n"
              "zero          0  -       0       -        0     0        0\n"
              "\n2 of 2 layers changed; 1 are only in A, 0 only in B\n");
  diff_prints(HEAD "\"layers\": [" ONE "]}", both, NULL, FILES
              "\npart    cycles A  B  change  %  exposed  read  written\n"
              "stream         0  0       0  -        0     0        0\n"
              "\nlayer  cycles A  B  change  %  exposed  read  written\n"
              "zero          -  0       0  -        0     0        0\n"
              "\n1 of 2 layers changed; 0 are only in A, 1 only in B\n");
}

/* A stream has no parts; of two runs one has no causes; numbers are those of counters. */
static const char stream[] = HEAD
    "\"cycles\": -1, \"exposed\": 281474976710655, \"causes\": {\"latency\": 7}, \"layers\": [3, "
    LAYER("x", 0, 281474976710656, 9, 9, 9) ", " LAYER("y", 0, 0, 9, 9, 9) "], "
    "\"counters\": {\"bytes_ld0\": 281474976710655, \"bytes_ld1\": 281474976710655, "
    "\"bytes_st\": 1.5}}";
static const char other_stream[] = HEAD
    "\"cycles\": 12, \"exposed\": 0, \"layers\": [" LAYER("x", 0, 1, 9, 9, 9) ", "
    LAYER("y", 0, 0, 9, 9, 9) "]}";

static void streams(void **state) {
  (void)state;
  diff_prints(stream, other_stream, NULL, FILES
              "\npart    cycles A   B  change  %               exposed                 "
              " read  written\n"
              "stream         0  12     +12  -  -281,474,976,710,655  -562,949,953,42"
              "1,310        0\n"
              "\nlayer             cycles A  B                change       %  exposed "
              " read  written\n"
              "x      281,474,976,710,655  1  -281,474,976,710,654  -100.0        0 "
              "    0        0\n"
              "\n1 of 2 layers changed\n");
  diff_prints(stream, stream, NULL, FILES
              "\npart    cycles A  B  change  %  exposed  read  written  cycles that went to\n"
              "stream         0  0       0  -        0     0        0\n"
              "\n0 of 2 layers changed\n");
  diff_prints(HEAD "\"machine\": {}}", HEAD "\"layers\": []}", NULL, FILES
              "\npart    cycles A  B  change  %  exposed  read  written\n"
              "stream         0  0       0  -        0     0        0\n");
}

static void everything_as_json(void **state) {
  (void)state;
  put_file("a.json", HEAD "\"cycles\": 5, \"layers\": [" LAYER("x\xc3\xa9", 0, 1, 2, 3, 4) "]}");
  put_file("b.json", HEAD "\"cycles\": 6, \"exposed\": 1}");
  char *const words[] = {(char *)"diff", (char *)"a.json", (char *)"b.json", (char *)"--json=-",
                         NULL};
  expect_printed(&wk_cmd_diff, words,
    "{\n \"wick\": \"diff\",\n \"version\": 3,\n \"parts\": [\n  {\n   \"part\": \"\",\n"
    "   \"a\": {\n    \"cycles\": 5,\n    \"exposed\": 0,\n    \"read\": 0,\n"
    "    \"written\": 0\n   },\n   \"b\": {\n    \"cycles\": 6,\n    \"exposed\": 1,\n"
    "    \"read\": 0,\n    \"written\": 0\n   }\n  }\n ],\n \"layers\": [\n  {\n"
    "   \"part\": \"\",\n   \"layer\": \"x\\u00E9\",\n   \"a\": {\n    \"cycles\": 1,\n"
    "    \"exposed\": 2,\n    \"read\": 3,\n    \"written\": 4\n   },\n   \"b\": null\n"
    "  }\n ]\n}");
  put_file("a.json", HEAD "\"cycles\": 5, \"causes\": {\"compute\": 3, \"latency\": 2}}");
  put_file("b.json", HEAD "\"cycles\": 6, \"causes\": {\"dispatch\": 6}}");
  expect_printed(&wk_cmd_diff, words,
    "{\n \"wick\": \"diff\",\n \"version\": 3,\n \"parts\": [\n  {\n   \"part\": \"\",\n"
    "   \"a\": {\n    \"cycles\": 5,\n    \"exposed\": 0,\n    \"read\": 0,\n"
    "    \"written\": 0,\n    \"causes\": {\n     \"compute\": 3,\n     \"drain\": 0,\n"
    "     \"conflicts\": 0,\n     \"vector\": 0,\n     \"bandwidth\": 0,\n"
    "     \"latency\": 2,\n     \"space\": 0,\n     \"order\": 0,\n     \"dispatch\": 0\n"
    "    }\n   },\n   \"b\": {\n    \"cycles\": 6,\n    \"exposed\": 0,\n"
    "    \"read\": 0,\n    \"written\": 0,\n    \"causes\": {\n     \"compute\": 0,\n"
    "     \"drain\": 0,\n     \"conflicts\": 0,\n     \"vector\": 0,\n"
    "     \"bandwidth\": 0,\n     \"latency\": 0,\n     \"space\": 0,\n"
    "     \"order\": 0,\n     \"dispatch\": 6\n    }\n   }\n  }\n ],\n \"layers\": []\n}");
}

#define NO_RUN "is not what 'wick sim --json' writes, or an earlier Wick wrote it"

static void files_that_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"{\"wick\": \"sim\"}", NO_RUN},
      {"{\"version\": 1}", NO_RUN},
      {"{\"wick\": \"sim\", \"version\": \"1\"}", NO_RUN},
      {"{\"wick\": 1, \"version\": 1}", NO_RUN},
      {"{\"wick\": \"plan\", \"version\": 1}",
       "is of kind 'plan', not 'sim' ('wick sim --json' writes that)"},
      {"{\"wick\": \"sim\", \"version\": 0}", "has version 0; this Wick compares version 3"},
      {"{\"wick\": \"sim\", \"version\": 1}", "has version 1; this Wick compares version 3"},
      {"{\n\"wick\": }", "is no JSON: line 2: unexpected token near '}'"},
      {HEAD "\"gave_up\": true}", "is of a run that was cut off (--max-cycles)"},
      {HEAD "\"parts\": [{}, {\"gave_up\": true}]}", "is of a run that was cut off (--max-cycles)"},
  };
  put_file("good.json", HEAD "\"gave_up\": false}");
  put_file("other.json", HEAD "\"gave_up\": false}");
  for (int file = 0; file < 2; file++)
    expect_refused(&wk_cmd_diff, WORDS((char *)"diff", (char *)"good.json", (char *)"other.json",
                                       (char *)(file ? "--json=other.json" : "--json=good.json")),
                   WK_USAGE, file ? "other.json" : "good.json",
                   file ? "--json would overwrite B" : "--json would overwrite A");
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    put_file("bad.json", cases[i].text);
    expect_refused(&wk_cmd_diff, WORDS((char *)"diff", (char *)"good.json", (char *)"bad.json"),
                   WK_INPUT, "bad.json", cases[i].message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_column), cmocka_unit_test(those_that_changed_most),
      cmocka_unit_test(layers_of_one_file),
      cmocka_unit_test(streams), cmocka_unit_test(everything_as_json),
      cmocka_unit_test(files_that_are_refused)};
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
