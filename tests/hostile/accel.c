/* SPDX-License-Identifier: Apache-2.0
 * Readers of the accelerator: machine files, streams as text, assembled streams. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "targets/accel/isa/stream.h"
#include "tests/hostile/hostile.h"

/* ---- machines -------------------------------------------------------------------------------- */

void feed_machine(feed_run *r, const wk_str *input) {
  wk_machine m, again;
  wk_str text = {0};
  if (!feed_status(r, wk_machine_parse(input->s ? input->s : "", input->n, "hostile", &m),
                   "machine"))
    return;
  r->accepted = true;
  for (size_t i = 0; i < WK_KEY_COUNT; i++) {
    wk_str_printf(&text, "%s = ", wk_machine_keys[i].name);
    wk_machine_key_text(&text, &m, &wk_machine_keys[i]);
    wk_str_add(&text, ";\n");
  }
  if (!feed_status(r, wk_machine_parse(text.s, text.n, "own", &again), "own text") ||
      wk_machine_hash(&m) != wk_machine_hash(&again))
    wk_str_add(&r->complaint, "its own text reads differently");
  wk_str_free(&text);
}

void feed_machine_space(feed_run *r, const wk_str *input) {
  char path[64];
  int fd;
  wk_machine_choices choices = {0};
  wk_arena *a = wk_arena_new();
  feed_with_file(input, path, &fd);
  r->accepted = feed_status(r, wk_machine_space_read(path, a, &choices), "space");
  wk_machine_choices_free(&choices);
  wk_arena_free(a);
  close(fd);
}

void feed_override(feed_run *r, const wk_str *input) {
  wk_machine m;
  wk_machine_defaults(&m);
  r->accepted = feed_status(r, wk_machine_override(&m, input->s ? input->s : ""), "override");
  if (r->accepted) feed_status(r, wk_machine_check(&m), "own machine");
}

/* ---- streams --------------------------------------------------------------------------------- */

/* What was accepted is checked, shown, and assembled again to the same. */
static void use_stream(feed_run *r, wk_stream *s) {
  const wk_asm_options o = {.machine = &s->machine, .unchecked = true};
  wk_stream *again;
  wk_str text = {0};
  r->accepted = feed_status(r, wk_stream_validate(s), "check");
  wk_disasm(&text, s, WK_DISASM_ALL);
  if (text.n < 1 << 20) {
    wk_status status = wk_asm(text.s, text.n, "own", NULL, &o, &again);
    if (status) {
      wk_str_printf(&r->complaint, "own text: %s: %s", status->place, status->message);
    } else {
      if (again->n != s->n || again->address != s->address ||
          (s->n && memcmp(again->bytes.data, s->bytes.data, s->bytes.n) != 0))
        wk_str_add(&r->complaint, "its own text assembles to something else");
      wk_stream_free(again);
    }
    wk_status_free(status);
  }
  wk_str_free(&text);
  wk_stream_free(s);
}

static const wk_asm_options bounded = {.unchecked = true, .max_commands = 20000,
                                       .max_bytes = 8 << 20, .max_lines = 200000};

void feed_stream_text(feed_run *r, const wk_str *input) {
  wk_stream *s;
  wk_status status = wk_asm(input->s ? input->s : "", input->n, "hostile", r->folder, &bounded, &s);
  if (feed_status(r, status, "stream")) use_stream(r, s);
}

#define HEADER 208 /* stream_file.c: 40 bytes, then 7 sections of offset, size, checksum */

/* Checksums and length of a damaged file made right, so that what is behind them is reached. */
static void seal(uint8_t *p, size_t n) {
  uint64_t size = n;
  uint32_t zero = 0;
  if (n < HEADER) return;
  memcpy(p + 16, &size, 8);
  for (uint8_t *s = p + 40; s < p + HEADER; s += 24) {
    uint64_t at, length;
    memcpy(&at, s, 8);
    memcpy(&length, s + 8, 8);
    if (at > n || length > n - at) continue;
    uint32_t crc = wk_crc32c(0, p + at, (size_t)length);
    memcpy(s + 16, &crc, 4);
  }
  memcpy(p + 36, &zero, 4);
  uint32_t crc = wk_crc32c(0, p, HEADER);
  memcpy(p + 36, &crc, 4);
}

void feed_stream_file(feed_run *r, const wk_str *input) {
  wk_stream *s;
  uint8_t *copy = wk_xmalloc(input->n + 1);
  if (input->n) memcpy(copy, input->s, input->n);
  if (wk_rng_next(&r->rng) % 8) seal(copy, input->n);
  if (feed_status(r, wk_stream_read_memory(copy, input->n, &s), "stream")) use_stream(r, s);
  free(copy);
}

/* ---- seeds ----------------------------------------------------------------------------------- */

static void add(seed_list *l, const char *text, size_t n) {
  wk_str b = {0};
  wk_str_addn(&b, text, n);
  wk_vec_push(l, b);
}

void seeds_machine(seed_list *l, const char *folder) {
  (void)folder;
  for (size_t i = 0; i < wk_machine_preset_count(); i++) {
    const char *text = wk_machine_preset_text(wk_machine_preset_name(i));
    add(l, text, strlen(text));
  }
}

