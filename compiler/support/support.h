/* SPDX-License-Identifier: Apache-2.0
 * support: what every other part of the compiler stands on (rank 0).
 *
 *   status     wk_status: a pointer, NULL = success; must be checked
 *   memory     wk_arena (dies whole), wk_vec (growable array)
 *   text       wk_str (string builder), nearest-name lookup
 *   arithmetic overflow-checked int64 helpers for anything that comes from a file
 *   files      whole-file map, atomic write (temp + fsync + rename)
 *   hashing    XXH3 (libxxhash), CRC32C
 *
 * Nothing here prints or exits. Allocation failure of small objects ends the program (wk_xmalloc,
 * wk_no_memory), as does what cannot be (wk_assert); sizes that come from user data go through
 * wk_try_malloc and return a status. Code that the runtime's API reaches (the accelerator's device)
 * uses neither wk_x…, wk_arena, wk_str nor wk_vec_push: it never ends the program
 * (tests/lint/symbols). */
#ifndef WICK_SUPPORT_H
#define WICK_SUPPORT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define WK_COUNTOF(a) (sizeof(a) / sizeof((a)[0]))
#define WK_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define WK_MUST_CHECK __attribute__((warn_unused_result))

/* ---- status ------------------------------------------------------------------------------- */

/* Also the exit codes of the `wick` command (documented by `wick --help`). */
typedef enum {
  WK_OK = 0,
  WK_FAILED = 1,       /* the work ran and the answer is no: a test failed, results differ */
  WK_USAGE = 2,        /* unknown option, missing argument */
  WK_INPUT = 3,        /* malformed or inconsistent input file */
  WK_UNSUPPORTED = 4,  /* well-formed input that this version does not handle */
  WK_IO = 5,           /* a file cannot be opened, read or written */
  WK_RESOURCE = 6,     /* a budget (memory, nodes, depth) is exceeded */
  WK_INTERNAL = 7      /* a bug: a verifier or checker refused what the compiler made */
} wk_code;

typedef struct wk_status_rec *wk_status; /* NULL = success; owned by whoever holds it */

struct wk_status_rec {
  wk_code code;
  const char *file; /* our source position, static storage */
  int line;
  char *place;   /* the user's place: file, node name, text line:col; NULL if none */
  char *message; /* one line, no trailing newline */
  char *notes;   /* a list: zero or more lines, each ends in '\n'; NULL if none */
};

#define wk_error(code, ...) wk_status_make((code), __FILE__, __LINE__, NULL, __VA_ARGS__)
#define wk_error_at(code, place, ...) \
  wk_status_make((code), __FILE__, __LINE__, (place), __VA_ARGS__)
/* Without memory for it the status says that, WK_RESOURCE. */
wk_status wk_status_make(wk_code code, const char *file, int line, const char *place,
                         const char *fmt, ...) WK_PRINTF(5, 6) WK_MUST_CHECK;
/* Adds a circumstance ("while lowering …") to the message, in parentheses, and returns the same
 * status; NULL stays NULL. */
wk_status wk_status_note(wk_status s, const char *fmt, ...) WK_PRINTF(2, 3) WK_MUST_CHECK;
/* Adds a line of its own, for messages that announce a list. */
wk_status wk_status_item(wk_status s, const char *fmt, ...) WK_PRINTF(2, 3) WK_MUST_CHECK;
/* With another code, unless it says that there is no memory; NULL stays NULL. */
wk_status wk_status_as(wk_status s, wk_code code) WK_MUST_CHECK;
/* Sets the user's place when none is set yet and there is one; NULL stays NULL. */
wk_status wk_status_place(wk_status s, const char *place) WK_MUST_CHECK;
void wk_status_free(wk_status s);
/* "place: message" + the note lines indented by two, newline-terminated. */
void wk_status_print(FILE *f, wk_status s);

#define WK_TRY(expr)                    \
  do {                                  \
    wk_status wk_try_ = (expr);         \
    if (wk_try_) return wk_try_;        \
  } while (0)
#define WK_TRY_GOTO(st, label, expr)    \
  do {                                  \
    (st) = (expr);                      \
    if (st) goto label;                 \
  } while (0)

/* ---- what cannot be, where nothing can fail ------------------------------------------------ */

/* Ends the program: by what it has said that it does then, else abort. `what`: static. */
_Noreturn void wk_bug(const char *file, int line, const char *what);
#define WK_BUG(what) wk_bug(__FILE__, __LINE__, (what))
/* Once, before there are threads; `end` does not return and needs no memory. */
void wk_bug_ends(void (*end)(const char *file, int line, const char *what));
#ifdef NDEBUG
#define wk_assert(x) ((void)sizeof(!(x)))
#else
#define wk_assert(x) ((x) ? (void)0 : WK_BUG(#x))
#endif

/* ---- memory ------------------------------------------------------------------------------- */

void *wk_xmalloc(size_t n);            /* without memory: wk_no_memory */
void *wk_xcalloc(size_t n, size_t size);
void *wk_xrealloc(void *p, size_t n);
char *wk_xstrdup(const char *s);
/* Where memory runs out and nothing can fail: what the program has said that it does then, else
 * abort. */
