// SPDX-License-Identifier: Apache-2.0
// The accelerator: an AXI4 master to memory, an AXI-Lite slave for the host, an interrupt.
//
// The only module that reads sizes from wick_pkg, which is generated from the machine file. Read
// ids: 0 fetch, 1 + c load channel c; write ids: 0 store, 1 marks. event_start_o and event_done_o
// have a bit for every queue that starts or retires a command in the cycle, for traces.
module wick_accel (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  output logic                            m_axi_arvalid_o,
  input  logic                            m_axi_arready_i,
  output logic [3:0]                      m_axi_arid_o,
  output logic [31:0]                     m_axi_araddr_o,
  output logic [7:0]                      m_axi_arlen_o,
  output logic [2:0]                      m_axi_arsize_o,
  output logic [1:0]                      m_axi_arburst_o,
  input  logic                            m_axi_rvalid_i,
  output logic                            m_axi_rready_o,
  input  logic [3:0]                      m_axi_rid_i,
  input  logic [8*wick_pkg::Bus-1:0]      m_axi_rdata_i,
  input  logic [1:0]                      m_axi_rresp_i,
  input  logic                            m_axi_rlast_i,
  output logic                            m_axi_awvalid_o,
  input  logic                            m_axi_awready_i,
  output logic [3:0]                      m_axi_awid_o,
  output logic [31:0]                     m_axi_awaddr_o,
  output logic [7:0]                      m_axi_awlen_o,
  output logic [2:0]                      m_axi_awsize_o,
  output logic [1:0]                      m_axi_awburst_o,
  output logic                            m_axi_wvalid_o,
  input  logic                            m_axi_wready_i,
  output logic [8*wick_pkg::Bus-1:0]      m_axi_wdata_o,
  output logic [wick_pkg::Bus-1:0]        m_axi_wstrb_o,
  output logic                            m_axi_wlast_o,
  input  logic                            m_axi_bvalid_i,
  output logic                            m_axi_bready_o,
  input  logic [3:0]                      m_axi_bid_i,
  input  logic [1:0]                      m_axi_bresp_i,
  input  logic                            s_axil_awvalid_i,
  output logic                            s_axil_awready_o,
  input  logic [7:0]                      s_axil_awaddr_i,
  input  logic                            s_axil_wvalid_i,
  output logic                            s_axil_wready_o,
  input  logic [31:0]                     s_axil_wdata_i,
  input  logic [3:0]                      s_axil_wstrb_i,
  output logic                            s_axil_bvalid_o,
  input  logic                            s_axil_bready_i,
  output logic [1:0]                      s_axil_bresp_o,
  input  logic                            s_axil_arvalid_i,
  output logic                            s_axil_arready_o,
  input  logic [7:0]                      s_axil_araddr_i,
  output logic                            s_axil_rvalid_o,
  input  logic                            s_axil_rready_i,
  output logic [31:0]                     s_axil_rdata_o,
  output logic [1:0]                      s_axil_rresp_o,
  output logic                            irq_o,
  output logic [wick_pkg::Queues-1:0]     event_start_o,
  output logic [wick_pkg::Queues-1:0]     event_done_o
);
  localparam int unsigned N      = wick_pkg::Array;
  localparam int unsigned Bus    = wick_pkg::Bus;
  localparam int unsigned Loads  = wick_pkg::LoadChannels;
  localparam int unsigned Queues = wick_pkg::Queues;
  localparam int unsigned Spm    = wick_pkg::Scratchpad;
  localparam int unsigned Ports  = 5 + Loads;
  localparam int unsigned Plain  = wick_pkg::CntAccWrites + 1;
  localparam int unsigned Cnts   = wick_pkg::NumCounters;
  localparam int unsigned IdxW   = $clog2(Cnts);
  localparam int unsigned SizeW  = $clog2(N) + 1;
  localparam int unsigned WordsW = $clog2(wick_pkg::Banks + 1);
  localparam int unsigned Errors = 3 + Queues - 1; // dispatch, ex, ve, st, mark, loads

  // ---- host and control ------------------------------------------------------------------------
  logic                 host_start, start, clear, run, abort, running, stuck, done, failed, ended;
  logic                 quiet, finished, progress, front_finished, front_progress;
  logic [31:0]          base, mark_base, timeout;
  logic [19:0]          count, error_index, next_index;
  logic [7:0]           error_code;
  logic [IdxW-1:0]      counter_index;
  logic [47:0]          counter;
  logic [20*Queues-1:0] retired;
  logic [Errors-1:0]    err;
  logic [8*Errors-1:0]  err_code;
  logic [20*Errors-1:0] err_index;

  wick_regs #(.Queues(Queues), .IdxW(IdxW), .ConfigHash(wick_pkg::ConfigHash)) u_regs (
    .clk_i, .rst_ni, .s_axil_awvalid_i, .s_axil_awready_o, .s_axil_awaddr_i, .s_axil_wvalid_i,
    .s_axil_wready_o, .s_axil_wdata_i, .s_axil_bvalid_o, .s_axil_bready_i, .s_axil_bresp_o,
    .s_axil_arvalid_i, .s_axil_arready_o, .s_axil_araddr_i, .s_axil_rvalid_o, .s_axil_rready_i,
    .s_axil_rdata_o, .s_axil_rresp_o, .irq_o, .start_o(host_start), .base_o(base), .count_o(count),
    .mark_base_o(mark_base), .timeout_o(timeout), .running_i(running), .stuck_i(stuck),
    .done_i(done), .error_i(failed), .ended_i(ended), .code_i(error_code), .index_i(error_index),
    .counter_index_o(counter_index), .counter_i(counter), .retired_i(retired)
  );
  wick_control #(.Sources(Errors)) u_control (
    .clk_i, .rst_ni, .start_i(host_start), .timeout_i(timeout), .progress_i(progress),
    .index_i(next_index), .finished_i(finished), .quiet_i(quiet), .error_i(err),
    .error_code_i(err_code), .error_index_i(err_index), .start_o(start), .clear_o(clear),
    .run_o(run), .abort_o(abort), .running_o(running), .stuck_o(stuck), .done_o(done),
    .error_o(failed), .ended_o(ended), .code_o(error_code), .index_o(error_index)
  );

  // ---- AXI4 ------------------------------------------------------------------------------------
  logic [Loads:0]         ar_valid, ar_ready, r_valid, r_ready;
  logic [32*(Loads+1)-1:0] ar_addr;
  logic [8*(Loads+1)-1:0] ar_len;
  logic [3*(Loads+1)-1:0] ar_prio;
  logic [1:0]             aw_valid, aw_ready, w_valid, w_ready, w_last, b_valid;
  logic [63:0]            aw_addr;
  logic [15:0]            aw_len;
  logic [16*Bus-1:0]      w_data;
  logic [2*Bus-1:0]       w_strb;

  wick_axi_read #(.Sources(Loads + 1)) u_read (
    .clk_i, .rst_ni, .valid_i(ar_valid), .ready_o(ar_ready), .addr_i(ar_addr), .len_i(ar_len),
    .prio_i(ar_prio), .m_arvalid_o(m_axi_arvalid_o), .m_arready_i(m_axi_arready_i),
    .m_araddr_o(m_axi_araddr_o), .m_arlen_o(m_axi_arlen_o), .m_arid_o(m_axi_arid_o)
  );
  wick_axi_write #(.Bus(Bus)) u_write (
    .clk_i, .rst_ni, .aw_valid_i(aw_valid), .aw_ready_o(aw_ready), .aw_addr_i(aw_addr),
    .aw_len_i(aw_len), .w_valid_i(w_valid), .w_ready_o(w_ready), .w_data_i(w_data),
    .w_strb_i(w_strb), .w_last_i(w_last), .m_awvalid_o(m_axi_awvalid_o),
    .m_awready_i(m_axi_awready_i), .m_awaddr_o(m_axi_awaddr_o), .m_awlen_o(m_axi_awlen_o),
    .m_awid_o(m_axi_awid_o), .m_wvalid_o(m_axi_wvalid_o), .m_wready_i(m_axi_wready_i),
    .m_wdata_o(m_axi_wdata_o), .m_wstrb_o(m_axi_wstrb_o), .m_wlast_o(m_axi_wlast_o)
  );
  assign m_axi_arsize_o  = 3'($clog2(Bus));
  assign m_axi_arburst_o = 2'b01;
  assign m_axi_awsize_o  = 3'($clog2(Bus));
  assign m_axi_awburst_o = 2'b01;
  assign m_axi_bready_o  = 1'b1;
  assign m_axi_rready_o  = |(r_ready & ((Loads+1)'(1) << m_axi_rid_i));
  assign r_valid         = m_axi_rvalid_i ? (Loads+1)'(1) << m_axi_rid_i : '0;
  assign r_ready[0]      = 1'b1;
  assign ar_prio[2:0]    = 3'd7;
  assign b_valid         = {m_axi_bvalid_i && m_axi_bid_i == 4'd1,
                            m_axi_bvalid_i && m_axi_bid_i == 4'd0};

  // ---- front end -------------------------------------------------------------------------------
  logic [Queues-1:0]     cmd_valid, cmd_ready, retire, active, memory, bank, has, waiting, transfer;
  logic [512*Queues-1:0] cmd;
  logic [20*Queues-1:0]  cmd_index;
  logic [3*Queues-1:0]   wait_on;
  logic                  fetch_quiet, held;

  wick_front #(.Queues(Queues), .Fifo(wick_pkg::Fifo), .Bus(Bus), .Burst(wick_pkg::Burst)) u_front (
    .clk_i, .rst_ni, .start_i(start), .clear_i(clear), .run_i(run), .base_i(base), .count_i(count),
    .finished_o(front_finished), .quiet_o(fetch_quiet), .progress_o(front_progress),
    .error_o(err[0]), .error_code_o(err_code[7:0]), .index_o(next_index), .ar_valid_o(ar_valid[0]),
    .ar_ready_i(ar_ready[0]), .ar_addr_o(ar_addr[31:0]), .ar_len_o(ar_len[7:0]),
    .r_valid_i(r_valid[0]), .r_data_i(m_axi_rdata_i), .r_error_i(m_axi_rresp_i[1]),
    .cmd_valid_o(cmd_valid), .cmd_ready_i(cmd_ready), .cmd_o(cmd), .cmd_index_o(cmd_index),
    .retire_i(retire), .retired_o(retired), .held_o(held), .has_o(has),
    .waiting_o(waiting), .wait_on_o(wait_on)
  );
  assign err_index[19:0] = next_index;
  assign event_start_o   = cmd_valid & cmd_ready;
  assign event_done_o    = retire & {Queues{run}};

  // ---- clocks ----------------------------------------------------------------------------------
  // Vector engine and DMA channels stand still without commands; if they fail, clear wakes them.
  logic           clk_vec, clk_dma;
  logic [Loads:0] dma_quiet; // st, ld0 ...
  wick_clock_gate u_clk_vec (
    .clk_i, .rst_ni, .wake_i(cmd_valid[1] || active[1] || clear), .clk_o(clk_vec)
  );
  wick_clock_gate u_clk_dma (
    .clk_i, .rst_ni, .clk_o(clk_dma),
    .wake_i((cmd_valid[Queues-1:2] | active[Queues-1:2] | ~dma_quiet) != '0 || clear)
  );

  // ---- engines ---------------------------------------------------------------------------------
  logic [Ports-1:0]          spm_req, spm_we, spm_gnt;
  logic [20*Ports-1:0]       spm_addr;
  logic [N*Ports-1:0]        spm_be;
  logic [8*N*Ports-1:0]      spm_wdata;
  // verilator lint_off UNUSEDSIGNAL
  logic [8*N*Ports-1:0]      spm_rdata; // load channels do not read
  // verilator lint_on UNUSEDSIGNAL
  logic [SizeW*(Loads+1)-1:0] dma_bytes;
  logic                      mark_valid, mark_ready, mark_idle, snap, mac, array_busy, vec_slot;
  logic [15:0]               mark_row;
  logic [IdxW-1:0]           snap_index;
  logic [47:0]               snap_value;
  logic [11:0]               macs;
  logic [1:0]                acc_reads, acc_writes;
  logic [WordsW-1:0]         spm_reads, spm_writes;

  wick_exec #(.N(N), .AccEntries(wick_pkg::AccEntries), .ScratchpadBytes(Spm)) u_exec (
    .clk_i, .rst_ni, .clear_i(clear), .cmd_valid_i(cmd_valid[0]), .cmd_ready_o(cmd_ready[0]),
    .cmd_i(cmd[511:0]), .cmd_index_i(cmd_index[19:0]), .done_o(retire[0]), .active_o(active[0]),
    .stall_memory_o(memory[0]), .stall_bank_o(bank[0]), .error_o(err[1]),
    .error_code_o(err_code[15:8]), .error_index_o(err_index[39:20]),
    .in_req_o(spm_req[0]), .in_we_o(spm_we[0]), .in_addr_o(spm_addr[19:0]), .in_be_o(spm_be[0+:N]),
    .in_wdata_o(spm_wdata[0+:8*N]), .in_gnt_i(spm_gnt[0]), .in_rdata_i(spm_rdata[0+:8*N]),
    .drain_req_o(spm_req[1]), .drain_we_o(spm_we[1]), .drain_addr_o(spm_addr[39:20]),
    .drain_be_o(spm_be[N+:N]), .drain_wdata_o(spm_wdata[8*N+:8*N]), .drain_gnt_i(spm_gnt[1]),
    .drain_rdata_i(spm_rdata[8*N+:8*N]),
    .wt_req_o(spm_req[3]), .wt_we_o(spm_we[3]), .wt_addr_o(spm_addr[79:60]),
    .wt_be_o(spm_be[3*N+:N]), .wt_wdata_o(spm_wdata[24*N+:8*N]), .wt_gnt_i(spm_gnt[3]),
    .wt_rdata_i(spm_rdata[24*N+:8*N]),
    .mark_valid_o(mark_valid), .mark_row_o(mark_row), .mark_ready_i(mark_ready),
    .ev_mac_o(mac), .ev_macs_o(macs), .ev_acc_read_o(acc_reads), .ev_acc_write_o(acc_writes),
    .busy_o(array_busy)
  );
  wick_vec #(.N(N), .Tables(wick_pkg::Tables), .ScratchpadBytes(Spm)) u_vec (
    .clk_i(clk_vec), .rst_ni, .clear_i(clear), .cmd_valid_i(cmd_valid[1]),
    .cmd_ready_o(cmd_ready[1]),
    .cmd_i(cmd[1023:512]), .cmd_index_i(cmd_index[39:20]), .done_o(retire[1]),
    .active_o(active[1]), .stall_memory_o(memory[1]), .stall_bank_o(bank[1]), .error_o(err[2]),
    .error_code_o(err_code[23:16]), .error_index_o(err_index[59:40]),
    .req_o(spm_req[2]), .we_o(spm_we[2]), .addr_o(spm_addr[59:40]),
    .be_o(spm_be[2*N+:N]), .wdata_o(spm_wdata[16*N+:8*N]), .gnt_i(spm_gnt[2]),
    .rdata_i(spm_rdata[16*N+:8*N]), .ev_slot_o(vec_slot)
  );
  wick_store #(
    .N(N), .ScratchpadBytes(Spm), .Bus(Bus), .Burst(wick_pkg::Burst), .Bursts(wick_pkg::Bursts)
  ) u_store (
    .clk_i(clk_dma), .rst_ni, .clear_i(clear), .abort_i(abort), .quiet_o(dma_quiet[0]),
    .cmd_valid_i(cmd_valid[2]), .cmd_ready_o(cmd_ready[2]), .cmd_i(cmd[1535:1024]),
    .cmd_index_i(cmd_index[59:40]), .done_o(retire[2]), .active_o(active[2]),
    .stall_memory_o(memory[2]), .stall_bank_o(bank[2]), .error_o(err[3]),
    .error_code_o(err_code[31:24]), .error_index_o(err_index[79:60]),
    .aw_valid_o(aw_valid[0]), .aw_ready_i(aw_ready[0]), .aw_addr_o(aw_addr[31:0]),
    .aw_len_o(aw_len[7:0]), .w_valid_o(w_valid[0]), .w_ready_i(w_ready[0]),
    .w_data_o(w_data[0+:8*Bus]), .w_strb_o(w_strb[0+:Bus]), .w_last_o(w_last[0]),
    .b_valid_i(b_valid[0]), .b_error_i(m_axi_bresp_i[1]), .spm_req_o(spm_req[4]),
    .spm_we_o(spm_we[4]), .spm_addr_o(spm_addr[99:80]), .spm_be_o(spm_be[4*N+:N]),
    .spm_gnt_i(spm_gnt[4]), .spm_rdata_i(spm_rdata[32*N+:8*N]), .transfer_o(transfer[2]),
    .ev_bytes_o(dma_bytes[0+:SizeW])
  );
  assign spm_wdata[32*N+:8*N] = '0;
  for (genvar c = 0; c < Loads; c++) begin : gen_loads
    wick_load #(
      .N(N), .ScratchpadBytes(Spm), .Bus(Bus), .Burst(wick_pkg::Burst), .Bursts(wick_pkg::Bursts)
    ) u_load (
      .clk_i(clk_dma), .rst_ni, .clear_i(clear), .abort_i(abort), .quiet_o(dma_quiet[1+c]),
      .cmd_valid_i(cmd_valid[3+c]), .cmd_ready_o(cmd_ready[3+c]), .cmd_i(cmd[512*(3+c)+:512]),
      .cmd_index_i(cmd_index[20*(3+c)+:20]), .done_o(retire[3+c]), .active_o(active[3+c]),
      .stall_memory_o(memory[3+c]), .stall_bank_o(bank[3+c]), .error_o(err[5+c]),
      .error_code_o(err_code[8*(5+c)+:8]), .error_index_o(err_index[20*(5+c)+:20]),
      .ar_valid_o(ar_valid[1+c]), .ar_ready_i(ar_ready[1+c]), .ar_addr_o(ar_addr[32*(1+c)+:32]),
      .ar_len_o(ar_len[8*(1+c)+:8]), .ar_prio_o(ar_prio[3*(1+c)+:3]), .r_valid_i(r_valid[1+c]),
      .r_ready_o(r_ready[1+c]), .r_data_i(m_axi_rdata_i), .r_error_i(m_axi_rresp_i[1]),
      .spm_req_o(spm_req[5+c]), .spm_we_o(spm_we[5+c]), .spm_addr_o(spm_addr[20*(5+c)+:20]),
      .spm_be_o(spm_be[N*(5+c)+:N]), .spm_wdata_o(spm_wdata[8*N*(5+c)+:8*N]),
      .spm_gnt_i(spm_gnt[5+c]), .transfer_o(transfer[3+c]),
      .ev_bytes_o(dma_bytes[SizeW*(1+c)+:SizeW])
    );
  end
  assign transfer[1:0] = 2'b00;

  wick_spm #(.N(N), .Bytes(Spm), .Banks(wick_pkg::Banks), .Ports(Ports)) u_spm (
    .clk_i, .rst_ni, .req_i(spm_req), .we_i(spm_we), .addr_i(spm_addr), .be_i(spm_be),
    .wdata_i(spm_wdata), .gnt_o(spm_gnt), .rdata_o(spm_rdata), .ev_reads_o(spm_reads),
    .ev_writes_o(spm_writes)
  );

  // ---- marks and counters ----------------------------------------------------------------------
  logic [19:0] mark_waiting_q, mark_index_q; // the MARK that ex holds, and that of the present row
  always_ff @(posedge clk_i) begin
    if (event_start_o[0] && cmd[wick_pkg::HdrOpcodeLsb+:5] == 5'(wick_pkg::OpMark)) begin
      mark_waiting_q <= cmd_index[19:0];
    end
    if (snap) mark_index_q <= mark_waiting_q;
  end

  wick_mark #(.Bus(Bus), .Burst(wick_pkg::Burst), .Counters(Cnts)) u_mark (
    .clk_i, .rst_ni, .start_i(start), .run_i(run), .base_i(mark_base), .mark_valid_i(mark_valid),
    .mark_ready_o(mark_ready), .mark_row_i(mark_row), .snap_o(snap), .word_index_o(snap_index),
    .word_i(snap_value), .idle_o(mark_idle), .error_o(err[4]), .aw_valid_o(aw_valid[1]),
    .aw_ready_i(aw_ready[1]), .aw_addr_o(aw_addr[63:32]), .aw_len_o(aw_len[15:8]),
    .w_valid_o(w_valid[1]), .w_ready_i(w_ready[1]), .w_data_o(w_data[8*Bus+:8*Bus]),
    .w_strb_o(w_strb[Bus+:Bus]), .w_last_o(w_last[1]), .b_valid_i(b_valid[1]),
    .b_error_i(m_axi_bresp_i[1])
  );
  assign err_code[39:32]   = 8'(wick_pkg::ErrWrite);
  assign err_index[99:80]  = mark_index_q;

  // Beats and words are counted a cycle later: what they come from is long enough.
  logic fetch_beat_q, read_beat_q, write_beat_q;
  logic [WordsW-1:0] spm_reads_q, spm_writes_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {fetch_beat_q, read_beat_q, write_beat_q} <= '0;
      {spm_reads_q, spm_writes_q} <= '0;
    end else begin
      fetch_beat_q <= r_valid[0];
      read_beat_q  <= m_axi_rvalid_i && m_axi_rready_o;
      write_beat_q <= m_axi_wvalid_o && m_axi_wready_i;
      spm_reads_q  <= spm_reads;
      spm_writes_q <= spm_writes;
    end
  end

  logic [4*Queues-1:0] state;
  logic [12*Plain-1:0] step;
  wick_states #(
    .Queues(Queues), .Bus(Bus), .SizeW(SizeW), .WordsW(WordsW), .Plain(Plain)
  ) u_states (
    .active_i(active), .memory_i(memory), .bank_i(bank), .has_i(has), .waiting_i(waiting),
    .wait_on_i(wait_on), .held_i(held), .transfer_i(transfer), .bytes_i(dma_bytes),
    .fetch_beat_i(fetch_beat_q),
    .read_beat_i(read_beat_q), .write_beat_i(write_beat_q),
    .macs_i(macs), .mac_i(mac), .spm_reads_i(spm_reads_q), .spm_writes_i(spm_writes_q),
    .acc_reads_i(acc_reads), .acc_writes_i(acc_writes), .state_o(state), .step_o(step)
  );
  wick_counters #(.Queues(Queues), .Plain(Plain), .Counters(Cnts)) u_counters (
    .clk_i, .rst_ni, .clear_i(start), .run_i(run), .step_i(step), .state_i(state),
    .index_i(counter_index), .value_o(counter), .snap_i(snap), .snap_index_i(snap_index),
    .snap_value_o(snap_value)
  );

  assign quiet    = fetch_quiet && (&dma_quiet) && mark_idle;
  assign finished = front_finished && mark_idle;
  assign progress = front_progress || event_start_o != '0 || spm_gnt != '0 || array_busy ||
                    vec_slot || snap ||
                    (m_axi_arvalid_o && m_axi_arready_i) || (m_axi_rvalid_i && m_axi_rready_o) ||
                    (m_axi_awvalid_o && m_axi_awready_i) || (m_axi_wvalid_o && m_axi_wready_i) ||
                    m_axi_bvalid_i;

  logic unused;
  assign unused = ^{m_axi_rlast_i, m_axi_rresp_i[0], m_axi_bresp_i[0], s_axil_wstrb_i};
endmodule
