// SPDX-License-Identifier: Apache-2.0
// Fetches the parameter record of a draining command ahead of its drain, into one of two buffers.
//
//   valid_i, ready_o   takes a command; load_i: it has a record, at par_i with n_i entries
//   done_o             its record is in rec_o's buffer `fill_o` (at once without load_i); bytes are
//                      there in the cycle after. It stays so until take_i, which frees the stage
//                      for the next command; with a record the next one goes to the other buffer.
//   free_i             the buffer that the next record goes to is not in use any more
//   rec_o              both buffers: 32 + 8N bytes each
module wick_drain_params #(
  parameter int unsigned N = 16,
  parameter int unsigned ScratchpadBytes = 262144,
  localparam int unsigned RecW = 8 * (32 + 8 * N)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              clear_i,
  input  logic              halt_i,

  input  logic              valid_i,
  output logic              ready_o,
  input  logic              load_i,
  input  logic [19:0]       par_i,
  input  logic [5:0]        n_i,
  output logic              done_o,
  input  logic              take_i,
  input  logic              free_i,
  output logic              fill_o,
  output logic [2*RecW-1:0] rec_o,

  output logic              req_o,
  output logic [19:0]       addr_o,
  output logic [N-1:0]      be_o,
  input  logic              gnt_i,
  input  logic [8*N-1:0]    rdata_i,
  output logic              range_o
);
  localparam int unsigned Log2N = $clog2(N);
  localparam int unsigned Words = RecW / (8 * N);
  localparam int unsigned WordW = $clog2(Words);

  logic busy_q, load_q, loaded_q, fill_q;
  logic [20:0] addr_q;
  logic [9:0] left_q; // bytes still to be asked for
  logic [WordW-1:0] word_q;
  logic last, active, step;
  logic [9:0] bytes;

  assign last = left_q <= 10'(N);
  assign bytes = last ? left_q : 10'(N);
  assign active = busy_q && load_q && !loaded_q && free_i && !halt_i;
  // Records begin at a multiple of N: their words never lie across the end.
  assign range_o = active && {1'b0, addr_q} + 22'(bytes) > 22'(ScratchpadBytes);
  assign req_o = active && !range_o;
  assign step = req_o && gnt_i;
  assign addr_o = addr_q[19:0];
  assign be_o = N'((33'd1 << bytes[Log2N:0]) - 33'd1);
  assign ready_o = !busy_q;
  assign done_o = busy_q && (!load_q || loaded_q);
  assign fill_o = fill_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      loaded_q <= 1'b0;
      fill_q <= 1'b0;
    end else if (clear_i) begin
      busy_q <= 1'b0;
      loaded_q <= 1'b0;
      fill_q <= 1'b0;
    end else begin
      if (valid_i && ready_o) busy_q <= 1'b1;
      else if (take_i) busy_q <= 1'b0;
      if (step && last) loaded_q <= 1'b1;
      else if (take_i) loaded_q <= 1'b0;
      if (take_i && load_q) fill_q <= !fill_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) begin
      load_q <= load_i;
      addr_q <= {1'b0, par_i};
      left_q <= 10'd32 + {1'b0, n_i, 3'b0};
      word_q <= '0;
    end else if (step) begin
      addr_q <= addr_q + 21'(N);
      left_q <= left_q - 10'(N);
      word_q <= word_q + WordW'(1);
    end
  end

  logic write_q;
  logic [WordW:0] write_word_q;
  logic [2*RecW-1:0] rec_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) write_q <= 1'b0;
    else write_q <= step && !clear_i;
  end
  always_ff @(posedge clk_i) begin
    if (step) write_word_q <= {fill_q, word_q};
    if (write_q) begin
      for (int unsigned k = 0; k < 2 * Words; k++) begin
        if (write_word_q == {k >= Words, WordW'(k % Words)}) rec_q[8*N*k +: 8*N] <= rdata_i;
      end
    end
  end
  assign rec_o = rec_q;
endmodule
