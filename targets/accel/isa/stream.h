/* SPDX-License-Identifier: Apache-2.0
 * Streams: commands in memory, with the memory images that they work on. Three forms:
 *
 *   in memory  wk_stream, made by whoever has commands (wk_stream_add), or read from
 *   as text    one command a line (docs/streams.md): wk_asm, wk_disasm
 *   as a file  checksummed, with the hash of its machine (.wcs): wk_stream_read, wk_stream_write */
#ifndef WICK_ACCEL_STREAM_H
#define WICK_ACCEL_STREAM_H

#include "targets/accel/isa/isa.h"

#define WK_STREAM_ALIGN 64 /* of the commands; the mark area: WK_MARK_BYTES */

#define WK_REGIONS_MAX 4096

/* A named part of memory. Regions, commands and mark area do not overlap. */
typedef struct {
  char *name;
  uint64_t address, size;
  const uint8_t *data; /* `size` bytes to begin with; NULL: whatever is there */
  uint8_t *own;        /* the same, unless they are borrowed */
  bool is_output; /* a result: worth showing */
  uint32_t line;
} wk_image;

typedef struct {
  wk_machine machine;
  char *source; /* the text's file name, for messages; "" */
  WK_VEC(uint8_t) bytes;         /* n commands of 64 */
  WK_VEC(uint32_t) lines;        /* of the text, for every command; 0: none */
  uint32_t n;                    /* commands */
  uint32_t issued[WK_QUEUE_COUNT]; /* of them in every queue */
  WK_VEC(wk_image) regions;
  uint64_t address, marks; /* of the commands and of the mark area, once placed */
  bool is_address_given, is_marks_given;
} wk_stream;

/* NULL: there is no memory. */
wk_stream *wk_stream_new(const wk_machine *m, const char *source);
void wk_stream_free(wk_stream *s); /* NULL ok */

/* Appends; nothing is checked but the number of commands. */
wk_status wk_stream_add(wk_stream *s, const wk_isa_command *c, uint32_t line) WK_MUST_CHECK;
wk_status wk_stream_add_bytes(wk_stream *s, const uint8_t bytes[WK_COMMAND_BYTES],
                              uint32_t line) WK_MUST_CHECK;
const uint8_t *wk_stream_bytes(const wk_stream *s, uint32_t i);
bool wk_stream_get(const wk_stream *s, uint32_t i, wk_isa_command *out); /* wk_isa_decode */
/* All of them; *n: those before END. free() */
wk_isa_command *wk_stream_commands(const wk_stream *s, uint32_t *n);
/* "stream.s:17"; "" when the line is not known. */
typedef struct { char s[512]; } wk_stream_place;
wk_stream_place wk_stream_place_of(const wk_stream *s, uint32_t i);

/* The name must be new, the bytes in memory and free. *out stays valid until the next region. */
wk_status wk_stream_region(wk_stream *s, const char *name, uint64_t address, uint64_t size,
                           wk_image **out) WK_MUST_CHECK;
wk_image *wk_stream_find(const wk_stream *s, const char *name); /* NULL: there is none */
/* Its data, zeros when it had none; not of a region that borrows. */
wk_status wk_region_fill(wk_image *r, uint8_t **data) WK_MUST_CHECK;
/* Bytes that stay somebody else's, and as they are, for as long as there is the stream. */
void wk_region_borrow(wk_image *r, const uint8_t *data);

/* Chooses addresses that were not given, behind all regions; checks that nothing overlaps. */
wk_status wk_stream_finish(wk_stream *s) WK_MUST_CHECK;
uint64_t wk_stream_mark_bytes(const wk_stream *s); /* of the mark area */
/* Every command alone (wk_isa_validate), thresholds, END at the end and nowhere else. */
wk_status wk_stream_validate(const wk_stream *s) WK_MUST_CHECK;

/* ---- text ------------------------------------------------------------------------------------ */

typedef struct {
  const wk_machine *machine; /* NULL: what the text says (.machine), else base */
  bool unchecked;            /* no wk_stream_validate: for streams that are to fail */
  uint32_t max_commands;     /* 0: 2^20 - 1 */
  uint64_t max_bytes;        /* of all images; 0: 1 GiB */
  uint64_t max_lines;        /* that loops may run through; 0: 2^24 */
} wk_asm_options;

/* file: for messages. folder: beneath which .file and .machine find files; NULL: none may be named.
 * o may be NULL. Finished and checked on success. */
wk_status wk_asm(const char *text, size_t n, const char *file, const char *folder,
                 const wk_asm_options *o, wk_stream **out) WK_MUST_CHECK;

/* Text that assembles to the same bytes, addresses and images. */
typedef enum { WK_DISASM_ALL, WK_DISASM_NO_DATA } wk_disasm_mode;
void wk_disasm(wk_str *b, const wk_stream *s, wk_disasm_mode mode);
/* One command without label and newline; waits as queue:threshold. For traces and messages. */
void wk_disasm_command(wk_str *b, const wk_machine *m, const wk_isa_command *c);

/* ---- files ----------------------------------------------------------------------------------- */

void wk_stream_write(const wk_stream *s, wk_out *out);
wk_status wk_stream_read_memory(const void *data, size_t n, wk_stream **out) WK_MUST_CHECK;
/* A .wcs file, or text, whichever it is. o->machine: refused unless the file is for that one. */
wk_status wk_stream_load(const char *path, const wk_asm_options *o,
                         wk_stream **out) WK_MUST_CHECK;
/* WK_INPUT that names the keys that differ, unless the stream is for hardware like m. */
wk_status wk_stream_fits(const wk_stream *s, const wk_machine *m) WK_MUST_CHECK;

#endif
