/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The templates of gates for x86-64 (stub/abi.h): code that an allocation function jumps to at its
 * entry, one for each kind of function. The tracer copies a template to a place of its own, fills
 * in the constants that are 0 here, and puts a copy of the displaced instructions into the room for
 * them, which continues in the function.
 *
 * The fast path uses rax, r10 and r11, which the ABI leaves to the called function (System V ABI,
 * AMD64, 3.2.1), and no stack. All else is done in a frame of STUB_FRAME bytes:
 *
 *   0..47 the six argument registers   48 the sample or verdict   56 the result   64 unused
 *
 * At a probe site inside the frame the argument registers have the arguments of the call, rax its
 * result, r11 the sample. The probe site of a free is outside the frame: all is as at the entry.
 *
 * Numeric labels: 3 the copy, 4 the slow path, 5 a sampled call, 6 leaves the frame, 8 returns.
 */
#include "stub/abi.h"

#define ARGUMENTS 0
#define VERDICT   48
#define RESULT    56
#define CALLER    STUB_FRAME /* the return address */

/* The first word of a thread's control block is its address. */
#define THREAD %fs:0

/* A constant of 8 bytes, which ends at the label. */
.macro constant label, register, value=0
	movabs $\value, \register
\label:
.endm

.macro save_arguments
	sub $STUB_FRAME, %rsp
	mov %rdi, 0(%rsp)
	mov %rsi, 8(%rsp)
	mov %rdx, 16(%rsp)
	mov %rcx, 24(%rsp)
	mov %r8, 32(%rsp)
	mov %r9, 40(%rsp)
.endm

.macro restore_arguments
	mov 0(%rsp), %rdi
	mov 8(%rsp), %rsi
	mov 16(%rsp), %rdx
	mov 24(%rsp), %rcx
	mov 32(%rsp), %r8
	mov 40(%rsp), %r9
.endm

/* The registers of a probe site in the frame, where the probe program reads them. */
.macro probe_site label
	restore_arguments
	mov RESULT(%rsp), %rax
	movzbl VERDICT(%rsp), %r11d
\label:	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00 /* a nop that Linux 6.18 turns into a call */
.endm

/* After a call: no trace of it may stay below the stack pointer, since a tracer that removes gates
 * searches stacks for return addresses into them. */
.macro called
	movq $0, -8(%rsp)
	mov %rax, RESULT(%rsp)
.endm

.macro room_for_copy name
3:
\name\()_copy:
	.fill STUB_COPY_MAX, 1, 0xcc
.endm

.macro return_result
	mov RESULT(%rsp), %rax
	add $STUB_FRAME, %rsp
	ret
.endm

/* One number of the table: the distance of a label from the template's start; 0 if there is none. */
.macro place name, label, back=0
	.ifb \label
	.long 0
	.else
	.long \name\()_\label - \name - \back
	.endif
.endm

/* The entry of a template in the table (struct stub_template). */
.macro describe name, probe, probe_end, other, data1, data2, base1
\name\()_end:
	.pushsection .head, "a"
	.long \name, \name\()_end - \name
	place \name, copy
	place \name, \probe
	place \name, \probe_end
	place \name, \other, 8
	place \name, data0, 8
	place \name, \data1, 8
	place \name, \data2, 8
	place \name, base0, 8
	place \name, \base1, 8
	.popsection
.endm

/* The size of the new block, from the arguments. */
.macro size_first to
	mov %rdi, \to
.endm
.macro size_second to
	mov %rsi, \to
.endm
.macro size_third to
	mov %rdx, \to
.endm
.macro size_product to
	mov %rdi, \to
	imul %rsi, \to
	jo 4f
.endm

/*
 * The start of the gates that allocate: charges the thread's budget, and leaves by the copy. All
 * else is for the slow path: another thread's slot, a call of 0 bytes (which count as one), and a
 * budget that is too small, which is restored first. `size` puts the size into `register`.
 */
.macro fast_path name, size, register
\name:	constant \name\()_data0, %r11
	mov THREAD, %rax
	imul $STUB_HASH, %eax, %r10d
	shr $(32 - STUB_SLOT_BITS), %r10d
	shl $STUB_SLOT_SHIFT, %r10d
	cmp %rax, STUB_SLOTS_AT(%r11,%r10)
	jne 4f
	.ifc \register, %rax
	\size %rax
	.endif
	test \register, \register
	je 4f
	sub \register, STUB_SLOTS_AT + 8(%r11,%r10)
	jb 1f
	room_for_copy \name
1:	add \register, STUB_SLOTS_AT + 8(%r11,%r10)
.endm

