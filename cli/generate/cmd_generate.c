/* SPDX-License-Identifier: Apache-2.0
 * wick generate: a decoder goes on with a text. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/generate/decoder.h"
#include "cli/generate/generate.h"
#include "cli/generate/ids.h"
#include "cli/model_paths.h"
#include "cli/trust.h"

static const wk_generate_opts defaults = {.steps = 128, .seed = 1, .sampling = {.top_p = 1}};

static void list_roles(wk_str *out) {
  wk_str_add(out, ": ");
  wk_roles_list(out);
}

#define OFFSET(member) offsetof(wk_generate_opts, member)
static const wk_option options[] = {
    {.kind = WK_OPTION_GROUP, .help = "Text"},
    {"tokens", 't', "FILE", "ids of the tokens to begin with: a text with blanks, commas or line "
     "ends between them, or a .npy file; -: standard input", .kind = WK_OPTION_STRING,
     .offset = OFFSET(tokens)},
    {"output", 'o', "FILE", "write the ids that follow to FILE, one a line (default: to standard "
     "output, each as soon as it is known)", .kind = WK_OPTION_STRING, .offset = OFFSET(output)},
    {"steps", 'n', "N", "tokens to generate at most (default 128)", .kind = WK_OPTION_INT,
     .offset = OFFSET(steps), .min = 1, .max = INT32_MAX},
    {"stop", 0, "ID,…", "end before one of these tokens", .kind = WK_OPTION_STRING,
     .offset = OFFSET(stop)},
    {"context", 0, "N", "tokens of the whole text at most (default: as many as the package takes; "
     "of a model without sizes 1024)", .kind = WK_OPTION_INT, .offset = OFFSET(context), .min = 1,
     .max = INT32_MAX},
    {"quiet", 'q', NULL, "no summary", .kind = WK_OPTION_FLAG, .offset = OFFSET(quiet)},
    {.kind = WK_OPTION_GROUP, .help = "Which token comes next"},
    {"greedy", 0, NULL, "the one with the largest logit (default without --temperature)",
     .kind = WK_OPTION_FLAG, .offset = OFFSET(greedy)},
    {"temperature", 0, "T", "draw one by its probability, which is flatter the higher T is: logits "
     "are divided by T; 0: as --greedy", .kind = WK_OPTION_DOUBLE,
     .offset = OFFSET(sampling.temperature), .min = 0, .max = 1000000},
    {"top-k", 0, "K", "draw only from the K most likely ones", .kind = WK_OPTION_INT,
     .offset = OFFSET(sampling.top_k), .min = 1, .max = INT32_MAX},
    {"top-p", 0, "P", "draw only from the most likely ones that together have a probability of P",
     .kind = WK_OPTION_DOUBLE, .offset = OFFSET(sampling.top_p), .min = 0, .max = 1},
    {"seed", 0, "SEED", "seed of the draws (default 1): the same one gives the same tokens",
     .kind = WK_OPTION_INT, .offset = OFFSET(seed), .min = 0, .max = INT64_MAX},
    {.kind = WK_OPTION_GROUP, .help = "The decoder"},
    {"role", 0, "NAME=ROLE", "what an input or output is, where its name does not say it",
     .kind = WK_OPTION_LIST, .offset = OFFSET(role), .more = list_roles},
    {"input", 'i', "NAME=FILE", "a .npy or .pb file for an input that is none of these, the same "
     "in each run; NAME=VALUE: a number for all its elements", .kind = WK_OPTION_LIST,
     .offset = OFFSET(input)},
    {"chunk", 0, "N", "tokens that one run takes at most (default: as many as the package takes; "
     "of a model without sizes 64)", .kind = WK_OPTION_INT, .offset = OFFSET(chunk), .min = 1,
     .max = INT32_MAX},
    {"threads", 0, "N", "threads (default: all processors); results do not depend on it",
     .kind = WK_OPTION_INT, .offset = OFFSET(threads), .min = 0, .max = WICK_MAX_THREADS},
    WK_TRUST_OPTIONS(wk_generate_opts),
    WK_MEMORY_LIMIT_OPTION(wk_generate_opts),
    {.kind = WK_OPTION_GROUP, .help = "A model that is compiled first"},
    WK_TARGET_OPTIONS(wk_generate_opts, model.target, "what a model is compiled for,"),
    WK_CONVERT_OPTION(wk_generate_opts, model.convert),
    WK_STATE_OPTION(wk_generate_opts, model.state),
    WK_BINDING_OPTIONS(wk_generate_opts, model.binding),
    {0}};

typedef struct {
  const wk_generate_opts *o;
  const char *path;
  wk_ids prompt, stop;
  wick_model *model;
  wk_decoder *decoder;
  wk_sampler sampler;
  wk_out *out; /* NULL: standard output */
  int64_t generated, runs; /* runs: behind the prompt's */
  double prompt_seconds, seconds;
} job;

