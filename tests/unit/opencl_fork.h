/* SPDX-License-Identifier: Apache-2.0
 * A process that was forked after OpenCL had been opened: all that needs a driver is refused with a
 * word, and what there is can be freed. */
#ifndef WICK_TESTS_OPENCL_FORK_H
#define WICK_TESTS_OPENCL_FORK_H

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/opencl_entries.h"
#include "tests/unit/opencl_fixture.h"

enum { FORK_HANGS = 120 }; /* seconds, after which a child has surely stopped */

static inline bool fork_is_told(wick_status status, const char *why) {
  return status == WICK_DEVICE_FAILED && strstr(why, "OpenCL does not survive fork()");
}

/* With a session of OCL_SUM and memory of its own for the input 0. What is wrong; NULL: nothing. */
static inline const char *forked(const fixture *f, wick_session *s, void *memory) {
  wick_error_detail why = {{0}};
  const wick_load_options load = {.size = sizeof load, .detail = &why};
  const wick_session_options options = {sizeof options, 1, &why};
  const wick_opencl_info *list;
  wick_session *other = NULL;
  wick_model *model = NULL;
  uint32_t n = 0;
  void *more;
  buffers o = make_buffers(0);
  if (!fork_is_told(run(s, &o), wick_session_error(s))) return "a run";
  if (!fork_is_told(wick_session_upload(s, memory, o.a, OCL_BYTES), wick_session_error(s)))
    return "an upload";
  if (!fork_is_told(wick_session_download(s, memory, o.a, OCL_BYTES), wick_session_error(s)))
    return "a download";
  if (!fork_is_told(wick_session_allocate(s, 0, &more), wick_session_error(s))) return "memory";
  if (!fork_is_told(wick_session_create_with(f->model, OCL_CHAIN, &options, &other), why.text))
    return "a session";
  if (!fork_is_told(wick_model_load_memory(f->data, f->size, &load, &model), why.text))
    return "a package";
  if (wick_opencl_list(&list, &n, NULL) != WICK_OK || n == 0) return "the list";
  free(o.memory);
  wick_session_free(s);
  wick_model_free(f->model);
  return NULL;
}

/* goes_on, in the child: NULL, or something else that is wrong. */
static inline void expect_fork_is_told(const fixture *f, const char *(*goes_on)(void)) {
  wick_session *s;
  void *memory;
  int status;
  buffers o = make_buffers(0);
  assert_int_equal(wick_session_create(f->model, OCL_SUM, 1, &s), WICK_OK);
  assert_int_equal(wick_session_allocate(s, 0, &memory), WICK_OK);
  expect_run(s, &o);
  pid_t child = fork();
  if (child == 0) {
    alarm(FORK_HANGS);
    const char *wrong = forked(f, s, memory);
    if (!wrong && goes_on) wrong = goes_on();
    if (wrong) fprintf(stderr, "after fork(): %s\n", wrong);
    _exit(wrong != NULL);
  }
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  expect_run(s, &o); /* nothing has changed here */
  check_sum(&o);
  wick_session_free(s);
  free(o.memory);
}

#endif
