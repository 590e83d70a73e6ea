// SPDX-License-Identifier: Apache-2.0
// The tables, 256 bytes each, with N look-ups a cycle; a wrapper that macros can replace (N copies
// of a 256 x 8 memory for each table). read_i: in the next cycle data_o holds for every lane the
// byte of table table_i that its byte of index_i names; with three_i those of the two tables behind
// it above it, otherwise 0. It stays until the next read. write_i: word write_word_i, N bytes, of
// table write_table_i. Never both.
module wick_vec_tables #(
  parameter int unsigned N = 16,
  parameter int unsigned Tables = 8
) (
  input  logic                 clk_i,
  input  logic                 write_i,
  input  logic [3:0]           write_table_i,
  input  logic [7-$clog2(N):0] write_word_i,
  input  logic [8*N-1:0]       write_data_i,
  input  logic                 read_i,
  input  logic [3:0]           table_i,
  input  logic                 three_i,
  input  logic [8*N-1:0]       index_i,
  output logic [24*N-1:0]      data_o
);
  localparam int unsigned LogN = $clog2(N);
  localparam int unsigned Words = 256 / N;

  logic [8*N-1:0]  mem_q[Words*Tables];
  logic [24*N-1:0] data_q, data_d;
  logic [7:0]      byte_v;

  always_comb begin
    data_d = '0;
    byte_v = '0;
    if (read_i) begin
      for (int unsigned t = 0; t < Tables; t++) begin
        if (t == 32'(table_i) ||
            (three_i && (t == 32'(table_i) + 1 || t == 32'(table_i) + 2))) begin
          for (int unsigned i = 0; i < N; i++) begin
            byte_v = mem_q[t*Words+32'(index_i[8*i+LogN+:8-LogN])][8*index_i[8*i+:LogN]+:8];
            if (t == 32'(table_i)) data_d[24*i+:8] = byte_v;
            else if (t == 32'(table_i) + 1) data_d[24*i+8+:8] = byte_v;
            else data_d[24*i+16+:8] = byte_v;
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (write_i) mem_q[32'(write_table_i)*Words+32'(write_word_i)] <= write_data_i;
    if (read_i) data_q <= data_d;
  end

  assign data_o = data_q;
endmodule
