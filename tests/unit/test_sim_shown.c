/* SPDX-License-Identifier: Apache-2.0
 * What `wick sim` shows of a run whose commands, times and counters are written down here: the
 * texts, --csv, --json, --trace, and what --html draws of time and of the scratchpad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/study/causes.h"
#include "cli/study/diff.h"
#include "cli/study/report.h"
#include "cli/study/sim_json.h"

static char folder[] = "/tmp/wick-shown-XXXXXX";
static bool is_wrong;

static void check_text(const char *what, char *got, const char *want) {
  if (strcmp(got, want) != 0) {
    fprintf(stderr, "@@ %s\n%s@@ end\n", what, got);
    is_wrong = true;
  }
  free(got);
}

/* ---- the run --------------------------------------------------------------------------------- */

static const char text[] =
    ".machine tiny\n"
    ".memory z 0x30000 3\n"
    ".memory x 0x10000 8192\n"
    ".memory y 0x20000 1536\n"
    ".output y\n"
    ".output z\n"
    "ld.ld0 dram=x n0=640 spm=0 c0=640 op=1\n"
    "ld.ld0 dram=x+1024 n0=2048 spm=0x800 c0=2048 op=2\n"
    "ld.ld1 dram=x+4096 n0=512 spm=0x400 c0=512 op=1\n"
    "conv in=0 in_x=8 nx=4 kc=1 k_c=N wt=0x400 acc=0 drain out=0x2000 out_x=8 par=0x1000 op=1\n"
    "st dram=y n0=1024 spm=0x2000 c0=1024 op=1\n"
    "mark row=0 op=1\n"
    "map fn=move a=0x800 out=0x4000 n0=4 op=2\n"
    "mark row=1 op=2\n"
    "st dram=z n0=3 spm=0x4000 c0=3 op=2\n"
    "ld.ld0 dram=x n0=128 spm=0x800 c0=128\n"
    "st dram=y+1024 n0=512 spm=0x800 c0=512 op=9\n"
    "mark row=2 op=2\n"
    "end\n";

enum { COMMANDS = 13, MEMORY = 0x100000, LAYERS = 2, NOBODY = -1 };

/* Start, retirement, and who let it start; the last MARK never retired. */
static const struct {
  uint64_t start, retire;
  int released_by;
} times[COMMANDS] = {{10, 170, NOBODY}, {20, 600, NOBODY}, {12, 140, NOBODY}, {171, 300, 0},
                     {301, 560, 3},     {300, 300, 3},     {601, 700, 1},     {700, 701, 5},
                     {702, 705, 6},     {600, 640, NOBODY}, {706, 840, 9},
                     {841, WK_SCHED_NOT_RUN, NOBODY},          {842, 843, 10}};

static const char names[] = "\0conv1\0conv\0relu\0map";
static const wk_accel_layer layers[LAYERS] = {
    {.name = 1, .op = 7, .macs = 2048, .ex = 64, .drain = 70, .predicted = 500},
    {.name = 12, .op = 17, .ve = 50, .predicted = 200}};
static const wk_accel_least least[LAYERS] = {
    {.ex = 60, .drain = 66, .weights = 128, .in = 512},
    {.ve = 40, .in = 2000, .out = 1000}};

typedef struct {
  wk_stream *s;
  wk_accel_unit unit;
  wk_accel_part row;
  wk_sim_part part;
  wk_timing_accesses accesses[WK_TIMING_OPERATORS];
  wk_sched_span spans[COMMANDS];
  wk_sim_run run;
  wk_sim_shown shown;
} drawn;

static void draw_counters(uint64_t *c, uint64_t unit) {
  for (int i = 0; i < WK_COUNTER_COUNT; i++) c[i] = unit * (uint64_t)(i + 1);
  c[WK_COUNTER_cycles] = unit * 100;
  c[WK_COUNTER_macs] = unit * 1600;
  c[WK_COUNTER_bytes_st] = unit * 700;
}

static drawn *draw(void) {
  drawn *d = calloc(1, sizeof *d);
  uint64_t counters[WK_COUNTER_COUNT];
  assert_non_null(d);
  wk_status st = wk_asm(text, sizeof text - 1, "run.s", NULL, &(wk_asm_options){0}, &d->s);
  if (st) fail_msg("%s", st->message);
  assert_int_equal(d->s->n, COMMANDS);
  d->s->machine.energy_idle = (wk_fraction){7, 2};
  d->row = (wk_accel_part){.layers = LAYERS, .predicted = 800, .marks = 3};
  d->unit = (wk_accel_unit){.machine = d->s->machine, .layers = layers,
                            .least = least, .texts = names};
  d->part = (wk_sim_part){"net", 4, &d->unit, &d->row};
  d->run.memory = calloc(MEMORY, 1);
  d->run.memory_size = MEMORY;
  d->run.n = COMMANDS;
  d->run.seconds = 0.5;
  d->run.spans = d->spans;
  d->run.accesses = d->accesses;
  for (int i = 0; i < 4; i++) d->accesses[i] = (wk_timing_accesses){100 + i, 10 + i};
  for (uint32_t i = 0; i < COMMANDS; i++) {
    wk_isa_command c;
    assert_true(wk_stream_get(d->s, i, &c));
    d->spans[i] = (wk_sched_span){.start = times[i].start, .retire = times[i].retire,
                                  .released_by = times[i].released_by < 0
                                                     ? WK_SCHED_NOBODY
                                                     : (uint32_t)times[i].released_by,
                                  .queue = (uint8_t)c.queue, .opcode = (uint8_t)c.opcode,
                                  .kind = (uint8_t)wk_isa_kind_of(c.opcode),
                                  .operator = c.operator};
    d->run.result.done[c.queue]++;
  }
  draw_counters(d->run.result.counters, 12345);
  d->run.result.cycles = 850;
  for (uint64_t row = 0; row < 2; row++) {
    draw_counters(counters, 3 + 4 * row);
    memcpy(d->run.memory + d->s->marks + row * WK_MARK_BYTES, counters, sizeof counters);
  }
  for (int i = 0; i < 1536; i++) d->run.memory[0x20000 + i] = (uint8_t)(i * 5 - 9);
  memcpy(d->run.memory + 0x30000, "\x7f\x80\xff", 3);
  d->shown = (wk_sim_shown){d->s, &d->s->machine, &d->run, &wk_sim_timing, &d->part, NULL};
  return d;
}

