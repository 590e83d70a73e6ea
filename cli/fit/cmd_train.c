/* SPDX-License-Identifier: Apache-2.0
 * wick train: a model's weights fitted to samples. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/fit/train.h"
#include "cli/model_paths.h"
#include "cli/text.h"

static const wk_train_opts defaults = {.rate = NAN, .weight_decay = NAN, .accumulate = 1,
                                       .seed = 1, .optimizer = WK_OPTIMIZER_ADAM};

/* In the order of the table, which ends with one for the importer. */
static const char *const optimizers[] = {"sgd", "momentum", "nesterov", "adam", "adamw",
                                           "adagrad", NULL};
_Static_assert(WK_OPTIMIZER_SGD == 0 && WK_OPTIMIZER_ADAM == 3 && WK_OPTIMIZER_ADAGRAD == 5 &&
               WK_OPTIMIZER_ADAM_PLAIN == 6, "optimizers.def lists them in another order");
static const char *const schedules[] = {"constant", "step", "cosine", NULL};
static const char *const emissions[] = {"onnx", "package", "bundle", NULL};
static const char *const norms[] = {"train", "frozen", NULL};
enum { DEFAULT_EPOCHS = 10 };

static const wk_option options[] = {
    {.kind = WK_OPTION_GROUP, .help = "Data"},
    {"data", 0, "FILE|DIR",
     "samples along axis 0 of a .npy file, NAME=FILE for one of several inputs, or a folder in the "
     "layout of the ONNX tests", .kind = WK_OPTION_LIST, .offset = offsetof(wk_train_opts, data)},
    {"labels", 0, "FILE", "what the output is to be for each sample: classes as integers, or "
     "floats (.npy)", .kind = WK_OPTION_STRING, .offset = offsetof(wk_train_opts, labels)},
    {"validate", 0, "FRACTION", "hold out every so many samples, evenly spaced, and evaluate them "
     "after each epoch: 0.2 is every fifth", .kind = WK_OPTION_DOUBLE,
     .offset = offsetof(wk_train_opts, validate)},
    {"bind", 0, "SYMBOL=N,…", "fix symbolic dimensions other than that of the batch",
     .kind = WK_OPTION_LIST, .offset = offsetof(wk_train_opts, binding.bind)},
    {"shape", 0, "INPUT=32x3x224x224", "fix the whole shape of an input, batch included",
     .kind = WK_OPTION_LIST, .offset = offsetof(wk_train_opts, binding.shape)},
    {"value", 0, "INPUT=FILE", "fix an input that has no samples to the contents of a .npy or .pb "
     "file", .kind = WK_OPTION_LIST, .offset = offsetof(wk_train_opts, binding.value)},
    {.kind = WK_OPTION_GROUP, .help = "What is trained"},
    {"loss", 0, "LOSS", "cross-entropy (of scores), nll, bce (of scores), mse, l1, huber, or the "
     "name of an output that is the loss", .kind = WK_OPTION_STRING,
     .offset = offsetof(wk_train_opts, loss)},
    {"of", 0, "OUTPUT", "the output that the loss is of, when there are several",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_train_opts, of)},
    {"train", 0, "GLOB", "train the weights of these names alone (default: all of rank 1 and more "
     "that are no constants, as masks and class weights are)",
     .kind = WK_OPTION_LIST, .offset = offsetof(wk_train_opts, train)},
    {"freeze", 0, "GLOB", "do not train the weights of these names", .kind = WK_OPTION_LIST,
     .offset = offsetof(wk_train_opts, freeze)},
    {"batch-norm", 0, "MODE", "whether normalisations have the statistics of each batch, which the "
     "running ones follow (default), or the running ones, which stay", .kind = WK_OPTION_CHOICE,
     .offset = offsetof(wk_train_opts, batch_norm), .choices = norms},
    {"qat", 0, NULL, "train a quantised model (of wick quantize): the floats that its weights "
     "stand for, rounded wherever the model rounds, with gradients that go straight through; its "
     "scales stay, and its integers are written anew", .kind = WK_OPTION_FLAG,
     .offset = offsetof(wk_train_opts, qat)},
    {.kind = WK_OPTION_GROUP, .help = "How"},
    {"optimizer", 0, "NAME", "the rule of a step, as PyTorch defines it (default adam)",
     .kind = WK_OPTION_CHOICE, .offset = offsetof(wk_train_opts, optimizer),
     .choices = optimizers},
    {"lr", 0, "R", "learning rate (default: adam and adamw 0.001, the others 0.01)",
     .kind = WK_OPTION_DOUBLE, .offset = offsetof(wk_train_opts, rate)},
    {"schedule", 0, "NAME", "of the rate: as it is (default), a tenth after each third of the "
     "steps, or falling to 0 along a cosine", .kind = WK_OPTION_CHOICE,
     .offset = offsetof(wk_train_opts, schedule), .choices = schedules},
    {"weight-decay", 0, "W", "default 0; adamw 0.01", .kind = WK_OPTION_DOUBLE,
     .offset = offsetof(wk_train_opts, weight_decay)},
    {"clip-norm", 0, "C", "scale gradients down to this common norm", .kind = WK_OPTION_DOUBLE,
     .offset = offsetof(wk_train_opts, clip_norm)},
    {"batch", 0, "N", "samples at a time (default: as the model declares, else 32); what fills no "
     "batch at the end of an epoch is left out of it", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_train_opts, batch), .min = 1, .max = INT32_MAX},
    {"accumulate", 0, "N", "batches whose mean gradient makes a step (default 1)",
     .kind = WK_OPTION_INT, .offset = offsetof(wk_train_opts, accumulate), .min = 1,
     .max = INT32_MAX},
    {"epochs", 0, "N", "times that each sample is taken (default 10)", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_train_opts, epochs), .min = 1, .max = INT32_MAX},
    {"steps", 0, "N", "steps in all, instead of --epochs", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_train_opts, steps), .min = 1, .max = INT32_MAX},
    {"seed", 0, "S", "of the order of samples and of Dropout (default 1)", .kind = WK_OPTION_INT,
     .offset = offsetof(wk_train_opts, seed), .min = 0, .max = INT64_MAX},
    {"memory-budget", 0, "SIZE", "compute values again instead of keeping them where activations "
     "would take more memory than that (64MiB); the weights are the same to the bit",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_train_opts, memory_budget)},
    {"cpu", 0, "NAME", "processor or instruction set (default: this machine's)",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_train_opts, cpu)},
    {"threads", 0, "N", "threads (default: all processors); results do not depend on it",
     .kind = WK_OPTION_INT, .offset = offsetof(wk_train_opts, threads), .min = 0,
     .max = WICK_MAX_THREADS},
    {.kind = WK_OPTION_GROUP, .help = "Output"},
    {"output", 'o', "FILE", "write the model with its new weights to FILE",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_train_opts, output)},
    {"emit", 0, "WHAT", "the model (default), or a package or bundle of the step, the evaluation "
     "and the model as entries train, evaluate and infer on one state, to go on training",
     .kind = WK_OPTION_CHOICE, .offset = offsetof(wk_train_opts, emit), .choices = emissions},
    {"history", 0, "FILE", "write what each epoch gave as comma-separated values",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_train_opts, history)},
    {"history-steps", 0, "FILE", "write what each step gave: rate, loss, metric and the norm of "
     "the gradients, with all their digits", .kind = WK_OPTION_STRING,
     .offset = offsetof(wk_train_opts, history_steps)},
    {"plot", 0, "FILE", "draw them (HTML)", .kind = WK_OPTION_STRING,
     .offset = offsetof(wk_train_opts, plot)},
    {"checkpoint", 0, "DIR", "write the state of the run into DIR after each epoch",
     .kind = WK_OPTION_STRING, .offset = offsetof(wk_train_opts, checkpoint)},
    {"checkpoint-every", 0, "N", "and within an epoch after every N steps",
     .kind = WK_OPTION_INT, .offset = offsetof(wk_train_opts, checkpoint_every), .min = 1,
     .max = INT64_MAX},
    {"resume", 0, NULL, "go on from the checkpoint in that folder, with the same result as if the "
     "run had not ended", .kind = WK_OPTION_FLAG, .offset = offsetof(wk_train_opts, resume)},
    {"verbose", 'v', NULL, "say of every weight what becomes of it; " WK_LIST_ALL_HELP,
     .kind = WK_OPTION_FLAG, .offset = offsetof(wk_train_opts, verbose)},
    {0}};
