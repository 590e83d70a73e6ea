/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC32C, reflected polynomial 0x82f63b78. The processor's instruction has a latency of three
 * cycles and a throughput of one, so three blocks run side by side. Their registers are joined by
 *   register(A then B) = register(A) * x^(8 |B|) + register(B from zero)   modulo the polynomial,
 * and so are the parts that several threads took. Where there is no instruction: slicing by eight,
 * its table made on the stack for each call. */
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "internal.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#define HARDWARE __attribute__((target("sse4.2")))
#define CRC64(crc, word) ((uint32_t)_mm_crc32_u64(crc, word))
#define CRC8(crc, byte) _mm_crc32_u8(crc, byte)
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#define HARDWARE __attribute__((target("+crc")))
#define CRC64(crc, word) __crc32cd(crc, word)
#define CRC8(crc, byte) __crc32cb(crc, byte)
#endif

#define POLYNOMIAL 0x82f63b78u

static uint64_t load64(const uint8_t *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

/* a * b modulo the polynomial; bit 31 is x^0. */
static uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if (a & bit) product ^= b;
    b = b & 1 ? (b >> 1) ^ POLYNOMIAL : b >> 1;
  }
  return product;
}

/* x^(8 bytes) modulo the polynomial. */
static uint32_t power(uint64_t bytes) {
  uint32_t result = 1u << 31, square = 1u << 23; /* x^0, x^8 */
  for (; bytes != 0; bytes >>= 1) {
    if (bytes & 1) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

#ifdef HARDWARE
enum { BLOCK = 16384 };

static bool has_hardware(void) {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
#else
  return getauxval(AT_HWCAP) & (1u << 7); /* HWCAP_CRC32 */
#endif
}

HARDWARE static uint32_t crc_hardware(uint32_t crc, const uint8_t *p, size_t size) {
  if (size >= 3 * BLOCK) {
    uint32_t one = power(BLOCK), two = multiply(one, one);
    for (; size >= 3 * BLOCK; size -= 3 * BLOCK, p += 3 * BLOCK) {
      uint32_t second = 0, third = 0;
      for (size_t i = 0; i < BLOCK; i += 8) {
        crc = CRC64(crc, load64(p + i));
        second = CRC64(second, load64(p + BLOCK + i));
        third = CRC64(third, load64(p + 2 * BLOCK + i));
      }
      crc = multiply(two, crc) ^ multiply(one, second) ^ third;
    }
  }
  for (; size >= 8; size -= 8, p += 8) crc = CRC64(crc, load64(p));
  for (; size > 0; size--, p++) crc = CRC8(crc, *p);
  return crc;
}
#endif

uint32_t wick_crc32c_portable(uint32_t crc, const void *data, size_t size) {
  const uint8_t *p = data;
  uint32_t table[8][256];
  crc = ~crc;
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++) c = c & 1 ? (c >> 1) ^ POLYNOMIAL : c >> 1;
    table[0][i] = c;
  }
  for (int k = 1; k < 8; k++)
    for (uint32_t i = 0; i < 256; i++)
      table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xff];
  for (; size >= 8; size -= 8, p += 8) {
    uint64_t word = load64(p) ^ crc;
    crc = 0;
    for (int k = 0; k < 8; k++) crc ^= table[7 - k][word >> (8 * k) & 0xff];
  }
  for (; size > 0; size--, p++) crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
  return ~crc;
}

uint32_t wick_crc32c(uint32_t crc, const void *data, size_t size) {
#ifdef HARDWARE
  if (has_hardware()) return ~crc_hardware(~crc, data, size);
#endif
  return wick_crc32c_portable(crc, data, size);
}

/* ---- large pieces: memory bandwidth needs more than one core ---- */

enum { MAX_PARTS = 4, LEAST_PART = 8 << 20 };

typedef struct {
  const uint8_t *data;
  size_t size;
  uint32_t crc;
  pthread_t thread;
  bool started;
} part;

static void *sum_part(void *arg) {
  part *p = arg;
  p->crc = wick_crc32c(0, p->data, p->size);
  return NULL;
}

uint32_t wick_crc32c_parallel(const void *data, size_t size) {
  part parts[MAX_PARTS] = {{0}};
  size_t count = size / LEAST_PART;
  if (count < 2) return wick_crc32c(0, data, size);
  size_t processors = wick_processors();
  if (count > MAX_PARTS) count = MAX_PARTS;
  if (count > processors) count = processors;
  if (count < 2) return wick_crc32c(0, data, size);
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  for (size_t i = 0; i < count; i++) {
    size_t begin = size / count * i, end = i + 1 == count ? size : size / count * (i + 1);
    parts[i].data = (const uint8_t *)data + begin;
    parts[i].size = end - begin;
    if (i > 0)
      parts[i].started = pthread_create(&parts[i].thread, NULL, sum_part, &parts[i]) == 0;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  uint32_t crc = 0;
  for (size_t i = 0; i < count; i++) {
    if (parts[i].started)
      pthread_join(parts[i].thread, NULL);
    else
      sum_part(&parts[i]);
    crc = multiply(power(parts[i].size), crc) ^ parts[i].crc;
  }
  return crc;
}
