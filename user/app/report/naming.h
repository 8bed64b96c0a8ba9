/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds names to a snapshot: the symbolizer as the model's resolver. */
#ifndef MTRACE_APP_REPORT_NAMING_H
#define MTRACE_APP_REPORT_NAMING_H

#include "model/snapshot/snapshot.h"
#include "symbol/elf/module.h"
#include "parser/client/client.h"

struct naming {
	struct module_table *modules;
	struct parser *parser;
	bool progress; /* show progress on stderr if it takes long and stderr is a terminal */
	void (*keep_up)(void *ctx); /* called every few milliseconds; may be NULL */
	bool (*enough)(void *ctx);  /* stop looking up names; may be NULL */
	void *ctx;
};

/* Names the frames of the first `top` sites of each process (0: all). Returns 0 or -ENOMEM. */
int naming_apply(const struct naming *naming, struct snapshot *snapshot, size_t top);

#endif
