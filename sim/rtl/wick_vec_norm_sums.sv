// SPDX-License-Identifier: Apache-2.0
// Sum and sum of squares of a row. en_i: the first bytes_i numbers of diff_i belong to it; first_i:
// a row starts; last_i: it ends, and 3 cycles later done_o pulses with sum_o (0 with centred_i) and
// squares_o. Three stages: squares and the sum of a word; the sum of its squares; both added up.
module wick_vec_norm_sums #(
  parameter int unsigned N = 16
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            clear_i,
  input  logic            en_i,
  input  logic            first_i,
  input  logic            last_i,
  input  logic            centred_i,
  input  logic [5:0]      bytes_i,
  input  logic [10*N-1:0] diff_i,
  output logic            done_o,
  output logic [23:0]     sum_o,      // signed
  output logic [31:0]     squares_o
);
  logic            en1_q, en2_q, first1_q, first2_q, last1_q, last2_q, done_q;
  logic [9:0]      value_v;
  logic [20*N-1:0] squares_q, squares_d;
  logic [31:0]     words_q, words_d, total_q;
  logic [15:0]     word_q, word_d;
  logic [23:0]     sum_q;
  logic [32*N-1:0] tree_v;  // node i is the sum of nodes 2i and 2i + 1; leaves follow them
  logic [16*N-1:0] small_v;

  always_comb begin
    squares_d = '0;
    word_d = '0;
    value_v = '0;
    small_v = '0;
    if (en_i) begin
      for (int unsigned i = 0; i < N; i++) begin
        value_v = 6'(i) < bytes_i ? diff_i[10*i+:10] : '0;
        squares_d[20*i+:20] = 20'($signed(value_v)) * 20'($signed(value_v));
      end
      for (int unsigned i = 0; i < N / 2; i++) begin
        small_v[16*(N/2+i)+:16] =
            (6'(2 * i) < bytes_i ? 16'($signed(diff_i[20*i+:10])) : '0) +
            (6'(2 * i + 1) < bytes_i ? 16'($signed(diff_i[20*i+10+:10])) : '0);
      end
      for (int unsigned i = N / 2 - 1; i > 0; i--)
        small_v[16*i+:16] = small_v[32*i+:16] + small_v[32*i+16+:16];
      word_d = small_v[16+:16];
    end
  end

  always_comb begin
    words_d = '0;
    tree_v = '0;
    if (en1_q) begin
      for (int unsigned i = 0; i < N / 2; i++)
        tree_v[32*(N/2+i)+:32] = {12'b0, squares_q[40*i+:20]} + {12'b0, squares_q[40*i+20+:20]};
      for (int unsigned i = N / 2 - 1; i > 0; i--)
        tree_v[32*i+:32] = tree_v[64*i+:32] + tree_v[64*i+32+:32];
      words_d = tree_v[32+:32];
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      en1_q <= 1'b0;
      en2_q <= 1'b0;
      done_q <= 1'b0;
    end else begin
      en1_q <= en_i & ~clear_i;
      en2_q <= en1_q & ~clear_i;
      done_q <= en2_q & last2_q & ~clear_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i) begin
      squares_q <= squares_d;
      word_q <= centred_i ? '0 : word_d;
      first1_q <= first_i;
      last1_q <= last_i;
    end
    if (en1_q) begin
      words_q <= words_d;
      sum_q <= (first1_q ? '0 : sum_q) + {{8{word_q[15]}}, word_q};
      first2_q <= first1_q;
      last2_q <= last1_q;
    end
    if (en2_q) total_q <= (first2_q ? '0 : total_q) + words_q;
  end

  assign done_o = done_q;
  assign sum_o = sum_q;
  assign squares_o = total_q;
endmodule
