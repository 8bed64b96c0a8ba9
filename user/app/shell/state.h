/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a shell, which the files of this folder and the commands share. */
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

/* What `set` changes. */
struct shell_settings {
	enum sort_key sort;
	uint32_t top;         /* sites listed, of each process; 0: all */
	uint64_t min_bytes;   /* sites with less that lives are left out */
	uint64_t older_ns;    /* sites whose oldest block is younger, too */
	pid_t pid;            /* whom commands are about; 0: all */
	uint32_t depth;       /* frames shown; 0: all that were recorded */
	bool long_frames;     /* with their modules */
	uint64_t interval_ns; /* of top and watch */
	bool scan_stop;       /* stop the process meanwhile */
};

struct shell_mark {
	char *name;
	struct snapshot *snapshot;
};

/* Where a command's output goes. */
struct shell_output {
	FILE *stream; /* NULL: no command runs */
	enum redirect redirect;
	const char *target;
	struct output file; /* of REDIRECT_FILE */
	bool direct;        /* to where it is seen at once, and not through a pager */
	int fd;             /* what it will be shown on */
};

/* What completion found. */
struct shell_candidates {
	const char *word; /* that they begin with, while they are looked for */
	VEC(char *) list;
	bool files; /* file names as well */
};

/* A process that was there when the shell began. */
struct shell_process {
	uint32_t pid;
	bool told; /* that it has ended */
};

struct shell {
	struct shell_config config;
	const struct options *options;
	struct shell_input *input;
	bool terminal;    /* somebody types and looks */
	bool busy;        /* a command runs */
	bool interrupted; /* ^C since it began */
	bool ended;       /* no line will come any more */
	unsigned int line;
	unsigned int failures;
	struct shell_output output;
	struct shell_settings settings;
	struct shell_candidates candidates;
	VEC(struct shell_mark) marks;
	VEC(struct shell_process) processes;
	uint32_t live; /* processes when that was last looked at */
	bool all_told; /* that none is left */
	uint64_t started_ns;
};

#endif
