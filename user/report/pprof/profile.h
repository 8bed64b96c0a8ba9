/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a profile for pprof piece by piece: profile.proto of github.com/google/pprof. Each string,
 * function, mapping and location is written once, in any order.
 */
#ifndef MTRACE_REPORT_PPROF_PROFILE_H
#define MTRACE_REPORT_PPROF_PROFILE_H

#include <stdint.h>

#include "base/map64.h"
#include "base/vec.h"
#include "model/snapshot/snapshot.h"
#include "report/pprof/gzip.h"
#include "report/pprof/proto.h"

/* Fields of a Profile. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};

/* The mapping id of an address outside of all files. */
#define PROFILE_NO_MAPPING 0

struct profile_function {
	uint64_t name, file; /* string indices */
};

/* The mapped part of a file that was seen, with one difference between addresses and offsets. */
struct profile_mapping {
	uint32_t module;
	uint64_t bias; /* address - offset in the file */
	uint64_t start, end;
	uint64_t path, build_id; /* string indices */
	bool named, filed, lined;
};

/* An address with the calls inlined there, and the frames that describe them. */
struct profile_location {
	const struct snapshot_frame *frames;
	uint32_t count;
	uint64_t mapping;
};

struct profile {
	struct gzip gzip;
	struct map64 strings, functions, mappings, locations; /* by hash */
	VEC(const char *) known_strings;
	VEC(struct profile_function) known_functions;
	VEC(struct profile_mapping) known_mappings;
	VEC(struct profile_location) known_locations;
	struct proto message, inner;
	const char *program; /* path of the profiled program, or NULL */
};

void profile_open(struct profile *profile, struct out *out, const char *program);
/* Writes what was only collected, and frees everything. Errors are recorded in `out`. */
void profile_close(struct profile *profile);

/* The index of a string, which must live until the profile is closed. NULL is "". */
uint64_t profile_string(struct profile *profile, const char *text);
/* Writes a top-level field of the profile. */
void profile_put(struct profile *profile, uint32_t field, const struct proto *message);
void profile_put_number(struct profile *profile, uint32_t field, uint64_t number);
/* Writes {type, unit}. */
void profile_put_type(struct profile *profile, uint32_t field, const char *type, const char *unit);

/*
 * The id of the location of the first frame. Sets *ret_count to the number of frames it covers: 1
 * plus the calls that are inlined there.
 */
uint64_t profile_location(struct profile *profile, const struct snapshot_frame *frames,
			  uint32_t count, uint32_t *ret_count);

#endif
