/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface between a shell and its trace. */
#ifndef MTRACE_APP_SHELL_CONFIG_H
#define MTRACE_APP_SHELL_CONFIG_H

#include <stdbool.h>

#include "app/scan/scanner.h"
#include "app/session/session.h"
#include "base/loop.h"

/* Borrows everything. */
struct shell_config {
	struct session *session;
	struct scanner *scanner;
	struct loop *loop;
	/* The user asked to end the trace. */
	void (*quit)(void *ctx);
	/* Returns true if the trace is about to end, for any reason. */
	bool (*over)(void *ctx);
	/* Reads signals while the loop does not run. */
	void (*poll)(void *ctx);
	void *ctx;
};

#endif
