/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processors, for a tracer: each one is a table of operations (struct arch). All of them are built
 * on every machine, so that they are tested on every machine: the register layouts are our own, and
 * code is read byte by byte.
 *
 * Removing a breakpoint to run the instruction below it would let other threads pass unnoticed. So
 * the tracer emulates the instructions that functions start with and that calls return to
 * (`emulate`). All other instructions run out of line: a copy, at a place in the process that no
 * other thread executes, is single-stepped or, if the kernel cannot do that, run up to a breakpoint
 * placed after it. Registers are fixed up right before and after (`copy_begin`, `copy_end`). An
 * instruction that depends on its address in a way that cannot be fixed up, or on not being
 * stepped, is refused (ARCH_REFUSED).
 *
 * A processor may have several kinds of code: 32-bit and 64-bit, Thumb. They are distinguished by a
 * mode, a small number that only the processor's own file understands, except 0, which is the usual
 * mode. If pointers to code include the mode, as Thumb's odd pointers do, `mode_bits` are those
 * bits.
 */
#ifndef MTRACE_ARCH_ARCH_H
#define MTRACE_ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCH_CODE_MAX       15 /* bytes to look at for one or two instructions */
#define ARCH_BREAKPOINT_MAX 4
#define ARCH_SET_MAX        512 /* bytes of the general registers in ptrace's layout */

/* PTRACE_GETREGS of a 64-bit tracer, for 64-bit and 32-bit threads (sys/user.h). */
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

/* The start of the 32-bit struct pt_regs of arch/powerpc/include/uapi/asm/ptrace.h. */
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

/* The values that can be read from the registers. */
enum arch_value {
	ARCH_IP,
	ARCH_SP,
	ARCH_BP,         /* the frame pointer, by convention */
	ARCH_BP_SECOND,  /* the other one, if there are two conventions; otherwise 0 */
	ARCH_RESULT,     /* the result of a function */
	ARCH_LINK,       /* return address of a function that was just entered; see `links` */
	ARCH_CALL,       /* the number of the system call that the thread is in */
	ARCH_CALL_FIRST, /* its first argument */
};

/* The memory of the process. Both return 0, or nonzero if it is not accessible. */
struct arch_memory {
	int (*read)(void *ctx, uint64_t address, void *bytes, size_t size);
	int (*write)(void *ctx, uint64_t address, const void *bytes, size_t size);
	void *ctx;
};

/* For queries: all addresses are accessible, reads return zeros, writes are ignored. */
extern const struct arch_memory arch_memory_of_zeros;

enum arch_step {
	ARCH_DONE = 0,    /* the registers are now those after the instruction */
	ARCH_OUT_OF_LINE, /* the registers are unchanged: run a copy of it */
	ARCH_FAULT,       /* the same; it would fault, which the copy may do */
	ARCH_REFUSED,     /* neither is possible */
};

/* A copy of an instruction that runs at another address. */
struct arch_copy {
	uint8_t code[ARCH_CODE_MAX];
	uint64_t ip;          /* address of the original */
	uint64_t slot;        /* address of the copy */
	size_t size;          /* of the copy, if a breakpoint follows it; otherwise 0 */
	int scratch;          /* the register that replaces the instruction pointer, or -1 … */
	uint64_t saved_value; /* … and its value before (Arm: the IT state) */
};

/* Numbers of the system calls that create processes and threads; 0: does not exist. */
struct arch_forks {
	uint16_t clone, vfork, clone3;
};

struct unwind_abi;

struct arch {
	const char *name;
	uint16_t machine;      /* e_machine of programs */
	uint16_t set_size;     /* of NT_PRSTATUS: identifies the kind of thread */
	uint8_t mode_bits;     /* of a pointer to code */
	uint8_t trap_distance; /* from a breakpoint to the ip of a thread that has hit it */
	uint8_t trap_code;     /* si_code of its SIGTRAP */
	bool links;            /* calls leave the return address in a register, not on the stack */
	bool steps;            /* the kernel can single-step */
	bool guesses;          /* without tables, walk frame pointers; see bpf/walk.h */
	bool chains;           /* frame pointers form a chain, each followed by a return address */
	/* Offset of the instruction pointer in struct user (PTRACE_POKEUSER); -1: none. */
	int ip_place;

