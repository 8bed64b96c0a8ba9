/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of unwind tables, written by the CFI compiler (user/symbol/cfi_table.h) and used by the
 * unwinder (arch/unwind.h), which explains them.
 */
#ifndef MTRACE_ARCH_UNWIND_ROW_H
#define MTRACE_ARCH_UNWIND_ROW_H

#include "bpf/abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* Offsets are in words unless noted otherwise. */
struct unwind_row {
	abi_u32 offset;        /* file offset of the first byte that the row describes */
	short cfa_offset;      /* in words */
	abi_u8 kinds;          /* enum unwind_cfa | enum unwind_bp << 4 */
	signed char bp_offset; /* in words; for UNWIND_CFA_PLT see there */
};

_Static_assert(sizeof(struct unwind_row) == 8, "rows are searched in the kernel by the million");

/* How to compute the CFA. Values below UNWIND_CFA_END are combinations of three steps. */
#define UNWIND_CFA_BASE_BP  0x1 /* start from bp; otherwise from sp */
#define UNWIND_CFA_LOAD     0x2 /* then read the word there */
#define UNWIND_CFA_ADD_WORD 0x4 /* then add a word */

enum unwind_cfa {
	UNWIND_CFA_SP = 0, /* sp + offset */
	UNWIND_CFA_BP = UNWIND_CFA_BASE_BP,
	UNWIND_CFA_SP_LOAD = UNWIND_CFA_LOAD, /* *(sp + offset): realigned stacks */
	UNWIND_CFA_BP_LOAD = UNWIND_CFA_BASE_BP | UNWIND_CFA_LOAD,
	/* *(sp + offset) + word: hand-written cryptography code that keeps the old sp in its
	 * frame */
	UNWIND_CFA_SP_LOAD_WORD = UNWIND_CFA_LOAD | UNWIND_CFA_ADD_WORD,
	UNWIND_CFA_BP_LOAD_WORD = UNWIND_CFA_BASE_BP | UNWIND_CFA_LOAD | UNWIND_CFA_ADD_WORD,
	/* The procedure linkage table, whose entries push between two jumps: sp + offset, plus a
	 * word from byte bp_offset of each 16-byte entry on. The frame pointer is the caller's. */
	UNWIND_CFA_PLT = UNWIND_CFA_ADD_WORD,

	UNWIND_CFA_END = 8, /* the outermost frame: its return address is undefined */
	UNWIND_CFA_STOP,    /* there is a rule that no row can express */
	UNWIND_CFA_SIGNAL,  /* a signal trampoline: sp is saved at sp + offset */
	UNWIND_CFA_GAP,     /* no call frame information */
	/* Only on processors with a link register: */
	UNWIND_CFA_SECOND,    /* the second frame pointer + offset */
	UNWIND_CFA_SIGNAL_AT, /* like SIGNAL, but the address of the registers is at sp + offset */
};

#define UNWIND_CFA_LAST UNWIND_CFA_SIGNAL_AT

/* Where to find the caller's frame pointer. */
enum unwind_bp {
	UNWIND_BP_SAME = 0, /* untouched */
	UNWIND_BP_AT_CFA,   /* saved at CFA + offset */
	UNWIND_BP_AT_BP,    /* saved at bp + offset */
	UNWIND_BP_LOST,     /* overwritten, or saved where no row can express */
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
 * Where a call leaves the return address, which determines the meaning of a row's last 12 bits. For
 * processors with a link register, see arch/unwind_link.h.
 */
enum unwind_link {
	UNWIND_LINK_NONE = 0, /* always on the stack, at return_offset from the CFA */
	UNWIND_LINK_FIXED,    /* in a register; saved at return_offset from the CFA */
	UNWIND_LINK_RECORD,   /* in a register; saved in the word above the frame pointer */
	UNWIND_LINK_PUSHED,   /* in a register; saved right below the CFA with two frame pointers */
};

/* The properties of a processor that unwinding depends on. Offsets are in bytes. */
struct unwind_abi {
	abi_u8 word;               /* bytes of a stack slot */
	signed char return_offset; /* of the return address from the CFA */
	short signal_ip;           /* in a signal frame, from the saved sp */
	short signal_bp;
	abi_u8 dwarf_ip; /* DWARF register numbers; ip is the return address column */
	abi_u8 dwarf_sp;
	abi_u8 dwarf_bp;

	/* Only on processors with a link register: */
	abi_u8 link;            /* enum unwind_link */
	abi_u8 dwarf_second;    /* the second frame pointer; FIXED: the scratch register */
	abi_u8 dwarf_signal_ip; /* the return address column of signal frames, if different */
	abi_u8 mode_bit;        /* bit of a return address: the instruction set to return to */
	short signal_sp;        /* from the address that UNWIND_CFA_SIGNAL_AT reads */
	short signal_link;      /* from the saved sp */
	short signal_second;
	abi_u64 ip_mask; /* the address bits of a return address; 0: all */
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

/* r30, r29; struct sigcontext: regs[31], sp, pc. Return addresses may be signed, in the bits above
 * those of a user space address, which has 48 bits by default. */
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

/* r14, and the frame pointers of ARM code (r11) and Thumb code (r7); struct sigcontext. */
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

/* The link register's slot in the caller's frame, r31 and r0. Signal frames have struct pt_regs,
 * which the kernel's call frame information finds through a pointer, with a separate column for the
 * interrupted ip. */
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
 * The row of a function with a frame pointer, after its prologue: the step to try on x86 if there
 * is no table. Whether the register really is a frame pointer is unknown, so check if the result is
 * plausible.
 */
static const struct unwind_row unwind_row_frame_pointer __attribute__((unused)) = {
	.cfa_offset = 2,
	.kinds = UNWIND_KINDS(UNWIND_CFA_BP, UNWIND_BP_AT_CFA),
	.bp_offset = -2,
};

#ifndef __bpf__
#include <stddef.h>

/* Returns the last row at or below an offset, or NULL. The rows are sorted by offset. */
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
