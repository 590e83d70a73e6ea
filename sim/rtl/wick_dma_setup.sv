// SPDX-License-Identifier: Apache-2.0
// First stage of a DMA channel: takes a command (LD, ST or FILL), checks its counts and joins runs.
//
// Dimension k of the memory side joins the run when every lower one did and s_k is the length so
// far, or n_k = 1. One multiplier computes n0 * n1 * n2 * n3 in three cycles. In the third the
// command goes to the walker (walk_*, not for FILL) and to the scratchpad side (rec_*), to both in
// the same cycle or, while either is not ready, to none; the next command can be taken in that
// cycle.
//
// rec_o = {index, total, value, fill, c2, p2, p1, c1, c0, spm}. An error is one pulse; nothing is
// taken after it until clear_i.
module wick_dma_setup #(
  localparam int unsigned RecW = 20 + 20 + 8 + 1 + 12 + 20 + 20 + 12 + 20 + 20
) (
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            clear_i,
  input  logic            abort_i,
  input  logic            cmd_valid_i,
  output logic            cmd_ready_o,
  // verilator lint_off UNUSEDSIGNAL
  input  logic [511:0]    cmd_i, // not all of its fields matter here
  // verilator lint_on UNUSEDSIGNAL
  input  logic [19:0]     cmd_index_i,
  output logic            rec_valid_o,
  input  logic            rec_ready_i,
  output logic [RecW-1:0] rec_o,
  output logic            walk_valid_o,
  input  logic            walk_ready_i,
  output logic [31:0]     walk_dram_o,
  output logic [19:0]     walk_run_o,   // bytes of a run, after joining
  output logic [35:0]     walk_n_o,     // {n3, n2, n1}, joined ones are 1
  output logic [95:0]     walk_s_o,     // {s3, s2, s1}
  output logic [2:0]      walk_prio_o,
  output logic            active_o,
  output logic            error_o,
  output logic [7:0]      error_code_o,
  output logic [19:0]     error_index_o
);
  // 0: idle; 1, 2, 3: multiplications; 4: after an error
  logic [2:0]  step_q;
  logic [19:0] index_q, n0_q, spm_q, c0_q, p1_q, p2_q, run_q;
  logic [11:0] n1_q, n2_q, n3_q, c1_q, c2_q;
  logic [31:0] dram_q, s1_q, s2_q, s3_q;
  logic [2:0]  prio_q;
  logic [7:0]  value_q;
  logic        fill_q, joined_q, zero_q, over_q;
  logic [19:0] prod_q;

  logic        take, pass, bad, fill, zero, over;
  assign take = cmd_valid_i && cmd_ready_o;
  assign fill = cmd_i[wick_pkg::HdrOpcodeLsb+:wick_pkg::HdrOpcodeW] == 5'(wick_pkg::OpFill);

  always_comb begin
    if (fill) begin
      zero = cmd_i[wick_pkg::FillC0Lsb+:20] == '0 || cmd_i[wick_pkg::FillC1Lsb+:12] == '0 ||
             cmd_i[wick_pkg::FillC2Lsb+:12] == '0;
    end else begin
      zero = cmd_i[wick_pkg::LdN0Lsb+:20] == '0 || cmd_i[wick_pkg::LdN1Lsb+:12] == '0 ||
             cmd_i[wick_pkg::LdN2Lsb+:12] == '0 || cmd_i[wick_pkg::LdN3Lsb+:12] == '0 ||
             cmd_i[wick_pkg::LdC0Lsb+:20] == '0 || cmd_i[wick_pkg::LdC1Lsb+:12] == '0;
    end
  end

  // The factor, the stride and the product of this step.
  logic [11:0] n;
  logic [31:0] s, prod;
  logic [19:0] a, run;
  logic        joined;
  always_comb begin
    case (step_q)
      3'd1:    begin a = n0_q;   n = n1_q; s = s1_q; end
      3'd2:    begin a = prod_q; n = n2_q; s = s2_q; end
      default: begin a = prod_q; n = n3_q; s = s3_q; end
    endcase
    prod   = a * n;
    joined = joined_q && (n == 12'd1 || s == {12'd0, a});
    run    = joined ? prod[19:0] : run_q;
    over   = over_q || prod[31:20] != '0;
  end

  assign bad          = zero_q || (!fill_q && (over || c0_q > prod[19:0]));
  assign pass         = step_q == 3'd3 && !bad && !abort_i;
  assign rec_valid_o  = pass && (fill_q || walk_ready_i);
  assign walk_valid_o = pass && !fill_q && rec_ready_i;
  assign cmd_ready_o  = !abort_i && (step_q == 3'd0 || (rec_valid_o && rec_ready_i));
  assign rec_o        = {index_q, prod[19:0], value_q, fill_q, c2_q, p2_q, p1_q, c1_q, c0_q, spm_q};
  assign walk_dram_o  = dram_q;
  assign walk_run_o   = run;
  assign walk_n_o     = {joined ? 12'd1 : n3_q, n2_q, n1_q};
  assign walk_s_o     = {s3_q, s2_q, s1_q};
  assign walk_prio_o  = prio_q;
  assign active_o     = step_q != 3'd0;

  assign error_o       = step_q == 3'd3 && bad && !abort_i;
  assign error_code_o  = 8'(wick_pkg::ErrField);
  assign error_index_o = index_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= 3'd0;
    else if (clear_i) step_q <= 3'd0;
    else if (error_o) step_q <= 3'd4;
    else if (take) step_q <= 3'd1;
    else if (step_q == 3'd1 || step_q == 3'd2) step_q <= step_q + 3'd1;
    else if (rec_valid_o && rec_ready_i) step_q <= 3'd0;
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      index_q  <= cmd_index_i;
      prio_q   <= cmd_i[wick_pkg::HdrPriorityLsb+:3];
      fill_q   <= fill;
      zero_q   <= zero;
      over_q   <= 1'b0;
      joined_q <= 1'b1;
      dram_q   <= cmd_i[wick_pkg::LdDramLsb+:32];
      n0_q     <= cmd_i[wick_pkg::LdN0Lsb+:20];
      run_q    <= cmd_i[wick_pkg::LdN0Lsb+:20];
      n1_q     <= cmd_i[wick_pkg::LdN1Lsb+:12];
      n2_q     <= cmd_i[wick_pkg::LdN2Lsb+:12];
      n3_q     <= cmd_i[wick_pkg::LdN3Lsb+:12];
      s1_q     <= cmd_i[wick_pkg::LdS1Lsb+:32];
      s2_q     <= cmd_i[wick_pkg::LdS2Lsb+:32];
      s3_q     <= cmd_i[wick_pkg::LdS3Lsb+:32];
      value_q  <= cmd_i[wick_pkg::FillValueLsb+:8];
      spm_q    <= fill ? cmd_i[wick_pkg::FillSpmLsb+:20] : cmd_i[wick_pkg::LdSpmLsb+:20];
      c0_q     <= fill ? cmd_i[wick_pkg::FillC0Lsb+:20] : cmd_i[wick_pkg::LdC0Lsb+:20];
      c1_q     <= fill ? cmd_i[wick_pkg::FillC1Lsb+:12] : cmd_i[wick_pkg::LdC1Lsb+:12];
      c2_q     <= cmd_i[wick_pkg::FillC2Lsb+:12];
      p1_q     <= fill ? cmd_i[wick_pkg::FillP1Lsb+:20] : cmd_i[wick_pkg::LdP1Lsb+:20];
      p2_q     <= fill ? cmd_i[wick_pkg::FillP2Lsb+:20] : cmd_i[wick_pkg::LdP2Lsb+:20];
    end else if (step_q == 3'd1 || step_q == 3'd2) begin
      prod_q   <= prod[19:0];
      joined_q <= joined;
      run_q    <= run;
      over_q   <= over;
      if (joined && step_q == 3'd1) n1_q <= 12'd1;
      if (joined && step_q == 3'd2) n2_q <= 12'd1;
    end
  end

`ifdef VERILATOR
  // The two kinds of transfer have the same fields.
  initial begin
    assert (wick_pkg::LdDramLsb == wick_pkg::StDramLsb && wick_pkg::LdP2Lsb == wick_pkg::StP2Lsb);
  end
`endif
endmodule
