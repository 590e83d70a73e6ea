// SPDX-License-Identifier: Apache-2.0
// The counters of regs.def: the plain ones first, then for every queue busy, memory, bank, empty and one
// for each queue waited for; those of queues that the machine lacks stay 0.
//
// Counts while run_i is high; clear_i sets all to 0. step_i: what each plain counter grows by, 12 bits
// each. state_i: of each queue 4 bits, 0 busy, 1 memory, 2 bank, 3 empty, 4 + r wait for queue r.
// snap_i copies all counters as they are in this cycle; snap_value_o is snap_index_i of the copy;
// value_o is counter index_i in the next cycle.
module wick_counters #(
  parameter int unsigned Queues = 5,
  parameter int unsigned Plain = 23,
  parameter int unsigned Counters = 67,
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

  logic [47:0] count_q [Counters];
  logic [47:0] snap_q [Counters];

  for (genvar c = 0; c < Plain; c++) begin : gen_plain
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) count_q[c] <= '0;
      else if (clear_i) count_q[c] <= '0;
      else if (run_i && step_i[12*c+:12] != '0) count_q[c] <= count_q[c] + 48'(step_i[12*c+:12]);
    end
  end
  for (genvar q = 0; q < Queues; q++) begin : gen_queues
    for (genvar s = 0; s < Group; s++) begin : gen_states
      localparam int unsigned Own = Plain + Group * q + s;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) count_q[Own] <= '0;
        else if (clear_i) count_q[Own] <= '0;
        else if (run_i && state_i[4*q+:4] == 4'(s)) count_q[Own] <= count_q[Own] + 48'd1;
      end
    end
  end

  for (genvar c = Plain + Group * Queues; c < Counters; c++) begin : gen_lacking
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) count_q[c] <= '0;
      else if (clear_i) count_q[c] <= '0;
    end
  end

  for (genvar c = 0; c < Counters; c++) begin : gen_snap
    always_ff @(posedge clk_i) if (snap_i) snap_q[c] <= count_q[c];
  end
  always_ff @(posedge clk_i) value_o <= 32'(index_i) < Counters ? count_q[index_i] : '0;
  assign snap_value_o = snap_q[snap_index_i];
endmodule
