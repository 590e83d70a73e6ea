// SPDX-License-Identifier: Apache-2.0
// Words inside the vector engine. A unit describes each cycle of the port, a slot, by a control
// word that travels with the slot's data through the lanes; a command as a whole by a configuration
// word. Both are flat vectors; these are their bits.
package wick_vec_pkg;
  // Control word of a slot.
  localparam int unsigned CtlRead = 0;    // reads the scratchpad
  localparam int unsigned CtlWrite = 1;   // writes the unit's own data (TRN)
  localparam int unsigned CtlEntry = 2;   // what is read is an entry of the parameter record
  localparam int unsigned CtlHold = 3;    // what is read is the second operand
  localparam int unsigned CtlData = 4;    // what is read goes to the lanes
  localparam int unsigned CtlFirst = 5;   // a sum, maximum or minimum starts here
  localparam int unsigned CtlTable = 6;   // looks the data up in tables
  localparam int unsigned CtlSum = 7;     // adds what the tables gave, not the data
  localparam int unsigned CtlLast = 8;    // a result is complete: scale it, and write it
  localparam int unsigned CtlPeak = 9;    // lane 0 now holds the maximum of a row (softmax)
  localparam int unsigned CtlTotal = 10;  // lane 0 now holds the sum of a row (softmax)
  localparam int unsigned CtlBelow = 11;  // take the distance below the maximum of the row
  localparam int unsigned CtlOdd = 12;    // of an odd row: which maximum is meant
  localparam int unsigned CtlFold = 13;   // 5 bits, one-hot: add lanes N/2, N/4 ... to those before
  localparam int unsigned CtlMax = 18;    // lanes take the maximum, not the sum
  localparam int unsigned CtlStat = 19;   // of a sum and a sum of squares (normalisation)
  localparam int unsigned CtlTake = 20;   // from here on, what the last sums gave counts
  localparam int unsigned CtlGamma = 21;  // what is read are entries of columns
  localparam int unsigned CtlPart = 22;   // 3 bits: of which eighth of the word
  localparam int unsigned CtlLaneW = 25;  // so many travel with the data; the others do not
  localparam int unsigned CtlWalkB = 25;  // the address is that of walker B, otherwise A
  localparam int unsigned CtlStepA = 26;  // walkers: 1 bit step, 2 bits level
  localparam int unsigned CtlStepB = 29;
  localparam int unsigned CtlStepY = 32;
  localparam int unsigned CtlW = 35;

  // Configuration of a command.
  localparam int unsigned CfgU8 = 0;        // the (first) operand is u8
  localparam int unsigned CfgHoldU8 = 1;    // the second operand is u8
  localparam int unsigned CfgSplat = 2;     // the second operand is one byte for all lanes
  localparam int unsigned CfgCentre = 3;    // subtract za and zb
  localparam int unsigned CfgMin = 4;       // lanes take the minimum
  localparam int unsigned CfgBaseHold = 5;  // of the second operand and the first
  localparam int unsigned CfgMul = 6;       // product of both operands
  localparam int unsigned CfgAdd = 7;       // first operand * ma + second operand * mb
  localparam int unsigned CfgTable = 8;     // what the tables gave is the result to scale
  localparam int unsigned CfgScale = 9;     // multiply the result
  localparam int unsigned CfgEntry = 10;    // by the multiplier of an entry, otherwise ma
  localparam int unsigned CfgRescale = 11;  // rescale; otherwise shr_round
  localparam int unsigned CfgRange1 = 12;   // zero, lo, hi are those of an accumulation
  localparam int unsigned CfgRange2 = 13;   // lo2, hi2
  localparam int unsigned CfgZy = 14;       // add zy
  localparam int unsigned CfgSoftmax = 15;  // multiplier and shift come from the divider
  localparam int unsigned CfgThree = 16;    // three tables at a time
  localparam int unsigned CfgRecord = 17;   // the record is read first
  localparam int unsigned CfgEntry0 = 18;   // and its entry 0
  localparam int unsigned CfgOneByte = 19;  // results are one byte each
  localparam int unsigned CfgMap = 20;      // units
  localparam int unsigned CfgPool = 21;
  localparam int unsigned CfgRow = 22;
  localparam int unsigned CfgTrn = 23;
  localparam int unsigned CfgTab = 24;
  localparam int unsigned CfgNorm = 25;     // of ROW: normalisation
  localparam int unsigned CfgW = 26;
endpackage
