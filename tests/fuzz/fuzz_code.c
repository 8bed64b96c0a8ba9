// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Machine code as input of the choice of a probe's site. The first byte selects the machine, the
 * second one the arguments that must be in place. The rest is the function.
 */
#include "fuzz.h"

#include <elf.h>
#include <string.h>

#include "symbol/probe_site/choice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int machines[] = {EM_X86_64, EM_386, EM_PPC, EM_ARM};
	struct function_code code = {.address = 0x401000};
	struct site_choice choice;

	if (size < 3)
		return 0;
	code.machine = machines[data[0] & 3];
	code.elf64 = data[0] & 4;
	code.nop5_is_free = data[0] & 8;
	code.bytes = data + 2;
	code.size = size - 2;
	site_choose(&code, data[1], &choice);
	require(choice.offset < code.size, "the site is in the function");
	require(memchr(choice.instruction, 0, sizeof(choice.instruction)) &&
			memchr(choice.reason, 0, sizeof(choice.reason)),
		"the texts end");
	return 0;
}
