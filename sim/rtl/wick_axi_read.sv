// SPDX-License-Identifier: Apache-2.0
// Arbiter of the read requests: source 0 (command fetch) first, then the source with the highest
// priority; one that has lost 15 times goes before. Of equals they take turns. Id = source.
//
// valid_i/ready_o in (a source may take valid back); m_ar*: the older of two registers, so that no
// ready depends on m_arready_i in the same cycle.
module wick_axi_read #(
  parameter int unsigned Sources = 3
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic [Sources-1:0]    valid_i,
  output logic [Sources-1:0]    ready_o,
  input  logic [32*Sources-1:0] addr_i,
  input  logic [8*Sources-1:0]  len_i,
  input  logic [3*Sources-1:0]  prio_i,
  output logic                  m_arvalid_o,
  input  logic                  m_arready_i,
  output logic [31:0]           m_araddr_o,
  output logic [7:0]            m_arlen_o,
  output logic [3:0]            m_arid_o
);
  logic [1:0]           turn_q; // source served last
  logic [4*Sources-1:0] lost_q;

  logic       free, found;
  logic [1:0] best;
  logic [3:0] key, best_key;

  // Sources behind the last one, then the others.
  always_comb begin
    found    = 1'b0;
    best     = '0;
    best_key = '0;
    key      = '0;
    for (int pass = 0; pass < 2; pass++) begin
      for (int s = 1; s < Sources; s++) begin
        if (valid_i[s] && (pass == 0) == (s > 32'(turn_q))) begin
          key = {lost_q[4*s+:4] == 4'd15, prio_i[3*s+:3]};
          if (!found || key > best_key) begin
            found    = 1'b1;
            best     = 2'(s);
            best_key = key;
          end
        end
      end
    end
    if (valid_i[0]) begin
      found = 1'b1;
      best  = '0;
    end
    ready_o = '0;
    if (free && found) ready_o[best] = 1'b1;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      turn_q <= '0;
      lost_q <= '0;
    end else if (free && found) begin
      if (best != '0) turn_q <= best;
      for (int s = 1; s < Sources; s++) begin
        if (!valid_i[s] || best == 2'(s)) lost_q[4*s+:4] <= '0;
        else if (lost_q[4*s+:4] != 4'd15) lost_q[4*s+:4] <= lost_q[4*s+:4] + 4'd1;
      end
    end
  end
  wick_fifo #(.Width(44), .Depth(2)) u_out (
    .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(found), .ready_o(free),
    .data_i({4'(best), len_i[8*best+:8], addr_i[32*best+:32]}), .valid_o(m_arvalid_o),
    .ready_i(m_arready_i), .data_o({m_arid_o, m_arlen_o, m_araddr_o})
  );
endmodule