/* ---- options --------------------------------------------------------------------------------- */

static wk_status check_options(wk_train_job *j) {
  const wk_train_opts *o = j->o;
  if (!o->output) return wk_error(WK_USAGE, "no output file: give -o OUT.onnx");
  if (!o->data.n) return wk_error(WK_USAGE, "no samples: give --data FILE.npy");
  if (!o->loss) return wk_error(WK_USAGE, "no loss: give --loss cross-entropy, or another one");
  if (o->epochs && o->steps) return wk_error(WK_USAGE, "--epochs and --steps: give one of them");
  if (o->memory_budget && !wk_bytes_parse(o->memory_budget, &j->memory_budget))
    return wk_error(WK_USAGE, "--memory-budget %s: a size is expected: 64MiB, 512KiB",
                    o->memory_budget);
  if (o->resume && !o->checkpoint)
    return wk_error(WK_USAGE, "--resume: give the folder with --checkpoint DIR");
  if (o->checkpoint_every && !o->checkpoint)
    return wk_error(WK_USAGE, "--checkpoint-every: give the folder with --checkpoint DIR");
  if (!(o->validate >= 0 && o->validate < 1))
    return wk_error(WK_USAGE, "--validate %g: must be a part of the samples, 0 to below 1",
                    o->validate);
  if (o->rate < 0) return wk_error(WK_USAGE, "--lr %g: must not be negative", o->rate);
  if (o->weight_decay < 0)
    return wk_error(WK_USAGE, "--weight-decay %g: must not be negative", o->weight_decay);
  if (o->clip_norm < 0)
    return wk_error(WK_USAGE, "--clip-norm %g: must not be negative", o->clip_norm);
  return NULL;
}

