// SPDX-License-Identifier: Apache-2.0
// Reads the stream ahead of dispatch, at most Prefetch commands of 64 bytes, in bursts that end at
// multiples of Burst bytes.
//
// start_i takes base and count; stop_i: no new request. r_* is always taken.
// cmd_valid_o/cmd_ready_i gives the commands in order; cmd_error_o: memory answered one of its
// beats with an error. quiet_o: no data is on the way.
module wick_fetch #(
  parameter int unsigned Bus = 16,
  parameter int unsigned Burst = 256,
  parameter int unsigned Prefetch = 32 // at least 2 * Burst / 64
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             start_i,
  input  logic             stop_i,
  input  logic [31:0]      base_i,
  input  logic [19:0]      count_i,
  output logic             quiet_o,
  output logic             ar_valid_o,
  input  logic             ar_ready_i,
  output logic [31:0]      ar_addr_o,
  output logic [7:0]       ar_len_o,
  input  logic             r_valid_i,
  input  logic [8*Bus-1:0] r_data_i,
  input  logic             r_error_i,
  output logic             cmd_valid_o,
  input  logic             cmd_ready_i,
  output logic [511:0]     cmd_o,
  output logic             cmd_error_o
);
  localparam int unsigned PerBurst = Burst / 64;
  localparam int unsigned PerW     = $clog2(PerBurst) + 1;
  localparam int unsigned Beats    = 64 / Bus; // of a command
  localparam int unsigned RoomW    = $clog2(Prefetch + 1);
  localparam int unsigned OwedW    = $clog2(Prefetch * Beats + 1);

  // ---- requests --------------------------------------------------------------------------------
  logic [31:0]      addr_q;
  logic [19:0]      left_q;
  logic [RoomW-1:0] room_q; // commands that may be asked for
  logic [OwedW-1:0] owed_q; // beats on the way
  logic [PerW-1:0]  to_end, batch;
  logic             ask, pop;

  assign to_end     = PerW'(PerBurst) - PerW'(addr_q[31:6] & 26'(PerBurst - 1));
  assign batch      = left_q < 20'(to_end) ? left_q[PerW-1:0] : to_end;
  assign ar_valid_o = !stop_i && left_q != '0 && 32'(room_q) >= 32'(batch);
  assign ar_addr_o  = addr_q;
  assign ar_len_o   = 8'(32'(batch) * Beats - 32'd1);
  assign ask        = ar_valid_o && ar_ready_i;
  assign pop        = cmd_valid_o && cmd_ready_i;
  assign quiet_o    = owed_q == '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      left_q <= '0;
      room_q <= RoomW'(Prefetch);
      owed_q <= '0;
    end else if (start_i) begin
      left_q <= count_i;
      room_q <= RoomW'(Prefetch);
      owed_q <= '0;
    end else begin
      if (ask) left_q <= left_q - 20'(batch);
      if (ask || pop) room_q <= room_q - (ask ? RoomW'(batch) : '0) + RoomW'(pop);
      if (ask || r_valid_i) begin
        owed_q <= owed_q + (ask ? OwedW'(32'(batch) * Beats) : '0) - OwedW'(r_valid_i);
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) addr_q <= base_i;
    else if (ask) addr_q <= addr_q + {{26-PerW{1'b0}}, batch, 6'b0};
  end

  // ---- commands --------------------------------------------------------------------------------
  logic [511:0]         parts_q; // beats so far, the latest on top
  logic [2:0]           beat_q;
  logic                 error_q, whole;
  // verilator lint_off UNUSEDSIGNAL
  logic [512+8*Bus-1:0] joined; // the oldest beat falls out
  // verilator lint_on UNUSEDSIGNAL
  logic                 room; // always: what is asked for has room
  assign joined = {r_data_i, parts_q};
  assign whole  = r_valid_i && beat_q == 3'(Beats - 1);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      beat_q  <= '0;
      error_q <= 1'b0;
    end else if (start_i) begin
      beat_q  <= '0;
      error_q <= 1'b0;
    end else if (r_valid_i) begin
      beat_q  <= whole ? '0 : beat_q + 3'd1;
      error_q <= !whole && (error_q || r_error_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (r_valid_i) parts_q <= joined[8*Bus+:512];
  end

  wick_fifo #(.Width(513), .Depth(Prefetch)) u_commands (
    .clk_i, .rst_ni, .clear_i(start_i), .valid_i(whole), .ready_o(room),
    .data_i({error_q || r_error_i, joined[8*Bus+:512]}), .valid_o(cmd_valid_o),
    .ready_i(cmd_ready_i), .data_o({cmd_error_o, cmd_o})
  );

`ifdef VERILATOR
  always_ff @(posedge clk_i) assert (!whole || room);
`else
  logic unused;
  assign unused = room;
`endif
endmodule
