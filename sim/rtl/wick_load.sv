// SPDX-License-Identifier: Apache-2.0
// A DMA load channel: LD and FILL.
//
// setup -> walker -> read requests (ar_*), and setup -> rec FIFO -> scratchpad side, which takes
// the bytes of the data beats (r_*) in order. Requests run ahead of the data by up to Bursts bursts
// and over up to Commands + 1 commands; commands retire in order. A request may go out 4 cycles
// after its command was taken; a beat taken in cycle t is in the beat FIFO in t + 1, in the gearbox
// in t + 2 and can be written then; done_o comes in the cycle after the last write.
//
// Duration alone, counted from the start: request i is on the bus in cycle 5 + i; a beat taken in
// cycle r can be written from r + 2; one access of at most N bytes of one chunk a cycle; done a
// cycle after the last. With whole beats and words, memory of `rate` bytes a cycle and latency L:
//   LD    7 + L + max(bytes / rate + Bus / N, Bus / rate + bytes / N)
//   FILL  5 + c1 * c2 * ceil(c0 / N)
//
// abort_i: no new request; beats still on the way are thrown away; quiet_o: none is left. After it,
// or after an error, clear_i makes the channel usable.
module wick_load #(
  parameter int unsigned N = 16,
  parameter int unsigned ScratchpadBytes = 262144,
  parameter int unsigned Bus = 16,
  parameter int unsigned Burst = 256,
  parameter int unsigned Bursts = 64,
  parameter int unsigned Commands = 8,
  localparam int unsigned SizeW = $clog2(N) + 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  input  logic             abort_i,
  output logic             quiet_o,
  input  logic             cmd_valid_i,
  output logic             cmd_ready_o,
  input  logic [511:0]     cmd_i,
  input  logic [19:0]      cmd_index_i,
  output logic             done_o,
  output logic             active_o,
  output logic             stall_memory_o,
  output logic             stall_bank_o,
  output logic             error_o,
  output logic [7:0]       error_code_o,
  output logic [19:0]      error_index_o,
  output logic             ar_valid_o,
  input  logic             ar_ready_i,
  output logic [31:0]      ar_addr_o,
  output logic [7:0]       ar_len_o,
  output logic [2:0]       ar_prio_o,
  input  logic             r_valid_i,
  output logic             r_ready_o,
  input  logic [8*Bus-1:0] r_data_i,
  input  logic             r_error_i,
  output logic             spm_req_o,
  output logic             spm_we_o,
  output logic [19:0]      spm_addr_o,
  output logic [N-1:0]     spm_be_o,
  output logic [8*N-1:0]   spm_wdata_o,
  input  logic             spm_gnt_i,
  output logic             transfer_o, // a LD is between its first request and its last byte
  output logic [SizeW-1:0] ev_bytes_o  // bytes of LDs written in this cycle
);
  localparam int unsigned LaneW = $clog2(Bus);
  localparam int unsigned PieceW = $clog2(Burst) + 1;
  localparam int unsigned CntW = LaneW + 2;
  localparam int unsigned RecW = 153;

  // ---- setup and requests ----------------------------------------------------------------------
  logic              rec_put, rec_room, index_room, walk_put, walk_room, setup_active;
  logic [RecW-1:0]   setup_rec;
  logic [31:0]       walk_dram;
  logic [19:0]       walk_run;
  logic [35:0]       walk_n;
  logic [95:0]       walk_s;
  logic [2:0]        walk_prio;
  logic              setup_error;
  logic [7:0]        setup_code;
  logic [19:0]       setup_index;
  wick_dma_setup u_setup (
    .clk_i, .rst_ni, .clear_i, .abort_i, .cmd_valid_i, .cmd_ready_o, .cmd_i, .cmd_index_i,
    .rec_valid_o(rec_put), .rec_ready_i(rec_room && index_room), .rec_o(setup_rec),
    .walk_valid_o(walk_put), .walk_ready_i(walk_room), .walk_dram_o(walk_dram),
    .walk_run_o(walk_run), .walk_n_o(walk_n), .walk_s_o(walk_s), .walk_prio_o(walk_prio),
    .active_o(setup_active), .error_o(setup_error), .error_code_o(setup_code),
    .error_index_o(setup_index)
  );

  logic              piece_valid, piece_last, desc_room, desc_valid, desc_last, desc_pop;
  logic [31:0]       piece_addr;
  logic [PieceW-1:0] piece_bytes, desc_bytes;
  logic [LaneW-1:0]  piece_lane, desc_lane;
  wick_dma_walk #(.Burst(Burst)) u_walk (
    .clk_i, .rst_ni, .clear_i, .load_valid_i(walk_put), .load_ready_o(walk_room),
    .dram_i(walk_dram), .run_i(walk_run), .n_i(walk_n), .s_i(walk_s), .prio_i(walk_prio),
    .burst_valid_o(piece_valid), .burst_ready_i(ar_valid_o && ar_ready_i),
    .burst_addr_o(piece_addr), .burst_bytes_o(piece_bytes), .burst_last_o(piece_last),
    .burst_prio_o(ar_prio_o)
  );
  assign piece_lane = piece_addr[LaneW-1:0];
  assign ar_valid_o = piece_valid && desc_room && !abort_i;
  assign ar_addr_o  = {piece_addr[31:LaneW], {LaneW{1'b0}}};
  assign ar_len_o   = 8'((32'(piece_lane) + 32'(piece_bytes) - 32'd1) >> LaneW);

  wick_fifo #(.Width(1 + PieceW + LaneW), .Depth(Bursts)) u_bursts (
    .clk_i, .rst_ni, .clear_i, .valid_i(ar_valid_o && ar_ready_i), .ready_o(desc_room),
    .data_i({piece_last, piece_bytes, piece_lane}), .valid_o(desc_valid), .ready_i(desc_pop),
    .data_o({desc_last, desc_bytes, desc_lane})
  );

  // ---- data ------------------------------------------------------------------------------------
  logic             beat_valid, beat_ready, beat_error;
  logic [8*Bus-1:0] beat_data;
  wick_fifo #(.Width(1 + 8 * Bus), .Depth(4)) u_beats (
    .clk_i, .rst_ni, .clear_i, .valid_i(r_valid_i), .ready_o(r_ready_o),
    .data_i({r_error_i, r_data_i}), .valid_o(beat_valid), .ready_i(beat_ready),
    .data_o({beat_error, beat_data})
  );

  logic [8*N-1:0]   bytes;
  logic [CntW-1:0]  count;
  logic             read_error, write;
  logic [SizeW-1:0] size;
  logic             fill_q;
  wick_load_gearbox #(.N(N), .Bus(Bus), .Burst(Burst)) u_gearbox (
    .clk_i, .rst_ni, .clear_i, .discard_i(abort_i), .burst_valid_i(desc_valid),
    .burst_lane_i(desc_lane), .burst_bytes_i(desc_bytes), .burst_pop_o(desc_pop),
    .beat_valid_i(beat_valid), .beat_ready_o(beat_ready), .beat_data_i(beat_data),
    .beat_error_i(beat_error), .bytes_o(bytes), .count_o(count), .take_i(write && !fill_q),
    .take_bytes_i(size), .error_o(read_error)
  );
  assign quiet_o = !desc_valid;

  // The commands whose beats are on the way, for errors.
  logic        data_valid;
  logic [19:0] data_index;
  wick_fifo #(.Width(20), .Depth(Commands + 2)) u_index (
    .clk_i, .rst_ni, .clear_i, .valid_i(walk_put && walk_room), .ready_o(index_room),
    .data_i(setup_rec[RecW-1-:20]), .valid_o(data_valid), .ready_i(desc_pop && desc_last),
    .data_o(data_index)
  );

  // ---- scratchpad ------------------------------------------------------------------------------
  logic            rec_valid, next, range, chunk_end, pattern_last, over, bad, finish;
  logic [RecW-1:0] rec;
  logic            busy_q, dead_q, done_q;
  logic [19:0]     left_q, index_q, spm, c0, p1, p2, total, index;
  logic [11:0]     c1, c2;
  logic [7:0]      value_q, value;
  logic            fill;
  wick_fifo #(.Width(RecW), .Depth(Commands)) u_commands (
    .clk_i, .rst_ni, .clear_i, .valid_i(rec_put && index_room), .ready_o(rec_room),
    .data_i(setup_rec), .valid_o(rec_valid), .ready_i(next), .data_o(rec)
  );
  assign {index, total, value, fill, c2, p2, p1, c1, c0, spm} = rec;
  assign next = !abort_i && !dead_q && (!busy_q || finish);

  wick_dma_pattern #(.N(N), .ScratchpadBytes(ScratchpadBytes)) u_pattern (
    .clk_i, .load_i(next && rec_valid), .spm_i(spm), .c0_i(c0), .c1_i(c1), .c2_i(c2), .p1_i(p1),
    .p2_i(p2), .step_i(write), .addr_o(spm_addr_o), .size_o(size), .range_o(range),
    .chunk_end_o(chunk_end), .last_o(pattern_last)
  );
  // The sequence must end with a chunk.
  assign over        = !fill_q && (left_q < 20'(size) || (left_q == 20'(size) && !chunk_end));
  assign bad         = range || over;
  assign spm_req_o   = busy_q && !bad && !dead_q && !abort_i && (fill_q || count >= CntW'(size));
  assign spm_we_o    = 1'b1;
  assign spm_be_o    = ~({N{1'b1}} << size);
  assign spm_wdata_o = fill_q ? {N{value_q}} : bytes;
  assign write       = spm_req_o && spm_gnt_i;
  assign finish      = write && (fill_q ? pattern_last : left_q == 20'(size));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      dead_q <= 1'b0;
      done_q <= 1'b0;
    end else if (clear_i) begin
      busy_q <= 1'b0;
      dead_q <= 1'b0;
      done_q <= 1'b0;
    end else begin
      if (next && rec_valid) busy_q <= 1'b1;
      else if (finish) busy_q <= 1'b0;
      if (error_o) dead_q <= 1'b1;
      done_q <= finish;
    end
  end
  always_ff @(posedge clk_i) begin
    if (next && rec_valid) begin
      left_q  <= total;
      index_q <= index;
      fill_q  <= fill;
      value_q <= value;
    end else if (write) begin
      left_q <= left_q - 20'(size);
    end
  end

  // ---- report ----------------------------------------------------------------------------------
  logic spm_error;
  assign spm_error     = busy_q && bad;
  assign error_o       = (spm_error || read_error || setup_error) && !dead_q && !abort_i;
  assign error_code_o  = spm_error ? 8'(range ? wick_pkg::ErrRange : wick_pkg::ErrField) :
                         read_error ? 8'(wick_pkg::ErrRead) : setup_code;
  assign error_index_o = spm_error ? index_q : read_error ? data_index : setup_index;

  assign done_o         = done_q;
  assign active_o       = setup_active || rec_valid || busy_q || done_q;
  assign stall_memory_o = busy_q && !spm_req_o;
  assign stall_bank_o   = spm_req_o && !spm_gnt_i;
  assign transfer_o     = data_valid || (busy_q && !fill_q);
  assign ev_bytes_o     = write && !fill_q ? size : '0;
endmodule
