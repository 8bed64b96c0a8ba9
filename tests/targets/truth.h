/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A target program knows what it allocated, and prints this truth at its end: one line of JSON, to
 * be compared exactly with the tracer's report. It is counted per site. A site is a function of the
 * target (never inlined, its name begins with "t_") together with the API that it calls. So the
 * truth does not include libc's own allocations, and comparisons are exact.
 *
 *	static struct block t_small(void)
 *	{
 *		BOOKED(malloc, 16, malloc(16));
 *	}
 *
 * Calls are counted as the tool counts them (user/model/model.h): a realloc that succeeds is one
 * free and one allocation; a failed call only counts as a failure. Counters are atomic, for threads
 * and signal handlers. The line is written with write(2) from a static buffer, so that printing the
 * truth allocates nothing.
 */
#ifndef MTRACE_TESTS_TRUTH_H
#define MTRACE_TESTS_TRUTH_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, unused))

struct site {
	const char *function;
	const char *api;
	int listed;
	uint64_t allocations, bytes_allocated;
	uint64_t frees, bytes_freed;
	uint64_t failed;
	uint64_t inherited_blocks, inherited_bytes;
	struct site *next;
};

/* A live allocation of the target, and the site that made it. */
struct block {
	void *address;
	size_t size;
	struct site *site;
};

static struct site *truth_sites;

static inline void truth_add(uint64_t *counter, uint64_t n)
{
	__atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
}

static inline void truth_list(struct site *site)
{
	if (__atomic_exchange_n(&site->listed, 1, __ATOMIC_ACQ_REL))
		return;
	site->next = __atomic_load_n(&truth_sites, __ATOMIC_ACQUIRE);
	while (!__atomic_compare_exchange_n(&truth_sites, &site->next, site, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
		;
}

NOINLINE static struct block truth_allocated(struct site *site, size_t size, void *address)
{
	struct block block = {address, size, site};

	truth_list(site);
	if (!address || address == MAP_FAILED) {
		block.address = NULL;
		truth_add(&site->failed, 1);
		return block;
	}
	truth_add(&site->allocations, 1);
	truth_add(&site->bytes_allocated, size);
	return block;
}

/* Counts freed bytes of a block, and the block itself if `whole`. */
NOINLINE static void truth_shrunk(struct site *site, size_t bytes, int whole)
{
	truth_add(&site->bytes_freed, bytes);
	truth_add(&site->frees, (uint64_t)whole);
}

NOINLINE static void truth_freed(struct block block)
{
	if (block.address)
		truth_shrunk(block.site, block.size, 1);
}

#define SITE(api_name) static struct site site = {.function = __func__, .api = (api_name)}

/* The body of an allocating function: evaluate `expression`, count `size` bytes, return the
 * block. */
#define BOOKED(api, size, expression)                                \
	do {                                                         \
		SITE(#api);                                          \
		return truth_allocated(&site, (size), (expression)); \
	} while (0)

NOINLINE static void t_free(struct block block)
{
	truth_freed(block);
	free(block.address);
}

/* Hides a size from the compiler, so that it does not warn about absurd ones. */
NOINLINE static size_t truth_opaque(size_t size)
{
	__asm__ volatile("" : "+r"(size));
	return size;
}

/* In a child: live blocks become inherited ones, and all other counts start at zero. */
NOINLINE static void truth_inherit(void)
{
	struct site *site;

	for (site = truth_sites; site; site = site->next) {
		site->inherited_blocks += site->allocations - site->frees;
		site->inherited_bytes += site->bytes_allocated - site->bytes_freed;
		site->allocations = site->frees = site->failed = 0;
		site->bytes_allocated = site->bytes_freed = 0;
	}
}

/* Printing the truth. */

struct truth_text {
	char text[65536];
	size_t length;
};

NOINLINE __attribute__((format(printf, 2, 3))) static void truth_print(struct truth_text *out,
								       const char *format, ...)
{
	va_list args;
	int written;

	va_start(args, format);
	written = vsnprintf(out->text + out->length, sizeof(out->text) - out->length, format, args);
	va_end(args);
	if (written < 0 || (size_t)written >= sizeof(out->text) - out->length)
		abort();
	out->length += (size_t)written;
}

NOINLINE static void truth_write(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t written = write(fd, text, length);

		if (written < 0 && errno != EINTR)
			abort();
		if (written > 0) {
			text += written;
			length -= (size_t)written;
		}
	}
}

static inline void truth_print_site(struct truth_text *out, const struct site *site)
{
	truth_print(out,
		    "{\"function\":\"%s\",\"api\":\"%s\",\"allocations\":%llu,\"frees\":%llu,"
		    "\"bytes_allocated\":%llu,\"live_blocks\":%llu,\"live_bytes\":%llu,"
		    "\"failed_allocations\":%llu}",
		    site->function, site->api, (unsigned long long)site->allocations,
		    (unsigned long long)site->frees, (unsigned long long)site->bytes_allocated,
		    (unsigned long long)(site->inherited_blocks + site->allocations - site->frees),
		    (unsigned long long)(site->inherited_bytes + site->bytes_allocated -
					 site->bytes_freed),
		    (unsigned long long)site->failed);
}

/* One line: {"sites":[…], …}; `extra` is "" or more members, each with a leading comma. */
NOINLINE static void truth_tell(int fd, const char *extra)
{
	static struct truth_text out;
	struct site *site;

	out.length = 0;
	truth_print(&out, "{\"sites\":[");
	for (site = truth_sites; site; site = site->next) {
		truth_print_site(&out, site);
		if (site->next)
			truth_print(&out, ",");
	}
	truth_print(&out, "]%s}\n", extra);
	truth_write(fd, out.text, out.length);
}

#endif
