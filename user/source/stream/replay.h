/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds the model of a recorded trace: from a recording (replay_stream.c), or from a log of
 * glibc's MALLOC_TRACE (replay_log.c). The first bytes of a file show which of the two it is.
 */
#ifndef MTRACE_SOURCE_STREAM_REPLAY_H
#define MTRACE_SOURCE_STREAM_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/model.h"
#include "net/stream/stream.h"
#include "source/stream/finder.h"

/* Borrows everything; it must outlive the replay. */
struct replay_config {
	const char *name;            /* of the file or the origin of the stream, for messages */
	bool debuginfod;             /* the parser may ask debuginfod servers */
	const char *sysroot;         /* see struct finder */
	const char *const *binpaths; /* see struct finder */
	bool lists_blocks;           /* see struct model_config */
};

struct replay {
	const char *name;
	bool lists_blocks;
	struct parser *parser;
	struct module_table *modules;
	struct finder finder;
	struct model_config model_config;
	struct model *model; /* NULL until its configuration is known */
	/* Clients only: the results of requested scans. May be NULL. */
	void (*scanned)(void *ctx, const struct stream_scanned *scanned);
	void *ctx;
	uint32_t first_pid;   /* 0: none yet */
	bool loading;         /* the model is being transferred and not complete yet */
	uint64_t wanted;      /* offset of the next byte to read */
	uint64_t events;      /* read so far … */
	uint64_t last_ns;     /* … and the time of the last one */
	bool ended;           /* the end was read */
	bool damaged;         /* the rest is not read */
	uint64_t taken_ns;    /* time of the report: CLOCK_MONOTONIC … */
	uint64_t taken_at_ms; /* … and since the epoch; 0: now */
	char incomplete[2 * ERROR_TEXT_SIZE]; /* what is missing, or "" */
};

/*
 * Starts a parser and makes a module table. Call replay_close in any case. Returns 0 or -errno with
 * a message in err.
 */
int replay_open(struct replay *replay, const struct replay_config *config, struct error *err);
void replay_close(struct replay *replay);

/* Reads the whole file ("-": standard input). Returns 0 or -errno with a message in err. */
int replay_read(struct replay *replay, struct error *err);

/* Makes the model, once its configuration is known. Returns 0 or -ENOMEM. */
int replay_start_model(struct replay *replay, const struct model_config *config);
int replay_event(struct replay *replay, const struct event *event);

/*
 * A reader of one file format. It gets the bytes piece by piece, then the end. Returns 0, or -errno
 * if there is nothing to report; sets *err.
 */
struct replay_reader {
	const char *what; /* "a recording" */
	bool (*is_one)(const char *bytes, size_t size);
	int (*open)(void **ret_reader, struct replay *replay);
	int (*read)(void *reader, const char *bytes, size_t size, struct error *err);
	int (*finish)(void *reader, struct error *err);
	void (*close)(void *reader); /* accepts NULL */
};

extern const struct replay_reader replay_stream;
extern const struct replay_reader replay_log;

#endif
