/* SPDX-License-Identifier: Apache-2.0
 * Which operators of a model are read, and who would run them: what
 * `wick ops --model` shows. Nothing is compiled: the model goes as far as the partition, in which
 * each target says of each operator whether it takes it. What a target then finds out about whole
 * parts (wk_target.admits) is only known when it is asked for. */
#ifndef WICK_CLI_SURVEY_H
#define WICK_CLI_SURVEY_H

#include "compiler/pipeline/model.h"

/* Why a part of a node is not on a target of higher preference. */
typedef struct {
  const char *step; /* operator of the graph that is cut: "reduce" */
  const char *reason;
  uint32_t refused; /* who did not take it */
} wk_survey_reason;

/* A node on one list of targets. */
typedef struct {
  uint64_t on; /* bit for each target of the list; 0: nothing is left to run */
  WK_VEC(wk_survey_reason) reasons;
} wk_survey_place;

/* The model on one list of targets. */
typedef struct {
  const char **target; /* "accel:base" */
  const char *names;   /* of all of them */
  uint32_t n;
  wk_survey_place *place; /* per node of the report */
  int64_t *macs;          /* per target */
  const char *error;      /* the list could not be opened, or nobody runs something; NULL */
  wk_code code;           /* of it */
  bool is_one_of_all;     /* of every target: the host's share is another list's */
} wk_survey_run;

typedef struct {
  wk_arena *arena;
  const char *path;
  wk_import_report report;
  WK_VEC(wk_survey_run) runs;
  int64_t refused, unknown; /* nodes */
  int64_t refused_besides;  /* inputs, outputs, initialisers */
  wk_notes notes;
} wk_survey;

#define WK_SURVEY_ALL "all" /* in place of a target: each one by itself */

/* with_parts: targets also look at whole parts, which may take as long as compiling. WK_SURVEY_ALL
 * opens what can be opened. Free it also after an error. */
wk_status wk_survey_make(const char *path, const wk_binding_set *b, const wk_target_args *targets,
                         bool with_parts, wk_survey *out) WK_MUST_CHECK;
void wk_survey_free(wk_survey *s);
/* What to exit with: refused nodes, unbound sizes, operators that nobody runs. */
wk_status wk_survey_verdict(const wk_survey *s) WK_MUST_CHECK;

/* Nodes of one operator and opset. */
typedef struct {
  const char *domain, *op;
  int64_t opset;
  int64_t fates[WK_SURVEY_FATES];
} wk_survey_kind;
typedef struct {
  WK_VEC(wk_survey_kind) list; /* by domain and name */
  uint32_t *of;                /* per node of the report */
} wk_survey_kinds;
/* In the arena of the survey, but for the list. */
wk_survey_kinds wk_survey_kinds_of(const wk_survey *s);

/* Nodes of one kind that have the same reason. */
typedef struct {
  uint32_t kind;
  wk_survey_reason reason; /* of refused nodes: the text alone */
  WK_VEC(uint32_t) nodes;
} wk_survey_group;
typedef WK_VEC(wk_survey_group) wk_survey_groups;
/* Why nodes are not where a target of higher preference would have them; run NULL: why they are
 * refused. */
wk_survey_groups wk_survey_groups_of(const wk_survey *s, const wk_survey_kinds *k,
                                     const wk_survey_run *run);
void wk_survey_groups_free(wk_survey_groups *g);

/* Nodes of a kind on one target of a run, alone or with others. */
typedef struct { int64_t whole, in_part; } wk_survey_share;
wk_survey_share wk_survey_share_of(const wk_survey_kinds *k, const wk_survey_run *run,
                                   uint32_t kind, uint32_t target, size_t n_nodes);

void wk_survey_print(const wk_survey *s, bool all_nodes);
#define WK_SURVEY_JSON_VERSION 1
void wk_survey_print_json(const wk_survey *s, bool all_nodes);

#endif