static void erase(drawn *d) {
  wk_stream_free(d->s);
  free(d->run.memory);
  free(d);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static char *printed(void (*print)(FILE *, const wk_sim_shown *), const wk_sim_shown *x) {
  char *out = NULL;
  size_t n;
  FILE *f = open_memstream(&out, &n);
  assert_non_null(f);
  print(f, x);
  fclose(f);
  return out;
}

static void print_layers(FILE *f, const wk_sim_shown *x) {
  wk_sim_layers l = wk_sim_layers_of(x);
  wk_sim_print_layers(f, x, &l);
  free(l.list);
}

static void texts(void **state) {
  (void)state;
  drawn *d = draw();
  is_wrong = false;
  check_text("summary", printed(wk_sim_print, &d->shown),
             "part                  net, 13 commands\n"
             "machine               tiny: 8 x 8 MACs, 64.0 KiB + 16.0 KiB, memory 4 B/cycle, "
             "latency 100\n"
             "model                 timing\n"
             "cycles                1,234,500, 1.23 ms at 1000 MHz\n"
             "multiply-accumulates  2.05 k, 3.8 % of the peak: mapping 50.0 % x activity 7.5 %\n"
             "least                 910 cycles, of the memory, whatever the schedule: the run is "
             "at 100.0 % of least\n"
             "active lanes          19.8 M, 25.0 % of the peak, with those that only pad; the "
             "array computes in 19.0 % of the cycles\n"
             "transfers             470.2 KiB in, 8.2 MiB out; 7.39 B/cycle, 7.39 GB/s\n"
             "overlap               57.9 % (of 469,110 cycles with a transfer, 271,590 also "
             "compute)\n"
             "exposed               123,450 cycles, 10.0 %: nothing computes because it waits "
             "for a transfer\n"
             "scratchpad            247 k words read, 259 k written; accumulators 272 k entries "
             "read, 284 k written\n"
             "energy                about 1.57 mJ: multiplications 0.4 %, scratchpad 0.6 %, "
             "accumulators 2.8 %, memory 95.9 %, cycles 0.3 %\n"
             "\n"
             "queue  commands  busy %  memory %  bank %  empty %  wait ex %  wait ve %  wait st "
             "%  wait ld0 %  wait ld1 %\n"
             "ex            5    24.0      25.0    26.0     27.0       28.0       29.0       "
             "30.0        31.0        32.0\n"
             "ve            1    34.0      35.0    36.0     37.0       38.0       39.0       "
             "40.0        41.0        42.0\n"
             "st            3    44.0      45.0    46.0     47.0       48.0       49.0       "
             "50.0        51.0        52.0\n"
             "ld0           3    54.0      55.0    56.0     57.0       58.0       59.0       "
             "60.0        61.0        62.0\n"
             "ld1           1    64.0      65.0    66.0     67.0       68.0       69.0       "
             "70.0        71.0        72.0\n");
  check_text("marks", printed(wk_sim_print_marks, &d->shown),
             "\n"
             "mark  cycles  active lanes %  overlap %  exposed     in      out\n"
             "   0     300            25.0       57.9       30  117 B  2.1 KiB\n"
             "   1     400            25.0       57.9       40  156 B  2.7 KiB\n");
  check_text("layers", printed(print_layers, &d->shown),
             "\n"
             "layer  op    cycles  predicted      %  use %  mapping %  activity %  overlap %  "
             "exposed     read  written  limit   bound  hidden  efficiency %  binds   least  "
             "of least %\n"
             "conv1  conv     300        500   35.3   10.7       50.0        21.3       44.5     "
             " 161  1.1 KiB  1.0 KiB  memory    544     244         100.0  memory    160        "
             "53.3\n"
             "relu   map      400        200   47.1    0.0          -           -       11.5     "
             " 301  2.0 KiB      3 B  memory    513     113         100.0  memory    750       "
             "100.0\n"
             "other           150        100   17.6    0.0          -           -        0.0     "
             " 137    128 B    512 B  memory    160      10         100.0  -           0         "
             "  -\n"
             "all             850        800  100.0    3.8       50.0         7.5       21.9     "
             " 599  3.3 KiB  1.5 KiB  memory  1,217     367         100.0  memory    910       "
             "100.0\n"
             "\n"
             "Memory-bound: 2 layers, 700 cycles, 82.4 %, 462 of them exposed. Weights and the "
             "part's\n"
             "inputs and outputs take 910 cycles to move, longer than the work on them; "
             "prefetch hides\n"
             "that only behind other layers.\n");
  check_text("commands", printed(wk_sim_print_costs, &d->shown),
             "\n"
             "index  queue  start  end  cycles  command\n"
             "    0  ld0       10  170     160  ld.ld0 dram=0x10000 n0=640 spm=0x0 c0=640 op=1\n"
             "    1  ld0       20  600     580  ld.ld0 dram=0x10400 n0=2048 spm=0x800 c0=2048 "
             "op=2\n"
             "    2  ld1       12  140     128  ld.ld1 dram=0x11000 n0=512 spm=0x400 c0=512 "
             "op=1\n"
             "    3  ex       171  300     129  conv in=0x0 in_x=8 nx=4 k_c=8 wt=0x400 drain "
             "out=0x2000 par=0x1000 op=1\n"
             "    4  st       301  560     259  st dram=0x20000 n0=1024 spm=0x2000 c0=1024 op=1\n"
             "    5  ex       300  300       0  mark op=1\n"
             "    6  ve       601  700      99  map fn=move a=0x800 out=0x4000 n0=4 op=2\n"
             "    7  ex       700  701       1  mark row=1 op=2\n"
             "    8  st       702  705       3  st dram=0x30000 n0=3 spm=0x4000 c0=3 op=2\n"
             "    9  ld0      600  640      40  ld.ld0 dram=0x10000 n0=128 spm=0x800 c0=128\n"
             "   10  st       706  840     134  st dram=0x20400 n0=512 spm=0x800 c0=512 op=9\n"
             "   12  ex       842  843       1  end\n");
  check_text("outputs", printed(wk_sim_print_outputs, &d->shown),
             "\n"
             "result  bytes  hash              begins\n"
             "z           3  6c2ad16292d4b213  127 -128 -1\n"
             "y       1,536  80d2500eda440015  -9 -4 1 6 11 16 21 26\n");
  erase(d);
  assert_false(is_wrong);
}

/* A stream alone, on another memory than its own, by a model that was built; a part that was
 * scheduled for another memory; and what there is of a run that did not end. */
static void other_runs(void **state) {
  (void)state;
  drawn *d = draw();
  wk_machine m = d->s->machine;
  is_wrong = false;
  assert_null(wk_machine_override(&m, "dram_bytes=8,dram_latency=150"));
  wk_sim_model built = wk_sim_timing;
  built.build = "plain";
  d->shown.machine = &m;
  char *part = printed(wk_sim_print, &d->shown);
  assert_non_null(strstr(part, "\nscheduled for         dram_bytes 4, not 8, dram_latency 100, not "
                         "150\n"));
  free(part);
  d->shown.part = NULL;
  d->shown.model = &built;
  d->run.result.gave_up = true;
  check_text("gave up", printed(wk_sim_print, &d->shown),
             "stream   run.s, 13 commands\n"
             "machine  tiny: 8 x 8 MACs, 64.0 KiB + 16.0 KiB, memory 8 B/cycle, latency 150\n"
             "model    timing, plain\n");
  d->run.result.gave_up = false;
  d->run.result.cycles = 0;
  check_text("never began", printed(wk_sim_print, &d->shown),
             "stream   run.s, 13 commands\n"
             "machine  tiny: 8 x 8 MACs, 64.0 KiB + 16.0 KiB, memory 8 B/cycle, latency 150\n"
             "model    timing, plain\n");
  erase(d);
  assert_false(is_wrong);
}

static void rows_of_csv(void **state) {
  (void)state;
  drawn *d = draw();
  wk_str b = {0};
  is_wrong = false;
  wk_sim_add_csv(&b, &d->shown);
  d->part.number = 5;
  d->row.layers = 1;
  wk_sim_add_csv(&b, &d->shown);
  check_text("csv", b.s,
             "part,operator,layer,op,cycles,predicted,share,utilisation,mapping,activity,overlap,"
             "exposed,macs,ex,drain,ve,read,written,bound,hidden,efficiency,limit,least_ex,"
             "least_drain,least_ve,least_weights,least_in,least_out,least,of_least,binds\n"
             "4,0,\"other\",\"\",150,100,0.176471,0.000000,,,0.000000,137,0,0,0,0,128,512,160,"
             "10,1.000000,memory,0,0,0,0,0,0,0,,\n"
             "4,1,\"conv1\",\"conv\",300,500,0.352941,0.106667,0.500000,0.213333,0.444828,161,"
             "2048,64,70,0,1152,1024,544,244,1.000000,memory,60,66,0,128,512,0,160,0.533333,"
             "memory\n"
             "4,2,\"relu\",\"map\",400,200,0.470588,0.000000,,,0.114706,301,0,0,0,50,2048,3,513,"
             "113,1.000000,memory,0,0,40,0,2000,1000,750,1.000000,memory\n"
             "5,0,\"other\",\"\",550,300,0.647059,0.000000,,,0.081761,438,0,0,0,0,2176,515,673,"
             "123,1.000000,memory,0,0,0,0,0,0,0,,\n"
             "5,1,\"conv1\",\"conv\",300,500,0.352941,0.106667,0.500000,0.213333,0.444828,161,"
             "2048,64,70,0,1152,1024,544,244,1.000000,memory,60,66,0,128,512,0,160,0.533333,"
             "memory\n");
  erase(d);
  assert_false(is_wrong);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static char *dumped(json_t *o) {
  char *out = json_dumps(o, JSON_COMPACT);
  json_decref(o);
  return out;
}

static void check_counters(const json_t *o, const uint64_t *c) {
  assert_int_equal(json_object_size(o), WK_COUNTER_COUNT);
  for (int i = 0; i < WK_COUNTER_COUNT; i++)
    assert_int_equal(json_integer_value(json_object_get(o, wk_isa_counter_name(i).s)), c[i]);
}

static const char in_json[] =
#include "tests/unit/sim_figures.def"
    ;

static void figures_in_json(void **state) {
  (void)state;
  drawn *d = draw();
  is_wrong = false;
  wk_sim_model built = wk_sim_timing;
  built.build = "plain";
  json_t *o = wk_sim_figures_json(&d->shown), *m = json_object_get(o, "machine");
  check_counters(json_object_get(o, "counters"), d->run.result.counters);
  json_t *marks = json_object_get(o, "marks");
  assert_int_equal(json_array_size(marks), 2); /* the third was not reached */
  for (size_t i = 0; i < 2; i++) {
    uint64_t counters[WK_COUNTER_COUNT];
    json_t *mark = json_array_get(marks, i);
    draw_counters(counters, 3 + 4 * i);
    check_counters(json_object_get(mark, "counters"), counters);
    assert_int_equal(json_integer_value(json_object_get(mark, "row")), i);
    assert_int_equal(json_integer_value(json_object_get(mark, "operator")), i + 1);
  }
  char hash[20];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)wk_machine_hash(&d->s->machine));
  assert_string_equal(json_string_value(json_object_get(m, "hash")), hash);
  assert_int_equal(json_object_size(m), 2 + WK_KEY_COUNT);
  assert_int_equal(json_integer_value(json_object_get(m, "scratchpad")), 65536);
  assert_true(json_is_integer(json_object_get(m, "dram_bytes")));
  assert_true(json_is_real(json_object_get(m, "energy_mac")));
  static const char *const seen[] = {"counters", "marks", "machine"};
  for (size_t i = 0; i < WK_COUNTOF(seen); i++) json_object_del(o, seen[i]);
  check_text("figures", dumped(o), in_json);
  d->shown.part = NULL;
  d->shown.model = &built;
  d->run.result.gave_up = true;
  o = wk_sim_figures_json(&d->shown);
  assert_true(json_is_true(json_object_get(o, "gave_up")));
  assert_null(json_object_get(o, "layers"));
  assert_string_equal(json_string_value(json_object_get(o, "build")), "plain");
  json_decref(o);
  erase(d);
  assert_false(is_wrong);
}

