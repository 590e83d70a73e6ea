/* SPDX-License-Identifier: Apache-2.0
 * Two streams for tests/accel_package.h, 1024 bytes in and out: a product with 8 x 8 weights in two
 * tiles, and a copy through `work`. */
#ifndef WICK_TESTS_ACCEL_STREAMS_H
#define WICK_TESTS_ACCEL_STREAMS_H

static const char accel_product[] =
    ".machine tiny\n"
    ".memory constants 0x4000 N*N+32+8*N\n"
    ".memory x 0x1000 128*N\n"
    ".memory y 0x8000 128*N\n"
    ".random constants 2\n"
    ".words constants N*N 0 0 0 0 0 0 0 0\n"
    ".record constants N*N\n"
    ".for i 0 N\n"
    "  .entry constants N*N i bias=i*10 scale=0.01\n"
    ".end\n"
    ".output y\n"
    "w:    ld.ld1 dram=constants n0=N*N spm=0 c0=N*N op=1\n"
    "p:    ld.ld1 dram=constants+N*N n0=32+8*N spm=0x400 c0=32+8*N op=1\n"
    ".for i 0 2\n"
    "x{i}: ld.ld0 dram=x+i*64*N n0=64*N spm=0x1000*(i+1) c0=64*N op=i+1\n"
    "c{i}: conv in=0x1000*(i+1) in_x=N nx=64 wt=0 acc=64*i drain out=0x8000+i*64*N out_x=N"
    " par=0x400 op=i+1  wait x{i} w p\n"
    "      st dram=y+i*64*N n0=64*N spm=0x8000+i*64*N c0=64*N op=i+1  wait c{i}\n"
    "      mark row=i op=i+1 wait st:i+1\n"
    ".end\n"
    "end\n";

static const char accel_copy[] =
    ".machine tiny\n"
    ".memory x 0x1000 128*N\n"
    ".memory work 0x4000 128*N\n"
    ".memory y 0x8000 128*N\n"
    ".output y\n"
    "a: ld.ld0 dram=x n0=128*N spm=0 c0=128*N op=1\n"
    "b: st dram=work n0=128*N spm=0 c0=128*N op=1  wait a\n"
    "c: ld.ld0 dram=work n0=128*N spm=0x1000 c0=128*N op=1  wait b\n"
    "   st dram=y n0=128*N spm=0x1000 c0=128*N op=1  wait c\n"
    "end\n";

#endif
