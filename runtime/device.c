/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>

#include "cpu.h"
#include "opencl/device.h"

/* What is registered belongs to the program: devices are linked, not made. */
static struct {
  pthread_mutex_t lock;
  uint32_t count;
  const wick_device *devices[WICK_MAX_DEVICES];
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const wick_device *find(const char *target) {
  if (strcmp(target, wick_device_cpu.target) == 0) return &wick_device_cpu;
  if (strcmp(target, wick_device_opencl.target) == 0) return &wick_device_opencl;
  for (uint32_t i = 0; i < registry.count; i++)
    if (strcmp(target, registry.devices[i]->target) == 0) return registry.devices[i];
  return NULL;
}

static bool is_complete(const wick_device *d) {
  return d && d->size == sizeof *d && d->version == WICK_DEVICE_VERSION && d->target &&
         *d->target && d->probe && d->load && d->unload && d->open && d->close && d->submit &&
         !d->allocate == !d->upload && !d->allocate == !d->download;
}

wick_status wick_device_register(const wick_device *device) {
  if (!is_complete(device)) return WICK_BAD_ARGUMENT;
  wick_status status = WICK_OK;
  pthread_mutex_lock(&registry.lock);
  const wick_device *other = find(device->target);
  if (other && other != device) status = WICK_BUSY;
  else if (!other && registry.count == WICK_MAX_DEVICES) status = WICK_NO_MEMORY;
  else if (!other) registry.devices[registry.count++] = device;
  pthread_mutex_unlock(&registry.lock);
  return status;
}

const wick_device *wick_device_find(const char *target) {
  if (!target) return NULL;
  pthread_mutex_lock(&registry.lock);
  const wick_device *device = find(target);
  pthread_mutex_unlock(&registry.lock);
  return device;
}
