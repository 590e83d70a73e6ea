/* SPDX-License-Identifier: Apache-2.0
 * What the checker of streams says, whole, of streams that are wrong in one thing, and the nearest
 * ones that are right: bytes beside, a wait more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/check/check.h"

/* Behind a fill of the first 4 KiB of the scratchpad: command 0, labelled a, line 4. Commands lie
 * from 0x8000 on, the area of marks from 0xc000. */
#define LATER "the result lies where an operand is still read"
#define SOFTMAX(out) \
  "tab in=0 table=1 count=3 wait a\nrow fn=softmax in=512 out=" out " par=1024 table=1"
#define WAIT(n) " and which may not have retired: a wait for " n " is missing"
static const struct {
  const char *text, *says; /* NULL: accepted */
} cases[] = {
    /* the commands themselves: three here */
    {"st dram=0x7ff8 n0=8 spm=0 c0=8 wait a", NULL},
    {"st dram=0x7ff9 n0=8 spm=0 c0=8 wait a",
     "command 1 (ST): field 'dram': writes memory bytes 0x7ff9 to 0x8000, where the commands of "
     "the stream lie"},
    {"st dram=0x80bf n0=8 spm=0 c0=8 wait a",
     "command 1 (ST): field 'dram': writes memory bytes 0x80bf to 0x80c6, where the commands of "
     "the stream lie"},
    {"st dram=0x80c0 n0=8 spm=0 c0=8 wait a", NULL},
    {"ld.ld1 dram=0x8000 n0=8 spm=4096 c0=8", NULL},
    /* rows of the mark area, of which there are as many as are used */
    {"mark row=1\nld.ld1 dram=0xbff8 n0=8 spm=4096 c0=8", NULL},
    {"mark row=1\nld.ld1 dram=0xbff9 n0=8 spm=4096 c0=8",
     "command 2 (LD): field 'dram': uses memory bytes 0xbff9 to 0xc000, where MARK writes"},
    {"mark row=1\nld.ld1 dram=0xc7ff n0=8 spm=4096 c0=8",
     "command 2 (LD): field 'dram': uses memory bytes 0xc7ff to 0xc806, where MARK writes"},
    {"mark row=1\nld.ld1 dram=0xc800 n0=8 spm=4096 c0=8", NULL},
    {"mark row=1\nst dram=0xc7ff n0=8 spm=0 c0=8 wait a",
     "command 2 (ST): field 'dram': uses memory bytes 0xc7ff to 0xc806, where MARK writes"},
    {"ld.ld1 dram=0xc000 n0=8 spm=4096 c0=8", NULL},
    /* memory: written twice, written and read, read and written */
    {"st dram=0 n0=8 spm=0 c0=8 wait a\nst dram=7 n0=8 spm=0 c0=8 wait a",
     "command 2 (ST): field 'dram': writes memory bytes 0x7 to 0xe, which command 1 (ST on st, "
     "line 5) writes" WAIT("st:1")},
    {"st dram=0 n0=8 spm=0 c0=8 wait a\nst dram=8 n0=8 spm=0 c0=8 wait a", NULL},
    {"st dram=0 n0=8 spm=0 c0=8 wait a\nst dram=7 n0=8 spm=0 c0=8 wait st:1", NULL},
    {"st dram=8 n0=8 spm=0 c0=8 wait a\nld.ld1 dram=15 n0=8 spm=4096 c0=8",
     "command 2 (LD): field 'dram': reads memory bytes 0xf to 0x16, which command 1 (ST on st, "
     "line 5) writes" WAIT("st:1")},
    {"st dram=8 n0=8 spm=0 c0=8 wait a\nld.ld1 dram=16 n0=8 spm=4096 c0=8", NULL},
    {"st dram=8 n0=8 spm=0 c0=8 wait a\nld.ld1 dram=0 n0=9 spm=4096 c0=9",
     "command 2 (LD): field 'dram': reads memory bytes 0x0 to 0x8, which command 1 (ST on st, line "
     "5) writes" WAIT("st:1")},
    {"st dram=8 n0=8 spm=0 c0=8 wait a\nld.ld1 dram=0 n0=8 spm=4096 c0=8", NULL},
    {"st dram=8 n0=8 spm=0 c0=8 wait a\nld.ld1 dram=15 n0=8 spm=4096 c0=8 wait st:1", NULL},
    {"ld.ld1 dram=8 n0=8 spm=4096 c0=8\nst dram=0 n0=9 spm=0 c0=9 wait a",
     "command 2 (ST): field 'dram': writes memory bytes 0x0 to 0x8, which command 1 (LD on ld1, "
     "line 5) reads" WAIT("ld1:1")},
    {"ld.ld1 dram=8 n0=8 spm=4096 c0=8\nst dram=0 n0=8 spm=0 c0=8 wait a", NULL},
    {"ld.ld1 dram=8 n0=8 spm=4096 c0=8\nst dram=0 n0=9 spm=0 c0=9 wait a ld1:1", NULL},
    /* the scratchpad: what was never written, in each operand */
    {"map fn=move a=4089 out=8192 wait a",
     "command 1 (MAP): field 'a': reads scratchpad bytes 0xff9 to 0x1000; 0x1000 is one that no "
     "command has written"},
    {"map fn=move a=4088 out=8192 wait a", NULL},
    {"map fn=max a=0 b=4089 par=0 out=8192 wait a",
     "command 1 (MAP): field 'b': reads scratchpad bytes 0xff9 to 0x1000; 0x1000 is one that no "
     "command has written"},
    {"map fn=max a=0 b=0 par=4072 out=8192 wait a",
     "command 1 (MAP): field 'par': reads scratchpad bytes 0xfe8 to 0x1007; 0x1000 is one that no "
     "command has written"},
    {"map fn=max a=0 b=0 par=4064 out=8192 wait a", NULL},
    {"st dram=0 n0=8 spm=4089 c0=8 wait a",
     "command 1 (ST): field 'spm': reads scratchpad bytes 0xff9 to 0x1000; 0x1000 is one that no "
     "command has written"},
    {"mm in=4089 wt=0 w_r=8 wait a",
     "command 1 (MM): field 'in': reads scratchpad bytes 0xff9 to 0x1000; 0x1000 is one that no "
     "command has written"},
    {"conv in=0 wt=4040 wait a",
     "command 1 (CONV): field 'wt': reads scratchpad bytes 0xfc8 to 0x1007; 0x1000 is one that no "
     "command has written"},
    {"conv in=0 wt=4032 wait a", NULL},
    /* and what may not be there yet: each wait is missed */
    {"map fn=move a=0 out=8192",
     "command 1 (MAP): field 'a': reads scratchpad bytes 0x0 to 0x7, which command 0 (FILL on ld0, "
     "line 4) writes" WAIT("ld0:1")},
    {"map fn=move a=0 out=8192 wait a\nst dram=0 n0=8 spm=8199 c0=8 wait a",
     "command 2 (ST): field 'spm': reads scratchpad bytes 0x2007 to 0x200e, which command 1 (MAP "
     "on ve, line 5) writes" WAIT("ve:1")},
    {"map fn=move a=0 out=8192 wait a\nst dram=0 n0=8 spm=8192 c0=8 wait ve:1", NULL},
    {"map fn=move a=0 out=8192 wait a\nld.ld1 dram=0 n0=8 spm=7 c0=8 wait a",
     "command 2 (LD): field 'spm': writes scratchpad bytes 0x7 to 0xe, which command 1 (MAP on ve, "
     "line 5) reads" WAIT("ve:1")},
    {"map fn=move a=0 out=8192 wait a\nld.ld1 dram=0 n0=8 spm=8 c0=8 wait a", NULL},
    {"map fn=move a=0 out=8192 wait a\nld.ld1 dram=0 n0=8 spm=7 c0=8 wait ve:1", NULL},
    {"ld.ld1 dram=0 n0=8 spm=4095 c0=8",
     "command 1 (LD): field 'spm': writes scratchpad bytes 0xfff to 0x1006, which command 0 (FILL "
     "on ld0, line 4) writes" WAIT("ld0:1")},
    {"ld.ld1 dram=0 n0=8 spm=4096 c0=8", NULL},
    {"ld.ld0 dram=0 n0=8 spm=4095 c0=8", /* neighbours of a queue overlap */
     "command 1 (LD): field 'spm': writes scratchpad bytes 0xfff to 0x1006, which command 0 (FILL "
     "on ld0, line 4) writes" WAIT("ld0:1")},
    {"ld.ld0 dram=0 n0=8 spm=4095 c0=8 wait ld0:1", NULL},
    {"mm in=0 wt=64 w_r=8 drain out=8192 par=1024 wait a\nmm in=8192 wt=64 w_r=8 acc=1 wait a",
     "command 2 (MM): field 'in': reads scratchpad bytes 0x2000 to 0x2007, which command 1 (MM on "
     "ex, line 5) writes" WAIT("ex:1")},
    {"mm in=0 wt=64 w_r=8 drain out=8192 par=1024 wait a\nmm in=8192 wt=64 w_r=8 acc=1 wait ex:1",
     NULL},
    {"map fn=move a=0 out=8192 wait a\nmap fn=move a=8192 out=8200", NULL}, /* ve: one by one */
    /* of several readers the one that has not retired; the second of its queue */
    {"map fn=move a=0 out=8192 wait a\nst dram=0 n0=8 spm=0 c0=8 wait a\n"
     "ld.ld1 dram=64 n0=8 spm=0 c0=8 wait ve:1",
     "command 3 (LD): field 'spm': writes scratchpad bytes 0x0 to 0x7, which command 2 (ST on st, "
     "line 6) reads" WAIT("st:1")},
    {"st dram=0 n0=8 spm=0 c0=8 wait a\nst dram=8 n0=8 spm=0 c0=8 wait a\n"
     "ld.ld1 dram=64 n0=8 spm=0 c0=8 wait st:1",
     "command 3 (LD): field 'spm': writes scratchpad bytes 0x0 to 0x7, which command 2 (ST on st, "
     "line 6) reads" WAIT("st:2")},
    {"st dram=0 n0=8 spm=0 c0=8 wait a\nst dram=8 n0=8 spm=0 c0=8 wait a\n"
     "ld.ld1 dram=64 n0=8 spm=0 c0=8 wait st:2", NULL},
    /* by way of others: of who is waited for, of who stands before in the queue, of who it is */
    {"ld.ld1 dram=0 n0=8 spm=8192 c0=8\nmap fn=move a=8192 out=8200 wait ld1:1\n"
     "st dram=64 n0=8 spm=8192 c0=8 wait ve:1", NULL},
    {"ld.ld1 dram=0 n0=8 spm=8192 c0=8\nmap fn=move a=0 out=8200 wait a\n"
     "st dram=64 n0=8 spm=8192 c0=8 wait ve:1",
     "command 3 (ST): field 'spm': reads scratchpad bytes 0x2000 to 0x2007, which command 1 (LD on "
     "ld1, line 5) writes" WAIT("ld1:1")},
    {"ld.ld1 dram=0 n0=8 spm=8192 c0=8\nmm in=8192 wt=64 w_r=8 wait a ld1:1\n"
     "mm in=8192 wt=64 w_r=8 acc=1", NULL},
    {"ld.ld1 dram=0 n0=8 spm=8192 c0=8\nmm in=0 wt=64 w_r=8 wait a\n"
     "mm in=8192 wt=64 w_r=8 acc=1",
     "command 3 (MM): field 'in': reads scratchpad bytes 0x2000 to 0x2007, which command 1 (LD on "
     "ld1, line 5) writes" WAIT("ld1:1")},
    {"st dram=0 n0=8 spm=0 c0=8 wait a\nst dram=8 n0=8 spm=8 c0=8 wait st:1\n"
     "ld.ld1 dram=64 n0=8 spm=0 c0=8 wait st:1", NULL},
    /* accumulators: sums that are none, that have left, of fewer channels, that are leaving */
    {"mm in=0 wt=64 w_r=8 accumulate wait a",
     "command 1 (MM): field 'accumulate': adds to accumulator entry 0, which holds no sum"},
    {"mm in=0 wt=64 w_r=8 wait a\nmm in=0 in_y=8 wt=64 w_r=8 ny=2 accumulate",
     "command 2 (MM): field 'accumulate': adds to accumulator entry 1, which holds no sum"},
    {"mm in=0 wt=64 w_r=8 wait a\nmm in=0 wt=64 w_r=8 accumulate", NULL},
    {"mm in=0 wt=64 w_r=8 drain out=8192 par=1024 wait a\nmm in=0 wt=64 w_r=8 accumulate wait ex:1",
     "command 2 (MM): field 'accumulate': adds to accumulator entry 0, which holds no sum"},
    {"mm in=0 wt=64 w_r=8 n=4 acc=3 wait a\nmm in=0 wt=64 w_r=8 n=5 acc=3 accumulate",
     "command 2 (MM): field 'n': adds to 5 channels of accumulator entry 3, which holds sums of 4"},
    {"conv in=0 wt=64 n=4 acc=3 wait a\nconv in=0 wt=64 n=5 acc=3 accumulate",
     "command 2 (CONV): field 'n': adds to 5 channels of accumulator entry 3, which holds sums "
     "of 4"},
    {"dwc in=0 wt=64 taps=one n=4 acc=3 wait a\ndwc in=0 wt=64 taps=one n=5 acc=3 accumulate",
     "command 2 (DWC): field 'n': adds to 5 channels of accumulator entry 3, which holds sums of "
     "4"},
    {"conv in=0 wt=64 n=4 acc=3 wait a\ndwc in=0 wt=64 taps=one n=4 acc=3 accumulate\n"
     "mm in=0 wt=64 w_r=8 n=4 acc=3 accumulate", NULL},
    {"mm in=0 wt=64 w_r=8 drain out=8192 par=1024 wait a\nmm in=0 wt=64 w_r=8",
     "command 2 (MM): field 'acc': writes accumulator entries 0x0 to 0x0, which command 1 (MM on "
     "ex, line 5) writes" WAIT("ex:1")},
    {"mm in=0 wt=64 w_r=8 drain out=8192 par=1024 wait a\nmm in=0 wt=64 w_r=8 acc=1", NULL},
    {"mm in=0 wt=64 w_r=8 drain out=8192 par=1024 wait a\nmm in=0 wt=64 w_r=8 wait ex:1", NULL},
    /* tables */
    {"map fn=table a=0 out=8192 table=0 wait a",
     "command 1 (MAP): field 'table': reads tables 0x0 to 0x0; 0x0 is one that no command has "
     "written"},
    {"tab in=0 table=1 count=2 wait a\nmap fn=table a=0 out=8192 table=3",
     "command 2 (MAP): field 'table': reads tables 0x3 to 0x3; 0x3 is one that no command has "
     "written"},
    {"tab in=0 table=1 count=2 wait a\nmap fn=table a=0 out=8192 table=2", NULL},
    {"tab in=0 table=1 count=2 wait a\nrow fn=softmax in=0 out=8192 par=1024 table=1",
     "command 2 (ROW): field 'table': reads tables 0x1 to 0x3; 0x3 is one that no command has "
     "written"},
    {"tab in=0 table=1 count=3 wait a\nrow fn=softmax in=0 out=8192 par=1024 table=1", NULL},
    {"tab in=3848 wait a",
     "command 1 (TAB): field 'in': reads scratchpad bytes 0xf08 to 0x1007; 0x1000 is one that no "
     "command has written"},
    {"tab in=3840 wait a", NULL},
    /* results where the command reads */
    {"pool fn=max in=0 in_x=8 nx=2 out=15 out_x=8 wait a",
     "command 1 (POOL): field 'out': writes scratchpad bytes 0xf to 0x1e, which the command also "
     "reads"},
    {"pool fn=max in=0 in_x=8 nx=2 out=16 out_x=8 wait a", NULL},
    {"pool fn=mean in=0 out=1063 par=1024 wait a",
     "command 1 (POOL): field 'out': writes scratchpad bytes 0x427 to 0x42e, which the command "
     "also reads"},
    {"pool fn=mean in=0 out=1064 par=1024 wait a", NULL},
    {"dwc in=0 wt=64 taps=one drain out=71 par=1024 wait a",
     "command 1 (DWC): field 'out': writes scratchpad bytes 0x47 to 0x4e, which the command also "
     "reads"},
    {"dwc in=0 wt=64 taps=one drain out=72 par=1024 wait a", NULL},
    {"map fn=move a=0 out=7 n0=2 a0=8 y0=8 wait a",
     "command 1 (MAP): field 'out': " LATER},
    {"row fn=max in=512 in_y=8 ny=2 out=520 out_y=1 wait a",
     "command 1 (ROW): field 'out': " LATER},
    {"row fn=max in=512 in_y=8 ny=2 out=527 out_y=1 wait a",
     "command 1 (ROW): field 'out': " LATER},
    {"row fn=max in=512 in_y=8 ny=2 out=528 out_y=1 wait a", NULL},
    {"row fn=max in=512 in_y=8 ny=2 out=519 out_y=1 wait a", NULL},
    {"row fn=max in=512 in_y=8 ny=2 out=512 out_y=1 wait a", NULL},
    {"row fn=max in=512 in_y=8 ny=2 out=511 out_y=8 wait a", NULL},
    {"row fn=max in=512 in_y=8 ny=2 out=519 out_y=8 wait a", NULL},
    {"row fn=max in=512 in_y=8 ny=2 out=520 out_y=8 wait a",
     "command 1 (ROW): field 'out': " LATER},
    {SOFTMAX("504"), NULL},
    {SOFTMAX("505"), "command 2 (ROW): field 'out': " LATER},
    {SOFTMAX("512"), NULL},
    {SOFTMAX("519"), "command 2 (ROW): field 'out': " LATER},
    {SOFTMAX("520"), NULL},
    {"trn in=512 in_r=8 out=512 out_r=8 nx=2 in_x=64 out_x=64 wait a", NULL},
    {"trn in=512 in_r=8 out=575 out_r=8 nx=2 in_x=64 out_x=64 wait a",
     "command 1 (TRN): field 'out': " LATER},
    {"trn in=512 in_r=8 out=576 out_r=8 nx=2 in_x=64 out_x=64 wait a",
     "command 1 (TRN): field 'out': " LATER},
    {"trn in=512 in_r=8 out=640 out_r=8 nx=2 in_x=64 out_x=64 wait a", NULL},
};

