// SPDX-License-Identifier: Apache-2.0
// Host registers (regs.def) behind AXI-Lite. A write is carried out when its address and its data
// are both there, whole words only (strobes are ignored); a read answers in the next cycle; one
// each at a time.
module wick_regs #(
  parameter int unsigned Queues = 5,
  parameter int unsigned IdxW = 7,
  parameter logic [63:0] ConfigHash = 64'd0
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 s_axil_awvalid_i,
  output logic                 s_axil_awready_o,
  input  logic [7:0]           s_axil_awaddr_i,
  input  logic                 s_axil_wvalid_i,
  output logic                 s_axil_wready_o,
  input  logic [31:0]          s_axil_wdata_i,
  output logic                 s_axil_bvalid_o,
  input  logic                 s_axil_bready_i,
  output logic [1:0]           s_axil_bresp_o,
  input  logic                 s_axil_arvalid_i,
  output logic                 s_axil_arready_o,
  input  logic [7:0]           s_axil_araddr_i,
  output logic                 s_axil_rvalid_o,
  input  logic                 s_axil_rready_i,
  output logic [31:0]          s_axil_rdata_o,
  output logic [1:0]           s_axil_rresp_o,
  output logic                 irq_o,
  output logic                 start_o,
  output logic [31:0]          base_o,
  output logic [19:0]          count_o,    // at most 2^20 - 1
  output logic [31:0]          mark_base_o,
  output logic [31:0]          timeout_o,
  input  logic                 running_i,
  input  logic                 stuck_i,
  input  logic                 done_i,
  input  logic                 error_i,
  input  logic                 ended_i,
  input  logic [7:0]           code_i,
  input  logic [19:0]          index_i,
  output logic [IdxW-1:0]      counter_index_o,
  input  logic [47:0]          counter_i,  // of that index, a cycle later
  input  logic [20*Queues-1:0] retired_i
);
  logic [31:0]     base_q, count_q, mark_base_q, timeout_q, select_q, done_select_q, rdata_q;
  logic [15:0]     high_q;
  logic            irq_enable_q, irq_pending_q, aw_q, w_q, b_q, r_q;
  logic [7:0]      waddr_q;
  logic [31:0]     wdata_q;
  logic            write, read;

  // ---- writes ----------------------------------------------------------------------------------
  assign s_axil_awready_o = !aw_q;
  assign s_axil_wready_o  = !w_q;
  assign s_axil_bvalid_o  = b_q;
  assign s_axil_bresp_o   = 2'b00;
  assign write            = aw_q && w_q && !b_q;
  assign start_o          = write && waddr_q == 8'(wick_pkg::RegControl) && wdata_q[0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_q          <= 1'b0;
      w_q           <= 1'b0;
      b_q           <= 1'b0;
      base_q        <= '0;
      count_q       <= '0;
      mark_base_q   <= '0;
      timeout_q     <= '0;
      select_q      <= '0;
      done_select_q <= '0;
      irq_enable_q  <= 1'b0;
      irq_pending_q <= 1'b0;
    end else begin
      if (write) aw_q <= 1'b0;
      else if (s_axil_awvalid_i) aw_q <= 1'b1;
      if (write) w_q <= 1'b0;
      else if (s_axil_wvalid_i) w_q <= 1'b1;
      if (write) b_q <= 1'b1;
      else if (s_axil_bready_i) b_q <= 1'b0;
      if (write) begin
        case (waddr_q)
          8'(wick_pkg::RegBase):          base_q <= {wdata_q[31:6], 6'd0};
          8'(wick_pkg::RegCount):         count_q <= wdata_q;
          8'(wick_pkg::RegMarkBase):      mark_base_q <= {wdata_q[31:10], 10'd0};
          8'(wick_pkg::RegTimeout):       timeout_q <= wdata_q;
          8'(wick_pkg::RegCounterSelect): select_q <= wdata_q;
          8'(wick_pkg::RegDoneSelect):    done_select_q <= wdata_q;
          8'(wick_pkg::RegIrq):           irq_enable_q <= wdata_q[0];
          default: ;
        endcase
      end
      if (ended_i) irq_pending_q <= 1'b1;
      else if (write && waddr_q == 8'(wick_pkg::RegIrq) && wdata_q[1]) irq_pending_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (s_axil_awvalid_i && !aw_q) waddr_q <= s_axil_awaddr_i;
    if (s_axil_wvalid_i && !w_q) wdata_q <= s_axil_wdata_i;
  end

  // ---- reads -----------------------------------------------------------------------------------
  logic [31:0] value, retired;
  assign s_axil_arready_o = !r_q;
  assign s_axil_rvalid_o  = r_q;
  assign s_axil_rdata_o   = rdata_q;
  assign s_axil_rresp_o   = 2'b00;
  assign read             = s_axil_arvalid_i && s_axil_arready_o;

  always_comb begin
    value   = '0;
    retired = '0;
    if (read) begin
      for (int q = 0; q < Queues; q++) begin
        if (done_select_q == 32'(q)) retired = {12'd0, retired_i[20*q+:20]};
      end
      case (s_axil_araddr_i)
        8'(wick_pkg::RegId):            value = 32'h5749434b;
        8'(wick_pkg::RegConfigLo):      value = ConfigHash[31:0];
        8'(wick_pkg::RegConfigHi):      value = ConfigHash[63:32];
        8'(wick_pkg::RegStatus):        value = {28'd0, stuck_i, error_i, done_i, running_i};
        8'(wick_pkg::RegError):         value = {4'd0, index_i, code_i};
        8'(wick_pkg::RegBase):          value = base_q;
        8'(wick_pkg::RegCount):         value = count_q;
        8'(wick_pkg::RegMarkBase):      value = mark_base_q;
        8'(wick_pkg::RegIrq):           value = {30'd0, irq_pending_q, irq_enable_q};
        8'(wick_pkg::RegTimeout):       value = timeout_q;
        8'(wick_pkg::RegCounterSelect): value = select_q;
        8'(wick_pkg::RegCounterLo):     value = counter_i[31:0];
        8'(wick_pkg::RegCounterHi):     value = {16'd0, high_q};
        8'(wick_pkg::RegDoneSelect):    value = done_select_q;
        8'(wick_pkg::RegDone):          value = retired;
        default: ;
      endcase
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) r_q <= 1'b0;
    else if (read) r_q <= 1'b1;
    else if (s_axil_rready_i) r_q <= 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (read) rdata_q <= value;
    if (read && s_axil_araddr_i == 8'(wick_pkg::RegCounterLo)) high_q <= counter_i[47:32];
  end

  assign irq_o           = irq_enable_q && irq_pending_q;
  assign base_o          = base_q;
  assign count_o         = count_q[31:20] != '0 ? 20'hfffff : count_q[19:0];
  assign mark_base_o     = mark_base_q;
  assign timeout_o       = timeout_q;
  assign counter_index_o = select_q[31:IdxW] != '0 ? {IdxW{1'b1}} : select_q[IdxW-1:0];
endmodule
