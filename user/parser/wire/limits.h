/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of the protocol that affect callers. */
#ifndef MTRACE_PARSER_WIRE_LIMITS_H
#define MTRACE_PARSER_WIRE_LIMITS_H

#define PARSER_INLINE_MAX 32 /* maximum number of names of one place; more are cut off */

#endif
