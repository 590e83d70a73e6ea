// SPDX-License-Identifier: Apache-2.0
// What the parts of the execute engine share: the control record that every command is decoded
// into, and the widths of the datapath.
package wick_exec_pkg;
  // One command. CONV, DWC and MM differ only in what wick_exec_decode writes here.
  typedef struct packed {
    logic [19:0] index;       // in the stream, for errors
    // where inputs lie; see wick_window
    logic signed [21:0] in;
    logic [19:0] in_y;        // to the next output row
    logic [15:0] in_x;        // to the next output column (dwc with three taps: word)
    logic [19:0] k_y;
    logic [16:0] k_x;         // to the next tile of a kernel row
    logic [19:0] k_c;
    logic [11:0] ny;
    logic [9:0]  nx;          // positions of a row: columns, or words with three taps
    logic [5:0]  ky;
    logic [5:0]  kx;
    logic [1:0]  taps;        // kernel columns of a tile
    logic [8:0]  kc;
    logic [5:0]  pad_t;
    logic [5:0]  pad_l;
    logic [9:0]  h;
    logic [9:0]  w;
    logic [3:0]  sy;
    logic [3:0]  sx;          // of positions
    logic [4:0]  dy;
    logic [6:0]  dx;          // of tiles
    logic        row_two;     // three taps: an output column every second word
    logic        dwc;
    logic        three;
    // what is computed with them
    logic [5:0]  lanes;       // input lanes of every block but the last
    logic [5:0]  tail;        // of the last
    logic [7:0]  zero;
    logic        u8;
    logic [19:0] wt;
    logic [19:0] w_c;         // to the next tile
    logic [19:0] w_r;         // to the next line of a tile
    logic        by_block;    // tiles advance by w_c only with the block (there is one a block)
    logic        column;      // a line is a column of the tile
    logic        transposed;
    logic [7:0]  w_zero;
    logic        w_u8;
    // sums and drain
    logic [11:0] acc;
    logic        accumulate;
    logic        drain;
    logic        residual;
    logic [8:0]  out_nx;
    logic [19:0] out;
    logic [19:0] out_y;
    logic [7:0]  out_x;
    logic [19:0] par;
    logic [19:0] res;
    logic [5:0]  n;
  } ctrl_t;

  // Operands have 9 bits, a product 17 and a sum of 32 of them 22, all signed. Simulators are
  // several times faster with words of 32 bits, where the upper ones only repeat the sign: models
  // are built with WICK_WIDE, the benches of the engines and the netlist without.
`ifdef WICK_WIDE
  localparam int unsigned OperandW = 32;
  localparam int unsigned ProductW = 32;
  localparam int unsigned SumW = 32;
`else
  localparam int unsigned OperandW = 9;
  localparam int unsigned ProductW = 17;
  localparam int unsigned SumW = 22;
`endif

  // A value that travels with the words of the array to the accumulators.
  typedef struct packed {
    logic        last;        // last sum of the command
    logic        first;       // the entry starts at 0
    logic [17:0] entry;
  } tag_t;
endpackage