/* Charges the call in a frame. Continues if it is sampled; otherwise leaves by the copy. */
.macro charge name, size
4:	save_arguments
	.ifc \size, size_product
	mov %rdi, %rdx
	mov %rsi, %rcx
	mov CALLER(%rsp), %r8
	constant \name\()_base0, %rax, stub_charge_product
	.else
	\size %rdx
	mov CALLER(%rsp), %rcx
	constant \name\()_base0, %rax, stub_charge
	.endif
	mov THREAD, %rsi
	constant \name\()_data1, %rdi
	call *%rax
	mov %eax, VERDICT(%rsp)
	restore_arguments
	cmpl $0, VERDICT(%rsp)
	jne 5f
6:	add $STUB_FRAME, %rsp
	jmp 3b
5:
.endm

/* Puts the block in rsi into the set, passes the probe site, and returns. */
.macro keep name
	constant \name\()_data2, %rdi
	constant \name\()_base1, %rax, stub_keep
	call *%rax
	test %eax, %eax
	je 8f
	probe_site \name\()_probe
8:	return_result
.endm

/* Put the block into rsi, after the call. */
.macro block_is_result
	mov %rax, %rsi
.endm
/* posix_memalign: the result is 0 or an error number, and the block is where the first argument
 * points to. */
.macro block_is_stored
	xor %esi, %esi
	test %eax, %eax
	jne 1f
	mov ARGUMENTS(%rsp), %rsi
	mov (%rsi), %rsi
1:
.endm

.macro allocating name, size, register, block
	fast_path \name, \size, \register
	charge \name, \size
	call 3b
	called
	\block
	keep \name
	describe \name, probe, , , data1, data2, base1
.endm

/*
 * operator new may throw, and no exception can pass our frame. So the block comes from a function
 * that returns 0 instead; if it does, operator new is called without a frame, and not sampled.
 */
.macro allocating_other name, size, register, swap
	fast_path \name, \size, \register
	charge \name, \size
	.if \swap
	xchg %rdi, %rsi
	.endif
	constant \name\()_other, %rax
	call *%rax
	called
	test %rax, %rax
	jne 7f
	restore_arguments
	jmp 6b
7:	block_is_result
	keep \name
	describe \name, probe, , other, data1, data2, base1
.endm

/* For realloc. If the product overflows, the call fails. */
.macro size_product_second to
	mov %rsi, \to
	imul %rdx, \to
	jno 2f
	mov $-1, \to
2:
.endm

/* realloc: calls of functions that allocate may be part of it, and end it by a jump; so it is
 * always called from our frame, where they return to. */
.macro reallocating name, size
\name:	save_arguments
	\size %rcx
	mov %rdi, %rdx
	mov CALLER(%rsp), %r8
	mov THREAD, %rsi
	constant \name\()_data0, %rdi
	constant \name\()_base0, %rax, stub_begin
	call *%rax
	mov %eax, VERDICT(%rsp)
	test %eax, %eax
	je 1f
	probe_site \name\()_probe
1:	restore_arguments
	call 3f
	called
	mov VERDICT(%rsp), %esi
	test %esi, %esi
	je 8f
	restore_arguments
	\size %rcx
	mov %rdi, %rdx
	mov VERDICT(%rsp), %esi
	mov %rax, %r8
	constant \name\()_data1, %rdi
	constant \name\()_base1, %rax, stub_end
	call *%rax
	mov %eax, VERDICT(%rsp)
	probe_site \name\()_probe_end
8:	return_result
	room_for_copy \name
	describe \name, probe, probe_end, , data1, , base1
.endm

/* free: blocks whose counter is 0 were not sampled. */
.macro freeing name
\name:	constant \name\()_data0, %r11
	imul $STUB_HASH, %edi, %eax
	shr $(32 - STUB_FILTER_BITS), %eax
	cmpb $0, STUB_FILTER_AT(%r11,%rax)
	jne 4f
	room_for_copy \name
4:	save_arguments
	mov %rdi, %rsi
	constant \name\()_data1, %rdi
	constant \name\()_base0, %rax, stub_forget
	call *%rax
	test %eax, %eax
	restore_arguments
	lea STUB_FRAME(%rsp), %rsp
	je 3b
\name\()_probe:
	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00
	jmp 3b
	describe \name, probe, , , data1
.endm

	.text
/* In the order of enum stub_kind. */
	allocating gate_size_first, size_first, %rdi, block_is_result
	allocating gate_size_second, size_second, %rsi, block_is_result
	allocating gate_size_third, size_third, %rdx, block_is_stored
	allocating gate_count_size, size_product, %rax, block_is_result
	allocating_other gate_new, size_first, %rdi, 0
	allocating_other gate_new_aligned, size_first, %rdi, 1
	reallocating gate_realloc, size_second
	reallocating gate_realloc_count, size_product_second
	freeing gate_free

	.section .note.GNU-stack, "", @progbits
