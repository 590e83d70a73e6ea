/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds mutated files to everything that reads files. A mutant is a function of the seed and its
 * number, so that a batch of them can run in a child process: when that dies, takes too long or too
 * much memory, the number in shared memory says which one it was, the input is written to a file,
 * and the rest goes on in a new child.
 *
 * hostile [--count N] [--seed S] [--from I] [--only READER] [--keep FOLDER] [--native N]
 *   --native N makes one accepted model in N native code (24), and a soak of that is --native 1
 *   hostile --seed 1 --from 812 --count 1     one mutant again, in this process (for a debugger)
 *   hostile --only READER FILE…               files instead of mutants
 *   hostile --write-seeds FOLDER              what mutants are made of, a folder for each reader */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/hostile/hostile.h"
#include "tests/hostile/mutate.h"
#include "tests/pace.h"

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

static seed_list seeds[HOSTILE_READERS];

/* Shared with the child that is at work. */
typedef struct {
  uint64_t at;
  char complaint[1024];
  uint64_t fed[HOSTILE_READERS], accepted[HOSTILE_READERS];
  uint64_t evaluated, ran;
  double slowest;
  uint64_t slowest_at;
} board;

static board *shared;
static double began; /* processor time at which the mutant at hand began */

typedef struct {
  uint64_t seed, from, count, native;
  const char *only, *keep, *write_to;
  char folder[64];
  unsigned shares;
  int failures;
} driver;

/* ---- mutants --------------------------------------------------------------------------------- */

typedef struct {
  const hostile_reader *reader;
  wk_str data, note;
  feed_run run;
} mutant;

static const hostile_reader *reader_of(const driver *d, wk_rng *rng) {
  unsigned pick = (unsigned)(wk_rng_next(rng) % d->shares);
  for (size_t i = 0; i < HOSTILE_READERS; i++) {
    if (d->only && strcmp(d->only, hostile_readers[i].name) != 0) continue;
    if (pick < hostile_readers[i].share) return &hostile_readers[i];
    pick -= hostile_readers[i].share;
  }
  return &hostile_readers[0];
}

