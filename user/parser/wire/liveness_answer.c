/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parser/wire/liveness_answer.h"

#include <errno.h>

void frame_liveness_put(struct wire *wire, const struct frame_liveness *frame)
{
	wire_put_u8(wire, frame->unwound);
	wire_put_u8(wire, frame->known);
	wire_put_u8(wire, frame->cfa_from_bp);
	wire_put_u32(wire, (uint32_t)frame->cfa_offset);
	for (size_t i = 0; i < LIVENESS_SAVED; i++) {
		wire_put_u32(wire, (uint32_t)frame->saved[i]);
		wire_put_u8(wire, frame->registers[i]);
	}
}

int frame_liveness_take(struct wire_view *view, struct frame_liveness *ret_frame)
{
	ret_frame->unwound = wire_take_bool(view);
	ret_frame->known = wire_take_bool(view);
	ret_frame->cfa_from_bp = wire_take_bool(view);
	ret_frame->cfa_offset = (int32_t)wire_take_u32(view);
	for (size_t i = 0; i < LIVENESS_SAVED; i++) {
		ret_frame->saved[i] = (int32_t)wire_take_u32(view);
		ret_frame->registers[i] = wire_take_u8(view);
		if (ret_frame->registers[i] > LIVENESS_UNKNOWN)
			return -EBADMSG;
	}
	return wire_finish(view);
}

void liveness_put(struct wire *wire, enum liveness liveness)
{
	wire_put_u8(wire, (uint8_t)liveness);
}

int liveness_take(struct wire_view *view, enum liveness *ret_liveness)
{
	uint8_t value = wire_take_u8(view);

	if (value > LIVENESS_UNKNOWN)
		return -EBADMSG;
	*ret_liveness = (enum liveness)value;
	return wire_finish(view);
}
