/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of a run, as the command line and files set them. */
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
#define PORT_DEFAULT             4576
#define BACKLOG_MIN              (64u << 10)
#define SERIES_MAX               10000 /* processes, and sites of each, that have their own */
#define SERIES_PROCESSES_DEFAULT 50
#define SERIES_SITES_DEFAULT     20

enum scan_mode {
	SCAN_MODE_AUTO, /* stopped at the end, live meanwhile */
	SCAN_MODE_STOP,
	SCAN_MODE_LIVE,
};

/* One report to be written: --format NAME, or --format NAME=FILE. */
struct format_request {
	const struct report_format *format;
	const char *path; /* NULL: where --output says */
};

/* Strings point into argv, which has to outlive the options, or into texts. */
struct options {
	VEC(pid_t) pids;              /* no duplicates */
	VEC(const char *) omit;       /* NULL-terminated by options_parse */
	VEC(const char *) allocators; /* NULL-terminated by options_parse */
	VEC(const char *) binpaths;   /* NULL-terminated by options_parse */
	VEC(const char *) configs;    /* files named by --config */
	VEC(char *) texts;            /* what options from files point into */
	VEC(struct format_request)
	formats;              /* at most one without a path; none with --record alone */
	char *const *program; /* CMD [ARG…], NULL-terminated; NULL if there is none */
	const char *user;
	const char *directory;

	uint32_t apis; /* --only; -n takes operator new and delete out of it */
	bool no_cpp;
	bool follow; /* children too */
	bool hold_exec;
	bool system; /* everything that is selected: */
	struct selection_words select;
	uint32_t depth;
	enum stack_mode stack;
	enum backend backend;
	const char *pairing;       /* NULL: the best that works */
	uint64_t buffer_bytes;     /* 0: as usual */
	struct thinning thinning;  /* which heap calls are recorded */
	uint32_t max_overhead_ppm; /* of the traced processes' CPU time, in millionths; 0: no limit
				    */

	bool scan;              /* at the end */
	uint64_t scan_every_ns; /* 0: not meanwhile */
	uint64_t interval_ns;   /* between reports; 0: only the last one … */
	uint32_t count;         /* … after this many; 0: no limit */
	uint32_t keep;          /* files of reports that have numbers; 0: all */
	enum scan_mode scan_mode;
	bool scan_swapped;     /* else what is swapped out is not known */
	unsigned int align;    /* from one pointer to the next; 0: a pointer's size */
	bool interactive;      /* a shell on the trace */
	bool sanity;           /* judge releases */
	int error_exitcode;    /* if there are leaks or errors; 0: as if there were none */
	uint32_t leak_kinds;   /* which of them error_exitcode counts; bits by enum leak_class */
	bool leak_kinds_given; /* else only definite ones */

	enum sort_key sort;
	uint32_t top;
	bool top_given;
	bool long_frames;
	bool debuginfod;
	struct suppressions *suppressions; /* NULL: none were given */
	const char *output;                /* NULL if not given */
	const char *record;                /* NULL if not given */
	const char *sysroot;               /* NULL if not given */
	bool books; /* a model is kept while tracing, for reports and scans; false: only a recording
		     */

	bool serve;                    /* send the stream to clients; no reports */
	const char *listen;            /* NULL if not given */
	unsigned int port;             /* where no other is named */
	bool wait;                     /* for a client, before the trace begins */
	uint64_t backlog_bytes;        /* kept for clients; 0: what fits this machine */
	uint64_t checkpoint_bytes;     /* for a model of earlier events; 0: none … */
	bool checkpoint_given;         /* … or, if false, as much as this machine allows */
	const char *token_file;        /* NULL if not given … */
	const char *tls_cert;          /* … */
	const char *tls_key;           /* … */
	const char *tls_ca;            /* … */
	const char *prometheus;        /* where metrics are served; NULL: nowhere */
	const char *prometheus_file;   /* NULL if not given … */
	const char *prometheus_auth;   /* … */
	const char *prometheus_tls;    /* … */
	uint32_t prometheus_processes; /* with series of their own … */
	uint32_t prometheus_sites;     /* … and sites of each with series of their own */

	uint64_t reconnect_ns; /* how long a lost server is tried; 0: not at all */
	bool end_trace;        /* of the server that is connected to */

	enum color_mode color;
	/* The last option given that is for this alone, or NULL: */
	const char *of_trace;
	const char *of_scan; /* for what runs, or is connected to */
	const char *of_report;
	const char *of_serve;
	const char *of_connect;
	const char *of_net; /* for both of these */
	const char *of_metrics;
	char *const *arguments; /* what they were made from, for another time */
	bool quiet;
	unsigned int verbose;
	bool help;
	bool version;
};

/* The last option that is for what runs, and for no file; or NULL. */
static inline const char *options_of_live(const struct options *options)
{
	if (options->of_trace)
		return options->of_trace;
	return options->of_scan ? options->of_scan : options->of_metrics;
}

#endif
