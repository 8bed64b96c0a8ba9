/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of unwind tables: what the CFI compiler (user/symbol/cfi_table.h) writes and the unwinder
 * (arch/unwind.h) steps by. The essay is there.
 */
#ifndef MTRACE_ARCH_UNWIND_ROW_H
#define MTRACE_ARCH_UNWIND_ROW_H

#include "bpf/abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* Offsets are counted in words, except where bytes are named. */
struct unwind_row {
	abi_u32 offset;        /* in the file: of the first byte that the row describes */
	short cfa_offset;      /* in words */
	abi_u8 kinds;          /* enum unwind_cfa | enum unwind_bp << 4 */
	signed char bp_offset; /* in words; of UNWIND_CFA_PLT: see there */
};

_Static_assert(sizeof(struct unwind_row) == 8, "rows are searched in the kernel by the million");

/* How the CFA is computed. Below UNWIND_CFA_END the values are sums of three steps. */
#define UNWIND_CFA_BASE_BP  0x1 /* from the frame pointer; else from the stack pointer */
#define UNWIND_CFA_LOAD     0x2 /* then read the word that lies there */
#define UNWIND_CFA_ADD_WORD 0x4 /* then add a word */

enum unwind_cfa {
	UNWIND_CFA_SP = 0, /* sp + offset */
	UNWIND_CFA_BP = UNWIND_CFA_BASE_BP,
	UNWIND_CFA_SP_LOAD = UNWIND_CFA_LOAD, /* *(sp + offset): stacks that were realigned */
	UNWIND_CFA_BP_LOAD = UNWIND_CFA_BASE_BP | UNWIND_CFA_LOAD,
	/* *(sp + offset) + word: hand-written cryptography that keeps the old sp in its frame */
	UNWIND_CFA_SP_LOAD_WORD = UNWIND_CFA_LOAD | UNWIND_CFA_ADD_WORD,
	UNWIND_CFA_BP_LOAD_WORD = UNWIND_CFA_BASE_BP | UNWIND_CFA_LOAD | UNWIND_CFA_ADD_WORD,
	/* sp + offset, + word from byte bp_offset of each 16-byte entry on: the procedure linkage
	 * table, whose entries push between two jumps. The frame pointer is the caller's. */
	UNWIND_CFA_PLT = UNWIND_CFA_ADD_WORD,

	UNWIND_CFA_END = 8, /* the outermost frame: its return address is undefined */
	UNWIND_CFA_STOP,    /* there is a rule, but no row can express it */
	UNWIND_CFA_SIGNAL,  /* a signal's return trampoline: sp is saved at sp + offset */
	UNWIND_CFA_GAP,     /* no call frame information */
	/* Of processors with a link register: */
	UNWIND_CFA_SECOND,    /* the second frame pointer + offset */
	UNWIND_CFA_SIGNAL_AT, /* as SIGNAL; the registers' address is saved at sp + offset */
};

#define UNWIND_CFA_LAST UNWIND_CFA_SIGNAL_AT

/* Where the caller's frame pointer is. */
enum unwind_bp {
	UNWIND_BP_SAME = 0, /* untouched */
	UNWIND_BP_AT_CFA,   /* saved at CFA + offset */
	UNWIND_BP_AT_BP,    /* saved at bp + offset */
	UNWIND_BP_LOST,     /* overwritten, or where no row can say */
};

#define UNWIND_KINDS(cfa, bp) ((abi_u8)((cfa) | (bp) << 4))

static __always_inline enum unwind_cfa unwind_row_cfa(const struct unwind_row *row)
{
	return (enum unwind_cfa)(row->kinds & 0xf);
}

static __always_inline enum unwind_bp unwind_row_bp(const struct unwind_row *row)
{
	return (enum unwind_bp)(row->kinds >> 4);
}

/*
 * Where a call leaves the return address, and what a row's last 12 bits say of it. The essay on
 * processors with a link register is in arch/unwind_link.h.
 */
enum unwind_link {
	UNWIND_LINK_NONE = 0, /* on the stack: at return_offset from the CFA, always */
	UNWIND_LINK_FIXED,    /* in a register; saved there, too */
	UNWIND_LINK_RECORD,   /* in a register; saved in the word above the frame pointer */
	UNWIND_LINK_PUSHED, /* in a register; saved with two frame pointers, right below the CFA */
};

