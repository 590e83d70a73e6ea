/* SPDX-License-Identifier: Apache-2.0
 * A unit has one OpenCL context with its program and its constants, for all sessions. */
#include "device.h"

#include <stdlib.h>
#include <time.h>

#include "cache.h"

static wick_status check(const wick_device_unit *unit, wick_error_detail *error) {
  wick_cl_plan plan;
  return wick_cl_plan_read(unit, &plan, error);
}

static wick_status choose(const wick_device_unit *unit, wick_cl_plan *plan, wick_cl_device *device,
                          wick_error_detail *error) {
  wick_status status = wick_cl_plan_read(unit, plan, error);
  if (status == WICK_OK && plan->needs.arena_bytes > unit->memory_limit)
    status = wick_fail_memory(error, plan->needs.arena_bytes, unit->memory_limit);
  if (status == WICK_OK) status = wick_cl_check_process(error);
  if (status != WICK_OK) return status;
  return wick_cl_choose(&plan->needs, unit->info->spec, device, error);
}

static wick_status probe(const wick_device_unit *unit, wick_error_detail *error) {
  wick_cl_plan plan;
  wick_cl_device device;
  return choose(unit, &plan, &device, error);
}

/* ---- loading --------------------------------------------------------------------------------- */

static void unload(void *loaded) {
  wick_cl_unit *u = loaded;
  bool is_own = !wick_cl_is_forked();
  wick_cl_release_memory(u->cl, u->consts);
  wick_cl_give_range(&u->const_range);
  wick_cl_release_programs(u);
  if (is_own && u->context) u->cl->ReleaseContext(u->context);
  if (u->failure) pthread_mutex_destroy(&u->failure->lock);
  free(u->failure);
  free(u->first_io);
  free(u);
}

static wick_status make_context(wick_cl_unit *u, wick_error_detail *error) {
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, (cl_context_properties)u->device.platform, 0};
  cl_int code;
  u->context = u->cl->CreateContext(properties, 1, &u->device.device, NULL, NULL, &code);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clCreateContext", code);
}

/* They stay where they are when the device works in the host's memory, which no driver writes that
 * is told that kernels only read it, unless another unit has them there. */
static wick_status place_consts(wick_cl_unit *u, wick_error_detail *error) {
  cl_int code;
  if (u->plan.const_bytes == 0) return WICK_OK;
  bool is_shared = u->shares_memory &&
                   wick_cl_take_range(&u->const_range, u->plan.consts, u->plan.const_bytes);
  cl_mem_flags how = is_shared ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR;
  u->consts = u->cl->CreateBuffer(u->context, CL_MEM_READ_ONLY | how, u->plan.const_bytes,
                                  (void *)(uintptr_t)u->plan.consts, &code);
  return code == CL_SUCCESS ? WICK_OK : wick_cl_fail(error, "clCreateBuffer (weights)", code);
}

static wick_status number_io(wick_cl_unit *u) {
  uint32_t n = 0;
  u->first_io = calloc((size_t)u->unit->part_count + 1, sizeof *u->first_io);
  if (!u->first_io) return WICK_NO_MEMORY;
  for (uint32_t i = 0; i < u->unit->part_count; i++) {
    u->first_io[i] = n;
    n += u->unit->parts[i].info->input_count + u->unit->parts[i].info->output_count;
  }
  u->first_io[u->unit->part_count] = n;
  return WICK_OK;
}

/* ---- kernels that are as the plan says ------------------------------------------------------- */

static wick_status check_kernel(const wick_cl_unit *u, uint32_t launch, cl_kernel kernel,
                                wick_error_detail *error) {
  const wick_cl_launch *l = &u->plan.launches[launch];
  cl_uint args = 0;
  size_t group[3] = {0};
  u->cl->GetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof args, &args, NULL);
  if (args != 2 * (uint64_t)l->arg_count)
    return wick_fail(error, WICK_CORRUPT, "section 'launches', row %u: kernel k%u takes %u "
                     "arguments", launch, l->kernel, args);
  u->cl->GetKernelWorkGroupInfo(kernel, u->device.device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                sizeof group, group, NULL);
  size_t most = SIZE_MAX;
  cl_ulong local = 0;
  u->cl->GetKernelWorkGroupInfo(kernel, u->device.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most,
                                &most, NULL);
  u->cl->GetKernelWorkGroupInfo(kernel, u->device.device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local,
                                &local, NULL);
  if ((uint64_t)l->local[0] * l->local[1] * l->local[2] > most)
    return wick_fail(error, WICK_BAD_MACHINE, "'%s' runs kernel k%u in work-groups of %zu at most",
                     u->device.info->name, l->kernel, most);
  if (local > u->device.info->local_memory)
    return wick_fail(error, WICK_BAD_MACHINE, "'%s' has too little local memory for kernel k%u",
                     u->device.info->name, l->kernel);
  for (int i = 0; i < 3; i++)
    if (group[0] && group[i] != l->local[i])
      return wick_fail(error, WICK_CORRUPT, "section 'launches', row %u: kernel k%u has "
                       "work-groups of %zu x %zu x %zu", launch, l->kernel, group[0], group[1],
                       group[2]);
  return WICK_OK;
}

