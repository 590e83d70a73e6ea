/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds mutated files to everything that reads files. A mutant is a function of the seed and its
 * number, so that a batch of them can run in a child process: when that dies, takes too long or too
 * much memory, the number in shared memory says which one it was, the input is written to a file,
 * and the rest goes on in a new child.
 *
 * hostile [--count N] [--seed S] [--from I] [--only READER] [--keep FOLDER] [--native N]
 *   --native N makes one accepted model in N native code (24), and a soak of that is --native 1
 *   hostile --seed 1 --from 812 --count 1     one mutant again, in this process (for a debugger)
 *   hostile --only READER FILE…               files instead of mutants */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"
#include "tests/hostile/mutate.h"

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#define SANITIZED 1
#else
#define SANITIZED 0
#define __lsan_do_recoverable_leak_check() 0
#endif

#define BATCH 256
#define SECONDS (SANITIZED ? 15.0 : 1.0) /* of processor time, for one mutant */
#define MEGABYTES (SANITIZED ? 8192 : 256)
#define MAX_FAILURES 20

typedef struct {
  const char *name;
  unsigned share; /* of mutants, relative */
  void (*feed)(feed_run *r, const wk_str *input);
  void (*mutate)(wk_rng *rng, wk_str *b, const wk_str *other, wk_str *note);
  void (*list)(seed_list *l, const char *folder);
  seed_list seeds;
} reader;

static reader readers[] = {
    {"onnx", 14, feed_onnx, mutate_onnx, seeds_onnx, {0}},
    {"onnx-bytes", 2, feed_onnx, mutate_bytes, seeds_onnx, {0}},
    {"model-text", 3, feed_model_text, mutate_text, seeds_model_text, {0}},
    {"net", 4, feed_net, mutate_net, seeds_net, {0}},
    {"net-bytes", 1, feed_net, mutate_bytes, seeds_net, {0}},
    {"net-text", 3, feed_net, mutate_text, seeds_net_text, {0}},
    {"init-net", 2, feed_init_net, mutate_net, seeds_init_net, {0}},
    {"value-info", 1, feed_value_info, mutate_text, seeds_value_info, {0}},
    {"inspect", 1, feed_inspect, mutate_onnx, seeds_onnx, {0}},
    {"package", 1, feed_package, mutate_bytes, seeds_package, {0}},
    {"package-unchecked", 2, feed_package_unchecked, mutate_bytes, seeds_package, {0}},
    {"npy", 1, feed_npy, mutate_bytes, seeds_npy, {0}},
    {"tensor", 2, feed_tensor, mutate_bytes, seeds_tensor, {0}},
    {"list", 1, feed_list, mutate_bytes, seeds_list, {0}},
    {"plan", 1, feed_plan, mutate_text, seeds_plan, {0}},
    {"graph-text", 4, feed_graph_text, mutate_text, seeds_graph_text, {0}},
    {"program-text", 4, feed_program_text, mutate_text, seeds_program_text, {0}},
    {"expression", 2, feed_expression, mutate_text, seeds_expression, {0}},
    {"machine", 2, feed_machine, mutate_text, seeds_machine, {0}},
    {"override", 1, feed_override, mutate_text, seeds_override, {0}},
    {"stream-text", 4, feed_stream_text, mutate_text, seeds_stream_text, {0}},
    {"stream-file", 3, feed_stream_file, mutate_bytes, seeds_stream_file, {0}}};

/* Shared with the child that is at work. */
typedef struct {
  uint64_t at;
  char complaint[1024];
  uint64_t fed[WK_COUNTOF(readers)], accepted[WK_COUNTOF(readers)];
  uint64_t evaluated, ran;
  double slowest;
  uint64_t slowest_at;
} board;

static board *shared;
static double began; /* processor time at which the mutant at hand began */

typedef struct {
  uint64_t seed, from, count, native;
  const char *only, *keep;
  char folder[64];
  unsigned shares;
  int failures;
} driver;

/* ---- mutants --------------------------------------------------------------------------------- */

typedef struct {
  reader *reader;
  wk_str data, note;
  feed_run run;
} mutant;

static reader *reader_of(const driver *d, wk_rng *rng) {
  unsigned pick = (unsigned)(wk_rng_next(rng) % d->shares);
  for (size_t i = 0; i < WK_COUNTOF(readers); i++) {
    if (d->only && strcmp(d->only, readers[i].name) != 0) continue;
    if (pick < readers[i].share) return &readers[i];
    pick -= readers[i].share;
  }
  return &readers[0];
}

static mutant make(const driver *d, uint64_t i) {
  wk_rng rng = {wk_hash64(&i, sizeof i, d->seed)};
  mutant m = {.reader = reader_of(d, &rng)};
  const seed_list *l = &m.reader->seeds;
  size_t a = (size_t)(wk_rng_next(&rng) % l->n), b = (size_t)(wk_rng_next(&rng) % l->n);
  wk_str_addn(&m.data, l->data[a].s, l->data[a].n);
  wk_str_printf(&m.note, "%s, file %zu:", m.reader->name, a);
  m.reader->mutate(&rng, &m.data, &l->data[b], &m.note);
  wk_str_addn(&m.data, "", 0); /* ends in a zero even when it was cut */
  m.run = (feed_run){.rng = rng, .folder = d->folder, .native = d->native, .seed = a};
  return m;
}

