/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/ptrace/tracer_process/image.h"

#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/registers.h"
#include "os/process/proc.h"
#include "os/process/procfs.h"
#include "source/ptrace/breakpoint/space.h"

/* The value of an entry of the auxiliary vector; 0 if there is none. */
static uint64_t auxiliary(const char *vector, size_t size, uint64_t type, size_t word)
{
	for (size_t at = 0; at + 2 * word <= size; at += 2 * word) {
		if (registers_word(vector, at, word) == type)
			return registers_word(vector, at + word, word);
	}
	return 0;
}

#define ENTRY_PLACE offsetof(Elf64_Ehdr, e_entry)
_Static_assert(ENTRY_PLACE == offsetof(Elf32_Ehdr, e_entry), "in files of either kind");

/* Where copies of instructions run: at the entry point of the dynamic linker, or of a program
 * without one. That code has run and is not needed again. */
static uint64_t find_copy_slot(const struct space *memory, const char *vector, size_t size,
			       size_t word)
{
	uint64_t base = auxiliary(vector, size, AT_BASE, word), slot;
	char offset[sizeof(uint64_t)];

	if (!base || space_read(memory, base + ENTRY_PLACE, offset, word))
		slot = auxiliary(vector, size, AT_ENTRY, word);
	else
		slot = base + registers_word(offset, 0, word);
	return memory->arch ? memory->arch->slot_at(slot) : slot;
}

/* A field of /proc/PID/stat after the name, numbered as in proc(5); NULL if missing. */
#define FIELD_OF_NAME 2
static const char *stat_field(const char *stat, int field)
{
	const char *at = strrchr(stat, ')');

	for (int i = FIELD_OF_NAME; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at;
}

#define FIELD_START_STACK 28
#define FIELD_PROCESSOR   39

static uint64_t start_stack_of(const char *stat)
{
	const char *field = stat_field(stat, FIELD_START_STACK);

	return field ? strtoull(field, NULL, 10) : 0;
}

int task_processor(pid_t pid, pid_t tid)
{
	const char *field;
	char name[64], *text;
	int processor = -1;
	size_t size;

	snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
	if (procfs_read(pid, name, &text, &size))
		return -1;
	field = stat_field(text, FIELD_PROCESSOR);
	if (field)
		processor = atoi(field);
	free(text);
	return processor;
}

void owner_read_image(struct owner *owner)
{
	pid_t tid = proc_living_thread(owner->pid);
	char *text;
	size_t size;

	if (!procfs_read(tid, "auxv", &text, &size)) {
		/* read as 64-bit entries, a 32-bit vector has no AT_PHDR */
		owner->is_32bit = !auxiliary(text, size, AT_PHDR, 8);
		owner->memory->is_32bit = owner->is_32bit;
		owner->memory->arch = arch_native(owner->is_32bit);
		owner->memory->slot =
			find_copy_slot(owner->memory, text, size, owner->is_32bit ? 4 : 8);
		free(text);
	}
	if (!procfs_read(tid, "stat", &text, &size)) {
		owner->start_stack = start_stack_of(text);
		free(text);
	}
}
