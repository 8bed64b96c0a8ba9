/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the shell (files of this folder) share. */
#ifndef MTRACE_APP_SHELL_STATE_H
#define MTRACE_APP_SHELL_STATE_H

#include <stdio.h>

#include "app/shell/shell.h"
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

/* ---- the command table (commands.c) ---- */

enum shell_takes {
	SHELL_TAKES_PID = 1 << 0,
	SHELL_TAKES_SORT = 1 << 1,
	SHELL_TAKES_LONG = 1 << 2, /* -l */
	SHELL_TAKES_SITE = 1 << 3,
	SHELL_TAKES_FORMAT = 1 << 4,
	SHELL_TAKES_FILE = 1 << 5,
	SHELL_TAKES_COMMAND = 1 << 6,
	SHELL_TAKES_SETTING = 1 << 7,
	SHELL_TAKES_MARK = 1 << 8,
};

struct shell_command {
	const char *name;
	const char *arguments; /* as help shows them; "" if there are none */
	const char *help;      /* in one line */
	const char *more;      /* sentences */
	unsigned int takes;    /* what can be completed */
	const char *words;     /* "all|new|leak", likewise; NULL if none */
	bool streams;          /* its output is to be seen while it runs */
	/* words: behind the name, NULL-terminated. 0 or -errno with words. */
	int (*run)(struct shell *shell, char *const *words, struct error *err);
};

const struct shell_command *shell_command_at(size_t i); /* NULL behind the last */
/* By name, alias or unique prefix; NULL with words. */
const struct shell_command *shell_command_find(const char *word, struct error *err);
/* Run a line: 0 or -errno with words. */
int shell_run_line(struct shell *shell, const char *line, struct error *err);
/* The index-th word that can stand there, to be freed (see shell_input_config's complete). */
char *shell_complete(struct shell *shell, const char *line, const char *word, size_t index,
		     bool *ret_files);

void shell_candidates_free(struct shell_candidates *candidates);

/* ---- arguments ---- */

struct shell_choice {
	pid_t pid;
	enum sort_key sort;
	bool sort_given;
	bool long_frames;
};

/* Words in any order: what `takes` allows of a pid (or "all"), a sort key, -l. */
int shell_choose(const struct shell *shell, char *const *words, unsigned int takes,
		 struct shell_choice *ret_choice, struct error *err);
/* The only word, or NULL if there is none; -EINVAL with words if there are more. */
int shell_one_word(char *const *words, const char *what, const char **ret_word, struct error *err);
int shell_no_words(char *const *words, struct error *err);
/* 0, or -EINVAL with words. */
int shell_pid_parse(const char *word, pid_t *ret_pid, struct error *err);
int shell_sort_parse(const char *word, enum sort_key *ret_sort, struct error *err);

/* ---- output (output.c) ---- */

int shell_output_begin(struct shell *shell, const struct shell_words *words, bool streams,
		       struct error *err);