static void mutant_free(mutant *m) {
  wk_str_free(&m->data);
  wk_str_free(&m->note);
  wk_str_free(&m->run.complaint);
}

/* ---- the child ------------------------------------------------------------------------------- */

static double processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long peak_megabytes(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return u.ru_maxrss >> 10;
}

static void complain(const char *text) {
  size_t n = strlen(text);
  if (n >= sizeof shared->complaint) n = sizeof shared->complaint - 1;
  memcpy(shared->complaint, text, n);
  shared->complaint[n] = 0;
}

/* Code generation is LLVM's time. */
static double time_limit(void) { return SECONDS * 2; }

static void watch(int sig) {
  (void)sig;
  if (processor_time() - began > time_limit()) {
    complain("takes too long");
    _exit(3);
  }
  if (peak_megabytes() > MEGABYTES) {
    complain("takes too much memory");
    _exit(3);
  }
}

static void start_watching(void) {
  const struct itimerval every = {{0, 20000}, {0, 20000}};
  signal(SIGPROF, watch);
  setitimer(ITIMER_PROF, &every, NULL);
}

static void feed_one(const driver *d, uint64_t i) {
  shared->at = i;
  mutant m = make(d, i);
  size_t r = (size_t)(m.reader - readers);
  began = processor_time();
  m.reader->feed(&m.run, &m.data);
  double took = processor_time() - began;
  shared->fed[r]++;
  shared->accepted[r] += m.run.accepted;
  shared->evaluated += m.run.evaluated;
  shared->ran += m.run.ran;
  if (took > shared->slowest) {
    shared->slowest = took;
    shared->slowest_at = i;
  }
  if (!m.run.complaint.n && took > (m.run.ran ? time_limit() : SECONDS))
    wk_str_printf(&m.run.complaint, "takes %.2f s", took);
  if (!m.run.complaint.n && peak_megabytes() > MEGABYTES)
    wk_str_printf(&m.run.complaint, "takes %ld MiB", peak_megabytes());
  if (m.run.complaint.n) {
    complain(m.run.complaint.s);
    _exit(3);
  }
  mutant_free(&m);
}

/* Feeds [from, to) in a child; returns where it stopped, `to` when nothing went wrong. */
static uint64_t batch(const driver *d, uint64_t from, uint64_t to, int *status) {
  shared->at = from;
  shared->complaint[0] = 0;
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    start_watching();
    for (uint64_t i = from; i < to; i++) feed_one(d, i);
    if (__lsan_do_recoverable_leak_check()) _exit(4);
    _exit(0);
  }
  while (waitpid(child, status, 0) < 0 && errno == EINTR) {}
  return *status ? shared->at : to;
}

/* ---- the parent ------------------------------------------------------------------------------ */

static void save(const driver *d, const mutant *m, uint64_t i) {
  char path[512];
  snprintf(path, sizeof path, "%s/hostile-%llu-%llu.%s", d->keep, (unsigned long long)d->seed,
           (unsigned long long)i, m->reader->name);
  wk_status s = wk_write_file(path, m->data.s ? m->data.s : "", m->data.n);
  if (s) wk_status_print(stdout, s);
  else printf("  input: %s\n", path);
  wk_status_free(s);
}

static void report(driver *d, uint64_t i, int status) {
  mutant m = make(d, i);
  d->failures++;
  printf("FAILED mutant %llu of seed %llu (%s)\n", (unsigned long long)i,
         (unsigned long long)d->seed, m.note.s);
  if (WIFSIGNALED(status)) printf("  dies of signal %d\n", WTERMSIG(status));
  else if (WEXITSTATUS(status) == 4) printf("  leaks memory\n");
  else printf("  %s\n", shared->complaint[0] ? shared->complaint : "ends the process");
  save(d, &m, i);
  printf("  again: hostile --seed %llu --from %llu --count 1 --native %llu%s%s\n",
         (unsigned long long)d->seed, (unsigned long long)i, (unsigned long long)d->native,
         d->only ? " --only " : "", d->only ? d->only : "");
  mutant_free(&m);
}

/* A leak shows at the end of a batch: each of its mutants runs again alone. */
static void find_leak(driver *d, uint64_t from, uint64_t to) {
  int status;
  for (uint64_t i = from; i < to && d->failures < MAX_FAILURES; i++) {
    if (batch(d, i, i + 1, &status) == i) report(d, i, status);
  }
}

static void run_all(driver *d) {
  uint64_t end = d->from + d->count;
  for (uint64_t i = d->from; i < end && d->failures < MAX_FAILURES;) {
    uint64_t to = i + BATCH < end ? i + BATCH : end;
    int status;
    uint64_t at = batch(d, i, to, &status);
    if (at < to && WIFEXITED(status) && WEXITSTATUS(status) == 4) {
      find_leak(d, i, to);
      at = to;
    } else if (at < to) {
      report(d, at++, status);
    }
    i = at;
  }
}