/* All causes and what-ifs by name; of rows the layer where there is a part, and what was moved
 * where something was. */
static void causes_in_json(void **state) {
  (void)state;
  drawn *d = draw();
  wk_sched_cause_row rows[] = {{0, WK_MOVED_NOTHING, 1, 90},
                         {WK_CAUSE_COUNT - 1, WK_MOVED_WEIGHTS, 2, 80},
                         {2, WK_MOVED_INPUTS, 0, 70},
                         {1, WK_MOVED_RESULTS, 1, 60}};
  wk_sim_why why = {.causes.rows = {rows, 4, 4}, .has_what_if = true};
  is_wrong = false;
  for (int i = 0; i < WK_CAUSE_COUNT; i++) why.causes.cycles[i] = 1000 + (uint64_t)i;
  for (int i = 0; i < WK_WHAT_IFS; i++)
    why.what_if[i] = (wk_sched_what_if){.name = wk_what_if_infos[i].name,
                                        .cycles = 50 + (uint64_t)i};
  d->shown.why = &why;
  for (int round = 0; round < 3; round++) {
    json_t *o = wk_sim_figures_json(&d->shown), *totals = json_object_get(o, "causes"),
           *what_if = json_object_get(o, "what_if");
    assert_int_equal(json_object_size(totals), WK_CAUSE_COUNT);
    for (int i = 0; i < WK_CAUSE_COUNT; i++)
      assert_int_equal(json_integer_value(json_object_get(totals, wk_cause_infos[i].name)),
                       1000 + i);
    assert_int_equal(json_object_size(what_if), round < 2 ? WK_WHAT_IFS : 0);
    for (int i = 0; i < WK_WHAT_IFS && round < 2; i++)
      assert_int_equal(json_integer_value(json_object_get(what_if, why.what_if[i].name)), 50 + i);
    json_t *list = json_incref(json_object_get(o, "causes_of_layers"));
    if (round == 0) check_text("rows of causes", dumped(list),
             "[{\"cause\":\"compute\",\"operator\":1,\"layer\":\"conv1\",\"cycles\":90},"
             "{\"cause\":\"dispatch\",\"operator\":2,\"layer\":\"relu\",\"moved\":\"weights\","
             "\"cycles\":80},{\"cause\":\"conflicts\",\"operator\":0,\"layer\":\"other\","
             "\"moved\":\"inputs\",\"cycles\":70},{\"cause\":\"drain\",\"operator\":1,"
             "\"layer\":\"conv1\",\"moved\":\"results\",\"cycles\":60}]");
    else check_text("of a stream", dumped(list),
             "[{\"cause\":\"compute\",\"operator\":1,\"cycles\":90},{\"cause\":\"dispatch\","
             "\"operator\":2,\"moved\":\"weights\",\"cycles\":80},{\"cause\":\"conflicts\","
             "\"operator\":0,\"moved\":\"inputs\",\"cycles\":70},{\"cause\":\"drain\","
             "\"operator\":1,\"moved\":\"results\",\"cycles\":60}]");
    json_decref(o);
    d->shown.part = NULL;
    why.has_what_if = round < 1;
  }
  erase(d);
  assert_false(is_wrong);
}

