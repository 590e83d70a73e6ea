/* SPDX-License-Identifier: Apache-2.0
 * The parts of `wick explore`. Points are computed and kept as those of `wick
 * sweep` are.
 *
 *   cmd_explore.c      options, and what is printed
 *   explore_space.c    which machines there are within the limits, and which are tried first
 *   explore_rungs.c    successive halving: few figures of many machines, better ones of the best
 *   explore_front.c    who is not beaten
 *   explore_results.c  explore.json
 *   explore_page.c     the picture, and the page */
#ifndef WICK_CLI_SWEEP_EXPLORE_H
#define WICK_CLI_SWEEP_EXPLORE_H

#include "cli/sweep/sweep.h"
#include "targets/accel/isa/area.h"

typedef struct {
  wk_sweep_opts sweep;
  const char *space, *effort;
  wk_strings limit;
  int64_t budget, confirm, seed;
} wk_explore_opts;

/* ---- machines -------------------------------------------------------------------------------- */

typedef struct {
  const char **values; /* per axis */
  wk_machine machine;
  double area;         /* mm² */
  int64_t onchip;      /* bytes of scratchpad, accumulators and tables */
  int rung;            /* the last one that it took part in, from 0; -1: none */
  /* Of that rung: */
  double times;        /* geometric mean, over the models, of cycles / the reference's; NAN: out */
  double energy;       /* pJ, of all models; NAN: unknown */
  const char *error;   /* why it is out; NULL: it is not */
  uint64_t *predicted, *cycles; /* per model; cycles: 0 where nothing ran */
  bool is_front;       /* of the last rung, within the limits, and not beaten */
  /* By the RTL, of some: */
  uint64_t *rtl;         /* per model; 0: not run */
  const char *rtl_error; /* NULL: none */
} wk_candidate;

/* The most that a machine may have; INFINITY where nothing was said. */
typedef struct {
  double area, onchip, energy;
} wk_explore_limits;

/* A machine of the space within the limits that are known without compiling. */
typedef struct {
  size_t index; /* in the space: its digits are places of values, the last axis' the lowest */
  bool is_tried;
} wk_explore_place;

typedef struct {
  const wk_explore_opts *o;
  wk_sweep sweep;              /* its axes are the space's, values in ascending order */
  wk_explore_limits limits;
  WK_VEC(wk_explore_place) places; /* in the order of their indices */
  size_t size, impossible, excluded; /* of the space: all; no machines; beyond the limits */
  const char *first_refusal;   /* of the first that is no machine; NULL: all are */
  wk_candidate *reference;     /* --machine */
  WK_VEC(wk_candidate *) tried;
  wk_status rtl_status; /* why the RTL could not be run now; NULL: nothing kept it */
  uint64_t *host_macs; /* per model: multiplications that the reference leaves to the processor */
  size_t computed;             /* points that had no row before */
} wk_explore;

/* Reads the space, and finds the places. WK_INPUT when there are none, with the reason. */
wk_status wk_explore_open(const wk_explore_opts *o, const wk_cmd *cmd, const wk_strings *models,
                          wk_explore *out) WK_MUST_CHECK;
void wk_explore_free(wk_explore *e); /* also after an error */

typedef WK_VEC(wk_candidate *) wk_candidates;
/* Adds to `out`, and to those that have been tried, `n` places at random, the same for a seed; all
 * when there are no more. */
void wk_explore_draw(wk_explore *e, size_t n, wk_candidates *out);
/* Adds likewise at most `n` machines that differ from one of `of` in one step of one key. */
void wk_explore_neighbours(wk_explore *e, const wk_candidates *of, size_t n, wk_candidates *out);

/* ---- the search ------------------------------------------------------------------------------ */

enum { WK_RUNGS = 3 };
typedef struct {
  const char *name;
  wk_sweep_model_kind kind;
  const char *effort; /* NULL: the user's */
} wk_rung;
extern const wk_rung wk_rungs[WK_RUNGS];

/* All rungs, then the front, then the RTL. WK_FAILED when the reference cannot run a model. */
wk_status wk_explore_search(wk_explore *e) WK_MUST_CHECK;

/* Order: whom nobody beats, in area and times together; then whom only those beat, and so on;
 * within such a front its ends first, then the middle of what is left between those that came
 * before. Those that are out are left out. */
void wk_explore_sort(wk_candidates *list);
/* The first front alone, by times. */
void wk_explore_front(const wk_candidates *list, wk_candidates *front);

/* ---- results --------------------------------------------------------------------------------- */

/* Within the limits, as far as they can be known of it. */
bool wk_explore_is_within(const wk_explore *e, const wk_candidate *c);
/* pJ; INFINITY: none; NaN: so many times what is not known yet. */
double wk_explore_energy_limit(const wk_explore *e);
/* "array = 32, banks = 4": in what it differs from the reference. In the arena. */
const char *wk_candidate_text(const wk_explore *e, const wk_candidate *c);
/* Largest difference between predicted and RTL, of the models, in percent; NAN: none ran. */
double wk_candidate_error(const wk_explore *e, const wk_candidate *c);
wk_status wk_explore_write(const wk_explore *e) WK_MUST_CHECK;      /* DIR/explore.json */
wk_status wk_explore_write_page(const wk_explore *e) WK_MUST_CHECK; /* DIR/front.svg, index.html */

#endif
