/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a shell, shared by the files of this folder and the commands. */
#ifndef MTRACE_APP_SHELL_STATE_H
#define MTRACE_APP_SHELL_STATE_H

#include <stdio.h>

#include "app/shell/config.h"
#include "app/shell/words.h"
#include "app/terminal/input.h"
#include "app/terminal/output.h"
#include "base/vec.h"
#include "report/common/page.h"
#include "report/site/table.h"

#define SHELL_INTERVAL_NS 2000000000ULL
#define SHELL_TOP         20

/* Changed by `set`. */
struct shell_settings {
	enum sort_key sort;
	uint32_t top;         /* number of sites listed for each process; 0: all */
	uint64_t min_bytes;   /* hides sites with less live memory */
	uint64_t older_ns;    /* hides sites whose oldest block is younger */
	pid_t pid;            /* default process of commands; 0: all */
	uint32_t depth;       /* number of frames shown; 0: all that were recorded */
	bool long_frames;     /* show modules */
	uint64_t interval_ns; /* of top and watch */
	bool scan_stop;       /* stop the process during a scan */
};

struct shell_mark {
	char *name;
	struct snapshot *snapshot;
};

/* Where the output of a command goes. */
struct shell_output {
	FILE *stream; /* NULL: no command is running */
	enum redirect redirect;
	const char *target;
	struct output file; /* for REDIRECT_FILE */
	bool direct;        /* visible at once, not through a pager */
	int fd;             /* where it will be shown */
};

/* Results of completion. */
struct shell_candidates {
	const char *word; /* the prefix, during the search */
	VEC(char *) list;
	bool files; /* also file names */
};

/* A process that was present when the shell started. */
struct shell_process {
	uint32_t pid;
	bool exit_reported; /* its exit was reported */
};

struct shell {
	struct shell_config config;
	const struct options *options;
	struct shell_input *input;
	bool terminal;    /* a user types and reads */
	bool busy;        /* a command is running */
	bool interrupted; /* ^C was pressed since it started */
	bool ended;       /* no more lines will come */
	unsigned int line;
	unsigned int failures;
	struct shell_output output;
	struct shell_settings settings;
	struct shell_candidates candidates;
	VEC(struct shell_mark) marks;
	VEC(struct shell_process) processes;
	uint32_t live;     /* number of running processes when last checked */
	bool end_reported; /* the end of the last one was reported */
	uint64_t started_ns;
};

#endif
