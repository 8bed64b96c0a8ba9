/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_MODEL_ORIGIN_H
#define MTRACE_MODEL_ORIGIN_H

/* How the model of an image started. */
enum origin {
	ORIGIN_ATTACHED = 0, /* the process was already running */
	ORIGIN_LAUNCHED,     /* we launched it */
	ORIGIN_FORKED,       /* with a copy of its parent's memory, and so of the parent's state */
	ORIGIN_EXEC,         /* by an exec that we traced, with neither */
	ORIGIN_COUNT,
};

#endif
