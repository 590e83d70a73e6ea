/* SPDX-License-Identifier: Apache-2.0
 * Everything that reads a file from outside, with the seeds from which hostile ones are made. */
#ifndef WICK_TEST_HOSTILE_H
#define WICK_TEST_HOSTILE_H

#include "compiler/pipeline/emit.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/pipeline/targets.h"
#include "compiler/support/support.h"

/* One input being fed to a reader, and what became of it. */
typedef struct {
  wk_rng rng;         /* for what the feed itself chooses */
  const char *folder; /* for scratch files */
  uint64_t native;    /* one accepted model in so many becomes native code; 0: none */
  wk_str complaint;   /* filled when the reader did what it must not do */
  bool accepted, evaluated, ran;
  size_t seed; /* of which the input is a mutant */
} feed_run;

void feed_onnx(feed_run *r, const wk_str *input);
void feed_model_text(feed_run *r, const wk_str *input); /* as protobuf text */
void feed_net(feed_run *r, const wk_str *input);        /* of Caffe2, either form */
void feed_init_net(feed_run *r, const wk_str *input);
void feed_value_info(feed_run *r, const wk_str *input);
void feed_inspect(feed_run *r, const wk_str *input);
void feed_package(feed_run *r, const wk_str *input);           /* checksums verified */
void feed_package_unchecked(feed_run *r, const wk_str *input); /* and not */
void feed_package_verified(feed_run *r, const wk_str *input);  /* right ones */
void feed_state(feed_run *r, const wk_str *input);      /* checksums made right mostly */
void feed_checkpoint(feed_run *r, const wk_str *input); /* the same */
void feed_npy(feed_run *r, const wk_str *input);
void feed_tensor(feed_run *r, const wk_str *input); /* TensorProto */
void feed_list(feed_run *r, const wk_str *input);   /* SequenceProto, OptionalProto */
void feed_plan(feed_run *r, const wk_str *input);
void feed_graph_text(feed_run *r, const wk_str *input);
void feed_program_text(feed_run *r, const wk_str *input);
void feed_expression(feed_run *r, const wk_str *input);
void feed_machine(feed_run *r, const wk_str *input);
void feed_machine_space(feed_run *r, const wk_str *input);
void feed_override(feed_run *r, const wk_str *input); /* "latency=500,bytes=8" */
void feed_stream_text(feed_run *r, const wk_str *input);
void feed_stream_file(feed_run *r, const wk_str *input); /* .wcs, checksums made right mostly */
void feed_device_json(feed_run *r, const wk_str *input); /* an OpenCL device's description */
void feed_sim_json(feed_run *r, const wk_str *input);    /* what `wick diff` reads */

/* Compiles a module that a reader accepted, evaluates the program when that is cheap; now and then
 * makes native code and runs it on inputs of any value. Frees m. */
void feed_module(feed_run *r, wk_module *m);
/* An error must be one line, and none of WK_INTERNAL. Frees s; true: there was none. */
bool feed_status(feed_run *r, wk_status s, const char *what);

/* For readers that take paths: a file that exists only in memory, until fd is closed. */
void feed_with_file(const wk_str *input, char path[64], int *fd);

typedef WK_VEC(wk_str) seed_list;
void seeds_onnx(seed_list *l, const char *folder);
void seeds_model_text(seed_list *l, const char *folder);
void seeds_net(seed_list *l, const char *folder);
void seeds_net_text(seed_list *l, const char *folder);
void seeds_init_net(seed_list *l, const char *folder);
void seeds_value_info(seed_list *l, const char *folder);
void seeds_package(seed_list *l, const char *folder);
void seeds_package_units(seed_list *l); /* those that are not for the CPU */
void seeds_state(seed_list *l, const char *folder);
void seeds_checkpoint(seed_list *l, const char *folder);
void seeds_npy(seed_list *l, const char *folder);
void seeds_tensor(seed_list *l, const char *folder);
void seeds_list(seed_list *l, const char *folder);
void seeds_plan(seed_list *l, const char *folder);
void seeds_graph_text(seed_list *l, const char *folder);
void seeds_program_text(seed_list *l, const char *folder);
void seeds_expression(seed_list *l, const char *folder);
void seeds_machine(seed_list *l, const char *folder);
void seeds_machine_space(seed_list *l, const char *folder);
void seeds_override(seed_list *l, const char *folder);
void seeds_stream_text(seed_list *l, const char *folder);
void seeds_stream_file(seed_list *l, const char *folder);
void seeds_device_json(seed_list *l, const char *folder);
void seeds_sim_json(seed_list *l, const char *folder);

/* ---- all of them ----------------------------------------------------------------------------- */

typedef struct {
  const char *name;
  unsigned share;    /* of mutants, relative */
  bool is_companied; /* the seed says which other files come along */
  void (*feed)(feed_run *r, const wk_str *input);
  void (*mutate)(wk_rng *rng, wk_str *b, const wk_str *other, wk_str *note);
  void (*list)(seed_list *l, const char *folder);
} hostile_reader;

enum {
#define READER(name, share, feed, mutate, list) +1
  HOSTILE_READERS = 0
#include "tests/hostile/readers.def"
#undef READER
};
extern const hostile_reader hostile_readers[HOSTILE_READERS];
const hostile_reader *hostile_reader_find(const char *name); /* NULL: there is none */

/* An input as a file that says all that is fed: behind the number of its seed, if that matters. */
void hostile_file_of(const hostile_reader *by, const wk_str *input, size_t seed, wk_str *out);
/* Feeds such a file; its bytes are all that the feed's own choices depend on. */
void hostile_feed(const hostile_reader *by, feed_run *r, const void *file, size_t n);

#endif
