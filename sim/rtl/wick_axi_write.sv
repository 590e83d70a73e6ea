// SPDX-License-Identifier: Apache-2.0
// Arbiter of the write requests and their data: source 0 the store channel, source 1 the marks,
// which go first. Id = source. Data goes out in the order of the requests, a burst as a whole.
//
// aw_* and w_* valid/ready per source; a request may be taken back before it is taken. m_aw*, m_w*:
// each the older of two registers, so that no ready depends on one of m_*ready_i in the same cycle.
// A beat comes into its registers after its request has; a bus that is slow to take requests may
// see it before.
module wick_axi_write #(
  parameter int unsigned Bus = 16
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [1:0]          aw_valid_i,
  output logic [1:0]          aw_ready_o,
  input  logic [63:0]         aw_addr_i,
  input  logic [15:0]         aw_len_i,
  input  logic [1:0]          w_valid_i,
  output logic [1:0]          w_ready_o,
  input  logic [16*Bus-1:0]   w_data_i,
  input  logic [2*Bus-1:0]    w_strb_i,
  input  logic [1:0]          w_last_i,
  output logic                m_awvalid_o,
  input  logic                m_awready_i,
  output logic [31:0]         m_awaddr_o,
  output logic [7:0]          m_awlen_o,
  output logic [3:0]          m_awid_o,
  output logic                m_wvalid_o,
  input  logic                m_wready_i,
  output logic [8*Bus-1:0]    m_wdata_o,
  output logic [Bus-1:0]      m_wstrb_o,
  output logic                m_wlast_o
);
  // ---- requests --------------------------------------------------------------------------------
  logic aw_source, aw_room, aw_free, aw_put, pick, order_room;
  assign aw_free    = aw_room && order_room;
  assign pick       = aw_valid_i[1];
  assign aw_put     = aw_free && aw_valid_i != '0;
  assign aw_ready_o = {aw_free && pick, aw_free && !pick};

  wick_fifo #(.Width(41), .Depth(2)) u_requests (
    .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(aw_put), .ready_o(aw_room),
    .data_i(pick ? {1'b1, aw_len_i[15:8], aw_addr_i[63:32]}
                 : {1'b0, aw_len_i[7:0], aw_addr_i[31:0]}),
    .valid_o(m_awvalid_o), .ready_i(m_awready_i), .data_o({aw_source, m_awlen_o, m_awaddr_o})
  );
  assign m_awid_o = {3'b0, aw_source};

  // ---- data ------------------------------------------------------------------------------------
  logic order_valid, source, w_room, w_free, w_put, last;
  wick_fifo #(.Width(1), .Depth(16)) u_order (
    .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(aw_put), .ready_o(order_room), .data_i(pick),
    .valid_o(order_valid), .ready_i(w_put && last), .data_o(source)
  );
  assign w_free    = w_room && order_valid;
  assign w_put     = w_free && (source ? w_valid_i[1] : w_valid_i[0]);
  assign last      = source ? w_last_i[1] : w_last_i[0];
  assign w_ready_o = {w_free && source, w_free && !source};

  wick_fifo #(.Width(9 * Bus + 1), .Depth(2)) u_data (
    .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(w_put), .ready_o(w_room),
    .data_i(source ? {last, w_strb_i[Bus+:Bus], w_data_i[8*Bus+:8*Bus]} :
                     {last, w_strb_i[0+:Bus], w_data_i[0+:8*Bus]}),
    .valid_o(m_wvalid_o), .ready_i(m_wready_i), .data_o({m_wlast_o, m_wstrb_o, m_wdata_o})
  );
endmodule
