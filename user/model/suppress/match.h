/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matching of suppressions. */
#ifndef MTRACE_MODEL_SUPPRESS_MATCH_H
#define MTRACE_MODEL_SUPPRESS_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "model/snapshot/snapshot.h"
#include "model/suppress/rule.h"

/* Returns true if the text matches a pattern with WILD_RUN and WILD_ONE. */
bool wild_match(const char *wild, const char *text, size_t length);
/* Returns true if a suppression matches the stack. The allocation function of the site counts as
 * its innermost frame, unless `anywhere` is set. */
bool suppression_matches(const struct suppression *suppression, const struct snapshot_site *site,
			 const struct snapshot_stack *stack);

#endif
