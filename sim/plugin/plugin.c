/* SPDX-License-Identifier: Apache-2.0
 * What libwick_accel.so exports: the models of the accelerator that are in C, for programs without
 * a compiler. */
#include <string.h>

#include "sim/accel.h"
#include "sim/device.h"

static char memory[256]; /* what the configuration points to */

const wick_device *wick_device_plugin(void) { return wk_sim_device(); }

static wick_status refuse(wick_error_detail *detail, const char *place, const char *why) {
  if (detail)
    snprintf(detail->text, sizeof detail->text, "%s%s%s", place ? place : "", place ? ": " : "",
             why);
  return WICK_BAD_ARGUMENT;
}

/* As it is the first version: all of it is there. */
static bool is_known(const wick_accel_options *o) {
  const char *bytes = (const char *)o;
  if (o->size < sizeof *o) return false;
  for (size_t i = sizeof *o; i < o->size; i++)
    if (bytes[i]) return false;
  return true;
}

static wick_status check_memory(const char *text, wick_error_detail *detail) {
  wk_machine m;
  wk_machine_defaults(&m);
  wk_status s = wk_machine_override(&m, text);
  if (!s) return WICK_OK;
  wick_status status = refuse(detail, s->place, s->message);
  if (s->code == WK_RESOURCE) status = WICK_NO_MEMORY;
  wk_status_free(s);
  return status;
}

wick_status wick_accel_configure(const wick_accel_options *options, wick_error_detail *detail) {
  static const wick_accel_options none = {.size = sizeof none};
  const wick_accel_options *o = options ? options : &none;
  wick_status status = WICK_OK;
  if (detail) detail->text[0] = '\0';
  if (!is_known(o)) return refuse(detail, NULL, "options that this version does not know");
  if (o->model != WICK_ACCEL_FUNCTIONAL && o->model != WICK_ACCEL_TIMING)
    return refuse(detail, NULL, "there is no such model");
  if (o->memory && strlen(o->memory) >= sizeof memory)
    return refuse(detail, NULL, "the memory's keys are too long");
  if (o->memory) status = check_memory(o->memory, detail);
  if (status != WICK_OK) return status;
  if (o->memory) strcpy(memory, o->memory);
  wk_sim_device_configure(&(wk_sim_device_options){
      .model = o->model == WICK_ACCEL_TIMING ? WK_SIM_TIMING : WK_SIM_FUNCTIONAL,
      .memory = o->memory ? memory : NULL});
  return WICK_OK;
}