_Noreturn void wk_no_memory(void);
/* Once, before there are threads; `end` does not return and needs no memory. */
void wk_no_memory_ends(void (*end)(void));
/* Before that: what this thread has said that it does when it cannot go on; end NULL: nothing. It
 * does not return. */
void wk_end_by(void (*end)(void *ctx, const char *why), void *ctx);
typedef struct {
  void (*end)(void *ctx, const char *why);
  void *ctx;
} wk_thread_end;
wk_thread_end wk_end_of_thread(void); /* what it has said */
void wk_end(const char *why); /* calls it; returns where there is none */
void wk_xcheck(wk_status s); /* of what fails only without memory: wk_no_memory */
/* For sizes derived from user data: WK_RESOURCE when it fails. Zeroed, 64-byte aligned; free(). */
wk_status wk_try_malloc(size_t n, void **out) WK_MUST_CHECK;

typedef struct wk_arena wk_arena;
wk_arena *wk_arena_new(void);
void wk_arena_free(wk_arena *a); /* NULL ok */
void wk_arena_reset(wk_arena *a);
void *wk_arena_alloc(wk_arena *a, size_t n);               /* zeroed, 16-byte aligned */
void *wk_arena_alloc_aligned(wk_arena *a, size_t n, size_t align);
char *wk_arena_strdup(wk_arena *a, const char *s);
char *wk_arena_strndup(wk_arena *a, const char *s, size_t n);
char *wk_arena_printf(wk_arena *a, const char *fmt, ...) WK_PRINTF(2, 3);
void *wk_arena_memdup(wk_arena *a, const void *p, size_t n);
size_t wk_arena_bytes(const wk_arena *a);

/* Growable array: declare `T *v; ` with the three-word header beside it:
 *   WK_VEC(uint32_t) ids = {0};  wk_vec_push(&ids, 7);  ids.data[i]; ids.n;  wk_vec_free(&ids); */
#define WK_VEC(T) struct { T *data; size_t n, cap; }
#define wk_vec_reserve(v, want) \
  ((v)->cap >= (size_t)(want)   \
       ? (void)0                \
       : wk_vec_grow((void **)&(v)->data, &(v)->cap, (size_t)(want), sizeof *(v)->data))
#define wk_vec_push(v, x) (wk_vec_reserve((v), (v)->n + 1), (v)->data[(v)->n++] = (x))
#define wk_vec_free(v) (free((v)->data), (v)->data = NULL, (v)->n = (v)->cap = 0)
void wk_vec_grow(void **data, size_t *cap, size_t want, size_t elem);
/* The same where nothing may abort; false: there is no memory, and the array is as it was. */
#define wk_vec_try_reserve(v, want) \
  ((v)->cap >= (size_t)(want) ||    \
   wk_vec_try_grow((void **)&(v)->data, &(v)->cap, (size_t)(want), sizeof *(v)->data))
bool wk_vec_try_grow(void **data, size_t *cap, size_t want, size_t elem) WK_MUST_CHECK;

/* ---- text --------------------------------------------------------------------------------- */

typedef struct { char *s; size_t n, cap; } wk_str; /* always NUL-terminated once non-empty */
void wk_str_add(wk_str *b, const char *s);
void wk_str_addn(wk_str *b, const char *s, size_t n);
void wk_str_printf(wk_str *b, const char *fmt, ...) WK_PRINTF(2, 3);
void wk_str_vprintf(wk_str *b, const char *fmt, va_list ap);
void wk_str_free(wk_str *b);
/* Shortest decimal text that reads back to exactly the same value, independent of locale; "inf",
 * "-inf", "nan"; always contains one of ".", "e", "n" so that it is no integer. */
void wk_str_f32(wk_str *b, float v);
void wk_str_f64(wk_str *b, double v);
/* A double-quoted string; \" \\ \n \t, and \xNN for whatever is not printable ASCII. */
void wk_str_quote(wk_str *b, const char *s);
/* Makes text from a file fit to be shown: '?' for control characters and for bytes that are no
 * UTF-8, blanks for newlines and tabs. */
void wk_text_clean(char *s);
/* The file name, without ending, that stands for the name of a tensor, here and on other systems:
 * ASCII letters, digits and "._-" stay, every other byte and a leading '.' become "%XX" as in a
 * URL. Different names have different files, and a name has the same file wherever it is written.
 * Never empty, never with a '~' unless it would exceed 200 bytes: then its end is "~" and a
 * hash. */
char *wk_text_file_name(wk_arena *a, const char *name);
/* "12.3 MiB", "940 B" into a static-size buffer. */
typedef struct { char s[24]; } wk_text24;
wk_text24 wk_bytes_text(uint64_t n);
/* "512", "64KiB", "1.5 MiB", "2GiB": false when it is none or less than 1. */
bool wk_bytes_parse(const char *s, int64_t *out);

/* The entry of names[0..n) nearest to s by edit distance, or NULL when none is near. */
const char *wk_nearest(const char *s, const char *const *names, size_t n);

/* ---- checked arithmetic: true on success ---------------------------------------------------- */

