// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/names/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MANGLED_MAX   4096
#define DEMANGLED_MAX 16384
#define OPTIONS       (DMGL_PARAMS | DMGL_ANSI)

/* The demanglers pass their output to a callback piece by piece and cannot be stopped by its return
 * value, so longjmp() out of them. Their state is on the stack: nothing leaks. */
struct collector {
	jmp_buf enough;
	size_t used;
	char text[DEMANGLED_MAX];
};

static void collect(const char *piece, size_t length, void *opaque)
{
	struct collector *collector = opaque;

	if (length >= sizeof(collector->text) - collector->used)
		longjmp(collector->enough, 1);
	memcpy(collector->text + collector->used, piece, length);
	collector->used += length;
}

typedef int (*demangler)(const char *mangled, int options, demangle_callbackref callback,
			 void *opaque);

static bool collect_from(demangler run, const char *mangled, struct collector *collector)
{
	collector->used = 0;
	if (setjmp(collector->enough) || !run(mangled, OPTIONS, collect, collector))
		return false;
	collector->text[collector->used] = 0;
	return true;
}

/* Rust's legacy mangling is also valid for C++, so try Rust first. */
static char *demangle_text(const char *mangled)
{
	struct collector *collector = malloc(sizeof(*collector));
	char *text = NULL;

	if (!collector)
		return NULL;
	if (collect_from(rust_demangle_callback, mangled, collector) ||
	    collect_from(cplus_demangle_v3_callback, mangled, collector))
		text = strdup(collector->text);
	free(collector);
	return text;
}

bool is_mangled(const char *symbol)
{
	return !strncmp(symbol, "_Z", 2) || !strncmp(symbol, "_R", 2);
}

char *demangle(const char *symbol)
{
	char *plain = strndup(symbol, strcspn(symbol, "@"));
	char *text;

	if (!plain || !is_mangled(plain) || strlen(plain) > MANGLED_MAX)
		return plain;
	text = demangle_text(plain);
	if (!text)
		return plain;
	free(plain);
	return text;
}
