/* SPDX-License-Identifier: Apache-2.0
 * cache: programs as their drivers compiled them, in the folder "opencl" of $WICK_CACHE, else of
 * $XDG_CACHE_HOME/wick, else of ~/.cache/wick. Private to runtime/opencl.
 *
 * A file is named by a hash (128 bits, FNV-1a) of platform, device, its driver, options and the
 * source of a piece, and begins with all of that but the source, of which it has length and CRC32C.
 * What is damaged or of something else, or that somebody else may have written (runtime/trusted.h),
 * like folders that are not ours alone, is as good as not there: the cache never fails. Files are
 * replaced as a whole, so that any number of processes may use it.
 *
 * Most drivers have a cache of their own, and for those of processors it is much work to give a
 * binary. There it is asked for when a program was built slowly once more, which the file with the
 * suffix ".ms", the time of the unit's first build, tells; elsewhere when it was built slowly.
 * WICK_OPENCL_CACHE=yes asks at once, =no never. */
#ifndef WICK_OPENCL_CACHE_H
#define WICK_OPENCL_CACHE_H

#include "unit.h"

#define WICK_CL_CACHE_MAGIC "WICKCL1"
enum { WICK_CL_CACHE_KEY = 512 };

/* What a file begins with; the driver's binary follows. */
typedef struct {
  char magic[8];
  char key[WICK_CL_CACHE_KEY]; /* platform, device, version, driver, options: lines */
  uint64_t source_size, binary_size;
  uint32_t source_crc, binary_crc;
} wick_cl_cache_header;

/* The unit's file with that suffix, in a folder that has been made. False: there is no folder, or
 * the path is too long. */
bool wick_cl_cache_path(const wick_cl_unit *u, const char *suffix, char *path, size_t size);

/* Sets the piece's program to the one of the cache, built. False: it has none that is good. */
bool wick_cl_cache_load(const wick_cl_unit *u, wick_cl_piece *piece);
/* Whether programs that have been built in so many milliseconds shall be kept. */
bool wick_cl_cache_wants(const wick_cl_unit *u, uint64_t took);
/* Keeps the piece's program, if that is possible and it is not from there. */
void wick_cl_cache_store(wick_cl_unit *u, wick_cl_piece *piece);

#endif