/* What is shown leaves standard output to a file that goes there. */
static wk_status choose_shown(wk_train_job *j) {
  size_t n = 0;
  for (size_t i = 0; i < j->written.n; i++) n += !strcmp(j->written.data[i].path, "-");
  j->run.shown = n ? stderr : stdout;
  return n <= 1 ? NULL : wk_error(WK_USAGE, "only one file can go to standard output");
}

static void add_written(const wk_train_job *j, wk_paths *paths) {
  for (size_t i = 0; i < j->written.n; i++) {
    const wk_train_file *f = &j->written.data[i];
    if (f->path == j->run.checkpoint) wk_paths_write_in(paths, f->what, f->path);
    else wk_paths_write(paths, f->what, f->path);
  }
  wk_paths_folder(paths, j->o->checkpoint);
}

static wk_status check_written(const wk_train_job *j) {
  wk_paths paths = {0};
  add_written(j, &paths);
  return wk_paths_check(&paths);
}

/* What is written overwrites nothing else, as far as that is known yet. */
static wk_status check_paths(const wk_train_job *j) {
  wk_paths paths = {0};
  wk_model_paths(&paths, j->path, &j->data.info, j->arena);
  wk_binding_paths(&paths, &j->o->binding);
  wk_paths_read(&paths, "--labels", j->o->labels);
  for (size_t i = 0; i < j->data.paths.n; i++)
    wk_paths_read(&paths, "--data", j->data.paths.data[i]);
  add_written(j, &paths);
  return wk_paths_check(&paths);
}

/* What cannot be written shall not cost a training. */
static wk_status open_outputs(wk_train_job *j) {
  WK_TRY(wk_train_write_open(j));
  return check_paths(j); /* the files of external data, too */
}

static const wk_onnx_io *output_of(const wk_onnx_info *info, const char *name) {
  for (size_t i = 0; i < info->outputs.n; i++)
    if (!strcmp(info->outputs.data[i].name, name)) return &info->outputs.data[i];
  return NULL;
}

/* "y, z" */
static const char *output_names(const wk_train_job *j) {
  wk_str b = {0};
  for (size_t i = 0; i < j->data.info.outputs.n; i++)
    wk_str_printf(&b, "%s%s", i ? ", " : "", j->data.info.outputs.data[i].name);
  const char *text = wk_text_shown(j->arena, b.s ? b.s : "");
  wk_str_free(&b);
  return text;
}