/* ---- options --------------------------------------------------------------------------------- */

static wk_status check_options(const wk_generate_opts *o) {
  const wk_sampling *s = &o->sampling;
  if (!o->tokens) return wk_error(WK_USAGE, "--tokens FILE is needed: ids to begin with");
  if (s->top_p <= 0) return wk_error(WK_USAGE, "--top-p: more than 0 is expected");
  if (o->greedy && s->temperature > 0)
    return wk_error(WK_USAGE, "--greedy and --temperature: give one of them");
  if (s->temperature == 0 && (s->top_k || s->top_p < 1))
    return wk_error(WK_USAGE, "%s chooses who is drawn from: it needs --temperature",
                    s->top_k ? "--top-k" : "--top-p");
  return NULL;
}

static wk_status check_paths(const wk_generate_opts *o, const char *model) {
  wk_arena *a = wk_arena_new();
  wk_paths paths = {0};
  wk_model_paths(&paths, model, NULL, a);
  wk_binding_paths(&paths, &o->model.binding);
  wk_paths_read(&paths, "--tokens", o->tokens);
  wk_paths_read_named(&paths, "--input", &o->input);
  wk_paths_write(&paths, "--output", o->output);
  wk_status s = wk_paths_check(&paths);
  wk_arena_free(a);
  return s;
}

static wk_status read_ids(job *j) {
  WK_TRY(wk_ids_read(j->o->tokens, &j->prompt));
  if (!j->prompt.n) return wk_error_at(WK_INPUT, j->o->tokens, "there is no token id: one is the "
                                                               "least to begin with");
  if (!j->o->stop) return NULL;
  WK_TRY(wk_status_as(wk_ids_parse(j->o->stop, strlen(j->o->stop), "--stop", &j->stop), WK_USAGE));
  return j->stop.n ? NULL : wk_error(WK_USAGE, "--stop: ids are expected");
}

static wk_status check_ids(const job *j) {
  int64_t n = wk_decoder_vocabulary(j->decoder);
  for (size_t i = 0; i < j->prompt.n; i++)
    if (j->prompt.data[i] >= n)
      return wk_error_at(WK_INPUT, j->o->tokens, "token %zu is %lld, and the vocabulary has ids 0 "
                                                 "to %lld", i + 1, (long long)j->prompt.data[i],
                         (long long)n - 1);
  return NULL;
}

/* ---- generating ------------------------------------------------------------------------------ */

static void show(job *j, int64_t id) {
  FILE *f = j->out ? wk_out_stdio(j->out) : stdout;
  fprintf(f, "%lld\n", (long long)id);
  if (!j->out) fflush(f);
  j->generated++;
}

/* ": why" or "". */
static const char *reason(const job *j, wk_str *b) {
  const char *why = wk_decoder_full(j->decoder);
  if (*why) wk_str_printf(b, ": %s", why);
  return b->s ? b->s : "";
}

static wk_status feed_prompt(job *j, const float **logits) {
  int64_t fed, n = (int64_t)j->prompt.n;
  double start = wk_clock();
  WK_TRY(wk_decoder_feed(j->decoder, j->prompt.data, n, &fed, logits));
  j->prompt_seconds = wk_clock() - start;
  if (fed == n) return NULL;
  wk_str why = {0};
  wk_status s = wk_error_at(WK_INPUT, j->o->tokens, "there are %lld tokens, and %lld fit%s",
                            (long long)n, (long long)wk_decoder_fitting(j->decoder),
                            reason(j, &why));
  wk_str_free(&why);
  return s;
}

