// SPDX-License-Identifier: Apache-2.0
// One table of 256 bytes with N look-ups a cycle; a wrapper that a macro can replace (N copies of a
// 256 x 8 memory, or one register file). read_i: data_o in the next cycle holds, for every lane, the
// byte that its byte of index_i names; it stays until the next read. write_i: word word_i, N bytes,
// is written. Never both.
module wick_vec_table #(
  parameter int unsigned N = 16
) (
  input  logic                       clk_i,
  input  logic                       write_i,
  input  logic [7-$clog2(N):0]       word_i,
  input  logic [8*N-1:0]             data_i,
  input  logic                       read_i,
  input  logic [8*N-1:0]             index_i,
  output logic [8*N-1:0]             data_o
);
  logic [7:0]     mem_q[256];
  logic [8*N-1:0] data_q;

  always_ff @(posedge clk_i) begin
    if (write_i) begin
      for (int unsigned i = 0; i < N; i++) mem_q[8'(word_i) * 8'(N) + 8'(i)] <= data_i[8*i+:8];
    end else if (read_i) begin
      for (int unsigned i = 0; i < N; i++) data_q[8*i+:8] <= mem_q[index_i[8*i+:8]];
    end
  end

  assign data_o = data_q;
endmodule
