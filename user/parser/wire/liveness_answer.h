/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a stopped function can still read (symbol/liveness/liveness.h), as bytes of an answer.
 * Taking one returns 0, or -EBADMSG for values that no parser sends.
 */
#ifndef MTRACE_PARSER_WIRE_LIVENESS_ANSWER_H
#define MTRACE_PARSER_WIRE_LIVENESS_ANSWER_H

#include "parser/wire/wire.h"
#include "symbol/liveness/liveness.h"

void frame_liveness_put(struct wire *wire, const struct frame_liveness *frame);
int frame_liveness_take(struct wire_view *view, struct frame_liveness *ret_frame);
void liveness_put(struct wire *wire, enum liveness liveness);
int liveness_take(struct wire_view *view, enum liveness *ret_liveness);

#endif
