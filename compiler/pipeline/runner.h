/* SPDX-License-Identifier: Apache-2.0
 * One interface in front of everything that can execute a model: the evaluator,
 * a model compiled on the spot, a package from a file. */
#ifndef WICK_PIPELINE_RUNNER_H
#define WICK_PIPELINE_RUNNER_H

#include "compiler/pipeline/emit.h"
#include "compiler/pipeline/model.h"
#include "runtime/wick.h"

typedef struct wk_runner wk_runner;
#define WK_RUNNER_MAX_IO 256

typedef struct {
  wk_target_args target;
  int64_t threads;          /* 0: all processors */
  const char *model_name;
  wk_pipeline_report *report; /* NULL or filled when the model is compiled */
  wk_emit_result *result;     /* likewise */
  wk_notes *notes;            /* NULL, or added to when it is compiled */
  const char *path;           /* of the model, for them */
  const char *needed;         /* target that must have a part: otherwise the error says what to do;
                                 NULL: none */
} wk_runner_options;

/* Takes over the module. */
wk_status wk_runner_of_module(wk_module *m, const wk_runner_options *o,
                              wk_runner **out) WK_MUST_CHECK;
/* entry: which shape binding of the package. load: NULL, or how it is loaded; `detail` is not
 * looked at. */
wk_status wk_runner_of_package(const char *path, uint32_t entry, int64_t threads,
                               const wick_load_options *load, wk_runner **out) WK_MUST_CHECK;
void wk_runner_free(wk_runner *r); /* NULL ok */

size_t wk_runner_inputs(const wk_runner *r);
size_t wk_runner_outputs(const wk_runner *r);
const char *wk_runner_input_name(const wk_runner *r, size_t i);
const char *wk_runner_output_name(const wk_runner *r, size_t i);
/* What the numbers of the output stand for; NULL: themselves. */
const wk_labels *wk_runner_output_labels(const wk_runner *r, size_t i);
const wk_type *wk_runner_input_type(const wk_runner *r, size_t i);
/* Seconds that the runtime took until it could run; both 0 for the evaluator. */
typedef struct {
  double load, session; /* of the package; the session of it */
} wk_runner_start;
wk_runner_start wk_runner_started(const wk_runner *r);
/* The session behind it; NULL for the evaluator. */
wick_session *wk_runner_session(const wk_runner *r);
/* The module behind it; NULL for packages and compiled models. */
const wk_module *wk_runner_module(const wk_runner *r);

/* Variables: a run leaves in them what the next one finds. Their data may be read and written
 * between runs. Those of a compiled model are those that are left of them. */
size_t wk_runner_states(const wk_runner *r);
const char *wk_runner_state_name(const wk_runner *r, size_t i);
const wk_type *wk_runner_state_type(const wk_runner *r, size_t i);
void *wk_runner_state_data(const wk_runner *r, size_t i);

/* All states become again what they were when they were marked; nothing if that was never. */
void wk_runner_mark(wk_runner *r);
void wk_runner_rewind(wk_runner *r);
/* Of a package whose entry has a state: as wick_state_load and wick_state_save. */
wk_status wk_runner_load_state(wk_runner *r, const char *path) WK_MUST_CHECK;
wk_status wk_runner_save_state(const wk_runner *r, const char *path) WK_MUST_CHECK;

/* What the size of an axis of input i is called, which a run decides; NULL: it is fixed. */
const char *wk_runner_size_name(const wk_runner *r, size_t i, int axis);
/* A shape that input i may have in a run: where its size is open, from the least to the type's. */
bool wk_runner_takes(const wk_runner *r, size_t i, const wk_type *t);
/* WK_INPUT when the tensor has not the type of input i. */
wk_status wk_runner_check_input(const wk_runner *r, size_t i, const wk_tensor *t) WK_MUST_CHECK;
/* The evaluator alone: as wk_runner_run, with a hook as wk_eval_graph's. */
wk_status wk_runner_evaluate(wk_runner *r, const wk_tensor *in, wk_tensor *out, wk_eval_hook hook,
                             void *ctx) WK_MUST_CHECK;
/* Inputs are checked as above. Outputs are malloc'ed (wk_tensor_free, also
 * after an error), their types have the sizes of this run; out is zeroed before the first run, and
 * later runs may use its memory again. */
wk_status wk_runner_run(wk_runner *r, const wk_tensor *in, wk_tensor *out) WK_MUST_CHECK;

/* A file that nothing is left of when it is closed, even when the process is killed: on a disk
 * where there is one, otherwise in memory. */
typedef struct {
  int fd;
  char path[32]; /* opens it */
} wk_nameless;
wk_status wk_nameless_open(wk_nameless *f) WK_MUST_CHECK;
void wk_nameless_close(wk_nameless *f);
/* A status that places an error in the file gets that place instead; NULL: none. */
wk_status wk_nameless_place(const wk_nameless *f, wk_status s, const char *place) WK_MUST_CHECK;
/* The module compiled to a package. The module stays the caller's, and has been changed. */
wk_status wk_compile_package(wk_module *m, const wk_runner_options *o,
                             wk_nameless *out) WK_MUST_CHECK;

/* Programs as a package of one entry each, loaded. It goes through a file without a name: nothing
 * is left behind even when the process is killed, and no error names it. */
wk_status wk_load_programs(const wk_instance *t, wk_program *const *programs, size_t n,
                           const wk_emit_options *o, wick_model **out) WK_MUST_CHECK;
/* Parts likewise: as wk_emit_parts. */
wk_status wk_load_parts(const wk_targets *t, wk_parts *p, const wk_emit_options *o,
                        uint32_t *entry, wick_model **out) WK_MUST_CHECK;
/* A session of it; what: what errors are about, or NULL. */
wk_status wk_open_session(const wick_model *m, uint32_t entry, int64_t threads, const char *what,
                          wick_session **out) WK_MUST_CHECK;
/* The file begins like a package. */
bool wk_is_package(const wk_file *f);
/* The runtime's error as a status. */
wk_status wk_wick_error(wick_status s, const char *detail, const char *what) WK_MUST_CHECK;

#endif
