/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In doubt, memory is a root: an extra root hides a leak, a missing root reports a false one.
 *
 * - Private mappings count, writable or not: what is read-only now may have been written before.
 *   The reader skips pages that were never written (they are the file's, or not there).
 * - The code of a file does not count unless it is writable. Its pages are the file's, except those
 *   with breakpoints (such as the tracer's), and in 32-bit code many words look like addresses of
 *   the heap.
 * - Shared mappings count if they are writable.
 * - Devices (below /dev, except memory) are not read, because reading may act on them. The kernel's
 *   own pages ([vdso] and others) and ring buffers (anon_inode:) are not read either.
 *   Pointers that the kernel keeps are in scan_input.kernel_words.
 *
 * Memory below a stack pointer is dead: it holds words of calls that have returned, which would
 * hide leaks. It is left out where nothing else can be there: in the first thread's [stack]; and in
 * a private anonymous mapping above a guard that holds the stack pointer of exactly one thread, and
 * that thread's thread pointer above it, like the stacks that the C library allocates. (A guard is
 * an adjacent mapping without permissions. The kernel never merges a stack with what is below its
 * guard.) Stacks of coroutines, alternate signal stacks and stacks that the program provided do not
 * meet these conditions, and count as a whole.
 *
 * A stack that the C library allocated has thread-local variables and the thread's descriptor
 * above it, around the thread pointer. Only that library knows where the stack ends; it keeps
 * at least 1.6 KiB of room for variables of libraries that are loaded later (glibc, x86), or the
 * descriptor of about that size (elsewhere), below the thread pointer. So memory
 * from THREAD_DATA bytes below it upwards counts as thread-local (scan_range.thread_data).
 *
 * One case cannot be recognised from outside: a stack within a stack. If an alternate signal stack
 * or a coroutine's stack is a local array, and the thread runs on it, then live frames of functions
 * that were called after the array's function are below the stack pointer, and blocks that only
 * they point to look leaked.
 */
#include "scan/read/roots.h"

#include <errno.h>
#include <string.h>

#define THREAD_DATA 2048

static bool begins_with(const char *path, const char *prefix)
{
	return !strncmp(path, prefix, strlen(prefix));
}

static bool is_device(const struct proc_mapping *mapping)
{
	return begins_with(mapping->path, "/dev/") && !begins_with(mapping->path, "/dev/shm/") &&
	       !begins_with(mapping->path, "/dev/zero") &&
	       !begins_with(mapping->path, "/dev/hugepages/");
}

/* Pages that the kernel provides, which are not memory of the program. */
static bool is_kernels(const struct proc_mapping *mapping)
{
	static const char *const names[] = {"[vdso]",    "[vvar",     "[vsyscall]", "[vectors]",
					    "[sigpage]", "[uprobes]", "anon_inode:"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (begins_with(mapping->path, names[i]))
			return true;
	return false;
}

static bool is_image(const struct proc_mapping *mapping)
{
	return mapping->inode && mapping->readable && !mapping->shared && !is_device(mapping);
}

static bool is_file_code(const struct proc_mapping *mapping)
{
	return mapping->inode && mapping->executable;
}

static bool is_guard(const struct proc_mapping *mapping)
{
	return !mapping->readable && !mapping->writable && !mapping->executable;
}

static bool holds(const struct proc_mapping *mapping, uint64_t address)
{
	return mapping->start <= address && address < mapping->end;
}

/* The only thread whose stack pointer is in the mapping; NULL if there is none or more than one. */
static const struct thread_registers *only_thread(const struct proc_mapping *mapping,
						  const struct thread_registers *threads,
						  size_t count)
{
	const struct thread_registers *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!threads[i].word || !holds(mapping, threads[i].stack))
			continue;
		if (found)
			return NULL;
		found = &threads[i];
	}
	return found;
}

