/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values as bytes. Both ends are the same program on the same machine, so byte order and versions
 * do not matter. But the reader trusts nothing: neither lengths nor counts nor strings.
 *
 * Writing fails when out of memory; reading fails at the first value that is missing or out of
 * range. `failed` stays set, so it is enough to check once, at the end.
 */
#ifndef MTRACE_PARSER_WIRE_WIRE_H
#define MTRACE_PARSER_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire {
	uint8_t *items;
	size_t count;
	size_t capacity;
	bool failed;
};

/* An all-zero wire is empty. */
void wire_put(struct wire *wire, const void *bytes, size_t size);
void wire_put_u8(struct wire *wire, uint8_t value);
void wire_put_u32(struct wire *wire, uint32_t value);
void wire_put_u64(struct wire *wire, uint64_t value);
/* Truncates the string to `max` characters. NULL is stored as NULL. */
void wire_put_string(struct wire *wire, const char *text, size_t max);
void wire_free(struct wire *wire);

struct wire_view {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

struct wire_view wire_view(const struct wire *wire);

/* Returns the next bytes, or NULL if there are too few. They are valid as long as the viewed
 * bytes. */
const void *wire_take(struct wire_view *view, size_t size);
uint8_t wire_take_u8(struct wire_view *view);
bool wire_take_bool(struct wire_view *view); /* 0 or 1 */
uint32_t wire_take_u32(struct wire_view *view);
uint32_t wire_take_u32_max(struct wire_view *view, uint32_t max);
uint64_t wire_take_u64(struct wire_view *view);
/* Returns a string of at most `max` characters, or NULL. It is valid as long as the viewed
 * bytes. */
const char *wire_take_string(struct wire_view *view, size_t max);
/* Returns 0, or -EBADMSG if something failed or is left over. */
int wire_finish(const struct wire_view *view);

#endif
