// SPDX-License-Identifier: Apache-2.0
// The scratchpad: Banks single-port banks of N-byte words and the arbiter of its ports. Byte
// address a lies in word a / N, word w in bank w mod Banks.
//
// A port asks for the bytes addr + i with be[i] set; gnt comes in the same cycle when the one or
// two banks that hold them are free, in the order of the ports; a port that has waited for 15
// cycles in a row goes first. rdata (lane i = byte addr + i) is there in the cycle after the grant
// and only then. Ports must stay inside the scratchpad.
module wick_spm #(
  parameter int unsigned N = 16,
  parameter int unsigned Bytes = 262144,
  parameter int unsigned Banks = 8,
  parameter int unsigned Ports = 7,
  localparam int unsigned CntW = $clog2(Banks + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [Ports-1:0]     req_i,
  input  logic [Ports-1:0]     we_i,
  input  logic [20*Ports-1:0]  addr_i,
  input  logic [N*Ports-1:0]   be_i,
  input  logic [8*N*Ports-1:0] wdata_i,
  output logic [Ports-1:0]     gnt_o,
  output logic [8*N*Ports-1:0] rdata_o,
  output logic [CntW-1:0]      ev_reads_o, // words read and written in this cycle
  output logic [CntW-1:0]      ev_writes_o
);
  localparam int unsigned LaneW = $clog2(N);
  localparam int unsigned BankW = $clog2(Banks);
  localparam int unsigned RowW  = $clog2(Bytes) - LaneW - BankW;
  localparam int unsigned W     = 8 * N;

  // ---- banks that each port needs --------------------------------------------------------------
  logic [Ports-1:0]       low, high; // the first, the second word is touched
  logic [Banks*Ports-1:0] need;
  logic [2*N-1:0]         be;
  logic [BankW-1:0]       first_bank;
  always_comb begin
    low        = '0;
    high       = '0;
    need       = '0;
    be         = '0;
    first_bank = '0;
    for (int p = 0; p < Ports; p++) begin
      if (req_i[p]) begin
        be         = {{N{1'b0}}, be_i[N*p+:N]} << addr_i[20*p+:LaneW];
        first_bank = addr_i[20*p+LaneW+:BankW];
        low[p]     = be[N-1:0] != '0;
        high[p]    = be[2*N-1:N] != '0;
        if (low[p]) need[Banks*p+:Banks] = Banks'(1) << first_bank;
        if (high[p]) begin
          need[Banks*p+:Banks] = need[Banks*p+:Banks] | (Banks'(1) << BankW'(first_bank + 1'b1));
        end
      end
    end
  end

  // ---- arbitration -----------------------------------------------------------------------------
  logic [4*Ports-1:0] age_q;
  logic [Ports-1:0]   old_q;    // waited for 15 cycles
  logic [Banks-1:0]   taken;
  logic               old_seen;
  always_comb begin
    gnt_o    = '0;
    taken    = '0;
    old_seen = 1'b0;
    if (|(old_q & req_i)) begin
      for (int p = 0; p < Ports; p++) begin
        if (old_q[p] && req_i[p] && !old_seen) begin
          old_seen = 1'b1;
          gnt_o[p] = 1'b1;
          taken    = need[Banks*p+:Banks];
        end
      end
    end
    for (int p = 0; p < Ports; p++) begin
      if (req_i[p] && !gnt_o[p] && (need[Banks*p+:Banks] & taken) == '0) begin
        gnt_o[p] = 1'b1;
        taken    = taken | need[Banks*p+:Banks];
      end
    end
  end

  logic [Ports-1:0] wait_now;
  assign wait_now = req_i & ~gnt_o;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      age_q <= '0;
      old_q <= '0;
    end else if (wait_now != '0 || age_q != '0) begin
      for (int p = 0; p < Ports; p++) begin
        if (!wait_now[p]) age_q[4*p+:4] <= '0;
        else if (age_q[4*p+:4] != 4'd15) age_q[4*p+:4] <= age_q[4*p+:4] + 4'd1;
        old_q[p] <= wait_now[p] && age_q[4*p+:4] >= 4'd14;
      end
    end
  end

  // ---- requests to banks -----------------------------------------------------------------------
  logic [Banks-1:0]      bank_req, bank_we;
  logic [RowW*Banks-1:0] bank_row;
  logic [N*Banks-1:0]    bank_be;
  logic [W*Banks-1:0]    bank_wdata;
  logic [LaneW-1:0]      lane;
  logic [BankW-1:0]      bank0, bank1;
  logic [RowW-1:0]       row0, row1;
  logic [2*N-1:0]        wide_be;
  logic [2*W-1:0]        wide_data;
  always_comb begin
    bank_req   = '0;
    bank_we    = '0;
    bank_row   = '0;
    bank_be    = '0;
    bank_wdata = '0;
    lane       = '0;
    bank0      = '0;
    bank1      = '0;
    row0       = '0;
    row1       = '0;
    wide_be    = '0;
    wide_data  = '0;
    for (int p = 0; p < Ports; p++) begin
      if (gnt_o[p]) begin
        lane          = addr_i[20*p+:LaneW];
        bank0         = addr_i[20*p+LaneW+:BankW];
        row0          = addr_i[20*p+LaneW+BankW+:RowW];
        {row1, bank1} = {row0, bank0} + 1'b1;
        if (low[p]) bank_req[bank0] = 1'b1;
        if (high[p]) bank_req[bank1] = 1'b1;
        if (low[p]) bank_row[RowW*bank0+:RowW] = row0;
        if (high[p]) bank_row[RowW*bank1+:RowW] = row1;
        if (we_i[p]) begin
          wide_be   = {{N{1'b0}}, be_i[N*p+:N]} << lane;
          wide_data = {{W{1'b0}}, wdata_i[W*p+:W]};
          if (lane != '0) wide_data = wide_data << {lane, 3'b0};
          if (low[p]) begin
            bank_we[bank0]           = 1'b1;
            bank_be[N*bank0+:N]      = wide_be[N-1:0];
            bank_wdata[W*bank0+:W]   = wide_data[W-1:0];
          end
          if (high[p]) begin
            bank_we[bank1]           = 1'b1;
            bank_be[N*bank1+:N]      = wide_be[2*N-1:N];
            bank_wdata[W*bank1+:W]   = wide_data[2*W-1:W];
          end
        end
      end
    end
  end

  // No two ports share a bank.
  assign ev_reads_o  = CntW'($countones(bank_req & ~bank_we));
  assign ev_writes_o = CntW'($countones(bank_we));

  logic [W*Banks-1:0] bank_rdata;
  for (genvar b = 0; b < Banks; b++) begin : gen_banks
    wick_ram_1rw #(.Width(W), .Depth(2**RowW)) u_bank (
      .clk_i, .req_i(bank_req[b]), .we_i(bank_we[b]), .addr_i(bank_row[RowW*b+:RowW]),
      .be_i(bank_be[N*b+:N]), .wdata_i(bank_wdata[W*b+:W]), .rdata_o(bank_rdata[W*b+:W])
    );
  end

  // ---- answers ---------------------------------------------------------------------------------
  logic [Ports-1:0]       read_q, high_q;
  logic [BankW*Ports-1:0] bank_q;
  logic [LaneW*Ports-1:0] lane_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) read_q <= '0;
    else read_q <= gnt_o & ~we_i;
  end
  always_ff @(posedge clk_i) begin
    high_q <= high;
    for (int p = 0; p < Ports; p++) begin
      if (gnt_o[p]) begin
        bank_q[BankW*p+:BankW] <= addr_i[20*p+LaneW+:BankW];
        lane_q[LaneW*p+:LaneW] <= addr_i[20*p+:LaneW];
      end
    end
  end
  logic [2*W-1:0]   wide_read;
  logic [BankW-1:0] read_bank, next_bank;
  always_comb begin
    rdata_o   = '0;
    wide_read = '0;
    read_bank = '0;
    next_bank = '0;
    for (int p = 0; p < Ports; p++) begin
      if (read_q[p]) begin
        read_bank = bank_q[BankW*p+:BankW];
        next_bank = read_bank + 1'b1;
        wide_read = {{W{1'b0}}, bank_rdata[W*read_bank+:W]};
        if (high_q[p]) wide_read[2*W-1:W] = bank_rdata[W*next_bank+:W];
        if (lane_q[LaneW*p+:LaneW] != '0) wide_read = wide_read >> {lane_q[LaneW*p+:LaneW], 3'b0};
        rdata_o[W*p+:W] = wide_read[W-1:0];
      end
    end
  end
endmodule
