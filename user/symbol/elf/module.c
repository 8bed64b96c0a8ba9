// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/elf/module.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void module_free(struct module *module)
{
	if (!module)
		return;
	if (module->fd >= 0)
		close(module->fd);
	if (module->plan)
		module->free_plan(module->plan);
	free(module->segments);
	free(module->open_path);
	free(module->path);
	free(module);
}

bool module_is_x32(const struct module *module)
{
	return module->machine == EM_X86_64 && !module->elf64;
}

int module_offset_to_vaddr(const struct module *module, uint64_t offset, uint64_t *ret_vaddr)
{
	for (size_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *segment = &module->segments[i];

		if (offset >= segment->offset && offset - segment->offset < segment->size) {
			*ret_vaddr = offset - segment->offset + segment->vaddr;
			return 0;
		}
	}
	return -ENOENT;
}
