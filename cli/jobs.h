/* SPDX-License-Identifier: Apache-2.0
 * Work in processes of its own, a few at a time, so that a crash or an endless
 * loop ends one piece of it. What a process writes to its pipe is handed over when it has ended.
 * They die with this process. */
#ifndef WICK_CLI_JOBS_H
#define WICK_CLI_JOBS_H

#include "compiler/support/support.h"

enum { WK_JOBS_MAX = 64 }; /* at a time */

typedef struct {
  size_t index;
  const char *bytes; /* what it wrote, NUL-terminated; NULL: nothing */
  size_t n;
  bool is_whole; /* it came to its end */
  int how;       /* as waitpid has it */
  double seconds;
} wk_job_end;

typedef struct {
  size_t n;     /* pieces, started in order */
  int64_t jobs; /* at a time, 1 to WK_JOBS_MAX */
  void (*run)(void *ctx, size_t index, int fd); /* in the child; fd: for wk_job_write */
  bool (*ended)(void *ctx, const wk_job_end *e); /* in any order; false: start no more */
  void *ctx;
} wk_jobs;

/* WK_RESOURCE: a process could not be started; those that run are waited for. */
wk_status wk_jobs_run(const wk_jobs *j) WK_MUST_CHECK;
void wk_job_write(int fd, const void *data, size_t n);
/* "crashed: Segmentation fault", of one that is not whole. timeout: seconds of its alarm. */
void wk_job_death_text(wk_str *b, const wk_job_end *e, int64_t timeout);

#endif
