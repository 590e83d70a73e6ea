// SPDX-License-Identifier: Apache-2.0
// The counters of regs.def: the plain ones first, then for every queue busy, memory, bank, empty
// and one for each queue waited for; those of queues that the machine lacks are 0.
//
// Counts while run_i is high; clear_i sets all to 0. step_i: what each plain counter grows by, 12
// bits each. state_i: of each queue 4 bits, 0 busy, 1 memory, 2 bank, 3 empty, 4 + r wait for queue
// r. snap_i copies all counters as they are in this cycle; snap_value_o is snap_index_i of the
// copy; value_o is counter index_i in the next cycle.
//
// A queue grows one of its counters a cycle, so each has an array with one write port.
module wick_counters #(
  parameter int unsigned Queues = 5,
  parameter int unsigned Plain = 23,
  parameter int unsigned Counters = 83,
  localparam int unsigned IdxW = $clog2(Counters)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                clear_i,
  input  logic                run_i,
  input  logic [12*Plain-1:0] step_i,
  input  logic [4*Queues-1:0] state_i,
  input  logic [IdxW-1:0]     index_i,
  output logic [47:0]         value_o,
  input  logic                snap_i,
  input  logic [IdxW-1:0]     snap_index_i,
  output logic [47:0]         snap_value_o
);
  localparam int unsigned Group = wick_pkg::QueueCounters;
  localparam int unsigned AllQueues = wick_pkg::HdrWaitW;
  if (Plain != wick_pkg::CntQueues || Counters != Plain + AllQueues * Group || Group > 16) begin
    $error("the counters of regs.def do not fit this module");
  end

  // ---- plain ones ------------------------------------------------------------------------------
  logic [47:0] plain_q [Plain];
  logic [47:0] plain_snap_q [Plain];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int c = 0; c < Plain; c++) plain_q[c] <= '0;
    end else if (clear_i) begin
      for (int c = 0; c < Plain; c++) plain_q[c] <= '0;
    end else if (run_i) begin
      for (int c = 0; c < Plain; c++) begin
        if (step_i[12*c+:12] != '0) plain_q[c] <= plain_q[c] + 48'(step_i[12*c+:12]);
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (snap_i) begin
      for (int c = 0; c < Plain; c++) plain_snap_q[c] <= plain_q[c];
    end
  end

  // ---- states of the queues --------------------------------------------------------------------
  logic [48*Queues-1:0] values, snap_values; // of the selected counter, where it is the queue's
  for (genvar q = 0; q < Queues; q++) begin : gen_queues
    localparam int unsigned First = Plain + Group * q;
    logic [47:0] count_q [Group];
    logic [47:0] snap_q [Group];
    logic [3:0]  state, pick, snap_pick;
    assign state     = state_i[4*q+:4];
    assign pick      = 4'(32'(index_i) - First);
    assign snap_pick = 4'(32'(snap_index_i) - First);
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        for (int s = 0; s < Group; s++) count_q[s] <= '0;
      end else if (clear_i) begin
        for (int s = 0; s < Group; s++) count_q[s] <= '0;
      end else if (run_i) begin
        count_q[state] <= count_q[state] + 48'd1;
      end
    end
    always_ff @(posedge clk_i) begin
      if (snap_i) begin
        for (int s = 0; s < Group; s++) snap_q[s] <= count_q[s];
      end
    end
    assign values[48*q+:48] =
        32'(index_i) >= First && 32'(index_i) < First + Group ? count_q[pick] : '0;
    assign snap_values[48*q+:48] =
        32'(snap_index_i) >= First && 32'(snap_index_i) < First + Group ? snap_q[snap_pick] : '0;
  end

  // ---- reads -----------------------------------------------------------------------------------
  logic [47:0] value, snap_value;
  always_comb begin
    value      = 32'(index_i) < Plain ? plain_q[5'(index_i)] : '0;
    snap_value = 32'(snap_index_i) < Plain ? plain_snap_q[5'(snap_index_i)] : '0;
    for (int q = 0; q < Queues; q++) begin
      value      = value | values[48*q+:48];
      snap_value = snap_value | snap_values[48*q+:48];
    end
  end
  assign snap_value_o = snap_value;
  always_ff @(posedge clk_i) value_o <= value;
endmodule
