/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The linked image (stub/stub.ld) as data of the program. */
	.section .rodata
	.balign 16
	.globl gate_image_start, gate_image_size
gate_image_start:
	.incbin STUB_IMAGE
1:
	.balign 8
gate_image_size:
	.quad 1b - gate_image_start
	.section .note.GNU-stack, "", @progbits