static inline bool wk_add_ok(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_add_overflow(a, b, out);
}
static inline bool wk_mul_ok(int64_t a, int64_t b, int64_t *out) {
  return !__builtin_mul_overflow(a, b, out);
}
/* Product of n non-negative dims; false on overflow or a negative dim. */
bool wk_dims_product(const int64_t *dims, int n, int64_t *out);
/* The greatest common divisor; of 0 and b, b. */
static inline uint64_t wk_gcd(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
/* a / b, rounded up; b > 0. */
static inline int64_t wk_ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }
static inline uint64_t wk_align_up(uint64_t x, uint64_t a) { return (x + a - 1) / a * a; }

double wk_clock(void); /* seconds, monotonic */

/* ---- progress: of long work, for whoever wants to show it ---------------------------------- */

/* One line, which takes the place of the one before; nothing unless the program shows it. */
void wk_progress(const char *fmt, ...) WK_PRINTF(1, 2);
void wk_progress_end(void); /* there is nothing more to show */
/* Once, before there are threads. show(NULL): the end. */
void wk_progress_to(void (*show)(const char *text));

/* ---- files -------------------------------------------------------------------------------- */

typedef struct { const uint8_t *data; size_t size; void *map; } wk_file; /* private read-only map */
/* An empty file has size 0 and data non-NULL. */
wk_status wk_file_map(const char *path, wk_file *out) WK_MUST_CHECK;
void wk_file_unmap(wk_file *f);
void wk_file_forget(const wk_file *f); /* its pages take no memory until they are read again */
/* Opens `rel` beneath folder `dir`: no "..", no absolute path, regular file, one hard link. Links
 * are followed as long as what they lead to lies beneath `dir`, or beneath `home` if that is not
 * NULL: the folder of the file that a link to the model leads to. What is not in `dir` may be in
 * `home`. */
wk_status wk_file_map_beneath(const char *dir, const char *home, const char *rel,
                              wk_file *out) WK_MUST_CHECK;

/* Atomic output: bytes go to a temporary file in the same folder; wk_out_commit fsyncs and renames
 * it, wk_out_abort removes it. Path "-" is standard output. Errors are sticky, commit returns them.
 * What exists and is no regular file (/dev/null, a pipe) is written directly. */
typedef struct wk_out wk_out;
wk_status wk_out_open(const char *path, wk_out **out) WK_MUST_CHECK;
/* Whether it could be opened now; nothing is left, what is written directly is not opened. */
wk_status wk_out_check(const char *path) WK_MUST_CHECK;
/* Whether files could be made in this folder, which, if there is none, could be made in its own. */
wk_status wk_out_check_folder(const char *path) WK_MUST_CHECK;
/* What opening a path that does not exist makes: the path, or where it leads if it is a symbolic
 * link. malloc'ed; NULL with errno when the links go in a circle. */
char *wk_out_place(const char *path);
void wk_out_write(wk_out *o, const void *p, size_t n);
FILE *wk_out_stdio(wk_out *o); /* the same stream, for fprintf */
/* Disk space for n bytes, before anything is written: writing up to so many does not run out of it.
 * Nothing for what is written directly. */
wk_status wk_out_reserve(wk_out *o, size_t n) WK_MUST_CHECK;
wk_status wk_out_commit(wk_out *o) WK_MUST_CHECK; /* frees o either way */
/* Files that belong together: none is put in place before all are written. Frees all of them. */
wk_status wk_out_commit_all(wk_out **o, size_t n) WK_MUST_CHECK;
void wk_out_abort(wk_out *o);                     /* frees o; NULL ok */
wk_status wk_write_file(const char *path, const void *p, size_t n) WK_MUST_CHECK;

/* ---- hashing ------------------------------------------------------------------------------ */

uint64_t wk_hash64(const void *p, size_t n, uint64_t seed); /* XXH3 */
/* The same of pieces, with seed 0: begin, add each piece, end. */
typedef struct { _Alignas(64) unsigned char state[576]; } wk_hasher;
void wk_hash_begin(wk_hasher *h);
void wk_hash_add(wk_hasher *h, const void *p, size_t n);
uint64_t wk_hash_end(const wk_hasher *h);
uint32_t wk_crc32c(uint32_t crc, const void *p, size_t n);  /* start with 0 */

/* Open-addressing map string -> u32 (keys are borrowed, must outlive the map). */
typedef struct wk_map wk_map;
wk_map *wk_map_new(void);
void wk_map_free(wk_map *m);
void wk_map_put(wk_map *m, const char *key, uint32_t value); /* overwrites */
bool wk_map_get(const wk_map *m, const char *key, uint32_t *value);

/* ---- seeded pseudo-random numbers: SplitMix64, the same on every machine --------------------- */

typedef struct { uint64_t s; } wk_rng;
uint64_t wk_rng_next(wk_rng *r);
double wk_rng_unit(wk_rng *r);                    /* [0, 1) */
float wk_rng_normal(wk_rng *r);                   /* mean 0, deviation 1 */
int64_t wk_rng_range(wk_rng *r, int64_t lo, int64_t hi); /* inclusive */

#endif
