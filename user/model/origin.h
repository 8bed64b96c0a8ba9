/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_MODEL_ORIGIN_H
#define MTRACE_MODEL_ORIGIN_H

/* How the books of an image began. */
enum origin {
	ORIGIN_ATTACHED = 0, /* it ran already */
	ORIGIN_LAUNCHED,     /* we have started it */
	ORIGIN_FORKED,       /* with a copy of its parent's memory, and so of the parent's books */
	ORIGIN_EXEC,         /* before our eyes, without either */
	ORIGIN_COUNT,
};

#endif
