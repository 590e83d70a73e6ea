/* SPDX-License-Identifier: Apache-2.0
 * A stream as text, to the letter: what is written in hex, what is left out, where names, labels
 * and numbers stand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "targets/accel/isa/stream.h"

static const char source[] =
    ".machine tiny\n"
    ".memory a 0x1000 100\n"
    ".memory b 0x2000 64\n"
    ".memory c 0x3000 33\n"
    ".memory d 0x4000 8\n"
    ".bytes a 31 255 1\n"
    ".bytes a 99 7\n"
    ".bytes b 0 0\n"
    ".bytes c 32 5\n"
    ".output b\n"
    ".output d\n"
    "x: ld.ld0 dram=a n0=64 spm=0 c0=64 op=1\n"
    "y: ld.ld1 dram=a+36 n0=64 spm=0x40 c0=64 wait x\n"
    "ld.ld0 dram=a-1 n0=1 spm=0 c0=1 prio=7 wait y ld0:0\n"
    "ld.ld0 dram=b n0=1 spm=0 c0=1 wait ld1:1 x\n"
    "conv in=-8 in_y=8 nx=2 ny=2 ky=3 kx=3 wt=0x100 pad_t=1 u8 accumulate zero=255 op=65535\n"
    "map fn=mul a=0 b=8 out=0x80 n=8 par=0x200 a_u8 wait ld1:5\n"
    "row fn=softmax in=0 out=0x100 ny=3 kc=2 par=0x300\n"
    "st dram=b+63 n0=1 spm=0x80 c0=1 op=2 prio=1 wait ld0:3 ex:1 ve:2\n"
    ".raw 0x12345678 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0xffffffff\n"
    "fill.ld1 value=3 spm=0x20 c0=8 c1=2 p1=16\n"
    "tab table=1 in=0x400\n"
    "mark row=2 wait ve:3\n"
    "end\n";

static const char head[] =
    ".machine tiny\n"
    ".memory a 0x1000 100\n"
    ".memory b 0x2000 64\n"
    ".output b\n"
    ".memory c 0x3000 33\n"
    ".memory d 0x4000 8\n"
    ".output d\n"
    ".stream 0x5000\n"
    ".marks 0x6000\n"
    "\n";

static const char commands[] =
    "ld0_1: ld.ld0 dram=a n0=64 spm=0x0 c0=64 op=1\n"
    "ld1_1: ld.ld1 dram=a+0x24 n0=64 spm=0x40 c0=64 wait ld0_1\n"
    "ld.ld0 dram=0xfff n0=1 spm=0x0 c0=1 prio=7 wait ld0:0 ld1_1\n"
    "ld0_3: ld.ld0 dram=b n0=1 spm=0x0 c0=1 wait ld0_1 ld1_1\n"
    "ex_1: conv in=-0x8 in_y=8 ny=2 nx=2 ky=3 kx=3 pad_t=1 zero=255 u8 wt=0x100 accumulate"
    " op=65535\n"
    "map fn=mul a=0x0 a_u8 b=0x8 out=0x80 par=0x200 wait ld1:5\n"
    "ve_2: row fn=softmax in=0x0 ny=3 kc=2 out=0x100 par=0x300\n"
    "st dram=b+0x3f n0=1 spm=0x80 c0=1 op=2 prio=1 wait ex_1 ve_2 ld0_3\n"
    ".raw 0x12345678 0x9 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0xffffffff\n"
    "fill.ld1 value=3 spm=0x20 c0=8 c1=2 p1=16\n"
    "ve_3: tab in=0x400 table=1\n"
    "mark row=2 wait ve_3\n"
    "end\n";

static const char data[] =
    "\n"
    ".bytes a 0x0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 255\n"
    ".bytes a 0x20 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    ".bytes a 0x60 0 0 0 7\n"
    ".bytes b 0 0\n"
    ".bytes c 0x20 5\n";

static const char summary[] =
    "\n"
    "; a has 100 bytes of data\n"
    "; b has 64 bytes of data\n"
    "; c has 33 bytes of data\n";

static void expect_text(const wk_stream *s, wk_disasm_mode mode, const char *end) {
  wk_str got = {0}, want = {0};
  wk_disasm(&got, s, mode);
  wk_str_printf(&want, "%s%s%s", head, commands, end);
  assert_string_equal(got.s, want.s);
  wk_str_free(&want);
  wk_str_free(&got);
}

static void a_stream_as_text(void **state) {
  wk_stream *s = NULL;
  (void)state;
  wk_status status = wk_asm(source, strlen(source), "s.s", NULL,
                            &(wk_asm_options){.unchecked = true}, &s);
  if (status) fail_msg("%s: %s", status->place ? status->place : "", status->message);
  expect_text(s, WK_DISASM_ALL, data);
  expect_text(s, WK_DISASM_NO_DATA, summary);
  wk_stream_free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_stream_as_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