static wk_status choose_output(wk_train_job *j) {
  const wk_onnx_info *info = &j->data.info;
  wk_step_options *s = &j->step;
  if (!info->outputs.n)
    return wk_error_at(WK_INPUT, j->path, "the model has no outputs, of which a loss could be");
  if (!s->output && info->outputs.n > 1)
    return wk_error(WK_USAGE, "the model has %zu outputs: say with --of which one the loss is of: "
                    "%s", info->outputs.n, output_names(j));
  if (!s->output) s->output = info->outputs.data[0].name;
  const wk_onnx_io *io = output_of(info, s->output);
  if (!io)
    return wk_error(WK_USAGE, "--of %s: the model has no such output; it has %s", s->output,
                    output_names(j));
  return !io->is_sequence && !io->is_optional
             ? NULL : wk_error_at(WK_UNSUPPORTED, j->path, "the output '%s' is a list of tensors, "
                                  "of which there is no loss", s->output);
}

static wk_status choose_loss(wk_train_job *j) {
  const wk_onnx_info *info = &j->data.info;
  const char *names[WK_LOSS_COUNT];
  wk_step_options *s = &j->step;
  for (int k = 0; k < WK_LOSS_COUNT; k++) names[k] = wk_loss_get((wk_loss_kind)k)->name;
  int k = 0;
  while (k < WK_LOSS_COUNT && strcmp(names[k], j->o->loss)) k++;
  s->loss = (wk_loss_kind)k;
  s->is_loss = k == WK_LOSS_COUNT;
  s->output = s->is_loss ? j->o->loss : j->o->of;
  if (s->is_loss && !output_of(info, s->output)) {
    const char *near = wk_nearest(j->o->loss, names, WK_LOSS_COUNT);
    return wk_error(WK_USAGE, "--loss %s: no loss and no output of the model has this name%s%s%s",
                    j->o->loss, near ? "; did you mean '" : "", near ? near : "",
                    near ? "'?" : "");
  }
  if (s->is_loss && j->o->of)
    return wk_error(WK_USAGE, "--of: the output '%s' is the loss already", j->o->loss);
  WK_TRY(choose_output(j));
  if (!s->is_loss && !j->data.labels.t.data)
    return wk_error(WK_USAGE, "--loss %s compares with labels: give --labels FILE.npy",
                    j->o->loss);
  if (s->is_loss && j->o->labels)
    return wk_error(WK_USAGE, "--labels: nothing reads them when an output is the loss");
  return NULL;
}

static void choose_optimizer(wk_train_job *j) {
  const wk_train_opts *o = j->o;
  wk_step_options *s = &j->step;
  s->optimizer = (wk_optimizer_kind)o->optimizer;
  s->hypers = wk_optimizer_get(s->optimizer)->defaults;
  if (!isnan(o->rate)) s->hypers.rate = o->rate;
  if (!isnan(o->weight_decay)) s->hypers.weight_decay = o->weight_decay;
  s->clip_norm = o->clip_norm;
  s->has_norm = o->history_steps != NULL;
  s->accumulate = o->accumulate;
}

/* ---- the run --------------------------------------------------------------------------------- */

static wk_status make_plan(wk_train_job *j) {
  wk_train_plan *p = &j->run.plan;
  const wk_train_opts *o = j->o;
  wk_split_make(j->data.n, o->validate, &j->run.split);
  int64_t per_step;
  if (!wk_mul_ok(p->batch, o->accumulate, &per_step)) per_step = INT64_MAX;
  p->accumulate = o->accumulate;
  p->per_epoch = j->run.split.n_train / per_step;
  if (o->validate > 0 && !j->run.split.n_held_out)
    return wk_error(WK_USAGE, "--validate %g: that is none of %lld samples", o->validate,
                    (long long)j->data.n);
  if (!p->per_epoch)
    return wk_error(WK_USAGE, "%lld training samples do not fill a step of %lld: give more, or a "
                    "smaller --batch%s%s", (long long)j->run.split.n_train, (long long)per_step,
                    o->accumulate > 1 ? " or --accumulate" : "",
                    o->validate > 0 ? " or --validate" : "");
  int64_t epochs = o->epochs ? o->epochs : DEFAULT_EPOCHS;
  if (o->steps) epochs = wk_ceil_div(o->steps, p->per_epoch);
  p->epochs = j->run.history.epochs = epochs;
  j->run.history.per_epoch = p->per_epoch;
  j->run.history.has_steps = o->history_steps != NULL;
  j->run.every = o->checkpoint_every;
  if (o->steps) p->steps = o->steps;
  else if (!wk_mul_ok(epochs, p->per_epoch, &p->steps))
    return wk_error(WK_USAGE, "--epochs %lld: too many steps", (long long)epochs);
  p->seed = (uint64_t)o->seed;
  p->rate = j->step.hypers.rate;
  p->schedule = (wk_schedule)o->schedule;
  j->run.history.metric = j->step.is_loss ? "" : wk_loss_get(j->step.loss)->metric_name;
  return NULL;
}

