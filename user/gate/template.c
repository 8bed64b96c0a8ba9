/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/template.h"

#include <string.h>

/* stub/image.S */
extern const uint8_t gate_image_start[];
extern const uint64_t gate_image_size;

const uint8_t *gate_image(size_t *ret_size)
{
	*ret_size = (size_t)gate_image_size;
	return gate_image_start;
}

static const struct stub_template *template_of(enum stub_kind kind)
{
	return &((const struct stub_head *)gate_image_start)->templates[kind];
}

struct gate_layout gate_layout_of(enum stub_kind kind)
{
	const struct stub_template *template = template_of(kind);

	return (struct gate_layout){
		.size = template->size,
		.copy = template->copy,
		.probes = {template->probes[0], template->probes[1]},
	};
}

/* Adds to a constant in the code. Does nothing for offset 0: then the template has no such
 * constant. */
static void add_to(uint8_t *code, uint32_t offset, uint64_t value)
{
	uint64_t constant;

	if (!offset)
		return;
	memcpy(&constant, code + offset, sizeof(constant));
	constant += value;
	memcpy(code + offset, &constant, sizeof(constant));
}

enum gate_refusal gate_make(const struct arch_gate *arch, const struct gate_order *order,
			    uint8_t *ret_code)
{
	const struct stub_template *template = template_of(order->kind);
	size_t copied;

	memcpy(ret_code, gate_image_start + template->start, template->size);
	for (size_t i = 0; i < sizeof(template->data) / sizeof(template->data[0]); i++)
		add_to(ret_code, template->data[i], order->data);
	for (size_t i = 0; i < sizeof(template->base) / sizeof(template->base[0]); i++)
		add_to(ret_code, template->base[i], order->image);
	add_to(ret_code, template->other, order->other);
	return arch->copy(&order->displaced, order->address + template->copy,
			  ret_code + template->copy, &copied);
}