	/* Convert from and to ptrace's layout, of set_size bytes. */
	void (*load)(struct arch_registers *registers, const void *set);
	void (*store)(const struct arch_registers *registers, void *set);

	bool (*is_32bit)(const struct arch_registers *registers); /* true for a 32-bit thread */
	int (*mode_of)(const struct arch_registers *registers);
	uint64_t (*get)(const struct arch_registers *registers, enum arch_value value);
	void (*set_ip)(struct arch_registers *registers, uint64_t ip);
	/* The argument of a function that was just entered; 0 if it cannot be read. */
	uint64_t (*argument)(const struct arch_registers *registers,
			     const struct arch_memory *memory, unsigned int position);
	struct arch_forks (*forks)(const struct arch_registers *registers);
	const struct unwind_abi *(*abi)(bool is_32bit); /* NULL: none */

	/* Stores the bytes of the breakpoint instruction. Returns their number. */
	size_t (*breakpoint)(int mode, uint8_t ret_bytes[ARCH_BREAKPOINT_MAX]);
	/* Returns true for an instruction that traps like a breakpoint, whether ours or the
	 * program's own. */
	bool (*traps)(const uint8_t code[ARCH_CODE_MAX], int mode);
	/* Returns true if a thread could be trap_distance past the instruction without having hit a
	 * breakpoint there. Then the origin of its SIGTRAP must be checked. */
	bool (*may_be_behind)(const uint8_t code[ARCH_CODE_MAX]);

	/* Emulates the instruction at ip. `code` has its bytes, padded with zeros where there is no
	 * memory. */
	enum arch_step (*emulate)(struct arch_registers *registers,
				  const uint8_t code[ARCH_CODE_MAX],
				  const struct arch_memory *memory);
	/*
	 * For static code at an address: returns the length of the instruction, and the target of a
	 * jump or call as a pointer to code; 0 if it has none or it is not fixed. NULL if
	 * instructions are decoded by other means.
	 */
	size_t (*look)(const uint8_t code[ARCH_CODE_MAX], int mode, uint64_t address,
		       uint64_t *ret_target);
	/* Returns true if `emulate` or an out-of-line copy can run it. Called before placing a
	 * breakpoint. */
	bool (*can_step)(const uint8_t code[ARCH_CODE_MAX], int mode);

	/* The address for a copy, in unused code at `pointer` or right before it. */
	uint64_t (*slot_at)(uint64_t pointer);
	/* Before the step: makes the copy, and sets the registers to run it at `slot`. */
	void (*copy_begin)(struct arch_copy *copy, struct arch_registers *registers,
			   const uint8_t code[ARCH_CODE_MAX], uint64_t slot);
	/* After the step: converts the registers to those at the original address. */
	void (*copy_end)(const struct arch_copy *copy, struct arch_registers *registers);
};

extern const struct arch arch_x86_64, arch_i386, arch_arm, arch_arm64, arch_powerpc;

/*
 * For processors on which every instruction can be emulated or refused: emulates one to find its
 * target, as a pointer to code. For conditional branches, this is the side that zeroed registers
 * take. Returns 0 if it is the next instruction, or unknown because it comes from a register.
 */
uint64_t arch_target_of(const struct arch *arch, const uint8_t code[ARCH_CODE_MAX], size_t size,
			uint64_t address);
bool arch_can_emulate(const struct arch *arch, const uint8_t code[ARCH_CODE_MAX]);

/* Looks up a processor by the size of its general register set. NULL if unknown. */
const struct arch *arch_of_set(size_t size);
/* Looks up a processor by e_machine. NULL if it is unknown or has no `look`. */
const struct arch *arch_of_machine(int machine);
/* The processor of threads on this machine: 32-bit ones if `is_32bit`. NULL if there are none. */
const struct arch *arch_native(bool is_32bit);
/* The name of that processor in reports. */
const char *arch_native_name(bool is_32bit);
/* Returns true if this machine's kernel can place uprobes in programs for `machine`. */
bool arch_has_uprobes(int machine);

/* Access to registers, and to the address and mode in a pointer to code. */
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

static inline int arch_code_mode(const struct arch *arch, uint64_t pointer, bool is_32bit)
{
	return arch->mode_bits ? (int)(pointer & arch->mode_bits) : is_32bit;
}

#endif
