/* SPDX-License-Identifier: Apache-2.0
 * An array of Slurm jobs, each the command itself with --task I/N. They tell nobody how they fare:
 * what counts is which rows are in the folder. As long as Slurm knows the array they are waited
 * for; when it ends with points left, as when nodes were lost, there is another. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/sweep/sweep.h"
#include "cli/text.h"

/* ---- the job script -------------------------------------------------------------------------- */

static void add_word(wk_str *b, const char *word) {
  wk_str_add(b, " '");
  for (; *word; word++) wk_str_printf(b, *word == '\'' ? "'\\''" : "%c", *word);
  wk_str_add(b, "'");
}

static void add_option(wk_str *b, const char *name, const char *value) {
  wk_str_printf(b, " --%s", name);
  add_word(b, value);
}

static void add_value(wk_str *b, const wk_option *o, const void *value) {
  const wk_strings *list = value;
  const char *set;
  const char *const *text = value;
  char number[32];
  switch (o->kind) {
    case WK_OPTION_FLAG: wk_str_printf(b, " --%s", o->name); return;
    case WK_OPTION_STRING: add_option(b, o->name, *text); return;
    case WK_OPTION_PAIR:
      if ((set = wk_option_pairs_get(value, o->name))) add_option(b, o->name, set);
      return;
    case WK_OPTION_CHOICE: add_option(b, o->name, o->choices[*(const int *)value]); return;
    case WK_OPTION_LIST:
      for (size_t i = 0; i < list->n; i++) add_option(b, o->name, list->data[i]);
      return;
    case WK_OPTION_INT: snprintf(number, sizeof number, "%lld", *(const long long *)value); break;
    default: snprintf(number, sizeof number, "%.17g", *(const double *)value);
  }
  add_option(b, o->name, number);
}

static bool is_given(const wk_option *o, const void *value, const void *def) {
  static const size_t sizes[] = {
      [WK_OPTION_FLAG] = sizeof(bool), [WK_OPTION_STRING] = sizeof(char *),
      [WK_OPTION_INT] = sizeof(int64_t), [WK_OPTION_DOUBLE] = sizeof(double),
      [WK_OPTION_LIST] = sizeof(wk_strings), [WK_OPTION_CHOICE] = sizeof(int),
      [WK_OPTION_PAIR] = sizeof(wk_option_pairs)};
  return memcmp(value, def, sizes[o->kind]) != 0;
}

/* What is the user's of all options, but who works where. */
static void add_options(wk_str *b, const wk_sweep *s) {
  static const char *const left[] = {"jobs", "slurm", "task"};
  wk_option *rows = wk_option_rows(s->cmd->command.options, true);
  for (const wk_option *o = rows; o->name || o->kind == WK_OPTION_GROUP; o++) {
    const char *value = (const char *)s->values + o->offset;
    bool is_left = o->kind == WK_OPTION_GROUP ||
                   !is_given(o, value, (const char *)s->cmd->defaults + o->offset);
    for (size_t i = 0; i < WK_COUNTOF(left) && !is_left; i++) is_left = !strcmp(o->name, left[i]);
    if (!is_left) add_value(b, o, value);
  }
  free(rows);
}

static void add_command(wk_str *b, const wk_sweep *s, const char *program, int64_t tasks) {
  wk_str_add(b, "exec");
  add_word(b, program);
  wk_str_printf(b, " %s", s->cmd->command.name);
  add_options(b, s);
  wk_str_printf(b, " --jobs 1 --task \"$SLURM_ARRAY_TASK_ID/%lld\" --", (long long)tasks);
  for (size_t i = 0; i < s->paths->n; i++) add_word(b, s->paths->data[i]);
  wk_str_add(b, "\n");
}

