// SPDX-License-Identifier: Apache-2.0
// CONV, DWC or MM to the control record, combinational. bad_o: a count is 0 or too large, or fields
// contradict each other. Only this module of the engine knows where fields lie. Outputs mean
// something only with en_i; without it nothing toggles.
module wick_exec_decode #(
  parameter int unsigned N = 16
) (
  /* verilator lint_off UNUSEDSIGNAL */ // waits and the queue are behind it
  input  logic [511:0]         cmd_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic [19:0]          index_i,
  input  logic                 en_i,
  output wick_exec_pkg::ctrl_t ctrl_o,
  output logic                 bad_o
);
  localparam int unsigned Log2N = $clog2(N);

`define F(name) cmd_i[wick_pkg::name``Lsb +: wick_pkg::name``W]
`define LOW(name) cmd_i[wick_pkg::name``Lsb +: Log2N]

  logic is_mm, is_dwc, three;
  assign is_mm = `F(HdrOpcode) == wick_pkg::OpMm;
  assign is_dwc = `F(HdrOpcode) == wick_pkg::OpDwc;
  assign three = `F(DwcTaps) == wick_pkg::TapsThree;

  wick_exec_pkg::ctrl_t conv;
  always_comb begin : decode_conv
    conv = '0;
    if (en_i && !is_dwc && !is_mm) begin
      conv.index = index_i;
      conv.in = 22'(signed'(`F(ConvIn)));
      conv.in_y = `F(ConvInY);
      conv.in_x = `F(ConvInX);
      conv.k_y = `F(ConvKY);
      conv.k_x = {1'b0, `F(ConvKX)};
      conv.k_c = `F(ConvKC);
      conv.ny = {3'b0, `F(ConvNy)};
      conv.nx = {1'b0, `F(ConvNx)};
      conv.ky = `F(ConvKy);
      conv.kx = `F(ConvKx);
      conv.taps = 2'd1;
      conv.kc = `F(ConvKc);
      conv.pad_t = `F(ConvPadT);
      conv.pad_l = `F(ConvPadL);
      conv.h = `F(ConvH);
      conv.w = `F(ConvW);
      conv.sy = `F(ConvSy);
      conv.sx = `F(ConvSx);
      conv.dy = `F(ConvDy);
      conv.dx = {2'b0, `F(ConvDx)};
      conv.lanes = 6'(N);
      conv.tail = `F(ConvKTail);
      conv.zero = `F(ConvZero);
      conv.u8 = `F(ConvU8);
      conv.wt = `F(ConvWt);
      conv.w_c = 20'(N * N);
      conv.w_r = 20'(N);
      conv.acc = `F(ConvAcc);
      conv.accumulate = `F(ConvAccumulate);
      conv.drain = `F(ConvDrain);
      conv.residual = `F(ConvResidual);
      conv.out_nx = `F(ConvNx);
      conv.out = `F(ConvOut);
      conv.out_y = `F(ConvOutY);
      conv.out_x = `F(ConvOutX);
      conv.par = `F(ConvPar);
      conv.res = `F(ConvRes);
      conv.n = `F(ConvN);
    end
  end

  wick_exec_pkg::ctrl_t dwc;
  always_comb begin : decode_dwc
    dwc = '0;
    if (en_i && is_dwc) begin
      dwc.index = index_i;
      dwc.in = 22'(signed'(`F(DwcIn)));
      dwc.in_y = `F(DwcInY);
      dwc.in_x = `F(DwcInX);
      dwc.k_y = `F(DwcKY);
      dwc.k_x = {1'b0, `F(DwcKX)};
      dwc.ny = {3'b0, `F(DwcNy)};
      dwc.nx = {1'b0, `F(DwcNx)};
      dwc.ky = `F(DwcKy);
      dwc.kx = `F(DwcKx);
      dwc.taps = 2'd1;
      dwc.kc = 9'd1;
      dwc.pad_t = `F(DwcPadT);
      dwc.pad_l = `F(DwcPadL);
      dwc.h = `F(DwcH);
      dwc.w = `F(DwcW);
      dwc.sy = `F(DwcSy);
      dwc.sx = `F(DwcSx);
      dwc.dy = `F(DwcDy);
      dwc.dx = {2'b0, `F(DwcDx)};
      if (three) begin
        // A row is walked word by word, the window follows: nx outputs need sx (nx - 1) + 3 words.
        dwc.three = 1'b1;
        dwc.taps = 2'd3;
        dwc.row_two = dwc.sx[1];
        dwc.nx = dwc.row_two ? 10'({`F(DwcNx), 1'b0} + 10'd1) : {1'b0, `F(DwcNx)} + 10'd2;
        dwc.sx = 4'd1;
        dwc.dx = 7'd3;
        dwc.in_x = 16'(N);
        dwc.k_x = 17'(3 * N);
      end
      dwc.dwc = 1'b1;
      dwc.column = 1'b1;
      dwc.lanes = `F(DwcN);
      dwc.tail = `F(DwcN);
      dwc.zero = `F(DwcZero);
      dwc.u8 = `F(DwcU8);
      dwc.wt = `F(DwcWt);
      dwc.w_c = three ? 20'(3 * N) : 20'(N);
      dwc.w_r = 20'(N);
      dwc.acc = `F(DwcAcc);
      dwc.accumulate = `F(DwcAccumulate);
      dwc.drain = `F(DwcDrain);
      dwc.residual = `F(DwcResidual);
      dwc.out_nx = `F(DwcNx);
      dwc.out = `F(DwcOut);
      dwc.out_y = `F(DwcOutY);
      dwc.out_x = `F(DwcOutX);
      dwc.par = `F(DwcPar);
      dwc.res = `F(DwcRes);
      dwc.n = `F(DwcN);
    end
  end

  wick_exec_pkg::ctrl_t mm;
  always_comb begin : decode_mm
    mm = '0;
    if (en_i && is_mm) begin
      mm.index = index_i;
      mm.in = {2'b0, `F(MmIn)};
      mm.in_y = `F(MmInY);
      mm.k_c = `F(MmKC);
      mm.ny = `F(MmNy);
      mm.nx = 10'd1;
      mm.ky = 6'd1;
      mm.kx = 6'd1;
      mm.taps = 2'd1;
      mm.kc = `F(MmKc);
      mm.sy = 4'd1;
      mm.sx = 4'd1;
      mm.dy = 5'd1;
      mm.dx = 7'd1;
      mm.lanes = 6'(N);
      mm.tail = `F(MmKTail);
      mm.zero = `F(MmZero);
      mm.u8 = `F(MmU8);
      mm.wt = `F(MmWt);
      mm.w_c = `F(MmWC);
      mm.w_r = `F(MmWR);
      mm.by_block = 1'b1;
      mm.column = `F(MmTransposed);
      mm.transposed = `F(MmTransposed);
      mm.w_zero = `F(MmWZero);
      mm.w_u8 = `F(MmWU8);
      mm.acc = `F(MmAcc);
      mm.accumulate = `F(MmAccumulate);
      mm.drain = `F(MmDrain);
      mm.residual = `F(MmResidual);
      mm.out_nx = 9'd1;
      mm.out = `F(MmOut);
      mm.out_y = `F(MmOutY);
      mm.par = `F(MmPar);
      mm.res = `F(MmRes);
      mm.n = `F(MmN);
    end
  end

  assign ctrl_o = is_mm ? mm : is_dwc ? dwc : conv;

  function automatic logic bad_count(input logic [5:0] count);
    bad_count = count == '0 || count > 6'(N);
  endfunction

  function automatic logic unaligned(input logic [Log2N-1:0] low);
    unaligned = low != '0;
  endfunction

  logic bad_three, bad_own, bad_epilogue;
  assign bad_three = three && (`F(DwcDx) != 5'd1 || `F(DwcKX) != 16'(N) || `F(DwcSx) > 4'd2 ||
                               `F(DwcInX) != (`F(DwcSx) == 4'd2 ? 16'(2 * N) : 16'(N)));
  always_comb begin
    if (!en_i) begin
      bad_own = 1'b0;
    end else if (is_mm) begin
      bad_own = `F(MmNy) == '0 || `F(MmKc) == '0 || bad_count(`F(MmKTail));
    end else if (is_dwc) begin
      bad_own = `F(DwcNy) == '0 || `F(DwcNx) == '0 || `F(DwcKy) == '0 || `F(DwcKx) == '0 ||
                `F(DwcSy) == '0 || `F(DwcSx) == '0 || `F(DwcDy) == '0 || `F(DwcDx) == '0 ||
                unaligned(`LOW(DwcWt)) || bad_three;
    end else begin
      bad_own = `F(ConvNy) == '0 || `F(ConvNx) == '0 || `F(ConvKy) == '0 || `F(ConvKx) == '0 ||
                `F(ConvSy) == '0 || `F(ConvSx) == '0 || `F(ConvDy) == '0 || `F(ConvDx) == '0 ||
                `F(ConvKc) == '0 || bad_count(`F(ConvKTail)) || unaligned(`LOW(ConvWt));
    end
  end
  assign bad_epilogue = bad_count(ctrl_o.n) || (ctrl_o.drain && unaligned(ctrl_o.par[Log2N-1:0]));
  assign bad_o = bad_own || bad_epilogue;

`undef F
`undef LOW
endmodule