/* Tracks first, then the commands, each with the arrow to it. */
static void trace_of_a_part(void **state) {
  (void)state;
  drawn *d = draw();
  is_wrong = false;
  const wk_sim_trace t = {{json_array(), 3}, 5000};
  wk_sim_trace_add(&t, &d->shown);
  json_t *tracks = json_array(), *event;
  while (json_array_size(t.to.events) && (event = json_array_get(t.to.events, 0)) &&
         !strcmp(json_string_value(json_object_get(event, "ph")), "M")) {
    json_array_append(tracks, event);
    json_array_remove(t.to.events, 0);
  }
  check_text("tracks", dumped(tracks),
             "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"tid\":1,\"ts\":0,"
             "\"args\":{\"name\":\"net\"}},{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":3,"
             "\"tid\":1,\"ts\":0,\"args\":{\"name\":\"ex\"}},{\"ph\":\"M\","
             "\"name\":\"thread_sort_index\",\"pid\":3,\"tid\":1,\"ts\":0,"
             "\"args\":{\"sort_index\":0}},{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":3,"
             "\"tid\":33,\"ts\":0,\"args\":{\"name\":\"ve\"}},{\"ph\":\"M\","
             "\"name\":\"thread_sort_index\",\"pid\":3,\"tid\":33,\"ts\":0,"
             "\"args\":{\"sort_index\":32}},{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":3,"
             "\"tid\":65,\"ts\":0,\"args\":{\"name\":\"st\"}},{\"ph\":\"M\","
             "\"name\":\"thread_sort_index\",\"pid\":3,\"tid\":65,\"ts\":0,"
             "\"args\":{\"sort_index\":64}},{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":3,"
             "\"tid\":97,\"ts\":0,\"args\":{\"name\":\"ld0\"}},{\"ph\":\"M\","
             "\"name\":\"thread_sort_index\",\"pid\":3,\"tid\":97,\"ts\":0,"
             "\"args\":{\"sort_index\":96}},{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":3,"
             "\"tid\":98,\"ts\":0,\"args\":{\"name\":\"ld0 (+1)\"}},{\"ph\":\"M\","
             "\"name\":\"thread_sort_index\",\"pid\":3,\"tid\":98,\"ts\":0,"
             "\"args\":{\"sort_index\":97}},{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":3,"
             "\"tid\":129,\"ts\":0,\"args\":{\"name\":\"ld1\"}},{\"ph\":\"M\","
             "\"name\":\"thread_sort_index\",\"pid\":3,\"tid\":129,\"ts\":0,"
             "\"args\":{\"sort_index\":128}}]");
  check_text("events", dumped(t.to.events),
             "[{\"ph\":\"X\",\"name\":\"LD\",\"pid\":3,\"tid\":97,\"ts\":5010,\"dur\":160,"
             "\"args\":{\"index\":0,\"operator\":1,\"layer\":\"conv1\",\"command\":\"ld.ld0 "
             "dram=0x10000 n0=640 spm=0x0 c0=640 op=1\"}},{\"ph\":\"X\",\"name\":\"LD\","
             "\"pid\":3,\"tid\":98,\"ts\":5020,\"dur\":580,\"args\":{\"index\":1,\"operator\":2,"
             "\"layer\":\"relu\",\"command\":\"ld.ld0 dram=0x10400 n0=2048 spm=0x800 c0=2048 "
             "op=2\"}},{\"ph\":\"X\",\"name\":\"LD\",\"pid\":3,\"tid\":129,\"ts\":5012,"
             "\"dur\":128,\"args\":{\"index\":2,\"operator\":1,\"layer\":\"conv1\","
             "\"command\":\"ld.ld1 dram=0x11000 n0=512 spm=0x400 c0=512 op=1\"}},{\"ph\":\"X\","
             "\"name\":\"CONV\",\"pid\":3,\"tid\":1,\"ts\":5171,\"dur\":129,"
             "\"args\":{\"index\":3,\"operator\":1,\"layer\":\"conv1\",\"command\":\"conv in=0x0 "
             "in_x=8 nx=4 k_c=8 wt=0x400 drain out=0x2000 par=0x1000 op=1\"}},{\"ph\":\"s\","
             "\"name\":\"wait\",\"pid\":3,\"tid\":97,\"ts\":5169,\"id\":3,\"cat\":\"wait\"},"
             "{\"ph\":\"f\",\"name\":\"wait\",\"pid\":3,\"tid\":1,\"ts\":5171,\"id\":3,"
             "\"cat\":\"wait\",\"bp\":\"e\"},{\"ph\":\"X\",\"name\":\"ST\",\"pid\":3,\"tid\":65,"
             "\"ts\":5301,\"dur\":259,\"args\":{\"index\":4,\"operator\":1,\"layer\":\"conv1\","
             "\"command\":\"st dram=0x20000 n0=1024 spm=0x2000 c0=1024 op=1\"}},{\"ph\":\"s\","
             "\"name\":\"wait\",\"pid\":3,\"tid\":1,\"ts\":5299,\"id\":4,\"cat\":\"wait\"},"
             "{\"ph\":\"f\",\"name\":\"wait\",\"pid\":3,\"tid\":65,\"ts\":5301,\"id\":4,"
             "\"cat\":\"wait\",\"bp\":\"e\"},{\"ph\":\"X\",\"name\":\"MARK\",\"pid\":3,\"tid\":1,"
             "\"ts\":5300,\"dur\":0,\"args\":{\"index\":5,\"operator\":1,\"layer\":\"conv1\","
             "\"command\":\"mark op=1\"}},{\"ph\":\"s\",\"name\":\"wait\",\"pid\":3,\"tid\":1,"
             "\"ts\":5299,\"id\":5,\"cat\":\"wait\"},{\"ph\":\"f\",\"name\":\"wait\",\"pid\":3,"
             "\"tid\":1,\"ts\":5300,\"id\":5,\"cat\":\"wait\",\"bp\":\"e\"},{\"ph\":\"X\","
             "\"name\":\"MAP\",\"pid\":3,\"tid\":33,\"ts\":5601,\"dur\":99,\"args\":{\"index\":6,"
             "\"operator\":2,\"layer\":\"relu\",\"command\":\"map fn=move a=0x800 out=0x4000 "
             "n0=4 op=2\"}},{\"ph\":\"s\",\"name\":\"wait\",\"pid\":3,\"tid\":98,\"ts\":5599,"
             "\"id\":6,\"cat\":\"wait\"},{\"ph\":\"f\",\"name\":\"wait\",\"pid\":3,\"tid\":33,"
             "\"ts\":5601,\"id\":6,\"cat\":\"wait\",\"bp\":\"e\"},{\"ph\":\"X\","
             "\"name\":\"MARK\",\"pid\":3,\"tid\":1,\"ts\":5700,\"dur\":1,\"args\":{\"index\":7,"
             "\"operator\":2,\"layer\":\"relu\",\"command\":\"mark row=1 op=2\"}},{\"ph\":\"s\","
             "\"name\":\"wait\",\"pid\":3,\"tid\":1,\"ts\":5300,\"id\":7,\"cat\":\"wait\"},"
             "{\"ph\":\"f\",\"name\":\"wait\",\"pid\":3,\"tid\":1,\"ts\":5700,\"id\":7,"
             "\"cat\":\"wait\",\"bp\":\"e\"},{\"ph\":\"X\",\"name\":\"ST\",\"pid\":3,\"tid\":65,"
             "\"ts\":5702,\"dur\":3,\"args\":{\"index\":8,\"operator\":2,\"layer\":\"relu\","
             "\"command\":\"st dram=0x30000 n0=3 spm=0x4000 c0=3 op=2\"}},{\"ph\":\"s\","
             "\"name\":\"wait\",\"pid\":3,\"tid\":33,\"ts\":5699,\"id\":8,\"cat\":\"wait\"},"
             "{\"ph\":\"f\",\"name\":\"wait\",\"pid\":3,\"tid\":65,\"ts\":5702,\"id\":8,"
             "\"cat\":\"wait\",\"bp\":\"e\"},{\"ph\":\"X\",\"name\":\"LD\",\"pid\":3,\"tid\":97,"
             "\"ts\":5600,\"dur\":40,\"args\":{\"index\":9,\"operator\":0,\"layer\":\"other\","
             "\"command\":\"ld.ld0 dram=0x10000 n0=128 spm=0x800 c0=128\"}},{\"ph\":\"X\","
             "\"name\":\"ST\",\"pid\":3,\"tid\":65,\"ts\":5706,\"dur\":134,"
             "\"args\":{\"index\":10,\"operator\":9,\"command\":\"st dram=0x20400 n0=512 "
             "spm=0x800 c0=512 op=9\"}},{\"ph\":\"s\",\"name\":\"wait\",\"pid\":3,\"tid\":97,"
             "\"ts\":5639,\"id\":10,\"cat\":\"wait\"},{\"ph\":\"f\",\"name\":\"wait\",\"pid\":3,"
             "\"tid\":65,\"ts\":5706,\"id\":10,\"cat\":\"wait\",\"bp\":\"e\"},{\"ph\":\"X\","
             "\"name\":\"END\",\"pid\":3,\"tid\":1,\"ts\":5842,\"dur\":1,\"args\":{\"index\":12,"
             "\"operator\":0,\"layer\":\"other\",\"command\":\"end\"}},{\"ph\":\"s\","
             "\"name\":\"wait\",\"pid\":3,\"tid\":65,\"ts\":5839,\"id\":12,\"cat\":\"wait\"},"
             "{\"ph\":\"f\",\"name\":\"wait\",\"pid\":3,\"tid\":1,\"ts\":5842,\"id\":12,"
             "\"cat\":\"wait\",\"bp\":\"e\"}]");
  erase(d);
  assert_false(is_wrong);
}

