// SPDX-License-Identifier: Apache-2.0
// Memory with a read port and a write port. Replace it by a macro where there is one.
//
// With re_i, rdata_o holds the word from the next cycle until the next read. A word that is written
// in the cycle in which it is read gives its old contents.
module wick_ram_1r1w #(
  parameter int unsigned Width = 512,
  parameter int unsigned Depth = 512, // words, a power of two, at least 2
  localparam int unsigned AddrW = $clog2(Depth)
) (
  input  logic             clk_i,
  input  logic             re_i,
  input  logic [AddrW-1:0] raddr_i,
  output logic [Width-1:0] rdata_o,
  input  logic             we_i,
  input  logic [AddrW-1:0] waddr_i,
  input  logic [Width-1:0] wdata_i
);
  logic [Width-1:0] mem_q [Depth];

  always_ff @(posedge clk_i) begin
    if (re_i) rdata_o <= mem_q[raddr_i];
    if (we_i) mem_q[waddr_i] <= wdata_i;
  end
endmodule