static wk_status write_script(const wk_sweep *s, int64_t tasks) {
  char program[PATH_MAX], folder[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  if (n < 0 || !getcwd(folder, sizeof folder))
    return wk_error(WK_IO, "this program or its working folder has no path: %s", strerror(errno));
  program[n] = 0;
  wk_str b = {0};
  wk_str_printf(&b, "#!/bin/sh\n#SBATCH --job-name=wick-%s --no-requeue --output=%%A_%%a.log\ncd",
                s->cmd->command.name);
  add_word(&b, folder);
  wk_str_add(&b, " || exit\n");
  add_command(&b, s, program, tasks);
  wk_status status = wk_write_file(wk_arena_printf(s->arena, "%s/slurm/job.sh", s->dir), b.s, b.n);
  wk_str_free(&b);
  return status;
}

/* ---- Slurm's commands ------------------------------------------------------------------------ */

/* What a shell command prints; its wait status, -1 when it cannot be known. */
static int ask(const char *command, wk_str *out) {
  char buffer[512];
  size_t n;
  fflush(stdout);
  FILE *f = popen(command, "r");
  if (!f) return -1;
  wk_str_add(out, "");
  while ((n = fread(buffer, 1, sizeof buffer, f)) > 0) wk_str_addn(out, buffer, n);
  return pclose(f);
}

/* The line "ID" or "ID;CLUSTER", which warnings may stand around; 0: there is none. */
static long id_in(const char *said) {
  for (const char *line = said; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    char *end;
    long id = isdigit((unsigned char)*line) ? strtol(line, &end, 10) : 0;
    if (id > 0 && (*end == '\n' || *end == ';' || !*end)) return id;
  }
  return 0;
}

/* "exit status 3, and it said nothing" */
static const char *failure_of(const wk_sweep *s, int how, const char *said) {
  enum { NOT_FOUND = 127 }; /* of the shell */
  wk_str b = {0};
  if (how == -1) wk_str_printf(&b, "sbatch cannot be run: %s", strerror(errno));
  else if (WIFEXITED(how) && WEXITSTATUS(how) == NOT_FOUND) wk_str_add(&b, "there is no sbatch");
  else if (WIFEXITED(how) && WEXITSTATUS(how))
    wk_str_printf(&b, "sbatch ended with exit status %d", WEXITSTATUS(how));
  else if (WIFSIGNALED(how)) wk_str_printf(&b, "sbatch was ended by signal %d", WTERMSIG(how));
  else wk_str_add(&b, "sbatch named no job");
  size_t begin = b.n;
  for (const char *line = said; *line; line += strcspn(line, "\n"), line += *line == '\n')
    if (*line != '\n')
      wk_str_printf(&b, "%s%.*s", b.n == begin ? ": " : "; ", (int)strcspn(line, "\n"), line);
  if (b.n == begin) wk_str_add(&b, ", and it said nothing");
  const char *text = wk_text_shown(s->arena, b.s);
  wk_str_free(&b);
  return text;
}

static wk_status submit(const wk_sweep *s, int64_t tasks, long *id) {
  wk_str command = {0}, said = {0};
  wk_str_add(&command, "cd");
  add_word(&command, wk_arena_printf(s->arena, "%s/slurm", s->dir));
  wk_str_printf(&command, " && sbatch --parsable --array=0-%lld job.sh 2>&1", (long long)tasks - 1);
  int how = ask(command.s, &said);
  const char *text = said.s ? said.s : "";
  bool is_fine = how != -1 && WIFEXITED(how) && !WEXITSTATUS(how) && (*id = id_in(text)) > 0;
  wk_str_free(&command);
  wk_status status =
      is_fine ? NULL
              : wk_error(WK_RESOURCE, "--slurm: cannot submit: %s", failure_of(s, how, text));
  wk_str_free(&said);
  return status;
}

/* A controller that does not answer may still have the array. */
static bool is_queued(long id) {
  wk_str said = {0};
  char command[80];
  snprintf(command, sizeof command, "squeue --noheader --format=%%i --jobs=%ld 2>&1", id);
  int how = ask(command, &said);
  bool is_gone = how == 0 ? !said.n : said.n && strstr(said.s, "Invalid job id");
  wk_str_free(&said);
  return !is_gone;
}

/* ---- waiting --------------------------------------------------------------------------------- */

typedef WK_VEC(size_t) point_list;

static void drop_computed(const wk_sweep *s, point_list *todo) {
  size_t n = 0;
  for (size_t i = 0; i < todo->n; i++)
    if (!wk_sweep_has_row(s, &s->points.data[todo->data[i]])) todo->data[n++] = todo->data[i];
  todo->n = n;
}

/* Until all rows are there, or Slurm knows nothing of the array. */
static void wait_for_array(const wk_sweep *s, long id, point_list *todo, size_t total,
                           double began) {
  enum { SECONDS = 1, ASKED_EVERY = 3 };
  bool may_run = true;
  for (int round = 1; todo->n && may_run; round++) {
    sleep(SECONDS);
    if (round % ASKED_EVERY == 0) may_run = is_queued(id);
    drop_computed(s, todo);
    wk_sweep_progress(s, total - todo->n, total, began);
  }
}

static wk_status make_logs(const wk_sweep *s) {
  const char *path = wk_arena_printf(s->arena, "%s/slurm", s->dir);
  if (mkdir(path, 0777) == 0 || errno == EEXIST) return NULL;
  return wk_error_at(WK_IO, path, "cannot make the folder: %s", strerror(errno));
}

/* Arrays in a row that leave things as they were; then the points are what is wrong. */
enum { MOST_IN_VAIN = 3, TASKS = 16 };

/* The array of earlier points goes on with these by itself. */
static wk_status submit_until_done(wk_sweep *s, point_list *todo) {
  size_t total = todo->n;
  double began = wk_clock();
  int in_vain = 0;
  while (todo->n && in_vain < MOST_IN_VAIN) {
    size_t before = todo->n;
    int64_t tasks = s->o->jobs ? s->o->jobs : TASKS;
    if (!s->stage && tasks > (int64_t)before) tasks = (int64_t)before; /* no stage follows */
    wk_sweep_progress(s, total - before, total, began);
    if (!s->array || !is_queued(s->array)) {
      WK_TRY(write_script(s, tasks));
      WK_TRY(submit(s, tasks, &s->array));
    }
    wait_for_array(s, s->array, todo, total, began);
    in_vain = todo->n < before ? 0 : in_vain + 1;
  }
  return NULL;
}

wk_status wk_sweep_run_slurm(wk_sweep *s, size_t *computed) {
  point_list todo = {0};
  for (size_t i = 0; i < s->points.n; i++)
    if (!s->points.data[i].refusal && !wk_sweep_has_row(s, &s->points.data[i]))
      wk_vec_push(&todo, i);
  size_t total = todo.n;
  wk_status status = make_logs(s);
  if (!status) status = submit_until_done(s, &todo);
  wk_progress_end();
  for (size_t i = 0; i < todo.n; i++)
    s->points.data[todo.data[i]].lost = wk_arena_printf(
        s->arena, "lost by %d arrays of Slurm jobs; %s/slurm has what they said", MOST_IN_VAIN,
        s->dir);
  *computed = total - todo.n;
  wk_vec_free(&todo);
  return status;
}
