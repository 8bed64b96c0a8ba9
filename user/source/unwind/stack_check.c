// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/unwind/stack_check.h"

#include <unistd.h>

#include "symbol/cfi/machine.h"

enum return_site { AFTER_CALL = 1, NOT_AFTER_CALL };

static enum return_site look_for_call(const struct traced_process *process, uint64_t address)
{
	uint8_t code[CFI_CALL_MAX];
	uint64_t offset;
	const struct module *module = mapping_find(process, address - 1, &offset);

	/* Accept what cannot be read. */
	if (!module || offset + 1 < sizeof(code) ||
	    pread(module->fd, code, sizeof(code), (off_t)(offset + 1 - sizeof(code))) !=
		    sizeof(code))
		return AFTER_CALL;
	return cfi_can_return_behind(module->machine, code) ? AFTER_CALL : NOT_AFTER_CALL;
}

static enum return_site return_site_of(struct traced_process *process, uint64_t address)
{
	uint32_t known = map64_get(&process->return_sites, address);
	enum return_site site;

	if (known != MAP64_NONE)
		return (enum return_site)known;
	site = look_for_call(process, address);
	(void)map64_set(&process->return_sites, address, site); /* if out of memory, look again */
	return site;
}

uint32_t stack_check(struct traced_process *process, const uint64_t *frames, uint32_t count)
{
	uint32_t i;

	if (process->return_sites_of != process->mappings_delivered) {
		map64_free(&process->return_sites);
		process->return_sites_of = process->mappings_delivered;
	}
	for (i = 1; i < count; i++)
		if (!(frames[i] & STACK_EXACT) &&
		    return_site_of(process, frames[i]) == NOT_AFTER_CALL)
			break;
	return i;
}
