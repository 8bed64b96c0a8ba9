/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the kernel side, or of the ptrace tracer, decoded and delivered as events. */
#ifndef MTRACE_SOURCE_TRACE_RECORDS_H
#define MTRACE_SOURCE_TRACE_RECORDS_H

#include "source/trace/backend.h"

/* A record of the ring, to be decoded and delivered. ctx is a struct trace_source. */
int record_arrived(void *ctx, const void *data, size_t size);
/* One of an end that was lost. */
int record_of_end(struct trace_source *trace, const struct record_exit *end, struct event *event);
/* Who is not known may have been born without room to tell it: then it is born now. */
int record_of_birth(struct trace_source *trace, pid_t pid);
/* Whose exec found no room executes now. */
int record_of_exec(struct trace_source *trace, pid_t pid);

#endif