static mutant make(const driver *d, uint64_t i) {
  wk_rng rng = {wk_hash64(&i, sizeof i, d->seed)};
  mutant m = {.reader = reader_of(d, &rng)};
  const seed_list *l = &seeds[m.reader - hostile_readers];
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

static double time_limit(void) { return SECONDS * machine_pace(); }
/* Code generation is LLVM's time. */
static double run_limit(void) { return 2 * time_limit(); }

static void watch(int sig) {
  (void)sig;
  if (pace_seconds() - began > run_limit()) {
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
  size_t r = (size_t)(m.reader - hostile_readers);
  began = pace_seconds();
  m.reader->feed(&m.run, &m.data);
  double took = pace_seconds() - began;
  shared->fed[r]++;
  shared->accepted[r] += m.run.accepted;
  shared->evaluated += m.run.evaluated;
  shared->ran += m.run.ran;
  if (took > shared->slowest) {
    shared->slowest = took;
    shared->slowest_at = i;
  }
  if (!m.run.complaint.n && took > (m.run.ran ? run_limit() : time_limit()))
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
  wk_str file = {0};
  hostile_file_of(m->reader, &m->data, m->run.seed, &file);
  wk_status s = wk_write_file(path, file.s, file.n);
  wk_str_free(&file);
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
static size_t good_seeds(const driver *d, const hostile_reader *by) {
  const seed_list *l = &seeds[by - hostile_readers];
  size_t good = 0;
  for (size_t i = 0; i < l->n; i++) {
    feed_run r = {.rng = {1}, .folder = d->folder, .seed = i};
    by->feed(&r, &l->data[i]);
    good += r.accepted;
    if (r.complaint.n) printf("%s, file %zu: %s\n", by->name, i, r.complaint.s);
    wk_str_free(&r.complaint);
  }
  return good;
}

static void summary(const driver *d) {
  uint64_t fed = 0;
  printf("%-18s %8s %8s %8s %8s\n", "reader", "files", "accepted", "mutants", "accepted");
  for (size_t i = 0; i < HOSTILE_READERS; i++) {
    fed += shared->fed[i];
    if (shared->fed[i])
      printf("%-18s %8zu %8zu %8llu %8llu\n", hostile_readers[i].name, seeds[i].n,
             good_seeds(d, &hostile_readers[i]), (unsigned long long)shared->fed[i],
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
                  "[--keep FOLDER] [--native N] [--write-seeds FOLDER] [FILE…]\n", what);
  return 2;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* One file, watched like a mutant; false when the reader did what it must not do. */
static bool feed_file(const driver *d, const hostile_reader *by, const char *path) {
  feed_run r = {.folder = d->folder, .native = d->native};
  wk_file f;
  wk_status s = wk_file_map(path, &f);
  if (s) {
    wk_str_add(&r.complaint, s->message);
  } else {
    began = pace_seconds();
    hostile_feed(by, &r, f.data, f.size);
    wk_file_unmap(&f);
  }
  printf("%s: %s%s%s\n", path, r.accepted ? "accepted" : "refused", r.complaint.n ? ", " : "",
         r.complaint.n ? r.complaint.s : "");
  bool good = r.complaint.n == 0;
  wk_status_free(s);
  wk_str_free(&r.complaint);
  return good;
}

/* In this process: a debugger shows where it dies. */
static int feed_files(const driver *d, char **files, int n) {
  int bad = 0;
  const hostile_reader *by = hostile_reader_find(d->only ? d->only : "onnx");
  start_watching();
  for (int i = 0; i < n; i++) bad |= !feed_file(d, by, files[i]);
  return bad;
}

/* FOLDER/READER/0, 1, …: the seeds as files. */
static int write_seeds(const char *folder) {
  char path[512];
  wk_status s = NULL;
  for (size_t i = 0; i < HOSTILE_READERS && !s; i++) {
    if (!seeds[i].n) continue;
    snprintf(path, sizeof path, "%s/%s", folder, hostile_readers[i].name);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
      s = wk_error_at(WK_IO, path, "%s", strerror(errno));
    for (size_t k = 0; k < seeds[i].n && !s; k++) {
      wk_str file = {0};
      snprintf(path, sizeof path, "%s/%s/%zu", folder, hostile_readers[i].name, k);
      hostile_file_of(&hostile_readers[i], &seeds[i].data[k], k, &file);
      if (seeds[i].data[k].n) s = wk_write_file(path, file.s, file.n);
      wk_str_free(&file);
    }
  }
  if (s) wk_status_print(stderr, s);
  int result = s ? 1 : 0;
  wk_status_free(s);
  return result;
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
    else if (!strcmp(argv[i], "--write-seeds")) d->write_to = v;
    else return false;
  }
  *files = i;
  return i == argc || argv[i][0] != '-';
}

static void set_up(driver *d, bool makes_seeds) {
  const char *tmp = getenv("TMPDIR");
  if (!tmp || !*tmp) tmp = "/tmp";
  if (!d->keep) d->keep = tmp;
  snprintf(d->folder, sizeof d->folder, "%.40s/hostile-XXXXXX", tmp);
  if (!mkdtemp(d->folder)) abort();
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) abort();
  for (size_t i = 0; i < HOSTILE_READERS; i++) {
    if (d->only && strcmp(d->only, hostile_readers[i].name) != 0) continue;
    d->shares += hostile_readers[i].share;
    if (makes_seeds) hostile_readers[i].list(&seeds[i], d->folder);
  }
}

int main(int argc, char **argv) {
  driver d = {.seed = 1, .count = 4000, .native = 24};
  int files, result = 0;
  if (!parse_arguments(&d, argc, argv, &files)) return usage("wrong arguments");
  set_up(&d, files == argc);
  machine_pace(); /* for the children as well */
  if (d.shares == 0) return usage("no such reader");
  if (files < argc) {
    result = feed_files(&d, argv + files, argc - files);
  } else if (d.write_to) {
    result = write_seeds(d.write_to);
  } else if (d.count == 1) {
    feed_one(&d, d.from);
    printf("nothing to complain about\n");
  } else {
    run_all(&d);
    summary(&d);
    result = d.failures > 0;
  }
  for (size_t i = 0; i < HOSTILE_READERS; i++) {
    for (size_t k = 0; k < seeds[i].n; k++) wk_str_free(&seeds[i].data[k]);
    wk_vec_free(&seeds[i]);
  }
  (void)rmdir(d.folder);
  return result;
}
