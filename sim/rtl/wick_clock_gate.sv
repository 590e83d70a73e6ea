// SPDX-License-Identifier: Apache-2.0
// The clock of an engine, which stands still while the engine has nothing to do: saves power, and
// the time of a simulation. Replace the latch and the gate by a clock-gating cell where there is
// one.
//
// clk_o follows clk_i in cycles with wake_i and in the Linger cycles after one, in which an engine
// settles. wake_i is looked at while the clock is low and may depend on anything that the last edge
// set.
module wick_clock_gate #(
  parameter int unsigned Linger = 15
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic wake_i,
  output logic clk_o
);
  localparam int unsigned CntW = $clog2(Linger + 1);

  logic [CntW-1:0] left_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) left_q <= CntW'(Linger);
    else if (wake_i) left_q <= CntW'(Linger);
    else if (left_q != '0) left_q <= left_q - 1'b1;
  end

  logic enable_q;
  always_latch begin
    if (!clk_i) enable_q = wake_i || left_q != '0;
  end
  assign clk_o = clk_i && enable_q;
endmodule
