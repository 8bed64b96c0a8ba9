/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/process/file_code.h"

#include <elf.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "symbol/elf/module.h"

#define COMPARED   8    /* bytes; a jump has 5 */
#define BREAKPOINT 0xcc /* int3 */

bool file_code_is_of(const struct proc_mapping *mapping, const struct module *module)
{
	return (mapping->inode == module->inode &&
		makedev(mapping->dev_major, mapping->dev_minor) == module->device) ||
	       (mapping->inode && !strcmp(mapping->path, module->path));
}

/* What cannot be read is not known to differ. */
static bool differs_at(const struct traced_process *process, const struct module *module,
		       uint64_t offset, uint64_t address)
{
	uint8_t file[COMPARED], memory[COMPARED];

	if (pread(module->fd, file, sizeof(file), (off_t)offset) != (ssize_t)sizeof(file) ||
	    proc_memory_read(traced_process_reader(process), address, memory, sizeof(memory)) !=
		    (ssize_t)sizeof(memory))
		return false;
	for (size_t i = 0; i < COMPARED; i++)
		if (file[i] != memory[i] && memory[i] != BREAKPOINT)
			return true;
	return false;
}

bool file_code_differs(const struct traced_process *process, const struct proc_maps *maps,
		       const struct module *module, uint64_t offset)
{
	if (module->machine != EM_X86_64 || !module->elf64)
		return false;
	for (size_t i = 0; i < maps->count; i++) {
		const struct proc_mapping *mapping = &maps->items[i];

		if (mapping->executable && file_code_is_of(mapping, module) &&
		    offset >= mapping->offset &&
		    offset - mapping->offset < mapping->end - mapping->start &&
		    differs_at(process, module, offset, mapping->start + offset - mapping->offset))
			return true;
	}
	return false;
}