/* What distinguishes one processor from another here. Offsets are in bytes. */
struct unwind_abi {
	abi_u8 word;               /* bytes of a stack slot */
	signed char return_offset; /* of the return address from the CFA */
	short signal_ip;           /* in a signal frame, from the saved sp */
	short signal_bp;
	abi_u8 dwarf_ip; /* register numbers: the return address column */
	abi_u8 dwarf_sp;
	abi_u8 dwarf_bp;

	/* Of processors with a link register: */
	abi_u8 link;            /* enum unwind_link */
	abi_u8 dwarf_second;    /* the second frame pointer; of FIXED, the scratch register */
	abi_u8 dwarf_signal_ip; /* the return address column of signal frames, if it is another */
	abi_u8 mode_bit;        /* of a return address: what instruction set it returns to */
	short signal_sp;        /* from the address that UNWIND_CFA_SIGNAL_AT names */
	short signal_link;      /* from the saved sp */
	short signal_second;
	abi_u64 ip_mask; /* the bits of a return address that are an address; 0: all */
};

#define UNWIND_ABI(name) static const struct unwind_abi name __attribute__((unused))

UNWIND_ABI(unwind_abi_x86_64) = {
	.word = 8,
	.return_offset = -8,
	.signal_ip = 8,
	.signal_bp = -40,
	.dwarf_ip = 16,
	.dwarf_sp = 7,
	.dwarf_bp = 6,
};

UNWIND_ABI(unwind_abi_i386) = {
	.word = 4,
	.return_offset = -4,
	.signal_ip = 28,
	.signal_bp = -4,
	.dwarf_ip = 8,
	.dwarf_sp = 4,
	.dwarf_bp = 5,
};

/* r30, r29; struct sigcontext: regs[31], sp, pc. Return addresses may be signed: in the bits above
 * those of a user's address, of which there are 48 unless the kernel says otherwise. */
UNWIND_ABI(unwind_abi_aarch64) = {
	.word = 8,
	.signal_ip = 8,
	.signal_bp = -16,
	.dwarf_ip = 30,
	.dwarf_sp = 31,
	.dwarf_bp = 29,
	.link = UNWIND_LINK_RECORD,
	.signal_link = -8,
	.ip_mask = 0xffffffffffffULL,
};

/* r14, and the frame pointers of ARM code, r11, and of Thumb code, r7; struct sigcontext. */
UNWIND_ABI(unwind_abi_arm) = {
	.word = 4,
	.signal_ip = 8,
	.signal_bp = -8,
	.dwarf_ip = 14,
	.dwarf_sp = 13,
	.dwarf_bp = 11,
	.link = UNWIND_LINK_PUSHED,
	.dwarf_second = 7,
	.mode_bit = 1,
	.signal_link = 4,
	.signal_second = -24,
	.ip_mask = 0xfffffffeULL,
};

/* The link register's slot in the caller's frame, r31, and r0; struct pt_regs, to which the
 * kernel's call frame information leads by a pointer, with a column of its own for the interrupted
 * ip. */
UNWIND_ABI(unwind_abi_powerpc) = {
	.word = 4,
	.return_offset = 4,
	.signal_ip = 124,
	.signal_bp = 120,
	.dwarf_ip = 65,
	.dwarf_sp = 1,
	.dwarf_bp = 31,
	.link = UNWIND_LINK_FIXED,
	.dwarf_signal_ip = 67,
	.signal_sp = 4,
	.signal_link = 140,
	.signal_second = -4,
	.ip_mask = 0xfffffffcULL,
};

/*
 * A function that keeps a frame pointer, past its prologue: the step to try on x86 where there is
 * no table. Nothing says that the frame pointer is one; see whether the result is plausible.
 */
static const struct unwind_row unwind_row_frame_pointer __attribute__((unused)) = {
	.cfa_offset = 2,
	.kinds = UNWIND_KINDS(UNWIND_CFA_BP, UNWIND_BP_AT_CFA),
	.bp_offset = -2,
};

#ifndef __bpf__
#include <stddef.h>

/* Of rows sorted by offset the last at or below it, or NULL. */
static inline const struct unwind_row *unwind_find(const struct unwind_row *rows, size_t count,
						   abi_u32 offset)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (rows[middle].offset <= offset)
			low = middle + 1;
		else
			count = middle;
	}
	return low ? &rows[low - 1] : NULL;
}
#endif

#endif
