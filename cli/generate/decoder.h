/* SPDX-License-Identifier: Apache-2.0
 * A package as a decoder: token ids go in, the logits of the next token come out. Caches stay in
 * the state of the package, or go from outputs to inputs; where there are none, each run has the
 * whole text.
 *
 *   decoder.c      entries, their sizes, buffers
 *   decoder_run.c  runs */
#ifndef WICK_GENERATE_DECODER_H
#define WICK_GENERATE_DECODER_H

#include "cli/generate/roles.h"
#include "runtime/wick.h"

typedef struct {
  const wk_strings *role, *input; /* as wk_roles_find has them; NAME=FILE or NAME=VALUE */
  int64_t threads;                /* 0: all processors */
  int64_t context; /* tokens of a text at most; 0: as many as fit */
  int64_t chunk;   /* tokens of a run at most; 0: as many as an entry takes */
} wk_decoder_options;

typedef struct wk_decoder wk_decoder;

/* The model is borrowed; sessions and buffers are made here, runs allocate nothing. WK_USAGE: it is
 * no decoder of one text, or an option does not fit it. */
wk_status wk_decoder_open(const wick_model *m, const wk_decoder_options *o,
                          wk_decoder **out) WK_MUST_CHECK;
void wk_decoder_free(wk_decoder *d); /* NULL ok; before the model */

int64_t wk_decoder_vocabulary(const wk_decoder *d); /* logits of a token */
/* Tokens of a text that fit; with caches, which show their end when they reach it, those that are
 * in them. */
int64_t wk_decoder_fitting(const wk_decoder *d);
/* Of the state, and of inputs that are caches. */
uint64_t wk_decoder_cache_bytes(const wk_decoder *d);

/* Goes on with n tokens, n >= 1, each of the vocabulary, in as few runs as entries and the options
 * allow. *fed: how many went in; with all of them, *logits is what follows the last one, until the
 * next call. Fewer, without an error: no more fit, and wk_decoder_full says why. */
wk_status wk_decoder_feed(wk_decoder *d, const int64_t *ids, int64_t n, int64_t *fed,
                          const float **logits) WK_MUST_CHECK;
/* What a run said that had no room for more tokens; "": the sizes say so, or there is room. */
const char *wk_decoder_full(const wk_decoder *d);

/* ---- private --------------------------------------------------------------------------------- */

/* What a size of an input is in a run, in tokens. */
typedef enum {
  WK_SIZE_FIXED, /* what the input has */
  WK_SIZE_ONE,
  WK_SIZE_NEW,
  WK_SIZE_PAST,
  WK_SIZE_TOTAL  /* or more, in a mask */
} wk_size_kind;

typedef struct {
  wk_size_kind kind;
  int64_t least, most; /* that the axis may have */
  const char *name;    /* of an open size; NULL */
} wk_decoder_axis;

typedef struct {
  const wick_entry_info *info;
  wick_session *session;
  wk_decoder_axis (*axes)[WK_MAX_RANK]; /* of each input */
} wk_decoder_entry;

struct wk_decoder {
  wk_arena *arena;
  const wick_model *model;
  wick_state *state; /* NULL: it has none */
  wk_roles roles;
  wk_decoder_entry *entries;
  uint32_t n_entries;
  wk_tensor *given;   /* of each input; data NULL: none, or a value */
  double *values;     /* of each input that is given by a value */
  void **in, **out;   /* buffers of all entries; caches change places */
  const void **args;  /* of a run */
  int64_t *lengths;   /* of each input: of a cache that grows, as it is now */
  bool has_caches;    /* of whatever kind */
  int64_t context, chunk, vocabulary;
  int64_t position;
  int64_t *text, most; /* without caches: all tokens so far, room for the most */
  float *row;         /* logits that are no f32; NULL: they are */
  uint64_t cache_bytes;
  char full[320];
};

/* How many of `left` tokens an entry takes now; 0: none. *least, unless it is NULL: the fewest that
 * it would take, if it takes some. */
int64_t wk_decoder_takes(const wk_decoder *d, const wk_decoder_entry *e, int64_t left,
                         int64_t *least);

#endif
