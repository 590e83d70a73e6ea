/* SPDX-License-Identifier: Apache-2.0
 * The limits of commands: of each number the last value that is taken and the first that is not,
 * with what is said of that. Bytes of the scratchpad are test_isa's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/isa/stream.h"

#define MORE(n, value) "field '" n "': " value " is more than the array's 16 lanes"
#define CROOKED(n, value) "field '" n "': " value " is no multiple of the array's 16 lanes"
#define NO_MEMORY(range)                                                                         \
  "field 'dram': bytes " range " are not all in the memory of 268435456 bytes"
#define NO_ENTRY(range) "field 'acc': entries " range " are not all among the 1024 of the accumul"
#define NO_TABLE(range) "field 'table': tables " range " are not all among the machine's 8"
#define NO_SPM(field, range)                                                                     \
  "field '" field "': bytes " range " are not all in the scratchpad of 262144 bytes"
#define FAR "spm=0 c0=4 c1=9 p1=4"

/* %lld is the number; machine "base". */
static const struct {
  const char *text;
  long long taken, refused;
  const char *says;
} limits[] = {
    /* lanes: one more than the array has */
    {"conv in=0 wt=0 n=%lld", 16, 17, MORE("n", "17")},
    {"conv in=0 wt=0 k_tail=%lld", 16, 17, MORE("k_tail", "17")},
    {"dwc in=0 wt=0 taps=one n=%lld", 16, 17, MORE("n", "17")},
    {"mm in=0 w_r=16 wt=0 n=%lld", 16, 17, MORE("n", "17")},
    {"mm in=0 w_r=16 wt=0 k_tail=%lld", 16, 17, MORE("k_tail", "17")},
    {"map fn=move a=0 out=64 n=%lld", 16, 17, MORE("n", "17")},
    {"pool fn=max in=0 out=64 n=%lld", 16, 17, MORE("n", "17")},
    {"row fn=max in=0 out=64 k_tail=%lld", 16, 17, MORE("k_tail", "17")},
    {"trn in=0 in_r=16 out=512 out_r=16 n=%lld", 16, 17, MORE("n", "17")},
    {"trn in=0 in_r=16 out=512 out_r=16 rows=%lld", 16, 17, MORE("rows", "17")},
    /* what is aligned, and what need not be */
    {"conv in=0 wt=%lld", 16, 17, CROOKED("wt", "17")},
    {"dwc in=0 taps=one wt=%lld", 16, 17, CROOKED("wt", "17")},
    {"conv in=0 wt=0 drain out=1024 par=%lld", 16, 31, CROOKED("par", "31")},
    {"dwc in=0 wt=0 taps=one drain out=1024 par=%lld", 16, 17, CROOKED("par", "17")},
    {"mm in=0 w_r=16 wt=1 drain out=1024 par=%lld", 16, 17, CROOKED("par", "17")},
    {"map fn=scale a=1 out=65 par=%lld", 16, 17, CROOKED("par", "17")},
    {"pool fn=mean in=1 out=65 par=%lld", 16, 17, CROOKED("par", "17")},
    {"row fn=mean in=1 out=65 par=%lld", 16, 17, CROOKED("par", "17")},
    {"tab in=%lld", 16, 17, CROOKED("in", "17")},
    /* accumulators: of CONV and DWC rows x columns, of MM rows */
    {"conv in=0 wt=0 acc=%lld", 1023, 1024, NO_ENTRY("1024 to 1024")},
    {"conv in=0 wt=0 nx=2 acc=%lld", 1022, 1023, NO_ENTRY("1023 to 1024")},
    {"conv in=0 wt=0 ny=2 acc=%lld", 1022, 1023, NO_ENTRY("1023 to 1024")},
    {"conv in=0 wt=0 nx=31 ny=%lld", 33, 34, NO_ENTRY("0 to 1053")},
    {"dwc in=0 wt=0 taps=one nx=32 ny=%lld", 32, 33, NO_ENTRY("0 to 1055")},
    {"mm in=0 w_r=16 wt=0 acc=1 ny=%lld", 1023, 1024, NO_ENTRY("1 to 1024")},
    /* tables */
    {"map fn=table a=0 out=64 table=%lld", 7, 8, NO_TABLE("8 to 8")},
    {"row fn=softmax in=0 out=64 par=1024 table=%lld", 5, 6, NO_TABLE("6 to 8")},
    {"tab in=0 count=3 table=%lld", 5, 6, NO_TABLE("6 to 8")},
    {"tab in=0 table=0 count=%lld", 8, 9, NO_TABLE("0 to 8")},
    /* three taps at once */
    {"dwc in=0 wt=0 k_x=16 in_x=16 dx=%lld", 1, 2, "field 'dx': three taps need dx = 1"},
    {"dwc in=0 wt=0 in_x=16 k_x=%lld", 16, 17, "field 'k_x': three taps need k_x = 16"},
    {"dwc in=0 wt=0 k_x=16 sx=%lld in_x=32", 2, 3, "field 'sx': three taps need sx <= 2"},
    {"dwc in=0 wt=0 k_x=16 sx=1 in_x=%lld", 16, 32, "field 'in_x': three taps need in_x = sx * 16"},
    {"dwc in=0 wt=0 k_x=16 sx=2 in_x=%lld", 32, 16, "field 'in_x': three taps need in_x = sx * 16"},
    {"dwc in=0 wt=0 taps=%lld dx=2", 1, 0, "field 'dx': three taps need dx = 1"},
    /* rows that are replaced are held; those of which one number comes out are not */
    {"row fn=softmax in=0 in_c=0 out=64 out_c=0 par=1024 kc=2048 k_tail=16 ny=%lld", 4095, 4096,
     "ny: 4096 is outside 0 to 4095"},
    {"row fn=softmax in=0 in_c=0 out=64 out_c=0 par=1024 k_tail=16 kc=%lld", 2048, 2049,
     "field 'kc': 32784 elements of a row are more than 32768"},
    {"row fn=softmax in=0 in_c=0 out=64 out_c=0 par=1024 k_tail=1 kc=%lld", 2048, 2049,
     "field 'kc': 32769 elements of a row are more than 32768"},
    {"row fn=max in=0 in_c=0 out=64 kc=%lld", 4095, 4096, "kc: 4096 is outside 0 to 4095"},
    /* records: entry 0 alone, of each column, of each count of taps, of each lane */
    {"row fn=mean in=0 out=64 par=%lld", 262096, 262112, NO_SPM("par", "262112 to 262151")},
    {"row fn=softmax in=0 out=64 par=%lld", 262096, 262112, NO_SPM("par", "262112 to 262151")},
    {"row fn=rmsnorm in=0 out=64 k_tail=2 par=%lld", 262096, 262112,
     NO_SPM("par", "262112 to 262159")},
    {"row fn=layernorm in=0 in_c=16 out=64 out_c=16 kc=2 k_tail=2 par=%lld", 261968, 261984,
     NO_SPM("par", "261984 to 262159")},
    {"row fn=max in=0 out=64 par=%lld", 1048575, 1048576, "par: 1048576 is outside 0 to 1048575"},
    {"map fn=add a=0 b=0 out=64 par=%lld", 262112, 262128, NO_SPM("par", "262128 to 262159")},
    {"map fn=move a=0 out=64 par=%lld", 1048575, 1048576, "par: 1048576 is outside 0 to 1048575"},
    {"pool fn=mean in=0 out=64 ky=3 kx=3 par=%lld", 262096, 262112,
     NO_SPM("par", "262112 to 262151")},
    {"pool fn=valid_mean in=0 out=64 ky=3 kx=3 h=2 w=2 par=%lld", 262080, 262096,
     NO_SPM("par", "262096 to 262159")},
    /* what a window that is not there would have is no count */
    {"pool fn=valid_mean in=0 out=64 kx=3 pad_l=2 w=9 sx=2 par=%lld", 262096, 262112,
     NO_SPM("par", "262112 to 262151")},
    {"pool fn=valid_mean in=0 out=64 ky=3 pad_t=2 h=9 sy=2 par=%lld", 262096, 262112,
     NO_SPM("par", "262112 to 262151")},
    {"conv in=0 wt=0 n=2 drain out=64 par=%lld", 262096, 262112, NO_SPM("par", "262112 to 262159")},
    /* residuals, which are read only behind a drain */
    {"conv in=0 wt=0 drain out=64 par=1024 residual res=%lld", 262128, 262129,
     NO_SPM("res", "262129 to 262144")},
    {"conv in=0 wt=0 residual res=%lld", 1048575, 1048576, "res: 1048576 is outside 0 to 1048575"},
    {"conv in=0 wt=0 drain out=64 par=1024 res=%lld", 1048575, 1048576,
     "res: 1048576 is outside 0 to 1048575"},
    /* memory: its last byte, along each axis, of either direction */
    {"ld.ld0 n0=4 " FAR " dram=%lld", 268435452, 268435453, NO_MEMORY("268435453 to 268435456")},
    {"ld.ld0 dram=0 n0=4 n1=2 " FAR " s1=%lld", 268435452, 268435453, NO_MEMORY("0 to 268435456")},
    {"ld.ld0 dram=0 n0=4 n2=3 " FAR " s2=%lld", 134217726, 134217727,
     NO_MEMORY("0 to 268435457")},
    {"ld.ld0 dram=2 n0=4 n3=2 " FAR " s3=%lld", 268435450, 268435451,
     NO_MEMORY("2 to 268435456")},
    {"ld.ld0 n0=4 n1=2 n2=2 n3=2 " FAR " s1=4 s2=8 s3=16 dram=%lld", 268435424, 268435425,
     NO_MEMORY("268435425 to 268435456")},
    {"st n0=4 " FAR " dram=%lld", 268435452, 268435453, NO_MEMORY("268435453 to 268435456")},
    {"st dram=0 n0=4 n1=2 " FAR " s1=%lld", 268435452, 268435453, NO_MEMORY("0 to 268435456")},
    /* bytes of a transfer, by each of its counts */
    {"st dram=0 spm=0 c0=1 n0=%lld n1=2 s1=0x100000", 524287, 524288, "it has 2^20 bytes or more"},
    {"st dram=0 spm=0 c0=1 n0=4 s1=4 s2=0x10000 n2=64 n1=%lld", 4095, 4096,
     "n1: 4096 is outside 0 to 4095"},
    {"st dram=0 spm=0 c0=1 n0=512 n1=64 s1=512 s2=0x8000 n2=%lld", 31, 32,
     "field 'n0': it has 2^20 bytes or more"},
    {"st dram=0 spm=0 c0=1 n0=512 n1=4 n2=16 s1=512 s2=2048 s3=0x8000 n3=%lld", 31, 32,
     "field 'n0': it has 2^20 bytes or more"},
    /* whole chunks */
    {"ld.ld0 dram=0 n0=8 spm=0 c0=%lld", 8, 9, "field 'c0': 8 bytes is not a whole number"},
    {"ld.ld0 dram=0 n0=8 spm=0 p1=4 c1=9 c0=%lld", 4, 3,
     "field 'c0': 8 bytes is not a whole number of chunks of 3"},
    /* runs and chunks that touch, and that meet */
    {"st dram=0 n0=4 n1=2 " FAR " s1=%lld", 4, 3, "field 'dram': its runs overlap in memory"},
    {"st dram=0 n0=4 n2=2 " FAR " s2=%lld", 4, 3, "field 'dram': its runs overlap in memory"},
    {"st dram=0 n0=4 n3=2 " FAR " s3=%lld", 4, 3, "field 'dram': its runs overlap in memory"},
    {"ld.ld0 dram=0 n0=8 spm=0 c0=4 c1=2 p1=%lld", 4, 3, "its chunks overlap in the scratchpad"},
    {"ld.ld0 dram=0 n0=8 spm=0 c0=4 c1=1 p2=%lld", 4, 3, "its chunks overlap in the scratchpad"},
    {"ld.ld0 dram=0 n0=20 spm=0 c0=4 c1=2 p1=9 p2=%lld", 18, 6,
     "its chunks overlap in the scratchpad"},
    /* waits: on as many as come before, in each queue */
    {"mark wait ex:%lld", 0, 1, "it waits for command 1 of ex, of which 0 come before it"},
    {"mark wait ve:%lld", 0, 1, "it waits for command 1 of ve, of which 0 come before it"},
    {"mark wait st:%lld", 0, 1, "it waits for command 1 of st, of which 0 come before it"},
    {"mark wait ld1:%lld", 0, 1, "it waits for command 1 of ld1, of which 0 come before it"},
    {"mark\nmark\nmark wait ex:%lld", 2, 3, "it waits for command 3 of ex, of which 2 come before"},
};

