/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Books from what was written down: a recording (stream.c), or a log of glibc's
 * MALLOC_TRACE (log.c). Which of the two it is its first bytes say.
 */
#ifndef MTRACE_APP_REPLAY_REPLAY_H
#define MTRACE_APP_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "app/cli/options.h"
#include "app/report/finder.h"
#include "app/report/report.h"
#include "base/error.h"
#include "model/model.h"
#include "net/stream/stream.h"

struct replay {
	const struct options *options;
	const char *name; /* of the file, for messages */
	struct parser *parser;
	struct module_table *modules;
	struct finder finder;
	struct model_config books;
	struct model *model; /* NULL until it is known what shapes them */
	struct report report;
	/* Clients only: what became of scans that were ordered. NULL is fine. */
	void (*scanned)(void *ctx, const struct stream_scanned *scanned);
	void *ctx;
	uint32_t first_pid; /* 0: none yet */
	bool loading;       /* the model is not whole yet: books are being told */
	uint64_t wanted;    /* the byte that is read next */
	uint64_t events;    /* read so far … */
	uint64_t last_ns;   /* … and when the last of them was */
	bool ended;         /* its end was read */
	bool damaged;       /* what follows is not read any more */
	uint64_t taken_ns;  /* when the report was, or would have been made: CLOCK_MONOTONIC … */
	uint64_t taken_at_ms;                 /* … and since the epoch; 0: now */
	char incomplete[2 * ERROR_TEXT_SIZE]; /* what is missing, or "" */
};

/* Parser, modules and whatever else books need; `name`: where they come from. close in any case. 0
 * or -errno with words. */
int replay_open(struct replay *replay, const struct options *options, const char *name,
		struct error *err);
void replay_close(struct replay *replay);

/* Make the books, once it is known what shapes them. 0 or -ENOMEM. */
int replay_books(struct replay *replay, const struct model_config *config);
int replay_event(struct replay *replay, const struct event *event);

/*
 * Two readers of the same form: each is given the bytes one piece after the other, then the end. 0
 * or -errno with words: nothing to report from.
 */
struct replay_reader {
	const char *what; /* "a recording" */
	bool (*is_one)(const char *bytes, size_t size);
	int (*open)(void **ret_reader, struct replay *replay);
	int (*read)(void *reader, const char *bytes, size_t size, struct error *err);
	int (*finish)(void *reader, struct error *err);
	void (*close)(void *reader); /* NULL is fine */
};

extern const struct replay_reader replay_stream;
extern const struct replay_reader replay_log;

/* The command report: prints reports from a file. Returns the exit status. */
int command_report(const struct options *options);

#endif
