/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processors, for a tracer: what it asks of one is a row of operations (struct arch). All are
 * built on every machine, so that they are tested on every machine: the layouts of registers are
 * our own, and code is read byte by byte.
 *
 * A breakpoint that is lifted for its instruction to run lets other threads slip past. So the
 * tracer does the instruction itself, where it is one of those that functions begin with and that
 * calls return to (`emulate`). All others run out of line: a copy in a place of the process that
 * nobody else executes, single-stepped, or, where the kernel cannot do that, with a breakpoint
 * behind it; registers are set right before and after it (`line_begin`, `line_end`). An instruction
 * whose meaning depends on where it stands beyond what can be set right, or on being stepped, is
 * for neither (ARCH_REFUSED).
 *
 * One processor may have several kinds of code: of 32 bits and of 64, Thumb. A mode tells which, a
 * small number that only the processor's own file understands, but for 0, which is the usual one.
 * Where pointers to code show it, as Thumb's are odd, `mode_bits` are those bits.
 */
#ifndef MTRACE_ARCH_ARCH_H
#define MTRACE_ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCH_CODE_MAX       15 /* bytes that are looked at of an instruction, or of two */
#define ARCH_BREAKPOINT_MAX 4
#define ARCH_SET_MAX        512 /* bytes of the general registers, as ptrace gives them */

/* As PTRACE_GETREGS gives them to a tracer of 64 bits, of threads of either kind (sys/user.h). */
struct x86_registers {
	uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	uint64_t orig_ax, ip, cs, flags, sp, ss, fs_base, gs_base, ds, es, fs, gs;
};

/* struct user_regs of arch/arm/include/asm/user.h. */
struct arm_registers {
	uint32_t r[16]; /* 13: the stack pointer, 14: the link register, 15: the next instruction */
	uint32_t cpsr;
	uint32_t orig_r0;
};

/* struct user_pt_regs of arch/arm64/include/uapi/asm/ptrace.h. */
struct arm64_registers {
	uint64_t x[31];
	uint64_t sp, pc, pstate;
};

/* The first of struct pt_regs of arch/powerpc/include/uapi/asm/ptrace.h, of 32 bits. */
struct powerpc_registers {
	uint32_t r[32];
	uint32_t nip, msr, orig_r3, ctr, lr, xer, cr, mq, trap, dar, dsisr, call_result;
	uint32_t rest[4];
};

struct arch_registers {
	const struct arch *arch;
	union {
		struct x86_registers x86;
		struct arm_registers arm;
		struct arm64_registers arm64;
		struct powerpc_registers ppc;
	};
};

/* What registers are asked for. */
enum arch_value {
	ARCH_IP,
	ARCH_SP,
	ARCH_BP,         /* the frame pointer, by convention */
	ARCH_BP_SECOND,  /* where there are two conventions; else 0 */
	ARCH_RESULT,     /* of a function */
	ARCH_LINK,       /* where a function returns to that has just been entered; see `links` */
	ARCH_CALL,       /* the number of the system call in which the thread is */
	ARCH_CALL_FIRST, /* that call's first argument */
};

/* The memory of the process: 0, or not if it is not accessible. */
struct arch_memory {
	int (*read)(void *ctx, uint64_t address, void *bytes, size_t size);
	int (*write)(void *ctx, uint64_t address, const void *bytes, size_t size);
	void *ctx;
};

/* For asking only: everything is there, zeros are read, and what is written is lost. */
extern const struct arch_memory arch_memory_of_zeros;

enum arch_step {
	ARCH_DONE = 0,    /* the registers are those after the instruction */
	ARCH_OUT_OF_LINE, /* registers as before: run a copy of it */
	ARCH_FAULT,       /* likewise; it would fault, and may do so out of line */
	ARCH_REFUSED,     /* neither is possible */
};

/* A copy that runs elsewhere. */
struct arch_line {
	uint8_t code[ARCH_CODE_MAX];
	uint64_t ip;     /* of the original */
	uint64_t slot;   /* of the copy */
	size_t size;     /* of it, where a breakpoint is behind it; else 0 */
	int lent;        /* the register that stands for the instruction pointer, or -1 … */
	uint64_t lender; /* … and what it really has */
};

/* Numbers of system calls that begin processes and threads; 0 where there is none. */
struct arch_births {
	uint16_t clone, vfork, clone3;
};

struct unwind_abi;

struct arch {
	const char *name;
	uint16_t machine;  /* e_machine of programs */
	uint16_t set_size; /* of NT_PRSTATUS: distinguishes the kinds of threads that one meets */
	uint8_t mode_bits; /* of a pointer to code */
	uint8_t trap_distance; /* from a breakpoint to where the thread stands that has met it */
	uint8_t trap_code;     /* si_code of the SIGTRAP that it then gets */
	bool links;            /* calls leave the return address in a register, not on the stack */
	bool steps;            /* the kernel can single-step */
	bool guesses;          /* code without tables is walked by frame pointers, see bpf/walk.h */
	bool chains; /* each frame pointer leads to the next, the return address behind it */
	/* The register that is the instruction pointer in struct user (PTRACE_POKEUSER); -1. */
	int ip_place;

