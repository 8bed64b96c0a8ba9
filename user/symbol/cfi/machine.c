// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/cfi/machine.h"

#include <elf.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define TRAMPOLINE_OF(code, kind_, offset)                                                         \
	{                                                                                          \
		.bytes = (code), .size = sizeof(code) - 1, .kind = (kind_), .cfa_offset = (offset) \
	}
#define TRAMPOLINE(code, offset) TRAMPOLINE_OF(code, UNWIND_CFA_SIGNAL, offset)

/* mov $SYS_rt_sigreturn; syscall: in musl and in Go's runtime. sp points to the ucontext. */
static const struct cfi_trampoline x86_64_trampolines[] = {
	TRAMPOLINE("\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 20),
	TRAMPOLINE("\xb8\x0f\x00\x00\x00\x0f\x05", 20),
};

/* mov $SYS_rt_sigreturn; int $0x80, and pop; mov $SYS_sigreturn; int $0x80. sp points to the signal
 * number, which is followed by three words, siginfo and ucontext, or by the sigcontext itself. */
static const struct cfi_trampoline i386_trampolines[] = {
	TRAMPOLINE("\xb8\xad\x00\x00\x00\xcd\x80", 47),
	TRAMPOLINE("\x58\xb8\x77\x00\x00\x00\xcd\x80", 8),
};

/* mov x8, #SYS_rt_sigreturn; svc #0. sp points to the siginfo. */
static const struct cfi_trampoline aarch64_trampolines[] = {
	TRAMPOLINE("\x68\x11\x80\xd2\x01\x00\x00\xd4", 70),
};

/* mov r7, #SYS_sigreturn; svc 0, and the same for rt_sigreturn: in ARM code and in Thumb code,
 * where the C library uses a wide mov and the kernel a narrow one. sp points to the ucontext, or to
 * the siginfo. */
static const struct cfi_trampoline arm_trampolines[] = {
	TRAMPOLINE("\x77\x70\xa0\xe3\x00\x00\x00\xef", 21),
	TRAMPOLINE("\xad\x70\xa0\xe3\x00\x00\x00\xef", 53),
	TRAMPOLINE("\x4f\xf0\x77\x07\x00\xdf", 21),
	TRAMPOLINE("\x4f\xf0\xad\x07\x00\xdf", 53),
	TRAMPOLINE("\x77\x27\x00\xdf", 21),
	TRAMPOLINE("\xad\x27\x00\xdf", 53),
	/* The kernel's, which also serve programs of the old ABI. */
	TRAMPOLINE("\x77\x70\xa0\xe3\x77\x00\x90\xef", 21),
	TRAMPOLINE("\xad\x70\xa0\xe3\xad\x00\x90\xef", 53),
};

/* li r0, SYS_sigreturn or SYS_rt_sigreturn; sc. sp points to a frame of 64 bytes, followed by the
 * sigcontext, or by 16 bytes, siginfo and ucontext. Both contain a pointer to the registers. */
static const struct cfi_trampoline powerpc_trampolines[] = {
	TRAMPOLINE_OF("\x38\x00\x00\x77\x44\x00\x00\x02", UNWIND_CFA_SIGNAL_AT, 23),
	TRAMPOLINE_OF("\x38\x00\x00\xac\x44\x00\x00\x02", UNWIND_CFA_SIGNAL_AT, 64),
};

#define OUTERMOST(code)                                   \
	{                                                 \
		.bytes = (code), .size = sizeof(code) - 1 \
	}

/* glibc's __start_context, to which functions started by makecontext() return. It starts with mov
 * %rbx, %rsp, possibly after endbr64, which no function that is called can do. */
static const struct cfi_outermost x86_64_outermost[] = {
	OUTERMOST("\x48\x89\xdc"),
	OUTERMOST("\xf3\x0f\x1e\xfa\x48\x89\xdc"),
};

static const struct cfi_machine machines[] = {
	{
		.machine = EM_X86_64,
		.abi = &unwind_abi_x86_64,
		.call_end = cfi_x86_call_end,
		.trampolines = x86_64_trampolines,
		.trampoline_count = COUNT(x86_64_trampolines),
		.outermost = x86_64_outermost,
		.outermost_count = COUNT(x86_64_outermost),
	},
	{
		.machine = EM_386,
		.abi = &unwind_abi_i386,
		.call_end = cfi_x86_call_end,
		.trampolines = i386_trampolines,
		.trampoline_count = COUNT(i386_trampolines),
	},
	{
		.machine = EM_AARCH64,
		.abi = &unwind_abi_aarch64,
		.call_end = cfi_aarch64_call_end,
		.trampolines = aarch64_trampolines,
		.trampoline_count = COUNT(aarch64_trampolines),
	},
	{
		.machine = EM_ARM,
		.abi = &unwind_abi_arm,
		.call_end = cfi_arm_call_end,
		.trampolines = arm_trampolines,
		.trampoline_count = COUNT(arm_trampolines),
	},
	{
		.machine = EM_PPC,
		.abi = &unwind_abi_powerpc,
		.call_end = cfi_powerpc_call_end,
		.trampolines = powerpc_trampolines,
		.trampoline_count = COUNT(powerpc_trampolines),
	},
};

const struct cfi_machine *cfi_machine(unsigned int machine)
{
	for (size_t i = 0; i < COUNT(machines); i++)
		if (machines[i].machine == machine)
			return &machines[i];
	return NULL;
}

const struct unwind_abi *cfi_abi(unsigned int machine)
{
	const struct cfi_machine *known = cfi_machine(machine);

	return known ? known->abi : NULL;
}

bool cfi_can_return_behind(unsigned int machine, const uint8_t code[CFI_CALL_MAX])
{
	const struct cfi_machine *known = cfi_machine(machine);

	return !known || !known->call_end ||
	       known->call_end(code, CFI_CALL_MAX - 1, CFI_CALL_MAX) == CFI_CALL_MAX;
}

bool cfi_trampoline_row(unsigned int machine, const void *code, size_t size,
			struct unwind_row *ret_row)
{
	const struct cfi_machine *known = cfi_machine(machine);

	for (size_t i = 0; known && i < known->trampoline_count; i++) {
		const struct cfi_trampoline *trampoline = &known->trampolines[i];

		if (size < trampoline->size || memcmp(code, trampoline->bytes, trampoline->size))
			continue;
		*ret_row = (struct unwind_row){
			.kinds = trampoline->kind,
			.cfa_offset = trampoline->cfa_offset,
		};
		return true;
	}
	return false;
}
