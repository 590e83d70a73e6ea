/* SPDX-License-Identifier: Apache-2.0
 * Programs that a build of a model runs: started without a shell, their output in a log. */
#include "sim/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static wk_status start(const char *const *argv, const char *log, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0666);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  int e = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (e == ENOENT)
    return wk_error(WK_IO, "'%s' is not installed; the RTL model needs it (scripts/install)",
                    argv[0]);
  return e ? wk_error(e == ENOMEM ? WK_RESOURCE : WK_IO, "cannot start '%s': %s", argv[0],
                      strerror(e))
           : NULL;
}

enum { LOG_LINES = 12 };

/* The last lines of a log, each of which ends, as items of the message. */
static wk_status with_log(wk_status s, const char *log) {
  wk_file f;
  wk_status unread = wk_file_map(log, &f);
  if (unread) {
    wk_status_free(unread);
    return s;
  }
  size_t from = f.size;
  for (int lines = 0; from > 0; from--) {
    lines += f.data[from - 1] == '\n';
    if (lines > LOG_LINES) break;
  }
  while (from < f.size) {
    const uint8_t *end = memchr(f.data + from, '\n', f.size - from);
    size_t n = end ? (size_t)(end - f.data) - from : f.size - from;
    s = wk_status_item(s, "%.*s", (int)n, (const char *)f.data + from);
    from += n + 1;
  }
  wk_file_unmap(&f);
  return s;
}

/* The tool may have had no space, and so has its log: a file beside it is tried. 0: there is. */
static int lack_of_space(const char *log) {
  static const char blank[1 << 16];
  char *path = NULL;
  if (asprintf(&path, "%s.probe", log) < 0) return ENOMEM;
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), error = fd < 0 ? errno : 0;
  for (size_t done = 0; !error && done < sizeof blank;) {
    ssize_t n = write(fd, blank + done, sizeof blank - done);
    if (n > 0) done += (size_t)n;
    else if (n == 0 || errno != EINTR) error = n ? errno : ENOSPC;
  }
  if (fd >= 0) {
    close(fd);
    unlink(path);
  }
  free(path);
  return error == ENOSPC || error == EDQUOT || error == EFBIG ? error : 0;
}

/* What a tool that had space for its log has said, or what it runs: 0, or an error. */
static int said_what_it_lacks(const char *log) {
  const struct { int error; const char *text; } said[] = {
      {ENOSPC, strerror(ENOSPC)},   {EDQUOT, strerror(EDQUOT)},
      {EFBIG, strerror(EFBIG)},     {ENOMEM, strerror(ENOMEM)},
      {ENOMEM, "std::bad_alloc"},   {ENOMEM, "out of memory"},
      {ENOMEM, "Out of memory"},    {ENOMEM, "memory exhausted"},
      {ENOMEM, "Killed signal"},    {ENOMEM, "failed to map segment"}};
  wk_file f;
  int found = 0;
  wk_status unread = wk_file_map(log, &f);
  wk_status_free(unread);
  for (size_t i = 0; !unread && i < WK_COUNTOF(said) && !found; i++)
    if (memmem(f.data, f.size, said[i].text, strlen(said[i].text))) found = said[i].error;
  if (!unread) wk_file_unmap(&f);
  return found;
}

/* A system without memory kills; a shell says so of what it ran. */
static bool was_killed(int state) {
  return WIFSIGNALED(state) ? WTERMSIG(state) == SIGKILL : WEXITSTATUS(state) == 128 + SIGKILL;
}

static wk_status refuse(const char *tool, int state, const char *log) {
  int error = lack_of_space(log);
  if (!error) error = was_killed(state) ? ENOMEM : said_what_it_lacks(log);
  wk_code code = error == ENOMEM ? WK_RESOURCE : error ? WK_IO : WK_INPUT;
  wk_status s = error ? wk_error(code, "%s failed: %s:", tool, strerror(error))
                      : wk_error(code, "%s failed:", tool);
  return with_log(s, log);
}

wk_status wk_sim_tool_run(const char *const *argv, const char *log, void (*tick)(const void *),
                          const void *context) {
  pid_t pid;
  int state = 0;
  WK_TRY(start(argv, log, &pid));
  while (waitpid(pid, &state, WNOHANG) == 0) {
    tick(context);
    usleep(100000);
  }
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return NULL;
  return refuse(argv[0], state, log);
}

void wk_sim_tool_run_quietly(const char *const *argv) {
  pid_t pid;
  wk_status s = start(argv, "/dev/null", &pid);
  if (!s) waitpid(pid, NULL, 0);
  wk_status_free(s);
}
