/* SPDX-License-Identifier: Apache-2.0
 * crc32c: the checksum of packages and streams, for the runtime and for who writes them. */
#ifndef WICK_CRC32C_H
#define WICK_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC32C (Castagnoli); start with 0, feed the result back in for the next piece. */
uint32_t wick_crc32c(uint32_t crc, const void *data, size_t size);
/* The same without the processor's instruction. */
uint32_t wick_crc32c_portable(uint32_t crc, const void *data, size_t size);
/* From 0, by a few threads when the data is large. */
uint32_t wick_crc32c_parallel(const void *data, size_t size);

#endif