static void drawings(void **state) {
  (void)state;
  drawn *d = draw();
  is_wrong = false;
  json_t *o = wk_report_timeline(&d->shown);
  const json_t *opcodes = json_object_get(o, "names");
  for (int i = 0; i < 256; i++) {
    char key[8];
    const wk_isa_command_info *info = wk_isa_command_of(i);
    snprintf(key, sizeof key, "%d", i);
    const json_t *name = json_object_get(opcodes, key);
    assert_int_equal(name != NULL, info != NULL);
    if (info) assert_string_equal(json_string_value(name), info->name);
  }
  json_object_del(o, "names");
  check_text("timeline", dumped(o),
             "{\"queue_names\":[\"ex\",\"ve\",\"st\",\"ld0\",\"ld1\"],\"queues\":\"3 3 4 0 2 0 1 "
             "0 2 3 2 0 0 \",\"opcodes\":\"1 1 1 4 2 12 7 12 2 1 2 12 13 \",\"operators\":\"1 2 "
             "1 1 1 1 2 2 2 0 9 2 0 \",\"starts\":\"10 10 -8 159 130 -1 301 99 2 -102 106 - 136 "
             "\",\"cycles\":\"160 580 128 129 259 0 99 1 3 40 134 0 1 \",\"released\":\"0 0 0 3 "
             "1 2 5 2 2 0 1 0 2 \",\"texts\":\"ld.ld0 dram=0x10000 n0=640 spm=0x0 c0=640 op=1\\n "
             "dram=0x10400 n0=2048 spm=0x800 c0=2048 op=2\\nld.ld1 dram=0x11000 n0=512 spm=0x400 "
             "c0=512 op=1\\nconv in=0x0 in_x=8 nx=4 k_c=8 wt=0x400 drain out=0x2000 par=0x1000 "
             "op=1\\nst dram=0x20000 n0=1024 spm=0x2000 c0=1024 op=1\\nmark op=1\\nmap fn=move "
             "a=0x800 out=0x4000 n0=4 op=2\\n row=1 op=2\\n dram=0x30000 n0=3 spm=0x4000 c0=3 "
             "op=2\\nld.ld0 dram=0x10000 n0=128 spm=0x800 c0=128\\n dram=0x20400 n0=512 "
             "spm=0x800 c0=512 op=9\\n row=2 \\nend\\n\"}");
  check_text("space", dumped(wk_report_space(&d->shown)),
             "{\"block\":256,\"blocks\":256,\"rectangles\":\"0 1 10 290 1 1 2 0 160 1 4 1 2 288 "
             "1 5 1 0 128 1 8 1 8 580 2 9 1 0 820 2 10 6 0 580 2 32 1 151 389 1 8 1 429 240 0 64 "
             "1 1 104 2 \"}");
  erase(d);
  assert_false(is_wrong);
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *in_folder(wk_arena *a, const char *name) {
  return wk_arena_printf(a, "%s/%s", folder, name);
}

static int64_t integer(const json_t *o, const char *key) {
  return json_integer_value(json_object_get(o, key));
}

static char *print_modes(const wk_sim_record *r) {
  static char *out;
  static size_t n;
  FILE *f = open_memstream(&out, &n);
  assert_non_null(f);
  wk_sim_record_print_modes(r, f);
  fclose(f);
  return out;
}

/* Two parts, the second of which has run seven times, then the first alone in another mode. */
static void record_runs(drawn *d, const wk_sim_opts *o, wk_status s) {
  wk_sim_record *r = wk_sim_record_new(o, "net.wick");
  wk_sim_record_add(r, &d->shown);
  wk_sim_record_add(r, &d->shown);
  wk_sim_record_repeat(r, 1, 7);
  assert_false(wk_sim_record_is_mode(r));
  wk_sim_record_begin_mode(r, "auto", true);
  wk_sim_record_begin_mode(r, "off", false);
  assert_true(wk_sim_record_is_mode(r));
  wk_sim_record_add(r, &d->shown);
  check_text("modes", print_modes(r),
             "\n"
             "prefetch     cycles  of least %  overlap %  exposed  hides %       read   written\n"
             "auto      2,469,000         0.1       57.9  246,900   -100.0  940.3 KiB  16.5 MiB\n"
             "off       1,234,500         0.1       57.9  123,450      0.0  470.2 KiB   8.2 MiB\n");
  assert_ptr_equal(wk_sim_record_close(r, s), s);
}

static void check_json(const char *path) {
  json_t *o = json_load_file(path, 0, NULL), *parts = json_object_get(o, "parts"),
         *modes = json_object_get(o, "modes");
  assert_string_equal(json_string_value(json_object_get(o, "package")), "net.wick");
  assert_int_equal(integer(o, "version"), WK_SIM_JSON_VERSION);
  assert_int_equal(integer(o, "cycles"), 1700);
  assert_int_equal(json_array_size(parts), 2);
  assert_null(json_object_get(json_array_get(parts, 0), "runs"));
  assert_int_equal(integer(json_array_get(parts, 1), "runs"), 7);
  assert_non_null(json_object_get(json_array_get(parts, 0), "seconds"));
  assert_int_equal(json_array_size(modes), 2);
  for (size_t i = 0; i < 2; i++) {
    json_t *mode = json_array_get(modes, i), *list = json_object_get(mode, "parts");
    assert_string_equal(json_string_value(json_object_get(mode, "prefetch")), i ? "off" : "auto");
    assert_int_equal(json_array_size(list), 2 - i);
    assert_int_equal(integer(mode, "exposed"), i ? 123450 : 246900);
    assert_true(json_real_value(json_object_get(mode, "hides")) == (i ? 0 : -1));
    static const char *const absent[] = {"seconds", "marks", "outputs"};
    for (size_t k = 0; k < WK_COUNTOF(absent); k++)
      assert_null(json_object_get(json_array_get(list, 0), absent[k]));
    assert_int_equal(integer(json_array_get(list, 0), "cycles"), 1234500);
  }
  json_decref(o);
}

/* Parts follow one another in the trace, each a process. */
static void check_trace(const char *path) {
  json_t *o = json_load_file(path, 0, NULL), *events = json_object_get(o, "traceEvents");
  int64_t first[4] = {0};
  assert_non_null(events);
  for (size_t i = 0; i < json_array_size(events); i++) {
    const json_t *e = json_array_get(events, i);
    int64_t process = integer(e, "pid");
    assert_true(process == 1 || process == 2);
    if (!strcmp(json_string_value(json_object_get(e, "ph")), "X") && !first[process])
      first[process] = integer(e, "ts");
  }
  assert_int_equal(first[1], 10);
  assert_int_equal(first[2], 860);
  json_decref(o);
}

static void files_of_runs(void **state) {
  (void)state;
  drawn *d = draw();
  wk_arena *a = wk_arena_new();
  const wk_sim_opts o = {.json = in_folder(a, "runs.json"), .trace = in_folder(a, "trace.json"),
                         .csv = in_folder(a, "runs.csv"), .with_modes = true};
  wk_file f;
  is_wrong = false;
  record_runs(d, &o, NULL);
  check_json(o.json);
  check_trace(o.trace);
  assert_null(wk_file_map(o.csv, &f));
  int lines = 0;
  for (size_t i = 0; i < f.size; i++) lines += f.data[i] == '\n';
  assert_int_equal(lines, 1 + 2 * (LAYERS + 1));
  wk_file_unmap(&f);
  wk_status failed = wk_error(WK_FAILED, "the last run"); /* what was recorded is written */
  assert_int_equal(remove(o.csv), 0);
  record_runs(d, &o, failed);
  assert_int_equal(access(o.csv, F_OK), 0);
  wk_status_free(failed);
  assert_null(wk_sim_record_close(wk_sim_record_new(&o, NULL), NULL)); /* nothing was */
  wk_arena_free(a);
  erase(d);
  assert_false(is_wrong);
}

/* A stream is the whole of its file; who cannot write it says so. */
static void file_of_a_stream(void **state) {
  (void)state;
  drawn *d = draw();
  wk_arena *a = wk_arena_new();
  wk_sim_opts o = {.json = in_folder(a, "stream.json")};
  for (int round = 0; round < 2; round++) {
    wk_sim_record *r = wk_sim_record_new(&o, NULL);
    wk_sim_record_add(r, &d->shown);
    wk_status s = wk_sim_record_close(r, NULL);
    assert_int_equal(s ? s->code : WK_OK, round ? WK_IO : WK_OK);
    wk_status_free(s);
    json_t *root = json_load_file(in_folder(a, "stream.json"), 0, NULL);
    assert_string_equal(json_string_value(json_object_get(root, "wick")), WK_SIM_JSON_KIND);
    assert_string_equal(json_string_value(json_object_get(root, "stream")), "net");
    assert_null(json_object_get(root, "modes"));
    json_decref(root);
    o.json = in_folder(a, "nowhere/stream.json");
  }
  wk_arena_free(a);
  erase(d);
}

int main(void) {
  if (!mkdtemp(folder)) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts),           cmocka_unit_test(other_runs),
      cmocka_unit_test(rows_of_csv),     cmocka_unit_test(figures_in_json),
      cmocka_unit_test(causes_in_json),  cmocka_unit_test(trace_of_a_part),
      cmocka_unit_test(drawings),        cmocka_unit_test(files_of_runs),
      cmocka_unit_test(file_of_a_stream),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  char command[80];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) || failed;
}
