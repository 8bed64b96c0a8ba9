/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of a run, set by the command line and by files. */
#ifndef MTRACE_APP_CLI_OPTIONS_H
#define MTRACE_APP_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "app/terminal/terminal.h"
#include "base/error.h"
#include "base/vec.h"
#include "model/suppress/suppress.h"
#include "report/format.h"
#include "source/selection.h"
#include "source/source.h"

#define DEPTH_DEFAULT            32
#define TOP_DEFAULT              20
#define BUFFER_DEFAULT           (16u << 20)
#define BUFFER_SHARE             16 /* the default is at most this fraction of available memory */
#define BUFFER_MIN               (64u << 10)
#define BUFFER_MAX               (1u << 30)
#define MEMORY_MIN               (16u << 20) /* --max-memory */
#define MEMORY_MAX               (1ULL << 40)
#define PORT_DEFAULT             4576
#define BACKLOG_MIN              (64u << 10)
#define SERIES_MAX               10000 /* processes, or sites of each, with their own series */
#define SERIES_PROCESSES_DEFAULT 50
#define SERIES_SITES_DEFAULT     20

enum scan_mode {
	SCAN_MODE_AUTO, /* stopped at the end, live before */
	SCAN_MODE_STOP,
	SCAN_MODE_LIVE,
};

/* A requested report: --format NAME or --format NAME=FILE. */
struct format_request {
	const struct report_format *format;
	const char *path; /* NULL: written to --output */
};

/* Strings point into argv, which must outlive the options, or into `texts`. */
struct options {
	VEC(pid_t) pids;              /* no duplicates */
	VEC(const char *) omit;       /* NULL-terminated by options_parse */
	VEC(const char *) allocators; /* NULL-terminated by options_parse */
	VEC(const char *) binpaths;   /* NULL-terminated by options_parse */
	VEC(const char *) configs;    /* files named by --config */
	VEC(char *) texts;            /* strings from files; options point into them */
	VEC(struct format_request)
	formats;              /* at most one without a path; none with only --record */
	char *const *program; /* CMD [ARG…], NULL-terminated; NULL if there is none */
	const char *user;
	const char *directory;

	uint32_t apis; /* --only; -n excludes operator new and delete */
	bool no_cpp;
	bool follow; /* also trace children */
	bool hold_exec;
	bool system; /* trace all processes that match: */
	struct selection_words select;
	uint32_t depth;
	enum stack_mode stack;
	enum backend backend;
	const char *pairing;   /* NULL: the best that works */
	uint64_t buffer_bytes; /* 0: default */
	enum gate_use gates;
	struct alloc_filter alloc_filter; /* which heap calls are recorded */
	uint64_t max_memory;              /* of this program, in bytes; 0: what is available */
	/* Of the traced processes' CPU time, per million; 0: no limit. */
	uint32_t max_overhead_ppm;
	uint32_t abort_over_ppm; /* detach if the first measurement is above */

	bool scan;              /* scan at the end */
	uint64_t scan_every_ns; /* 0: no scans before the end */
	uint64_t interval_ns;   /* between reports; 0: only a final one … */
	uint32_t count;         /* … stop after this many; 0: no limit */
	uint32_t keep;          /* number of numbered report files to keep; 0: all */
	mode_t output_mode;     /* of new reports and recordings, less the umask */
	enum scan_mode scan_mode;
	bool scan_swapped;     /* otherwise the contents of swapped pages are unknown */
	unsigned int align;    /* bytes from one pointer to the next; 0: pointer size */
	bool interactive;      /* run a shell */
	bool sanity;           /* check frees */
	int error_exitcode;    /* if there are leaks or errors; 0: the usual status */
	uint32_t leak_kinds;   /* leaks that error_exitcode counts; bits by enum leak_class */
	bool leak_kinds_given; /* otherwise only definite ones */

	enum sort_key sort;
	uint32_t top;
	bool top_given;
	bool long_frames;
	bool debuginfod;
	struct suppressions *suppressions; /* NULL: none were given */
	const char *output;                /* NULL if not given */
	const char *record;                /* NULL if not given */
	const char *sysroot;               /* NULL if not given */
	bool keeps_model; /* keep a model while tracing, for reports and scans; false: only record
			   */

	bool serve;                    /* send the stream to clients; no reports */
	const char *listen;            /* NULL if not given */
	unsigned int port;             /* default port of addresses */
	bool wait;                     /* for a client before the trace starts */
	uint64_t backlog_bytes;        /* kept for clients; 0: depends on this machine's memory */
	uint64_t checkpoint_bytes;     /* size of the model of earlier events; 0: none … */
	bool checkpoint_given;         /* … if false, it depends on this machine's memory */
	const char *token_file;        /* NULL if not given … */
	const char *tls_cert;          /* … */
	const char *tls_key;           /* … */
	const char *tls_ca;            /* … */
	const char *prometheus;        /* address that serves metrics; NULL: none */
	const char *prometheus_file;   /* NULL if not given … */
	const char *prometheus_auth;   /* … */
	const char *prometheus_tls;    /* … */
	const char *prometheus_host;   /* … */
	uint32_t prometheus_processes; /* with their own series … */
	uint32_t prometheus_sites;     /* … and sites of each with their own series */

	uint64_t reconnect_ns; /* how long to retry a lost server; 0: not at all */
	bool end_trace;        /* end the trace of the server */

	enum color_mode color;
	/* The last given option that only applies to this, or NULL: */
	const char *trace_option;
	const char *scan_option; /* running processes and servers */
	const char *report_option;
	const char *serve_option;
	const char *connect_option;
	const char *net_option; /* serve and connect */
	const char *metrics_option;
	char *const *arguments; /* the command line, for reloading */
	bool quiet;
	unsigned int verbose;
	bool help;
	bool version;
};

/* The last option that applies only to running processes, not to files; NULL if there is none. */
static inline const char *options_of_live(const struct options *options)
{
	if (options->trace_option)
		return options->trace_option;
	return options->scan_option ? options->scan_option : options->metrics_option;
}

#endif
