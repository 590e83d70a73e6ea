// SPDX-License-Identifier: Apache-2.0
// Tells the bench of every access to the scratchpad, in the cycle of its grant; only in models that
// are built with a probe (wk_sim_build_options).
module wick_spm_probe #(
  parameter int unsigned N = 16,
  parameter int unsigned Ports = 7
) (
  input logic                clk_i,
  input logic [Ports-1:0]    gnt,
  input logic [Ports-1:0]    we,
  input logic [20*Ports-1:0] addr,
  input logic [N*Ports-1:0]  be
);
  import "DPI-C" function void wick_spm_access(
    input int port, input bit writes, input int address, input longint lanes
  );
  always_ff @(posedge clk_i) begin
    for (int p = 0; p < Ports; p++) begin
      if (gnt[p]) wick_spm_access(p, we[p], 32'(addr[20*p+:20]), 64'(be[N*p+:N]));
    end
  end
endmodule

bind wick_spm wick_spm_probe #(.N(N), .Ports(Ports)) u_probe (
  .clk_i(clk_i), .gnt(gnt_o), .we(we_i), .addr(addr_i), .be(be_i)
);