	/* From and to a set of set_size bytes. */
	void (*load)(struct arch_registers *registers, const void *set);
	void (*store)(const struct arch_registers *registers, void *set);

	bool (*is_narrow)(const struct arch_registers *registers); /* are words of 32 bits? */
	int (*mode_of)(const struct arch_registers *registers);
	uint64_t (*get)(const struct arch_registers *registers, enum arch_value value);
	void (*set_ip)(struct arch_registers *registers, uint64_t ip);
	/* Of a function that has just been entered. 0 for one that cannot be read. */
	uint64_t (*argument)(const struct arch_registers *registers,
			     const struct arch_memory *memory, unsigned int position);
	struct arch_births (*births)(const struct arch_registers *registers);
	const struct unwind_abi *(*abi)(bool narrow); /* NULL: none */

	/* The breakpoint for an instruction: its bytes, and how many. */
	size_t (*breakpoint)(int mode, uint8_t ret_bytes[ARCH_BREAKPOINT_MAX]);
	/* Is that an instruction that traps as a breakpoint does, ours or the program's own? */
	bool (*traps)(const uint8_t code[ARCH_CODE_MAX], int mode);
	/* Could a thread stand trap_distance behind the instruction without having met a
	 * breakpoint there? Then it matters who has sent SIGTRAP. */
	bool (*may_be_behind)(const uint8_t code[ARCH_CODE_MAX]);

	/* The instruction at ip, whose bytes are given, zeros where there is no more memory. */
	enum arch_step (*emulate)(struct arch_registers *registers,
				  const uint8_t code[ARCH_CODE_MAX],
				  const struct arch_memory *memory);
	/*
	 * Of code that does not run, at an address: how long the instruction is, and where it jumps
	 * to or calls, as a pointer to code; 0 if it does neither, or does not say where. NULL
	 * where instructions are read by other means.
	 */
	size_t (*look)(const uint8_t code[ARCH_CODE_MAX], int mode, uint64_t address,
		       uint64_t *ret_target);
	/* Could `emulate` or a copy out of line do it? Asked before a breakpoint is placed. */
	bool (*can_step)(const uint8_t code[ARCH_CODE_MAX], int mode);

	/* Where a copy may be in code that nobody executes: at `pointer`, or right before it. */
	uint64_t (*slot_at)(uint64_t pointer);
	/* Before the step: the copy's bytes, and the registers to run it with at `slot`. */
	void (*line_begin)(struct arch_line *line, struct arch_registers *registers,
			   const uint8_t code[ARCH_CODE_MAX], uint64_t slot);
	/* After it: what the registers would be at the instruction's own place. */
	void (*line_end)(const struct arch_line *line, struct arch_registers *registers);
};

extern const struct arch arch_x86_64, arch_i386, arch_arm, arch_arm64, arch_powerpc;

/*
 * For processors of which all instructions can be emulated or refused. What has been done with one
 * tells where it leads, as a pointer to code; of both ways of a branch that which zeros take. 0:
 * behind it, or to where a register says.
 */
uint64_t arch_target_of(const struct arch *arch, const uint8_t code[ARCH_CODE_MAX], size_t size,
			uint64_t address);
bool arch_can_emulate(const struct arch *arch, const uint8_t code[ARCH_CODE_MAX]);

/* By the size of a set of general registers. NULL for none that we know. */
const struct arch *arch_of_set(size_t size);
/* Of programs that have operations for code that does not run (`look`); else NULL. */
const struct arch *arch_of_machine(int machine);
/* Of threads that a tracer on this machine meets, by the width of their code. */
const struct arch *arch_native(bool narrow);
/* What such programs are called in reports. */
const char *arch_native_name(bool narrow);
/* Does a kernel of this machine place uprobes in programs of that one? */
bool arch_has_uprobes(int machine);

/* What the registers of a thread say; of mode and address what a pointer to code says. */
static inline uint64_t arch_get(const struct arch_registers *registers, enum arch_value value)
{
	return registers->arch->get(registers, value);
}

static inline void arch_set_ip(struct arch_registers *registers, uint64_t ip)
{
	registers->arch->set_ip(registers, ip);
}

static inline uint64_t arch_code_address(const struct arch *arch, uint64_t pointer)
{
	return pointer & ~(uint64_t)arch->mode_bits;
}

static inline int arch_code_mode(const struct arch *arch, uint64_t pointer, bool narrow)
{
	return arch->mode_bits ? (int)(pointer & arch->mode_bits) : narrow;
}

#endif
