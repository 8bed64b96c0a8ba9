/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the kernel side, or of the ptrace tracer, decoded and delivered as events. */
#ifndef MTRACE_SOURCE_TRACE_RECORDS_H
#define MTRACE_SOURCE_TRACE_RECORDS_H

#include "source/trace/backend.h"

/* Decodes and delivers a record of the ring buffer. ctx is a struct trace_source. Each function
 * here returns 0 or the first error. */
int record_arrived(void *ctx, const void *data, size_t size);
/* Delivers the end of a process whose record was dropped. */
int record_of_end(struct trace_source *trace, const struct record_exit *end, struct event *event);
/* If the fork record of an unknown process is deferred, delivers it now. */
int record_of_fork(struct trace_source *trace, pid_t pid);
/* If an exec record of the process is deferred, delivers it now. */
int record_of_exec(struct trace_source *trace, pid_t pid);

#endif
