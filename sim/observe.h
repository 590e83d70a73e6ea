/* SPDX-License-Identifier: Apache-2.0
 * observe: the tensors of a part, put together from what its commands leave in the functional
 * model's scratchpad (targets/accel/isa/unit.h: places, results, values). */
#ifndef WICK_SIM_OBSERVE_H
#define WICK_SIM_OBSERVE_H

#include "runtime/device.h"
#include "targets/accel/isa/unit_read.h"
#include "targets/accel/model/model.h"

typedef struct {
  const wk_accel_unit *unit;
  const wk_accel_part *part;    /* NULL: none yet */
  const wk_functional *f;
  uint8_t *tensors;             /* of the part */
  uint64_t size;                /* that there is memory for */
  const wk_accel_window *place; /* of what runs; NULL: its results belong to no tensor */
  uint64_t pitch;               /* of its rows, in the tensor */
} wk_observation;

/* From now on what the model computes goes to the tensors of a part that has been checked; all are
 * 0 at first. WK_RESOURCE: no memory. */
wk_status wk_observe(wk_observation *o, const wk_accel_unit *u, const wk_accel_part *p,
                     wk_functional *f) WK_MUST_CHECK;
/* Before command `index` of the part. */
void wk_observe_command(wk_observation *o, uint32_t index);
/* The model is left alone again; tensors stay until the next part. */
void wk_observe_end(wk_functional *f);
void wk_observation_free(wk_observation *o);

/* Tensor `number` of a layer, dense. WK_INPUT: the unit has none such, or it lies outside. */
wk_status wk_observed(const wk_observation *o, uint32_t layer, uint32_t number,
                      const wick_tensor_info *t, void *dense) WK_MUST_CHECK;

#endif
