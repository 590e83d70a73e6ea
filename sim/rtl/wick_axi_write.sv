// SPDX-License-Identifier: Apache-2.0
// Arbiter of the write requests and their data: source 0 the store channel, source 1 the marks, which
// go first. Id = source. Data goes out in the order of the requests, a burst as a whole.
//
// aw_* and w_* valid/ready per source; a request may be taken back before it is taken. m_aw*, m_w*:
// registers that hold until they are taken. A beat passes after its request has been put out or
// together with it.
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
  logic        aw_full_q, aw_source_q, aw_free, aw_put, pick, order_room;
  logic [31:0] aw_addr_q;
  logic [7:0]  aw_len_q;
  assign aw_free    = (!aw_full_q || m_awready_i) && order_room;
  assign pick       = aw_valid_i[1];
  assign aw_put     = aw_free && aw_valid_i != '0;
  assign aw_ready_o = {aw_free && pick, aw_free && !pick};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) aw_full_q <= 1'b0;
    else if (aw_put) aw_full_q <= 1'b1;
    else if (m_awready_i) aw_full_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (aw_put) begin
      aw_addr_q   <= pick ? aw_addr_i[63:32] : aw_addr_i[31:0];
      aw_len_q    <= pick ? aw_len_i[15:8] : aw_len_i[7:0];
      aw_source_q <= pick;
    end
  end
  assign m_awvalid_o = aw_full_q;
  assign m_awaddr_o  = aw_addr_q;
  assign m_awlen_o   = aw_len_q;
  assign m_awid_o    = {3'b0, aw_source_q};

  // ---- data ------------------------------------------------------------------------------------
  logic             order_valid, source, w_full_q, w_free, w_put, w_last_q, last;
  logic [8*Bus-1:0] w_data_q;
  logic [Bus-1:0]   w_strb_q;
  wick_fifo #(.Width(1), .Depth(16)) u_order (
    .clk_i, .rst_ni, .clear_i(1'b0), .valid_i(aw_put), .ready_o(order_room), .data_i(pick),
    .valid_o(order_valid), .ready_i(w_put && last), .data_o(source)
  );
  assign w_free    = (!w_full_q || m_wready_i) && order_valid;
  assign w_put     = w_free && (source ? w_valid_i[1] : w_valid_i[0]);
  assign last      = source ? w_last_i[1] : w_last_i[0];
  assign w_ready_o = {w_free && source, w_free && !source};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) w_full_q <= 1'b0;
    else if (w_put) w_full_q <= 1'b1;
    else if (m_wready_i) w_full_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (w_put) begin
      w_data_q <= source ? w_data_i[8*Bus+:8*Bus] : w_data_i[0+:8*Bus];
      w_strb_q <= source ? w_strb_i[Bus+:Bus] : w_strb_i[0+:Bus];
      w_last_q <= last;
    end
  end
  assign m_wvalid_o = w_full_q;
  assign m_wdata_o  = w_data_q;
  assign m_wstrb_o  = w_strb_q;
  assign m_wlast_o  = w_last_q;
endmodule