static wk_status assemble(const char *text, long long value) {
  wk_str b = {0};
  wk_stream *s = NULL;
  const char *at = strstr(text, "%lld");
  wk_str_printf(&b, "%.*s%lld%s\nend\n", (int)(at - text), text, value, at + 4);
  wk_status status = wk_asm(b.s, b.n, "s.s", NULL, NULL, &s);
  wk_stream_free(s);
  wk_str_free(&b);
  return status;
}

static void last_and_first(void **state) {
  int wrong = 0;
  (void)state;
  for (size_t i = 0; i < WK_COUNTOF(limits); i++) {
    wk_status taken = assemble(limits[i].text, limits[i].taken);
    wk_status refused = assemble(limits[i].text, limits[i].refused);
    if (taken) print_error("%s, %lld: %s\n", limits[i].text, limits[i].taken, taken->message);
    if (!refused || !strstr(refused->message, limits[i].says))
      print_error("%s, %lld: %s\n", limits[i].text, limits[i].refused,
                  refused ? refused->message : "taken");
    wrong += taken || !refused || !strstr(refused->message, limits[i].says);
    wk_status_free(taken);
    wk_status_free(refused);
  }
  assert_int_equal(wrong, 0);
}

/* Queues that run each command, on machines with one, two and three channels that load. */
static void queues_of_commands(void **state) {
  static const struct {
    int opcode;
    const char *queues[3];
  } want[] = {
      {WK_CMD_LD, {"ld0", "ld0 ld1", "ld0 ld1 ld2"}},
      {WK_CMD_ST, {"st", "st", "st"}},
      {WK_CMD_FILL, {"ld0", "ld0 ld1", "ld0 ld1 ld2"}},
      {WK_CMD_CONV, {"ex", "ex", "ex"}},
      {WK_CMD_DWC, {"ex", "ex", "ex"}},
      {WK_CMD_MM, {"ex", "ex", "ex"}},
      {WK_CMD_MAP, {"ve", "ve", "ve"}},
      {WK_CMD_POOL, {"ve", "ve", "ve"}},
      {WK_CMD_ROW, {"ve", "ve", "ve"}},
      {WK_CMD_TRN, {"ve", "ve", "ve"}},
      {WK_CMD_TAB, {"ve", "ve", "ve"}},
      {WK_CMD_MARK, {"ex", "ex", "ex"}},
  };
  wk_machine m;
  (void)state;
  wk_machine_defaults(&m);
  for (m.load_channels = 1; m.load_channels <= 3; m.load_channels++)
    for (size_t i = 0; i < WK_COUNTOF(want); i++) {
      wk_isa_command c = wk_isa_command_default(&m, want[i].opcode);
      wk_str got = {0};
      for (c.queue = 0; c.queue < 8; c.queue++) {
        wk_isa_fault f;
        bool bad = wk_isa_find_fault(&m, &c, NULL, &f);
        if (!bad || f.error != WK_ERROR_opcode)
          wk_str_printf(&got, "%s%s", got.n ? " " : "", wk_isa_queue_name((int)c.queue));
        else
          assert_string_equal(f.field, "queue");
      }
      assert_string_equal(got.s ? got.s : "", want[i].queues[m.load_channels - 1]);
      wk_str_free(&got);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(last_and_first),
                                     cmocka_unit_test(queues_of_commands)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
