/* SPDX-License-Identifier: Apache-2.0 */
#include "routine.h"

#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/* What is registered belongs to the program, as devices do. */
static struct {
  pthread_mutex_t lock;
  uint32_t count;
  const wick_routine *routines[WICK_MAX_ROUTINES];
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_name(const char *s) {
  if (!s || !*s || isdigit((unsigned char)*s)) return false;
  for (; *s; s++)
    if (!isalnum((unsigned char)*s) && *s != '_') return false;
  return true;
}

static const wick_routine *find(const char *name) {
  for (uint32_t i = 0; i < registry.count; i++)
    if (strcmp(name, registry.routines[i]->name) == 0) return registry.routines[i];
  return NULL;
}

wick_status wick_routine_register(const wick_routine *routine) {
  if (!routine || !is_name(routine->name) || !routine->run) return WICK_BAD_ARGUMENT;
  wick_status status = WICK_OK;
  pthread_mutex_lock(&registry.lock);
  const wick_routine *other = find(routine->name);
  if (other && other->run != routine->run) status = WICK_BUSY;
  else if (!other && registry.count == WICK_MAX_ROUTINES) status = WICK_NO_MEMORY;
  else if (!other) registry.routines[registry.count++] = routine;
  pthread_mutex_unlock(&registry.lock);
  return status;
}

const wick_routine *wick_routine_find(const char *name) {
  if (!name) return NULL;
  pthread_mutex_lock(&registry.lock);
  const wick_routine *routine = find(name);
  pthread_mutex_unlock(&registry.lock);
  return routine;
}