static void tell_full(const job *j) {
  wk_str why = {0};
  fprintf(stderr, "wick: %s: ends here: %lld tokens fit%s\n", j->path,
          (long long)wk_decoder_fitting(j->decoder), reason(j, &why));
  wk_str_free(&why);
}

/* One token after the other, until there are enough, one of --stop comes, or no more fit. Nothing
 * follows the last one, so it is not fed. */
static wk_status go_on(job *j, const float *logits) {
  double start = wk_clock();
  wk_status s = NULL;
  for (int64_t step = 0, fed = 1; !s && step < j->o->steps; step++) {
    int64_t id;
    s = wk_sampler_choose(&j->sampler, logits, &id);
    if (s || wk_ids_has(&j->stop, id)) break;
    show(j, id);
    if (step + 1 == j->o->steps || (!j->out && ferror(stdout))) break;
    s = wk_decoder_feed(j->decoder, &id, 1, &fed, &logits);
    if (!s && !fed) tell_full(j);
    if (!fed) break;
    j->runs++;
  }
  j->seconds = wk_clock() - start;
  return s;
}

static void summarise(const job *j) {
  fprintf(stderr, "wick: prompt %zu tokens, %.1f tokens/s; generated %lld tokens", j->prompt.n,
          (double)j->prompt.n / j->prompt_seconds, (long long)j->generated);
  if (j->runs) fprintf(stderr, ", %.1f tokens/s", (double)j->runs / j->seconds);
  fprintf(stderr, "; caches %s\n", wk_bytes_text(wk_decoder_cache_bytes(j->decoder)).s);
}

static wk_status generate(job *j) {
  const wk_generate_opts *o = j->o;
  const wk_decoder_options how = {.role = &o->role, .input = &o->input, .threads = o->threads,
                                  .context = o->context, .chunk = o->chunk};
  const float *logits;
  WK_TRY(wk_decoder_open(j->model, &how, &j->decoder));
  WK_TRY(check_ids(j));
  wk_sampler_open(&o->sampling, o->seed, wk_decoder_vocabulary(j->decoder), &j->sampler);
  if (o->output) WK_TRY(wk_out_open(o->output, &j->out));
  WK_TRY(feed_prompt(j, &logits));
  WK_TRY(go_on(j, logits));
  wk_out *out = j->out;
  j->out = NULL;
  if (out) WK_TRY(wk_out_commit(out));
  if (!o->quiet) summarise(j);
  return NULL;
}

static wk_status run(const void *options_, const wk_strings *args) {
  job j = {.o = options_, .path = args->data[0]};
  WK_TRY(check_options(j.o));
  WK_TRY(check_paths(j.o, j.path));
  wk_status s = read_ids(&j);
  if (!s) s = wk_generate_load(j.o, j.path, &j.model);
  if (!s) s = wk_status_place(generate(&j), j.path);
  wk_out_abort(j.out);
  wk_sampler_close(&j.sampler);
  wk_decoder_free(j.decoder);
  wick_model_free(j.model);
  wk_vec_free(&j.prompt);
  wk_vec_free(&j.stop);
  return s;
}

const wk_cmd wk_cmd_generate = {
    .command = {.name = "generate", .synopsis = "MODEL.onnx|PACKAGE",
                .summary = "go on with a text, token by token, by a decoder",
                .description =
                    "Ids of tokens go in and come out. What the inputs of the decoder are is seen "
                    "by their names; its caches are states of the package ('wick compile "
                    "--state'), or go from one run to the next. Without options for its sizes a "
                    "model is compiled with such as a note tells.\n"
                    "\n"
                    "  wick generate decoder.wick --tokens prompt.txt --steps 32\n"
                    "  echo 3 1 4 1 5 | wick generate decoder.onnx --tokens - --temperature 0.8",
                .options = options, .min_args = 1, .max_args = 1},
    .size = sizeof(wk_generate_opts), .defaults = &defaults, .run = run};
