// SPDX-License-Identifier: GPL-2.0-or-later
#include "gate/place/inside.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "os/process/proc.h"

#define STACK_MAX (256U << 10)
#define WORD      sizeof(uint64_t)

struct inside_search {
	pid_t pid;
	const struct gate_range *ranges;
	size_t count;
	struct gate_range all; /* from the first range to the last: few words are in it */
	uint64_t *words;       /* STACK_MAX bytes */
};

static struct gate_range span(const struct gate_range *ranges, size_t count)
{
	struct gate_range all = {UINT64_MAX, 0};

	for (size_t i = 0; i < count; i++) {
		all.start = ranges[i].start < all.start ? ranges[i].start : all.start;
		all.end = ranges[i].end > all.end ? ranges[i].end : all.end;
	}
	return all;
}

static bool is_inside(const struct inside_search *search, uint64_t address)
{
	if (address < search->all.start || address >= search->all.end)
		return false;
	for (size_t i = 0; i < search->count; i++)
		if (address >= search->ranges[i].start && address < search->ranges[i].end)
			return true;
	return false;
}

/* A read ends at the first page that cannot be read: the end of the stack, or beyond it. */
static bool stack_leads_inside(const struct inside_search *search, uint64_t stack)
{
	ssize_t got = proc_memory_read(search->pid, stack & ~(WORD - 1), search->words, STACK_MAX);

	for (size_t i = 0; got > 0 && i < (size_t)got / WORD; i++)
		if (is_inside(search, search->words[i]))
			return true;
	return false;
}

static bool thread_is_inside(const struct inside_search *search,
			     const struct thread_registers *thread)
{
	const struct arch *arch = arch_of_set(sizeof(struct x86_registers));
	struct arch_registers registers = {.arch = arch};

	if (!arch || thread->size < arch->set_size)
		return true;
	arch->load(&registers, thread->bytes);
	return is_inside(search, arch->get(&registers, ARCH_IP)) ||
	       stack_leads_inside(search, thread->stack);
}

int threads_inside(struct freeze *freeze, pid_t pid, const struct gate_range *ranges, size_t count,
		   bool *ret_inside)
{
	struct inside_search search = {.pid = pid,
				       .ranges = ranges,
				       .count = count,
				       .all = span(ranges, count),
				       .words = malloc(STACK_MAX)};
	const struct thread_registers *threads;
	bool inside = false;
	size_t threads_count;

	if (!search.words)
		return -ENOMEM;
	threads = freeze_threads(freeze, &threads_count);
	for (size_t i = 0; i < threads_count && !inside; i++)
		if (freeze_status(freeze, i))
			inside = thread_is_inside(&search, &threads[i]);
	free(search.words);
	*ret_inside = inside;
	return 0;
}