static void add_list(wk_str *b, const char *name, const wk_strings *list) {
  for (size_t i = 0; i < list->n; i++) wk_str_printf(b, "%s %s\n", name, list->data[i]);
}

static void add_samples(wk_str *b, const wk_train_job *j, const wk_column *c) {
  if (!c->t.data) return;
  uint64_t hash = wk_hash64(c->t.data, (size_t)wk_type_bytes(&c->t.type), 0);
  wk_str_printf(b, "%s%s: %s %016llx\n", c->name ? "samples of " : "labels",
                c->name ? c->name : "", wk_type_text(j->arena, &c->t.type),
                (unsigned long long)hash);
}

static wk_status add_external(wk_str *b, const wk_onnx_info *info) {
  for (size_t i = 0; i < info->external.n; i++) {
    wk_file f;
    WK_TRY(wk_file_map(info->external.data[i], &f));
    wk_str_printf(b, "weights %016llx\n", (unsigned long long)wk_hash64(f.data, f.size, 0));
    wk_file_unmap(&f);
  }
  return NULL;
}

/* What a run and its continuation must have in common. */
static wk_status describe(wk_train_job *j) {
  const wk_train_opts *o = j->o;
  wk_str b = {0};
  if (!o->checkpoint) return NULL;
  wk_str_printf(&b, "model %016llx\n", (unsigned long long)j->report.hash);
  wk_status s = add_external(&b, &j->data.info);
  add_list(&b, "bind", &o->binding.bind);
  add_list(&b, "shape", &o->binding.shape);
  for (size_t i = 0; i < j->binding.values.n; i++) {
    const wk_bind_value *v = &j->binding.values.data[i];
    wk_str_printf(&b, "value %s: %s %016llx\n", v->input, wk_type_text(j->arena, &v->value.type),
                  (unsigned long long)wk_hash64(v->value.data,
                                                (size_t)wk_type_bytes(&v->value.type), 0));
  }
  for (size_t i = 0; i < j->data.columns.n; i++) add_samples(&b, j, &j->data.columns.data[i]);
  add_samples(&b, j, &j->data.labels);
  wk_str_printf(&b, "loss %s of %s\n", o->loss, j->step.output);
  wk_str_printf(&b, "optimizer %s, lr %.17g, weight-decay %.17g\n",
                optimizers[o->optimizer], j->step.hypers.rate,
                j->step.hypers.weight_decay);
  wk_str_printf(&b, "clip-norm %.17g\n", o->clip_norm);
  wk_str_printf(&b, "batch %lld\n", (long long)j->run.plan.batch);
  wk_str_printf(&b, "accumulate %lld\n", (long long)o->accumulate);
  wk_str_printf(&b, "validate %.17g\n", o->validate);
  wk_str_printf(&b, "seed %lld\n", (long long)o->seed);
  wk_str_printf(&b, "batch-norm %s\n", norms[o->batch_norm]);
  if (o->qat) wk_str_printf(&b, "qat yes\n");
  wk_str_printf(&b, "schedule %s\n", schedules[o->schedule]);
  if (o->schedule) wk_str_printf(&b, "steps %lld\n", (long long)j->run.plan.steps);
  add_list(&b, "train", &o->train);
  add_list(&b, "freeze", &o->freeze);
  j->run.settings = wk_arena_strdup(j->arena, b.s);
  wk_str_free(&b);
  return s;
}

static wk_status open_checkpoint(wk_train_job *j) {
  const char *dir = j->o->checkpoint;
  struct stat file;
  if (!dir) return NULL;
  if (!stat(j->run.checkpoint, &file) && S_ISDIR(file.st_mode))
    return wk_error_at(WK_IO, j->run.checkpoint, "cannot write: %s", strerror(EISDIR));
  if (j->o->resume) return wk_checkpoint_load(&j->run);
  if (mkdir(dir, 0777) && errno != EEXIST)
    return wk_error_at(WK_IO, dir, "cannot make the folder: %s", strerror(errno));
  return NULL;
}

