/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/paths.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A file that exists is known by itself, one that does not by its folder and its name there. */
struct wk_path_use {
  const char *what, *path;
  bool is_written;
  dev_t device;
  ino_t number;
  char *name; /* in the folder; NULL: the file exists */
};

static bool locate_new(const char *path, wk_path_use *out) {
  struct stat st;
  char *place = wk_out_place(path);
  if (!place) return false;
  char *slash = strrchr(place, '/');
  char *name = wk_xstrdup(slash ? slash + 1 : place);
  if (slash) slash[1] = '\0';
  bool known = stat(slash ? place : ".", &st) == 0;
  free(place);
  if (known) {
    out->device = st.st_dev;
    out->number = st.st_ino;
    out->name = name;
  } else {
    free(name);
  }
  return known;
}

static void add(wk_paths *p, const char *what, const char *path, bool is_written) {
  wk_path_use u = {.what = what, .path = path, .is_written = is_written};
  struct stat st;
  if (!path || !*path || (is_written && !strcmp(path, "-"))) return;
  if (stat(path, &st) == 0) {
    if (!S_ISREG(st.st_mode)) return;
    u.device = st.st_dev;
    u.number = st.st_ino;
  } else if (!is_written || !locate_new(path, &u)) {
    return;
  }
  wk_vec_push(&p->uses, u);
}

void wk_paths_read(wk_paths *p, const char *what, const char *path) { add(p, what, path, false); }
void wk_paths_write_in(wk_paths *p, const char *what, const char *path) {
  add(p, what, path, true);
}
void wk_paths_write(wk_paths *p, const char *what, const char *path) {
  add(p, what, path, true);
  if (path && *path) wk_vec_push(&p->files, path);
}
void wk_paths_folder(wk_paths *p, const char *folder) {
  if (folder) wk_vec_push(&p->folders, folder);
}

void wk_paths_read_named(wk_paths *p, const char *what, const wk_strings *args) {
  for (size_t i = 0; i < args->n; i++) {
    const char *equals = strchr(args->data[i], '=');
    if (equals) wk_paths_read(p, what, equals + 1);
  }
}

static bool collide(const wk_path_use *a, const wk_path_use *b) {
  if (a->number != b->number || a->device != b->device || !a->name != !b->name) return false;
  if (a->name && strcmp(a->name, b->name) != 0) return false;
  return a->is_written != b->is_written || strcmp(a->what, b->what) != 0;
}

static wk_status refuse(const wk_path_use *a, const wk_path_use *b) {
  const wk_path_use *by = b->is_written ? b : a, *of = by == a ? b : a;
  bool is_option = !strncmp(of->what, "--", 2);
  return wk_error_at(WK_USAGE, by->path, "%s would overwrite %s%s", by->what,
                     is_option ? "the file of " : "", of->what);
}

wk_status wk_paths_check(wk_paths *p) {
  wk_status s = NULL;
  for (size_t i = 0; i < p->uses.n; i++) {
    const wk_path_use *a = &p->uses.data[i];
    for (size_t k = 0; k < i && !s; k++) {
      const wk_path_use *b = &p->uses.data[k];
      if ((a->is_written || b->is_written) && collide(a, b)) s = refuse(b, a);
    }
  }
  for (size_t i = 0; i < p->files.n && !s; i++) s = wk_out_check(p->files.data[i]);
  for (size_t i = 0; i < p->folders.n && !s; i++) s = wk_out_check_folder(p->folders.data[i]);
  for (size_t i = 0; i < p->uses.n; i++) free(p->uses.data[i].name);
  wk_vec_free(&p->uses);
  wk_vec_free(&p->files);
  wk_vec_free(&p->folders);
  return s;
}
