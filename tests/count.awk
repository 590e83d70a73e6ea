# SPDX-License-Identifier: Apache-2.0
# Reads ctest's JUnit file: shows the output of what failed, indented, why tests were skipped and
# what they note, and sums the results up in the last line; exits 1 when something failed or nothing
# passed. How results are counted is told in scripts/test. -v longest=N: also lists the N tests that
# took longest.

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

# Keeps a reason of this entry until finish() knows that its tests count.
function skip_because(count, why) {
  entry_why[++reasons] = why
  entry_skips[reasons] = count
}

# Adds the reasons of this entry; what the entry did not explain is said to be unexplained.
function add_reasons(   i, why) {
  if (status == "skipped") { # as a whole: the last line that it printed says why
    while (lines && output[lines] == "") lines--
    reasons = 0
    skip_because(1, lines ? output[lines] : "no reason given")
  }
  for (i = 1; i <= reasons; i++) s -= entry_skips[i]
  if (s > 0) skip_because(s, "no reason given")
  for (i = 1; i <= reasons; i++) {
    why = entry_why[i]
    if (!(why in skips)) order[++kinds] = why
    skips[why] += entry_skips[i]
    if (index(" " skippers[why] ",", " " name ",") == 0)
      skippers[why] = skippers[why] (skippers[why] == "" ? "" : ", ") name
  }
}

# What a test says of itself that is neither a failure nor a skip: shown once, with who says it.
function note(text) {
  if (!(text in noted_by)) notes[++n_notes] = text
  if (index(" " noted_by[text] ",", " " name ",") == 0)
    noted_by[text] = noted_by[text] (noted_by[text] == "" ? "" : ", ") name
}

function print_notes(   i) {
  if (n_notes) print "\nNotes:"
  for (i = 1; i <= n_notes; i++) printf "        %s (%s)\n", notes[i], noted_by[notes[i]]
}

function print_longest(   i, j, all) {
  if (!longest) return
  for (i = 1; i <= entries; i++) all += took[i]
  for (i = 2; i <= entries; i++)
    for (j = i; j > 1 && took[j] > took[j - 1]; j--) {
      swap(took, j)
      swap(names, j)
    }
  printf "\nLongest, of %d s in all:\n", all
  for (i = 1; i <= entries && i <= longest; i++) printf "%8.1f s  %s\n", took[i], names[i]
}

function swap(list, j,   x) {
  x = list[j]
  list[j] = list[j - 1]
  list[j - 1] = x
}

# Reasons, the most frequent first.
function print_reasons(   i, j, why) {
  for (i = 2; i <= kinds; i++) {
    why = order[i]
    for (j = i - 1; j >= 1 && skips[order[j]] < skips[why]; j--) order[j + 1] = order[j]
    order[j + 1] = why
  }
  if (kinds) print "\nSkipped:"
  for (i = 1; i <= kinds; i++)
    printf "%6d  %s (%s)\n", skips[order[i]], order[i], skippers[order[i]]
}

function scan(line,   because) {
  if (line ~ /\[  (PASSED  |FAILED  |SKIPPED )\] [0-9]+ test\(s\)/) {
    cmocka = 1
    p += count_after(line, "[  PASSED  ] ")
    f += count_after(line, "[  FAILED  ] ")
    s += count_after(line, "[  SKIPPED ] ")
  } else if (cmocka && line ~ /^\[  SKIPPED \] /) { # in the list at the end
    skip_because(1, substr(line, 14) " has nothing to test on this machine")
  } else if (line == "skipped, by reason:") { # of wick test: lines "COUNT  REASON" follow
    listing = 1
  } else if (listing && line ~ /^ *[0-9]+  /) {
    because = line
    sub(/^ *[0-9]+  /, "", because)
    skip_because(line + 0, because)
  } else if (line ~ /^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/) {
    own = line
  } else if (line ~ /^note: /) {
    note(substr(line, 7))
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
  add_reasons()
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
  took[++entries] = attribute("time") + 0
  names[entries] = name
  status = attribute("status")
  status = status == "run" ? "passed" : status == "disabled" ? "skipped" : "failed"
  reason = own = ""
  p = f = s = cmocka = lines = reasons = listing = 0
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
  print_longest()
  print_reasons()
  print_notes()
  printf "%d passed, %d failed", passed, failed
  if (skipped) printf ", %d skipped", skipped
  printf "\n"
  exit failed > 0 || passed == 0
}