static wk_status check(const char *text, uint64_t *waits) {
  wk_str b = {0};
  wk_stream *s;
  const wk_asm_options o = {.unchecked = true};
  wk_str_printf(&b, ".machine tiny\n.stream 0x8000\n.marks 0xc000\n%s\n", text);
  wk_status bad = wk_asm(b.s, b.n, "s.s", NULL, &o, &s);
  if (bad) fail_msg("%s: %s", text, bad->message);
  wk_status status = wk_check(s, &s->machine, waits);
  wk_stream_free(s);
  wk_str_free(&b);
  return status;
}

static void messages(void **state) {
  int wrong = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(cases); i++) {
    wk_str text = {0};
    wk_str_printf(&text, "a: fill.ld0 spm=0 c0=4096\n%s\nend", cases[i].text);
    wk_status s = check(text.s, NULL);
    const char *says = s ? s->message : "accepted", *want = cases[i].says;
    if (strcmp(says, want ? want : "accepted") != 0) {
      print_error("%s\n  %s\n  not: %s\n", cases[i].text, says, want ? want : "accepted");
      wrong++;
    }
    wk_status_free(s);
    wk_str_free(&text);
  }
  assert_int_equal(wrong, 0);
}

/* The line of the fault; of who is named without one. */
static void places(void **state) {
  (void)state;
  wk_status s = check("mark\nmm in=0 wt=64 w_r=8\nend", NULL);
  assert_string_equal(s->place, "s.s:5");
  wk_status_free(s);
}

static void ends(void **state) {
  static const char *const texts[][2] = {
      {"mark", "command 0: the last command is not END"},
      {"mark\nmark", "command 1: the last command is not END"},
      {"end\nmark\nend", "command 0: END is not the last command"},
      {"mark\nend\nend", "command 1: END is not the last command"},
      {"", "the stream has no commands"}};
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(texts); i++) {
    wk_status s = check(texts[i][0], NULL);
    assert_non_null(s);
    assert_string_equal(s->message, texts[i][1]);
    wk_status_free(s);
  }
}

static void waits_are_counted(void **state) {
  uint64_t waits = 99;
  (void)state;
  assert_null(check("end", &waits));
  assert_int_equal(waits, 0);
  assert_null(check("mark\nmark wait ex:1\nmark wait ex:2 ld0:0 st:0\nmark\nend", &waits));
  assert_int_equal(waits, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(messages), cmocka_unit_test(places),
                                     cmocka_unit_test(ends), cmocka_unit_test(waits_are_counted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
