// SPDX-License-Identifier: Apache-2.0
// Memory side of a DMA channel: walks the runs of a command and cuts them into bursts at multiples
// of Burst bytes, one burst a cycle.
//
// load_valid_i/load_ready_o takes a command, also in the cycle in which the last burst of the one
// before goes. burst_valid_o/burst_ready_i gives {first byte, number of bytes, last of the
// command}; the first one in the cycle after the load.
module wick_dma_walk #(
  parameter int unsigned Burst = 256,
  localparam int unsigned SizeW = $clog2(Burst) + 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  input  logic             load_valid_i,
  output logic             load_ready_o,
  input  logic [31:0]      dram_i,
  input  logic [19:0]      run_i,
  input  logic [35:0]      n_i,
  input  logic [95:0]      s_i,
  input  logic [2:0]       prio_i,
  output logic             burst_valid_o,
  input  logic             burst_ready_i,
  output logic [31:0]      burst_addr_o,
  output logic [SizeW-1:0] burst_bytes_o,
  output logic             burst_last_o,
  output logic [2:0]       burst_prio_o
);
  logic        valid_q;
  // Of the present piece, run, group, group of groups.
  logic [31:0] addr_q, base1_q, base2_q, base3_q;
  logic [19:0] rest_q, run_q;                     // bytes left in the run
  logic [11:0] i1_q, i2_q, i3_q, n1_q, n2_q;      // runs and groups still to come
  logic [31:0] s1_q, s2_q, s3_q;
  logic [2:0]  prio_q;

  logic [SizeW-1:0] room;
  logic             run_end, step, load;
  logic [31:0]      next1, next2, next3;

  assign room          = SizeW'(Burst) - {1'b0, addr_q[SizeW-2:0]};
  assign run_end       = rest_q <= 20'(room);
  assign burst_valid_o = valid_q;
  assign burst_addr_o  = addr_q;
  assign burst_bytes_o = run_end ? rest_q[SizeW-1:0] : room;
  assign burst_last_o  = run_end && i1_q == '0 && i2_q == '0 && i3_q == '0;
  assign burst_prio_o  = prio_q;
  assign step          = valid_q && burst_ready_i;
  assign load_ready_o  = !valid_q || (step && burst_last_o);
  assign load          = load_valid_i && load_ready_o;

  assign next1 = base1_q + s1_q;
  assign next2 = base2_q + s2_q;
  assign next3 = base3_q + s3_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (clear_i) valid_q <= 1'b0;
    else if (load) valid_q <= 1'b1;
    else if (step && burst_last_o) valid_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (load) begin
      addr_q  <= dram_i;
      base1_q <= dram_i;
      base2_q <= dram_i;
      base3_q <= dram_i;
      rest_q  <= run_i;
      run_q   <= run_i;
      i1_q    <= n_i[11:0] - 12'd1;
      i2_q    <= n_i[23:12] - 12'd1;
      i3_q    <= n_i[35:24] - 12'd1;
      n1_q    <= n_i[11:0];
      n2_q    <= n_i[23:12];
      s1_q    <= s_i[31:0];
      s2_q    <= s_i[63:32];
      s3_q    <= s_i[95:64];
      prio_q  <= prio_i;
    end else if (step && !run_end) begin
      addr_q <= addr_q + 32'(room);
      rest_q <= rest_q - 20'(room);
    end else if (step) begin
      rest_q <= run_q;
      if (i1_q != '0) begin
        i1_q    <= i1_q - 12'd1;
        addr_q  <= next1;
        base1_q <= next1;
      end else if (i2_q != '0) begin
        i1_q    <= n1_q - 12'd1;
        i2_q    <= i2_q - 12'd1;
        addr_q  <= next2;
        base1_q <= next2;
        base2_q <= next2;
      end else begin
        i1_q    <= n1_q - 12'd1;
        i2_q    <= n2_q - 12'd1;
        i3_q    <= i3_q - 12'd1;
        addr_q  <= next3;
        base1_q <= next3;
        base2_q <= next3;
        base3_q <= next3;
      end
    end
  end
endmodule
