// SPDX-License-Identifier: Apache-2.0
// What every queue does in a cycle, and the steps of the plain counters (regs.def). Combinational.
module wick_states #(
  parameter int unsigned Queues = 5,
  parameter int unsigned Bus = 16,
  parameter int unsigned SizeW = 5,  // of the events of the DMA channels
  parameter int unsigned WordsW = 4, // of the events of the scratchpad
  parameter int unsigned Plain = 23
) (
  input  logic [Queues-1:0]           active_i, // the engine holds a command
  input  logic [Queues-1:0]           memory_i,
  input  logic [Queues-1:0]           bank_i,
  input  logic [Queues-1:0]           has_i,    // a command is in the queue
  input  logic [Queues-1:0]           waiting_i,
  input  logic [3*Queues-1:0]         wait_on_i,
  input  logic                        held_i,     // dispatch, by a DMA queue
  input  logic [Queues-1:0]           transfer_i, // of DMA channels
  input  logic [SizeW*(Queues-2)-1:0] bytes_i,    // st, ld0 ...
  input  logic                        fetch_beat_i,
  input  logic                        read_beat_i,
  input  logic                        write_beat_i,
  input  logic [11:0]                 macs_i,
  input  logic                        mac_i,
  input  logic [WordsW-1:0]           spm_reads_i,
  input  logic [WordsW-1:0]           spm_writes_i,
  input  logic [1:0]                  acc_reads_i, // a bit for each bank
  input  logic [1:0]                  acc_writes_i,
  output logic [4*Queues-1:0]         state_o,
  output logic [12*Plain-1:0]         step_o
);
  localparam int unsigned Driven = 23; // rows of regs.def that get a step below
  if (Plain != Driven) $error("regs.def has other counters than this module drives");

  localparam logic [3:0] Busy = 4'd0, Memory = 4'd1, Bank = 4'd2, Empty = 4'd3;

  localparam logic [3:0] WaitDma = 4'd4 + 4'(wick_pkg::QSt); // on st or a load queue

  logic load, compute, store, exposed;
  logic [2:0] subset;
  always_comb begin
    state_o = '0;
    for (int q = 0; q < Queues; q++) begin
      if (active_i[q]) state_o[4*q+:4] = bank_i[q] ? Bank : memory_i[q] ? Memory : Busy;
      else if (!has_i[q]) state_o[4*q+:4] = Empty;
      else if (waiting_i[q]) state_o[4*q+:4] = 4'd4 + {1'b0, wait_on_i[3*q+:3]};
      else state_o[4*q+:4] = Busy;
    end
    load    = |transfer_i[Queues-1:wick_pkg::QLd0];
    store   = transfer_i[wick_pkg::QSt];
    compute = (active_i[0] && state_o[3:0] == Busy) || (active_i[1] && state_o[7:4] == Busy);
    subset  = {store, compute, load};
    exposed = !compute && (state_o[3:0] >= WaitDma || state_o[7:4] >= WaitDma || held_i);
  end

  always_comb begin
    step_o                                    = '0;
    step_o[12*wick_pkg::CntCycles+:12]        = 12'd1;
    step_o[12*wick_pkg::CntSubsetNone+:12]    = 12'(subset == 3'b000);
    step_o[12*wick_pkg::CntSubsetL+:12]       = 12'(subset == 3'b001);
    step_o[12*wick_pkg::CntSubsetC+:12]       = 12'(subset == 3'b010);
    step_o[12*wick_pkg::CntSubsetLc+:12]      = 12'(subset == 3'b011);
    step_o[12*wick_pkg::CntSubsetS+:12]       = 12'(subset == 3'b100);
    step_o[12*wick_pkg::CntSubsetLs+:12]      = 12'(subset == 3'b101);
    step_o[12*wick_pkg::CntSubsetCs+:12]      = 12'(subset == 3'b110);
    step_o[12*wick_pkg::CntSubsetLcs+:12]     = 12'(subset == 3'b111);
    step_o[12*wick_pkg::CntExposed+:12]       = 12'(exposed);
    step_o[12*wick_pkg::CntBytesFetch+:12]    = fetch_beat_i ? 12'(Bus) : '0;
    for (int q = 3; q < Queues; q++) begin
      step_o[12*(wick_pkg::CntBytesLd0+q-3)+:12] = 12'(bytes_i[SizeW*(q-2)+:SizeW]);
    end
    step_o[12*wick_pkg::CntBytesSt+:12]       = 12'(bytes_i[0+:SizeW]);
    step_o[12*wick_pkg::CntBeatsRead+:12]     = 12'(read_beat_i);
    step_o[12*wick_pkg::CntBeatsWrite+:12]    = 12'(write_beat_i);
    step_o[12*wick_pkg::CntMacs+:12]          = macs_i;
    step_o[12*wick_pkg::CntMacCycles+:12]     = 12'(mac_i);
    step_o[12*wick_pkg::CntSpmReads+:12]      = 12'(spm_reads_i);
    step_o[12*wick_pkg::CntSpmWrites+:12]     = 12'(spm_writes_i);
    step_o[12*wick_pkg::CntAccReads+:12]      = 12'($countones(acc_reads_i));
    step_o[12*wick_pkg::CntAccWrites+:12]     = 12'($countones(acc_writes_i));
  end
endmodule
