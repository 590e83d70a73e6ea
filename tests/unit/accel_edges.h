/* SPDX-License-Identifier: Apache-2.0
 * Texts of parts for the accelerator: how a graph begins and ends at the edges of a part. */
#ifndef WICK_TEST_ACCEL_EDGES_H
#define WICK_TEST_ACCEL_EDGES_H

/* What edges bring and take: blocks of as many channels as the array has lanes. */
#define IN(blocks, lanes, c, hw)                                                                 \
  "(%i: i8[1," blocks "," hw "," lanes "]) {\n"                                                  \
  "  %t = transpose(%i) {perm=[0,1,4,2,3]} : i8[1," blocks "," lanes "," hw "]\n"                \
  "  %x = reshape(%t) {shape=[1," c "," hw "]} : i8[1," c "," hw "]\n"
#define OUT(z, blocks, lanes, hw)                                                                \
  "  %r = reshape(%" z ") {shape=[1," blocks "," lanes "," hw "]} : i8[1," blocks "," lanes ","  \
  hw "]\n  %y = transpose(%r) {perm=[0,1,3,4,2]} : i8[1," blocks "," hw "," lanes "]\n"

#endif
