# SPDX-License-Identifier: Apache-2.0
# Prints what breaks the limits of tests/lint/style as FILE:LINE: REASON and exits 1 if anything
# does. Functions are found by indentation, as every language here is formatted: one begins in a
# line at some depth and ends in the first line at that depth (or less) that closes it.

BEGIN {
  WIDTH = 100
  FILE_LINES = 700
  FUNCTION_LINES = 100
  MODULE_LINES = 350
  mark = "(^|[^A-Za-z_])(TO" "DO|FIX" "ME)([^A-Za-z_]|$)"
  control = "^(if|else|for|while|do|switch|case|return|namespace|struct|class|union|enum|[}#])"
}

function refuse(line, reason) {
  print name ":" line ": " reason
  bad = 1
}

function language(first) {
  if (name ~ /\.(c|h|cc|cpp)$/) return "c"
  if (name ~ /\.py$/ || first ~ /^#!.*python/) return "python"
  if (name ~ /\.(sh|bash)$/ || first ~ /^#!.*sh$/) return "shell"
  if (name ~ /\.awk$/) return "awk"
  if (name ~ /\.sv$/) return "verilog"
  return ""
}

# A function of lines first to last.
function measure(first, last) {
  if (last - first + 1 > FUNCTION_LINES)
    refuse(first, last - first + 1 " lines of function (limit " FUNCTION_LINES ")")
}

# Forgets what was open.
function reset(   d) {
  for (d in open) delete open[d]
  header = 0
}

# C and C++: a head with "(" at depth 0, or 2 to 4 in a class, that ends in "{", on the same line
# or after lines that are deeper; "}" at its depth ends it.
function c_line(depth, text) {
  if (header && depth <= header_depth && text !~ /^[{)]/) header = 0
  if (!header && depth <= 4 && text ~ /^[^=]*\(/ && text !~ control) {
    header = FNR
    header_depth = depth
  }
  if (text ~ /^}/ && depth in open) {
    measure(open[depth], FNR)
    delete open[depth]
  }
  if (header && text ~ /\{$/) {
    open[header_depth] = header
    header = 0
  } else if (header && text ~ /[;}]$/) {
    header = 0
  }
}

# Python: what is deeper than its "def", to the last line of it.
function python_line(depth, text,   d) {
  if (text !~ /^[])}]/) # the end of a list of parameters
    for (d in open)
      if (depth <= d + 0) {
        measure(open[d], last_text)
        delete open[d]
      }
  if (text ~ /^(async )?def /) open[depth] = FNR
  last_text = FNR
}

# Shell and awk: "name() {" or "function name(…) {" to "}" at the same depth.
function brace_line(depth, text) {
  if (text ~ /^[})]/ && depth in open) {
    measure(open[depth], FNR)
    delete open[depth]
  }
  if (text ~ /^(function .*|[A-Za-z_][A-Za-z_0-9]*\(\) *)[{(]( *#.*)?$/) open[depth] = FNR
}

function verilog_line(depth, text) {
  if (text ~ /^module /) module = FNR
  if (text ~ /^endmodule/ && FNR - module + 1 > MODULE_LINES)
    refuse(module, FNR - module + 1 " lines of module (limit " MODULE_LINES ")")
  if (text ~ /^(function|task) /) open[0] = FNR
  if (text ~ /^end(function|task)/) measure(open[0], FNR)
}

function end_file(   d) {
  if (name == "") return
  if (kind == "python")
    for (d in open) measure(open[d], last_text)
  if (!licensed) refuse(1, "no SPDX-License-Identifier line")
  if (count > FILE_LINES) refuse(count, count " lines (limit " FILE_LINES ")")
}

FNR == 1 {
  end_file()
  name = FILENAME
  kind = language($0)
  licensed = module = last_text = 0
  reset()
}
{
  count = FNR
  text = $0
}
FNR <= 2 && /SPDX-License-Identifier: Apache-2\.0/ { licensed = 1 }
text ~ mark { refuse(FNR, "unfinished-work mark") }
kind == "c" && /^\/\* ----/ && !/\*\/$/ { refuse(FNR, "heading of more than one line") }
{
  gsub(/[\200-\277]/, "", text) # UTF-8 continuation bytes take no column
  if (length(text) > WIDTH) refuse(FNR, length(text) " columns (limit " WIDTH ")")
  match(text, /^ */)
  depth = RLENGTH
  text = substr(text, depth + 1)
  sub(/[ \t]+$/, "", text)
  if (kind == "c") sub(/ *(\/\/.*|\/\*.*\*\/)$/, "", text)
  if (text == "") next
  if (kind == "c") c_line(depth, text)
  else if (kind == "python") python_line(depth, text)
  else if (kind == "shell" || kind == "awk") brace_line(depth, text)
  else if (kind == "verilog") verilog_line(depth, text)
}
END {
  end_file()
  exit bad
}
