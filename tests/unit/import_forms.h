/* SPDX-License-Identifier: Apache-2.0
 * Models in all forms that the importer takes, as texts (tests/hostile/model_text.h). */
#ifndef WICK_TEST_IMPORT_FORMS_H
#define WICK_TEST_IMPORT_FORMS_H

static const char *const import_forms[] = {
#define FORM(text) text,
#include "tests/unit/import_forms.def"
#include "tests/unit/import_forms_values.def"
#include "tests/unit/import_forms_more.def"
#include "tests/unit/import_forms_narrow.def"
#include "tests/unit/import_forms_rest.def"
#undef FORM
};

#endif