static wick_status check_launches(const wick_cl_unit *u, cl_kernel *kernels,
                                  wick_error_detail *error) {
  wick_status status = WICK_OK;
  for (uint32_t i = 0; i < u->plan.launch_count && status == WICK_OK; i++) {
    const wick_cl_launch *l = &u->plan.launches[i];
    if (l->kind != WICK_CL_RUN) continue;
    if (!kernels[l->kernel]) status = wick_cl_kernel(u, l->kernel, &kernels[l->kernel], error);
    if (status == WICK_OK) status = check_kernel(u, i, kernels[l->kernel], error);
  }
  return status;
}

static wick_status check_kernels(const wick_cl_unit *u, wick_error_detail *error) {
  uint32_t n = u->plan.needs.kernel_count;
  cl_kernel *kernels = wick_list(n, sizeof(cl_kernel));
  if (!kernels) return WICK_NO_MEMORY;
  wick_status status = check_launches(u, kernels, error);
  for (uint32_t i = 0; i < n; i++)
    if (kernels[i]) u->cl->ReleaseKernel(kernels[i]);
  free(kernels);
  return status;
}

static uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool are_from_cache(const wick_cl_unit *u, bool all) {
  for (uint32_t i = 0; i < u->piece_count; i++)
    if (u->pieces[i].is_from_cache != all) return !all;
  return all;
}

/* Programs of which some come from the source are kept for the next time, with what drivers compile
 * for the sizes of launches: where others of them were, or if it is worth it. */
static wick_status build(wick_cl_unit *u, bool use_cache, wick_error_detail *error) {
  uint64_t start = now_ms();
  wick_status status = wick_cl_build(u, use_cache, error);
  if (status == WICK_OK) status = check_kernels(u, error);
  if (status != WICK_OK || are_from_cache(u, true)) return status;
  wick_cl_rehearse(u);
  if (are_from_cache(u, false) || wick_cl_cache_wants(u, now_ms() - start))
    wick_cl_for_pieces(u, wick_cl_cache_store);
  return WICK_OK;
}

static wick_status prepare(wick_cl_unit *u, wick_error_detail *error) {
  wick_status status = make_context(u, error);
  if (status == WICK_OK) status = place_consts(u, error);
  if (status == WICK_OK) status = number_io(u);
  if (status != WICK_OK) return status;
  wick_cl_cut(u);
  status = build(u, true, error);
  if (status == WICK_OK || !are_from_cache(u, false)) return status;
  wick_cl_release_programs(u); /* files may be of something else */
  return build(u, false, error);
}

static wick_status make_failure(wick_cl_unit *u) {
  u->failure = calloc(1, sizeof *u->failure);
  if (!u->failure) return WICK_NO_MEMORY;
  pthread_mutex_init(&u->failure->lock, NULL);
  return WICK_OK;
}

static wick_status load(const wick_device_unit *unit, void **loaded, wick_error_detail *error) {
  wick_cl_unit *u = calloc(1, sizeof *u);
  if (!u) return WICK_NO_MEMORY;
  u->unit = unit;
  wick_status status = make_failure(u);
  if (status == WICK_OK) status = choose(unit, &u->plan, &u->device, error);
  if (status == WICK_OK) {
    const wick_opencl_info *info = u->device.info;
    u->cl = u->device.cl;
    u->shares_memory = info->type == WICK_OPENCL_CPU && info->has_unified_memory;
    status = prepare(u, error);
  }
  if (status == WICK_OK) *loaded = u;
  else unload(u);
  return status;
}

const wick_device wick_device_opencl = {.size = sizeof(wick_device),
                                        .version = WICK_DEVICE_VERSION,
                                        .target = "opencl",
                                        .doc = "this machine's OpenCL devices",
                                        .check = check,
                                        .runs_code = 1,
                                        .probe = probe,
                                        .load = load,
                                        .unload = unload,
                                        .open = wick_cl_open,
                                        .close = wick_cl_close,
                                        .import = wick_cl_import,
                                        .submit = wick_cl_submit,
                                        .wait = wick_cl_wait,
                                        .read = wick_cl_read,
                                        .allocate = wick_cl_allocate,
                                        .upload = wick_cl_upload_to,
                                        .download = wick_cl_download_from};