/* Seeds that a reader refuses are not worth much. */
static size_t good_seeds(const driver *d, const reader *by) {
  size_t good = 0;
  for (size_t i = 0; i < by->seeds.n; i++) {
    feed_run r = {.rng = {1}, .folder = d->folder, .seed = i};
    by->feed(&r, &by->seeds.data[i]);
    good += r.accepted;
    if (r.complaint.n) printf("%s, file %zu: %s\n", by->name, i, r.complaint.s);
    wk_str_free(&r.complaint);
  }
  return good;
}

static void summary(const driver *d) {
  uint64_t fed = 0;
  printf("%-18s %8s %8s %8s %8s\n", "reader", "files", "accepted", "mutants", "accepted");
  for (size_t i = 0; i < WK_COUNTOF(readers); i++) {
    fed += shared->fed[i];
    if (shared->fed[i])
      printf("%-18s %8zu %8zu %8llu %8llu\n", readers[i].name, readers[i].seeds.n,
             good_seeds(d, &readers[i]), (unsigned long long)shared->fed[i],
             (unsigned long long)shared->accepted[i]);
  }
  printf("seed %llu: %llu mutants, %llu programs evaluated, %llu run as native code, "
         "slowest %.2f s "
         "(%llu); %d failures\n",
         (unsigned long long)d->seed, (unsigned long long)fed,
         (unsigned long long)shared->evaluated,
         (unsigned long long)shared->ran, shared->slowest, (unsigned long long)shared->slowest_at,
         d->failures);
}

static int usage(const char *what) {
  fprintf(stderr, "hostile: %s\nhostile [--count N] [--seed S] [--from I] [--only READER] "
                  "[--keep FOLDER] [--native N] [FILE…]\n", what);
  return 2;
}

/* Files as they are, in this process. */
static int feed_files(driver *d, char **files, int n) {
  int bad = 0;
  for (int i = 0; i < n; i++) {
    wk_file f;
    wk_str b = {0};
    feed_run r = {.rng = {d->seed}, .folder = d->folder, .native = d->native};
    reader *by = &readers[0];
    for (size_t k = 0; k < WK_COUNTOF(readers); k++)
      if (d->only && strcmp(d->only, readers[k].name) == 0) by = &readers[k];
    wk_status s = wk_file_map(files[i], &f);
    if (s) {
      wk_status_print(stderr, s);
      wk_status_free(s);
      return 2;
    }
    if (f.size) wk_str_addn(&b, (const char *)f.data, f.size);
    wk_file_unmap(&f);
    by->feed(&r, &b);
    printf("%s: %s%s\n", files[i], r.accepted ? "accepted" : "refused",
           r.complaint.n ? r.complaint.s : "");
    bad |= r.complaint.n > 0;
    wk_str_free(&r.complaint);
    wk_str_free(&b);
  }
  return bad;
}

static bool parse_arguments(driver *d, int argc, char **argv, int *files) {
  int i = 1;
  for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
    const char *v = argv[i + 1];
    if (!strcmp(argv[i], "--count")) d->count = strtoull(v, NULL, 10);
    else if (!strcmp(argv[i], "--seed")) d->seed = strtoull(v, NULL, 10);
    else if (!strcmp(argv[i], "--from")) d->from = strtoull(v, NULL, 10);
    else if (!strcmp(argv[i], "--native")) d->native = strtoull(v, NULL, 10);
    else if (!strcmp(argv[i], "--only")) d->only = v;
    else if (!strcmp(argv[i], "--keep")) d->keep = v;
    else return false;
  }
  *files = i;
  return i == argc || argv[i][0] != '-';
}

static void set_up(driver *d) {
  const char *tmp = getenv("TMPDIR");
  if (!tmp || !*tmp) tmp = "/tmp";
  if (!d->keep) d->keep = tmp;
  snprintf(d->folder, sizeof d->folder, "%.40s/hostile-XXXXXX", tmp);
  if (!mkdtemp(d->folder)) abort();
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) abort();
  for (size_t i = 0; i < WK_COUNTOF(readers); i++) {
    if (d->only && strcmp(d->only, readers[i].name) != 0) continue;
    d->shares += readers[i].share;
    readers[i].list(&readers[i].seeds, d->folder);
  }
}

int main(int argc, char **argv) {
  driver d = {.seed = 1, .count = 4000, .native = 24};
  int files, result = 0;
  if (!parse_arguments(&d, argc, argv, &files)) return usage("wrong arguments");
  set_up(&d);
  if (d.shares == 0) return usage("no such reader");
  if (files < argc) {
    result = feed_files(&d, argv + files, argc - files);
  } else if (d.count == 1) {
    feed_one(&d, d.from);
    printf("nothing to complain about\n");
  } else {
    run_all(&d);
    summary(&d);
    result = d.failures > 0;
  }
  for (size_t i = 0; i < WK_COUNTOF(readers); i++) {
    for (size_t k = 0; k < readers[i].seeds.n; k++) wk_str_free(&readers[i].seeds.data[k]);
    wk_vec_free(&readers[i].seeds);
  }
  (void)rmdir(d.folder);
  return result;
}
