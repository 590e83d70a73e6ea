/* SPDX-License-Identifier: Apache-2.0
 * What a file is that somebody took for another kind of file. */
#include <string.h>

#include "compiler/onnx/import/model.h"
#include "runtime/abi.h"

static const struct {
  const char *magic;
  size_t n, offset;
  const char *name;
} kinds[] = {
    {WICK_MAGIC, sizeof WICK_MAGIC, 0, "a Wick package"},
    {"\x93NUMPY", 6, 0, "a NumPy array (.npy)"},
    {"PK\x03\x04", 4, 0, "a ZIP archive (such as .npz, .pt or .keras)"},
    {"\x1f\x8b", 2, 0, "gzip-compressed"},
    {"BZh", 3, 0, "bzip2-compressed"},
    {"\xfd" "7zXZ", 5, 0, "xz-compressed"},
    {"\x28\xb5\x2f\xfd", 4, 0, "zstd-compressed"},
    {"ustar", 5, 257, "a tar archive"},
    {"\x89HDF\r\n\x1a\n", 8, 0, "an HDF5 file (such as .h5)"},
    {"TFL3", 4, 4, "a TensorFlow Lite model"},
    {"ORTM", 4, 4, "an ONNX Runtime model (.ort)"},
    {"GGUF", 4, 0, "a GGUF model"},
    {"\x80\x02", 2, 0, "a Python pickle"},
    {"\x80\x03", 2, 0, "a Python pickle"},
    {"\x80\x04", 2, 0, "a Python pickle"},
    {"\x80\x05", 2, 0, "a Python pickle"},
    {"\x89PNG\r\n\x1a\n", 8, 0, "a PNG image"},
    {"\xff\xd8\xff", 3, 0, "a JPEG image"},
    {"GIF8", 4, 0, "a GIF image"},
    {"RIFF", 4, 0, "a RIFF file (WebP, WAV or AVI)"},
    {"%PDF-", 5, 0, "a PDF document"},
    {"\x7f" "ELF", 4, 0, "an ELF object or program"},
    {"#!", 2, 0, "a script"},
    {"version https://git-lfs", 23, 0, "a Git LFS pointer, not the file itself"},
};

/* Letters, and no byte that text does not have. */
static bool is_text(const uint8_t *p, size_t n) {
  size_t letters = 0, end = n < 512 ? n : 512;
  for (size_t i = 0; i < end; i++) {
    bool is_control = p[i] < 0x20 && !(p[i] == '\n' || p[i] == '\r' || p[i] == '\t');
    if (is_control || p[i] == 0x7f) return false;
    letters += (p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'z';
  }
  return end >= 4 && 2 * letters >= end / 2;
}

const char *wk_file_kind(const uint8_t *data, size_t n) {
  for (size_t i = 0; i < WK_COUNTOF(kinds); i++)
    if (n >= kinds[i].offset + kinds[i].n &&
        memcmp(data + kinds[i].offset, kinds[i].magic, kinds[i].n) == 0)
      return kinds[i].name;
  return is_text(data, n) ? "text" : NULL;
}
