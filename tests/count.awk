# SPDX-License-Identifier: Apache-2.0
# Reads ctest's JUnit file: shows the output of what failed, indented, and sums the results up in
# the last line; exits 1 when something failed or nothing passed. How results are counted is told
# in scripts/test.

function attribute(name,   s) {
  s = $0
  if (!sub(".* " name "=\"", "", s)) return ""
  sub(/".*/, "", s)
  return plain(s)
}

function plain(s) {
  gsub(/&lt;/, "<", s)
  gsub(/&gt;/, ">", s)
  gsub(/&quot;/, "\"", s)
  gsub(/&apos;/, "'", s)
  gsub(/&amp;/, "\\&", s)
  return s
}

# The number before or after a marker that stands anywhere in the line.
function count_after(line, marker,   at) {
  at = index(line, marker)
  return at ? substr(line, at + length(marker)) + 0 : 0
}

function scan(line,   words) {
  if (line ~ /\[  (PASSED  |FAILED  |SKIPPED )\] [0-9]+ test\(s\)/) {
    cmocka = 1
    p += count_after(line, "[  PASSED  ] ")
    f += count_after(line, "[  FAILED  ] ")
    s += count_after(line, "[  SKIPPED ] ")
  } else if (line ~ /^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/) {
    own = line
  }
}

function finish(   i, words) {
  if (!cmocka) {
    split(own, words, /[^0-9]+/)
    p = own == "" ? status == "passed" : words[1] + 0
    f = words[2] + 0
    s = words[3] + 0
  }
  if (status == "skipped") { # nothing ran, whatever was printed
    p = f = 0
    s = 1
  }
  if (status == "failed" && f == 0) f = 1 # a crash, a time-out, a failing set-up
  passed += p
  failed += f
  skipped += s
  if (f == 0) return
  printf "\nFAILED %s%s\n", name, reason == "" ? "" : ": " reason
  if (lines && output[lines] == "") lines--
  i = lines > SHOWN ? lines - SHOWN + 1 : 1
  if (i > 1) printf "    (%d lines before these are in the build folder's tests.xml)\n", i - 1
  for (; i <= lines; i++) print "    " output[i]
}

BEGIN { SHOWN = 200 }
/^[ \t]*<testcase / {
  name = attribute("name")
  status = attribute("status")
  status = status == "run" ? "passed" : status == "disabled" ? "skipped" : "failed"
  reason = own = ""
  p = f = s = cmocka = lines = 0
}
/^[ \t]*<failure/ { reason = attribute("message") }
/^[ \t]*<skipped/ {
  reason = attribute("message")
  if (reason ~ /^SKIP_/) status = "skipped"
}
/<system-out>/ {
  inside = 1
  sub(/^[ \t]*<system-out>/, "")
}
inside {
  last = sub(/<\/system-out>.*/, "")
  text = plain($0)
  output[++lines] = text
  scan(text)
  if (last) inside = 0
  next
}
/<\/testcase>/ { finish() }

END {
  printf "%d passed, %d failed", passed, failed
  if (skipped) printf ", %d skipped", skipped
  printf "\n"
  exit failed > 0 || passed == 0
}
