/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/trace/service.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "app/cli/option_parser.h"
#include "base/log.h"
#include "os/process/notify.h"
#include "os/process/proc.h"

/* ---- notifications to a service manager ---- */

static void notify_manager(const char *state)
{
	int code = service_notify(state);

	if (code)
		log_info("service: cannot notify $NOTIFY_SOCKET: %s", strerror(-code));
}

static void on_watchdog(void *ctx, uint32_t what)
{
	(void)ctx, (void)what;
	notify_manager("WATCHDOG=1");
}

int trace_ready(struct trace *trace)
{
	uint64_t period = service_watchdog_ns() / 2;

	notify_manager("READY=1");
	return period ? loop_add_timer(trace->loop, period, period, on_watchdog, trace, NULL) : 0;
}

void trace_stopping(void)
{
	notify_manager("STOPPING=1");
}

bool trace_hangup_reloads(const struct trace *trace)
{
	return trace->end == END_NONE && !trace->options->interactive && !trace->on_terminal;
}

/* ---- options ---- */

struct option_field {
	const char *name; /* of the option */
	size_t offset, size;
	bool changes; /* can change while the trace runs */
};

#define FIELD(name, member, changes)                                                           \
	{                                                                                      \
		name, offsetof(struct options, member), sizeof(((struct options *)0)->member), \
			changes                                                                \
	}

static const struct option_field fields[] = {
	FIELD("sort", sort, true),
	FIELD("top", top, true),
	FIELD("top", top_given, true),
	FIELD("long", long_frames, true),
	FIELD("color", color, true),
	FIELD("quiet", quiet, true),
	FIELD("verbose", verbose, true),
	FIELD("interval", interval_ns, true),
	FIELD("count", count, true),
	FIELD("keep", keep, true),
	FIELD("error-exitcode", error_exitcode, true),
	FIELD("leak-kinds", leak_kinds, true),
	FIELD("only", apis, false),
	FIELD("nocpp", no_cpp, false),
	FIELD("follow-fork", follow, false),
	FIELD("hold-exec", hold_exec, false),
	FIELD("depth", depth, false),
	FIELD("stack", stack, false),
	FIELD("backend", backend, false),
	FIELD("buffer", buffer_bytes, false),
	FIELD("max-overhead", max_overhead_ppm, false),
	FIELD("abort-over", abort_over_ppm, false),
	FIELD("max-memory", max_memory, false),
	FIELD("scan", scan, false),
	FIELD("scan-every", scan_every_ns, false),
	FIELD("scan-live", scan_mode, false),
	FIELD("scan-swapped", scan_swapped, false),
	FIELD("align", align, false),
	FIELD("sanity", sanity, false),
	FIELD("debuginfod", debuginfod, false),
	FIELD("format", formats.count, false),
};

static const struct option_field texts[] = {
	FIELD("output", output, false),
	FIELD("record", record, false),
	FIELD("pairing", pairing, false),
	FIELD("listen", listen, false),
	FIELD("token-file", token_file, false),
	FIELD("tls-cert", tls_cert, false),
	FIELD("tls-key", tls_key, false),
	FIELD("tls-ca", tls_ca, false),
	FIELD("prometheus", prometheus, false),
	FIELD("prometheus-file", prometheus_file, false),
	FIELD("prometheus-auth", prometheus_auth, false),
	FIELD("prometheus-tls", prometheus_tls, false),
	FIELD("prometheus-host", prometheus_host, false),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool texts_differ(const char *a, const char *b)
{
	return !a != !b || (a && strcmp(a, b));
}

static bool formats_differ(const struct options *a, const struct options *b)
{
	for (size_t i = 0; i < a->formats.count && i < b->formats.count; i++)
		if (a->formats.items[i].format != b->formats.items[i].format ||
		    texts_differ(a->formats.items[i].path, b->formats.items[i].path))
			return true;
	return false;
}

static bool field_differs(const struct option_field *field, const struct options *a,
			  const struct options *b)
{
	return memcmp((const char *)a + field->offset, (const char *)b + field->offset,
		      field->size) != 0;
}

static void note(char names[256], const char *name)
{
	size_t used = strlen(names);

	snprintf(names + used, 256 - used, "%s%s", used ? ", " : "", name);
}

/* Lists changed options that need a restart. */
static void log_needed_restart(const struct options *now, const struct options *wanted)
{
	char names[256] = "";

	for (size_t i = 0; i < COUNT(fields); i++)
		if (!fields[i].changes && field_differs(&fields[i], now, wanted))
			note(names, fields[i].name);
	for (size_t i = 0; i < COUNT(texts); i++)
		if (texts_differ(*(char *const *)((const char *)now + texts[i].offset),
				 *(char *const *)((const char *)wanted + texts[i].offset)))
			note(names, texts[i].name);
	if (formats_differ(now, wanted))
		note(names, "format");
	if (*names)
		log_warn("restart mtrace-bpf to apply changes of: %s", names);
}

/* Swaps the suppressions, so that the old ones are freed with `wanted`. */
static void options_change(struct options *now, struct options *wanted)
{
	struct suppressions *suppressions = now->suppressions;
	unsigned int level;

	for (size_t i = 0; i < COUNT(fields); i++)
		if (fields[i].changes)
			memcpy((char *)now + fields[i].offset,
			       (const char *)wanted + fields[i].offset, fields[i].size);
	now->suppressions = wanted->suppressions;
	wanted->suppressions = suppressions;
	level = now->quiet ? LOG_QUIET : LOG_WARN + now->verbose;
	log_set_level(level > LOG_DEBUG ? LOG_DEBUG : (enum log_level)level);
}

void trace_reload(struct trace *trace)
{
	/* Casting away const is safe: main.c's options are not const. */
	struct options *now = (struct options *)trace->options;
	uint64_t interval_ns = now->interval_ns;
	struct options wanted;
	char state[64];
	struct error err;

	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)clock_now_ns() / 1000);
	notify_manager(state);
	if (options_load(&wanted, now->arguments, &err)) {
		log_error("cannot reload the configuration, keeping the old one: %s", err.text);
	} else {
		log_needed_restart(now, &wanted);
		options_change(now, &wanted);
		log_warn("configuration reloaded");
	}
	options_free(&wanted);
	if (now->interval_ns != interval_ns && trace_watch_interval(trace))
		log_error("cannot set the timer for --interval, no more reports: out of memory");
	notify_manager("READY=1");
}
