// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/unwind/stack_check.h"

#include <unistd.h>

#include "symbol/cfi/machine.h"

enum verdict { VERDICT_CALL = 1, VERDICT_NONE };

static enum verdict look(const struct traced_process *process, uint64_t address)
{
	uint8_t code[CFI_CALL_MAX];
	uint64_t offset;
	const struct module *module = mapping_find(process, address - 1, &offset);

	/* Accept what cannot be read. */
	if (!module || offset + 1 < sizeof(code) ||
	    pread(module->fd, code, sizeof(code), (off_t)(offset + 1 - sizeof(code))) !=
		    sizeof(code))
		return VERDICT_CALL;
	return cfi_can_return_behind(module->machine, code) ? VERDICT_CALL : VERDICT_NONE;
}

static enum verdict verdict_of(struct traced_process *process, uint64_t address)
{
	uint32_t known = map64_get(&process->calls, address);
	enum verdict verdict;

	if (known != MAP64_NONE)
		return (enum verdict)known;
	verdict = look(process, address);
	(void)map64_set(&process->calls, address, verdict); /* if out of memory, look again */
	return verdict;
}

uint32_t stack_check(struct traced_process *process, const uint64_t *frames, uint32_t count)
{
	uint32_t i;

	if (process->calls_of != process->mappings_delivered) {
		map64_free(&process->calls);
		process->calls_of = process->mappings_delivered;
	}
	for (i = 1; i < count; i++)
		if (!(frames[i] & STACK_EXACT) && verdict_of(process, frames[i]) == VERDICT_NONE)
			break;
	return i;
}
