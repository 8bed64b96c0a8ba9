// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/suppress/rule.h"

#include <stdlib.h>

void suppression_free(struct suppression *suppression)
{
	struct frame_rule *rule;

	vec_each (rule, &suppression->frames) {
		if (rule->kind == FRAME_REGEX)
			regfree(&rule->regex);
		free(rule->wild);
		free(rule->demangled);
	}
	vec_free(&suppression->frames);
	free(suppression->name);
}