/* Show it, or with `failed` leave no file. 0 or -errno with words. */
int shell_output_end(struct shell *shell, bool failed, struct error *err);
/* For people: what it will look like. */
struct page shell_page(const struct shell *shell);
/* Lines on the screen; 0: there is none. */
size_t shell_screen_rows(const struct shell *shell);
/* Has so much been written that a pager will show it? */
bool shell_output_is_long(const struct shell *shell);
/* Throw away what has been written so far. */
void shell_output_restart(struct shell *shell);
/* A line for people, as printf: of the command that runs. */
void shell_say(struct shell *shell, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Something that happened meanwhile. */
void shell_notice(struct shell *shell, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- waiting (wait.c) ---- */

enum shell_wake { SHELL_WAKE_TIME, SHELL_WAKE_KEY, SHELL_WAKE_INTERRUPT, SHELL_WAKE_OVER };

/* Keys end a wait; where there is no terminal, nothing does. NULL is fine for keys_end. */
struct shell_keys;
struct shell_keys *shell_keys_begin(struct shell *shell);
void shell_keys_end(struct shell_keys *keys);
/* Let the trace go on for so long, or until something happens; keys may be NULL. */
enum shell_wake shell_wait(struct shell *shell, const struct shell_keys *keys, uint64_t ns);
/* Run a command of the system with this as its input, and let the trace go on. Its wait status. */
int shell_spawn(struct shell *shell, const char *command, int input, int *ret_status);
/* Shall the command that runs be given up? Looks for signals. Its ctx is the shell. */
bool shell_is_interrupted(void *ctx);

/* ---- what the books say (view.c) ---- */

struct shell_view {
	struct snapshot *snapshot; /* of the processes in question, each with its last image */
	bool several;
};

struct shell_rows {
	VEC(struct site_row) list;
	size_t hidden; /* by filters */
};

/* pid 0: all that are or were traced. 0 or -errno with words. */
int shell_view_open(struct shell *shell, pid_t pid, struct shell_view *ret_view, struct error *err);
void shell_view_close(struct shell_view *view);
/*
 * The sites that the filters let through, the worst first. `before`: changes since then; or NULL.
 * 0 or -ENOMEM with words. Free with vec_free(&rows->list).
 */
int shell_rows_collect(const struct shell *shell, const struct shell_view *view,
		       const struct snapshot *before, enum sort_key sort,
		       struct shell_rows *ret_rows, struct error *err);
/* How names are looked up for a command: ^C leaves the rest without. */
struct report shell_report(struct shell *shell);
void shell_rows_sort(struct shell_rows *rows, enum sort_key sort);
/* Names for the first so many rows. 0 or -ENOMEM with words. */
int shell_rows_name(struct shell *shell, const struct shell_view *view,
		    const struct shell_rows *rows, size_t count, struct error *err);
/* The same process image, and the same site, in another snapshot; NULL if it has none. */
const struct snapshot_process *shell_process_in(const struct snapshot *snapshot,
						const struct snapshot_process *process);
/* The site that a word names, ID or PID:ID, and the view that it is in. 0 or -errno with words. */
int shell_site_find(struct shell *shell, const char *word, struct shell_view *ret_view,
		    struct site_row *ret_row, struct error *err);
/* How many rows `set top` lets show. */
size_t shell_rows_shown(const struct shell *shell, const struct shell_rows *rows);
/* "12 more sites: set top 0 shows all", "3 sites are left out by set min, older" */
void shell_rows_note(struct shell *shell, struct page *page, const struct shell_rows *rows,
		     size_t shown);

/* ---- commands, by file ---- */

/* The source line of a frame, with those around it; nothing if the file is not at hand. */
void shell_source_write(struct page *page, const struct snapshot_frame *frame);

#define SHELL_COMMAND(name) \
	int shell_do_##name(struct shell *shell, char *const *words, struct error *err)

SHELL_COMMAND(dump); /* app/shell/command/report.c */
SHELL_COMMAND(save);
SHELL_COMMAND(export);
SHELL_COMMAND(site); /* app/shell/command/site.c */
SHELL_COMMAND(grep);
SHELL_COMMAND(top);   /* app/shell/command/top.c */
SHELL_COMMAND(watch); /* app/shell/command/watch.c */
SHELL_COMMAND(wait);
SHELL_COMMAND(mark); /* app/shell/command/diff.c */
SHELL_COMMAND(diff);
SHELL_COMMAND(scan); /* app/shell/command/control.c */
SHELL_COMMAND(start);
SHELL_COMMAND(stop);
SHELL_COMMAND(reset);
SHELL_COMMAND(quit);
SHELL_COMMAND(suspects); /* app/shell/command/suspects.c */
SHELL_COMMAND(status);   /* app/shell/command/info.c */
SHELL_COMMAND(proclist);
SHELL_COMMAND(help); /* app/shell/command/help.c */
SHELL_COMMAND(set);  /* app/shell/command/set.c */
SHELL_COMMAND(show);

/* Forget marks of processes that were reset; 0: of all. */
void shell_marks_forget(struct shell *shell);
/* The names of settings; NULL behind the last. */
const char *shell_setting_name(size_t index);

#endif
