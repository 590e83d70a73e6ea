/* SPDX-License-Identifier: Apache-2.0
 * Where the RTL and the bench are: CMake says where an installation has them, counted from the
 * folder of the program or library with this code (WICK_SIM_INSTALLED), and where they come from
 * (WICK_SIM_SOURCES), for a program that is not installed. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/build.h"

static const char here; /* in the program or library that it is about */

/* The file that this code was loaded from, without links; NULL: not known. */
static char *own_file(void) {
  Dl_info info;
  struct link_map *map = NULL;
  char folder[PATH_MAX];
  wk_str path = {0};
  if (!dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
    return NULL;
  if (!*map->l_name) return realpath("/proc/self/exe", NULL);
  if (dlinfo(map, RTLD_DI_ORIGIN, folder) != 0) return NULL;
  const char *slash = strrchr(map->l_name, '/');
  wk_str_printf(&path, "%s/%s", folder, slash ? slash + 1 : map->l_name);
  char *file = realpath(path.s, NULL);
  wk_str_free(&path);
  return file;
}

void wk_sim_root(wk_str *out) {
  char *file = own_file(), *slash = file ? strrchr(file, '/') : NULL;
  if (slash) {
    wk_str path = {0};
    wk_str_printf(&path, "%.*s/" WICK_SIM_INSTALLED "/sim/rtl", (int)(slash - file), file);
    char *rtl = realpath(path.s, NULL);
    if (rtl) wk_str_printf(out, "%.*s", (int)(strlen(rtl) - strlen("/sim/rtl")), rtl);
    wk_str_free(&path);
    free(rtl);
  }
  free(file);
  if (!out->n) wk_str_add(out, WICK_SIM_SOURCES);
}