/* Returns true for a mapping like the C library's thread stacks. */
static bool is_above_guard(const struct proc_maps *maps, size_t i)
{
	const struct proc_mapping *mapping = &maps->items[i];

	return i && !mapping->path[0] && !mapping->inode && !mapping->shared &&
	       maps->items[i - 1].end == mapping->start && is_guard(&maps->items[i - 1]);
}

static bool is_thread_stack(const struct proc_maps *maps, size_t i,
			    const struct thread_registers *thread)
{
	const struct proc_mapping *mapping = &maps->items[i];

	if (!strcmp(mapping->path, "[stack]"))
		return true;
	return is_above_guard(maps, i) && thread->thread > thread->stack &&
	       holds(mapping, thread->thread);
}

/*
 * Returns true if the mapping is neither the stack of a thread nor its thread-local storage.
 * Returns false if the registers of a thread are not known.
 */
static bool is_used_by_no_thread(const struct proc_mapping *mapping,
				 const struct thread_registers *threads, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!threads[i].word || holds(mapping, threads[i].stack) ||
		    holds(mapping, threads[i].thread))
			return false;
	return count;
}

/* The live part of the mapping. */
static struct scan_range live_range(const struct proc_maps *maps, size_t i,
				    const struct thread_registers *threads, size_t count)
{
	const struct proc_mapping *mapping = &maps->items[i];
	const struct thread_registers *thread = only_thread(mapping, threads, count);
	struct scan_range range = {.start = mapping->start, .end = mapping->end};
	uint64_t start;

	if (!thread || !is_thread_stack(maps, i, thread))
		return range;
	start = (thread->stack - thread->red_zone) & ~(uint64_t)(thread->word - 1);
	if (start > mapping->start && start <= thread->stack)
		range.start = start;
	range.stack = true;
	if (holds(mapping, thread->thread))
		range.thread_data = thread->thread - thread->stack > THREAD_DATA
					    ? thread->thread - THREAD_DATA
					    : thread->stack;
	return range;
}

static int add_range(struct roots *roots, const struct proc_maps *maps, size_t i,
		     const struct scan_range *range)
{
	const struct proc_mapping *mapping = &maps->items[i];
	enum range_kind kind = mapping->shared ? RANGE_SHARED : RANGE_PRIVATE;

	roots->dead_stack_bytes += range->start - mapping->start;
	if (vec_push(&roots->ranges, *range) || vec_push(&roots->kinds, (uint8_t)kind))
		return -ENOMEM;
	return vec_push(&roots->mappings, (uint32_t)i);
}

static int add_mapping(struct roots *roots, const struct proc_maps *maps, size_t i,
		       const struct thread_registers *threads, size_t count, bool stopped)
{
	const struct proc_mapping *mapping = &maps->items[i];
	struct scan_range range;

	if (is_image(mapping) &&
	    vec_push(&roots->images, (struct scan_image){.start = mapping->start,
							 .end = mapping->end,
							 .executable = mapping->executable}))
		return -ENOMEM;
	if (is_kernels(mapping))
		return 0;
	if (is_device(mapping)) {
		roots->device_bytes += mapping->end - mapping->start;
		return 0;
	}
	if (!mapping->writable && (mapping->shared || is_file_code(mapping)))
		return 0;
	range = live_range(maps, i, threads, count);
	range.heap = !strcmp(mapping->path, "[heap]");
	range.idle =
		stopped && is_above_guard(maps, i) && is_used_by_no_thread(mapping, threads, count);
	return add_range(roots, maps, i, &range);
}

int roots_find(const struct proc_maps *maps, const struct thread_registers *threads,
	       size_t thread_count, bool stopped, struct roots *ret_roots)
{
	struct roots roots = {0};

	for (size_t i = 0; i < maps->count; i++) {
		if (!add_mapping(&roots, maps, i, threads, thread_count, stopped))
			continue;
		roots_free(&roots);
		return -ENOMEM;
	}
	*ret_roots = roots;
	return 0;
}

void roots_free(struct roots *roots)
{
	vec_free(&roots->ranges);
	vec_free(&roots->kinds);
	vec_free(&roots->mappings);
	vec_free(&roots->images);
}