void seeds_machine_space(seed_list *l, const char *folder) {
  static const char *const texts[] = {
      "array = [8, 16, 32];\nscratchpad = (65536, 0x20000);\n",
      "load_channels = 2;\nclock_mhz = (500.5, 1000);\ndram_latency = [50, 0x64, 1000];\n"};
  (void)folder;
  for (size_t i = 0; i < WK_COUNTOF(texts); i++) add(l, texts[i], strlen(texts[i]));
}

void seeds_override(seed_list *l, const char *folder) {
  static const char *const texts[] = {"latency=500,bytes=8", "dram_bytes=12.5,traffic=0.0625",
                                      ("seed=3,error=-1,jitter=100,refresh_interval=1000,"
                                       "refresh_cycles=10,clock_mhz=800")};
  (void)folder;
  for (size_t i = 0; i < WK_COUNTOF(texts); i++) add(l, texts[i], strlen(texts[i]));
}

static const char *const streams[] = {
    ".machine tiny\n.define ROWS 4\n.memory x 0x1000 ROWS*N*16\n.memory w x+0x4000 N*N*9\n"
    ".memory p 0x8000 256\n.memory y 0xa000 4096\n.random x 1 -20 20\n.random w 2\n.output y\n"
    ".record p 0 zero=-3 scale_a=0.5 scale_b=0.25 za=1 zb=2 zy=3\n"
    ".for i 0 N\n  .entry p 0 i bias=i*10 - 80 scale=0.0123\n.end\n"
    "p: ld.ld1 dram=p n0=32+8*N spm=0x4000 c0=32+8*N\nw: ld.ld1 dram=w n0=N*N*9 spm=0x5000 "
    "c0=N*N*9 prio=3\n.for i 0 4\n"
    "a{i}: ld.ld0 dram=x+i*64 n0=64 spm=0x1000*(i%2) c0=16 c1=2 p1=16 p2=64 op=1+i wait c{i-2}?\n"
    "c{i}: conv in=0x1000*(i%2) - 8 in_y=64 in_x=N ny=2 nx=4 ky=3 kx=3 pad_t=1 pad_l=1 h=2 w=4 "
    "wt=0x5000 k_y=64 k_x=N drain out=0x6000+0x100*i out_y=64 par=0x4000 acc=(i%2)*256 wait a{i} "
    "w p s{i-2}?\n"
    "s{i}: st dram=y+i*256 n0=64 spm=0x6000+0x100*i c0=64 wait c{i} ex:1\n.end\n"
    "mark row=1 wait s3\nend\n",
    ".memory m 0 1024\n.bytes m 16 1 -2 0x33\n.words m 32 -1 100000\n.stream 4096\n.marks 8192\n"
    "f: fill.ld0 value=7 spm=0x100 c0=16 c1=3 c2=2 p1=32 p2=128\n"
    "map fn=add a=0x100 b=0x120 out=0x200 n0=12 n1=2 a1=256 y1=256 b0=0 splat par=0 a_u8\nend\n",
    ".memory m 0 1024\nt: tab in=0 table=2 count=2\nmap fn=table a=0 out=0x100 table=3 wait t\n"
    "pool fn=max in=0x0-16 in_y=64 in_x=16 ny=3 nx=3 ky=2 kx=2 k_y=64 k_x=16 pad_l=1 w=3 "
    "out=0x300 out_y=64\nrow fn=softmax in=0 out=0x400 par=0x500 ny=3 in_y=32 out_y=32 kc=2 "
    "k_tail=3 table=1\ntrn in=0 in_r=16 out=0x600 out_r=16\n"
    "mm in=0 wt=0x40 w_r=16 transposed ny=4 in_y=16 w_zero=3 w_u8 acc=8 accumulate\n"
    "dwc in=0 wt=0x80 in_x=16 k_x=16 ky=3 kx=3 k_y=64\nmark\n"
    ".raw 12 0 0 0 0 7 0 0 0 0 0 0 0 0 0 0\nend\n"};

void seeds_stream_text(seed_list *l, const char *folder) {
  (void)folder;
  for (size_t i = 0; i < WK_COUNTOF(streams); i++) add(l, streams[i], strlen(streams[i]));
}

void seeds_stream_file(seed_list *l, const char *folder) {
  for (size_t i = 0; i < WK_COUNTOF(streams); i++) {
    wk_stream *s;
    wk_out *o;
    wk_file f;
    wk_str path = {0};
    wk_str_printf(&path, "%s/seed.wcs", folder);
    wk_status status = wk_asm(streams[i], strlen(streams[i]), "seed", NULL, &bounded, &s);
    if (!status) status = wk_out_open(path.s, &o);
    if (!status) wk_stream_write(s, o);
    if (!status) status = wk_out_commit(o);
    if (!status) status = wk_file_map(path.s, &f);
    if (status) {
      wk_status_print(stderr, status);
      abort();
    }
    add(l, (const char *)f.data, f.size);
    wk_file_unmap(&f);
    unlink(path.s);
    wk_str_free(&path);
    wk_stream_free(s);
  }
}