static wk_status write_text(const char *path, void (*make)(wk_str *, const wk_history *),
                            const wk_history *h) {
  wk_str b = {0};
  if (!path) return NULL;
  make(&b, h);
  wk_status s = wk_write_file(path, b.s, b.n);
  wk_str_free(&b);
  return s;
}

/* ---- the command ----------------------------------------------------------------------------- */

static wk_status prepare(wk_train_job *j) {
  const wk_train_opts *o = j->o;
  size_t n;
  wk_import_options files = {0};
  WK_TRY(wk_binding_sets_parse(&o->binding, &j->binding, 1, &n));
  WK_TRY(wk_train_name_files(j));
  WK_TRY(choose_shown(j));
  WK_TRY(check_written(j));
  WK_TRY(wk_train_data_read(j->path, &files, &j->binding, &o->data, o->labels, &j->data));
  WK_TRY(check_paths(j));
  WK_TRY(choose_loss(j));
  choose_optimizer(j);
  WK_TRY(wk_train_shapes(j));
  WK_TRY(make_plan(j));
  WK_TRY(wk_train_open(j));
  WK_TRY(describe(j));
  WK_TRY(open_checkpoint(j));
  return open_outputs(j);
}

static wk_status train(wk_train_job *j) {
  WK_TRY(check_options(j));
  WK_TRY(prepare(j));
  wk_text_notes(stderr, j->notes.data, j->notes.n);
  wk_train_print_weights(j);
  WK_TRY(wk_train_epochs(&j->run));
  WK_TRY(wk_train_write(j));
  WK_TRY(write_text(j->o->history, wk_history_csv, &j->run.history));
  WK_TRY(write_text(j->o->history_steps, wk_history_steps_csv, &j->run.history));
  WK_TRY(write_text(j->o->plot, wk_history_page, &j->run.history));
  wk_train_print_summary(j);
  return NULL;
}

static void free_job(wk_train_job *j) {
  wk_train_close(j);
  wk_onnx_write_back_free(j->back);
  wk_vec_free(&j->written);
  wk_split_free(&j->run.split);
  wk_vec_free(&j->run.history.rows);
  wk_vec_free(&j->run.history.steps);
  if (j->data.arena) wk_train_data_free(&j->data);
  if (j->binding.arena) wk_binding_set_free(&j->binding);
  wk_notes_free(&j->notes);
  wk_arena_free(j->arena);
}

static wk_status run(const void *options_, const wk_strings *args) {
  wk_train_job j = {.o = options_, .path = args->data[0], .arena = wk_arena_new()};
  j.run.data = &j.data;
  wk_status s = train(&j);
  wk_progress_end();
  free_job(&j);
  return s;
}

const wk_cmd wk_cmd_train = {
    .command = {.name = "train", .synopsis = "MODEL.onnx",
                .summary = "fit a model's weights to samples",
                .description =
                    "Compiles the model, its loss, the gradients and the optimiser into one "
                    "program, runs it batch by batch, and writes the model file again with new "
                    "weights; every other byte of it stays as it is.\n"
                    "\n"
                    "Samples lie along axis 0 of .npy files. Their numbers become elements of "
                    "the input's type as they are: images of bytes are not scaled. The order of "
                    "the samples depends on --seed and the epoch alone, and the result on nothing "
                    "else that is not given here, so that a run can be repeated, or resumed.\n"
                    "\n"
                    "  wick train net.onnx --data x.npy --labels y.npy \\\n"
                    "    --loss cross-entropy --validate 0.2 --epochs 20 -o trained.onnx\n"
                    "  wick train net.onnx --data x.npy --labels y.npy --loss mse \\\n"
                    "    --train 'fc.*' --optimizer sgd --lr 0.1 -o tuned.onnx\n"
                    "  wick train net.int8.onnx --qat --data x.npy --labels y.npy \\\n"
                    "    --loss cross-entropy --lr 1e-4 --epochs 3 -o qat.int8.onnx",
                .options = options, .min_args = 1, .max_args = 1},
    .size = sizeof(wk_train_opts), .defaults = &defaults, .run = run};
