/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reference for processors with a link register: libdw's result for an address, and the
 * comparison with a row. For tests with cmocka.
 */
#ifndef MTRACE_TESTS_CFI_TRUTH_LINK_H
#define MTRACE_TESTS_CFI_TRUTH_LINK_H

#include <stdlib.h>

#include "arch/unwind_link.h"
#include "cfi_truth.h"

struct link_truth {
	bool end; /* the return address is undefined */
	bool plain_cfa;
	bool other_column; /* of the return address; rows assume a fixed one */
	struct value cfa, ip, sp, bp, second;
	uint64_t stop; /* the virtual address up to which it is valid */
};

static inline struct value link_register(struct machine *machine, Dwarf_Frame *frame, int number,
					 uint64_t same)
{
	bool is_undefined;
	struct value value = caller_register(machine, frame, number, same, &is_undefined);

	if (is_undefined)
		value.known = false;
	return value;
}

/* Whether the return address is in the scratch register. */
static inline void find_scratch(const struct unwind_abi *abi, Dwarf_Frame *frame,
				struct value *value)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (abi->link == UNWIND_LINK_FIXED &&
	    !dwarf_frame_register(frame, abi->dwarf_ip, memory, &ops, &count) && count == 1 &&
	    ops->atom == DW_OP_regx && ops->number == abi->dwarf_second)
		*value = (struct value){.known = true, .number = SECOND_INVENTED};
}

/* libdw's result for an address; false if there is none. */
static inline bool find_link_truth(Dwarf_CFI *cfi, const struct unwind_abi *abi, uint64_t address,
				   struct link_truth *truth)
{
	struct machine machine = {
		.abi = abi,
		.ip = LINK_INVENTED,
		.sp = SP_INVENTED,
		.bp = BP_INVENTED,
		.second = SECOND_INVENTED,
	};
	Dwarf_Addr start, stop;
	Dwarf_Frame *frame;
	Dwarf_Op *ops = NULL;
	size_t count = 0;
	bool is_signal;

	if (!cfi || dwarf_cfi_addrframe(cfi, address, &frame))
		return false;
	*truth = (struct link_truth){0};
	truth->other_column = dwarf_frame_info(frame, &start, &stop, &is_signal) != abi->dwarf_ip;
	truth->stop = stop;
	if (!dwarf_frame_cfa(frame, &ops, &count))
		truth->cfa = evaluate(&machine, ops, count);
	truth->plain_cfa = truth->cfa.known && is_plain_cfa(abi, ops, count);
	machine.cfa = truth->cfa.number;
	truth->ip = caller_register(&machine, frame, abi->dwarf_ip, LINK_INVENTED, &truth->end);
	find_scratch(abi, frame, &truth->ip);
	truth->bp = link_register(&machine, frame, abi->dwarf_bp, BP_INVENTED);
	truth->sp = link_register(&machine, frame, abi->dwarf_sp, 0);
	if (abi->dwarf_second)
		truth->second = link_register(&machine, frame, abi->dwarf_second, SECOND_INVENTED);
	free(frame);
	return true;
}

static inline uint64_t address_mask(const struct unwind_abi *abi)
{
	return abi->ip_mask ? abi->ip_mask : UINT64_MAX;
}

/* Whether a row may refuse this: not if the rules are plain, and saved registers are within reach
 * of a row. */
static inline bool is_inexpressible(const struct unwind_abi *abi, const struct link_truth *truth)
{
	int64_t from_cfa = (int64_t)(truth->ip.place - truth->cfa.number);
	int64_t reach = abi->link == UNWIND_LINK_PUSHED ? 7 * abi->word : 100 * abi->word;

	if (truth->other_column || !truth->plain_cfa || !truth->ip.known || !truth->sp.known ||
	    truth->sp.number != truth->cfa.number)
		return true;
	if (truth->ip.number == LINK_INVENTED || truth->ip.number == SECOND_INVENTED)
		return false;
	return abi->link == UNWIND_LINK_FIXED ? from_cfa != abi->return_offset
					      : from_cfa < -reach || from_cfa >= 0;
}

static inline bool is_passed(const struct unwind_abi *abi, struct unwind_register held,
			     const struct value *truth, uint64_t *count_lost)
{
	if (held.place == UNWIND_BP_UNKNOWN) {
		*count_lost += truth->known;
		return true;
	}
	return unwind_load(NULL, abi, &held) == UNWIND_CONTINUE && truth->known &&
	       held.value == truth->number;
}

static inline bool is_same_caller(const struct unwind_abi *abi, const struct link_truth *truth,
				  const struct unwind_linked *caller, uint64_t *count_lost)
{
	struct unwind_register bp = {caller->frame.bp, caller->frame.bp_place};

	return truth->cfa.known && caller->frame.sp == truth->cfa.number && truth->ip.known &&
	       caller->frame.ip == (truth->ip.number & address_mask(abi)) &&
	       is_passed(abi, bp, &truth->bp, count_lost) &&
	       (!abi->dwarf_second || is_passed(abi, caller->second, &truth->second, count_lost));
}

struct link_counts {
	uint64_t compared, unknown, stopped, lost, mismatched;
};

/* Whether a step with this row gives libdw's result. */
static inline bool is_right_link(const struct unwind_abi *abi, const struct unwind_row *row,
				 uint64_t address, const struct link_truth *truth,
				 struct link_counts *counts)
{
	struct unwind_linked linked = {
		.frame = {.ip = address, .sp = SP_INVENTED, .bp = BP_INVENTED},
		.link = {.value = LINK_INVENTED},
		.second = {.value = SECOND_INVENTED},
	};

	switch (unwind_link_step(NULL, abi, row, &linked)) {
	case UNWIND_NO_RULE:
		counts->stopped++;
		return !truth->end && is_inexpressible(abi, truth);
	case UNWIND_END:
		return truth->end;
	case UNWIND_NO_PROGRESS: /* frames of negative size */
		return truth->cfa.known && (int64_t)(truth->cfa.number - SP_INVENTED) <= 0;
	case UNWIND_CONTINUE:
		return !truth->end && is_same_caller(abi, truth, &linked, &counts->lost);
	default:
		return false;
	}
}

#endif
