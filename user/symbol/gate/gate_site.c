/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/gate/gate_site.h"

#include <stdlib.h>

/* Returns a refusal if a branch anywhere in the module may lead into the site. */
static enum gate_refusal check_branches(const struct elf_image *image, const struct arch_gate *arch,
					const struct gate_site *site)
{
	enum gate_refusal refusal = GATE_POSSIBLE;

	for (size_t i = 0; !refusal && i < image->module->segment_count; i++) {
		const struct module_segment *segment = &image->module->segments[i];
		struct gate_code text = {.address = segment->vaddr};

		if (!segment->executable)
			continue;
		text.bytes = elf_image_code(image, segment->vaddr, segment->size, &text.size);
		if (!text.bytes)
			refusal = GATE_NO_MEMORY;
		else if (arch->is_entered(&text, site))
			refusal = GATE_ENTERED;
		free((void *)text.bytes);
	}
	return refusal;
}

struct probe_gate gate_site_find(const struct elf_image *image, const struct gate_code *function,
				 uint64_t offset)
{
	const struct arch_gate *arch =
		arch_gate((uint16_t)image->module->machine, !image->module->elf64);
	struct probe_gate gate = {.end = offset + function->size, .refusal = GATE_UNDECODED};
	struct gate_site site;

	if (!arch)
		return gate;
	gate.refusal = (uint8_t)arch->find(function, &site);
	if (!gate.refusal)
		gate.refusal = (uint8_t)check_branches(image, arch, &site);
	if (gate.refusal)
		return gate;
	gate.offset = offset + (site.address - function->address);
	gate.size = site.size;
	return gate;
}
