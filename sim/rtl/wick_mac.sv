// SPDX-License-Identifier: Apache-2.0
// The array: N x N multipliers. In a cycle it takes a word of N inputs and makes N dot products of
// it with the N rows of weights; depthwise, row o works on lane o of the last three words instead.
// Nothing here ever waits.
//
//   cycle 1  word_valid_i: the word's bytes arrive on word_i. swap_i: from this word on the weights
//            are those on tile_i. emit_i: dot products are wanted (three words of a window make one
//            output). The other inputs belong to the same word.
//   cycle 2  products               (busy_o, of a word with emit_i)
//   cycle 3  sums of four products
//   cycle 4  sums of a row          (pre_valid_o, pre_tag_o)
//   cycle 5  sums_o, tag_o          (valid_o)
module wick_mac #(
  parameter int unsigned N = 16,
  localparam int unsigned OperandW = wick_exec_pkg::OperandW,
  localparam int unsigned ProductW = wick_exec_pkg::ProductW,
  localparam int unsigned SumW = wick_exec_pkg::SumW
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    clear_i,

  input  logic                    word_valid_i,
  input  logic [8*N-1:0]          word_i,
  input  logic [N-1:0]            mask_i,   // lanes that are not 0
  input  logic                    u8_i,
  input  logic [7:0]              zero_i,
  input  logic                    dwc_i,
  input  logic                    clear_window_i, // the words before this one count as 0
  input  logic                    swap_i,
  input  logic [N*N*OperandW-1:0] tile_i,
  input  logic                    emit_i,
  input  wick_exec_pkg::tag_t     tag_i,

  output logic                    busy_o,
  output logic                    empty_o,
  output logic                    pre_valid_o,
  output wick_exec_pkg::tag_t     pre_tag_o,
  output logic                    valid_o,
  output wick_exec_pkg::tag_t     tag_o,
  output logic [N*SumW-1:0]       sums_o
);
  localparam int unsigned Quads = N / 4; // sums of four of a row

  logic [4:2] valid_q;
  logic valid5_q;
  wick_exec_pkg::tag_t tag2_q, tag3_q, tag4_q, tag5_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      valid5_q <= 1'b0;
    end else if (clear_i) begin
      valid_q <= '0;
      valid5_q <= 1'b0;
    end else begin
      valid_q <= {valid_q[3:2], word_valid_i && emit_i};
      valid5_q <= valid_q[4];
    end
  end
  always_ff @(posedge clk_i) begin
    if (word_valid_i) tag2_q <= tag_i;
    if (valid_q[2]) tag3_q <= tag2_q;
    if (valid_q[3]) tag4_q <= tag3_q;
    if (valid_q[4]) tag5_q <= tag4_q;
  end

  assign busy_o = valid_q[2];
  assign empty_o = valid_q == '0 && !valid5_q;
  assign pre_valid_o = valid_q[4];
  assign pre_tag_o = tag4_q;
  assign valid_o = valid5_q;
  assign tag_o = tag5_q;

  // ---- cycle 1: operands ----------------------------------------------------------------------
  logic [N*N*OperandW-1:0] weights_q;
  logic [N*OperandW-1:0] x_q, before_q, oldest_q; // before_q and oldest_q: depthwise
  logic dwc_q;

  always_ff @(posedge clk_i) begin
    if (word_valid_i) begin
      dwc_q <= dwc_i;
      for (int unsigned i = 0; i < N; i++) begin
        x_q[i*OperandW +: OperandW] <= !mask_i[i] ? '0 :
            OperandW'(signed'({!u8_i && word_i[8*i+7], word_i[8*i +: 8]})) -
            OperandW'(signed'({!u8_i && zero_i[7], zero_i}));
      end
      if (dwc_i) begin
        before_q <= clear_window_i ? '0 : x_q;
        oldest_q <= clear_window_i ? '0 : before_q;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (word_valid_i && swap_i) weights_q <= tile_i;
  end

  // ---- cycle 2: products ----------------------------------------------------------------------
  function automatic logic [ProductW-1:0] product(input logic signed [OperandW-1:0] a,
                                                  input logic signed [OperandW-1:0] b);
    product = ProductW'(a * b);
  endfunction

  logic [N*N*ProductW-1:0] products_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[2]) begin
      for (int unsigned o = 0; o < N; o++) begin
        for (int unsigned i = 0; i < N; i++) begin
          products_q[(o*N+i)*ProductW +: ProductW] <=
              product(x_q[i*OperandW +: OperandW], weights_q[(o*N+i)*OperandW +: OperandW]);
        end
        if (dwc_q) begin
          products_q[(o*N+0)*ProductW +: ProductW] <=
              product(oldest_q[o*OperandW +: OperandW], weights_q[(o*N+0)*OperandW +: OperandW]);
          products_q[(o*N+1)*ProductW +: ProductW] <=
              product(before_q[o*OperandW +: OperandW], weights_q[(o*N+1)*OperandW +: OperandW]);
          products_q[(o*N+2)*ProductW +: ProductW] <=
              product(x_q[o*OperandW +: OperandW], weights_q[(o*N+2)*OperandW +: OperandW]);
        end
      end
    end
  end

  // ---- cycles 3 and 4: the sum of a row -------------------------------------------------------
  logic [N*Quads*SumW-1:0] quads_q;
  logic [N*SumW-1:0] sums_q;

  always_ff @(posedge clk_i) begin
    if (valid_q[3]) begin
      for (int unsigned o = 0; o < N; o++) begin
        for (int unsigned k = 0; k < Quads; k++) begin
          quads_q[(o*Quads+k)*SumW +: SumW] <=
              SumW'(signed'(products_q[(o*N+4*k+0)*ProductW +: ProductW])) +
              SumW'(signed'(products_q[(o*N+4*k+1)*ProductW +: ProductW])) +
              SumW'(signed'(products_q[(o*N+4*k+2)*ProductW +: ProductW])) +
              SumW'(signed'(products_q[(o*N+4*k+3)*ProductW +: ProductW]));
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_q[4]) begin
      for (int unsigned o = 0; o < N; o++) begin
        logic [SumW-1:0] sum;
        sum = '0;
        for (int unsigned k = 0; k < Quads; k++) sum = sum + quads_q[(o*Quads+k)*SumW +: SumW];
        sums_q[o*SumW +: SumW] <= sum;
      end
    end
  end
  assign sums_o = sums_q;
endmodule
