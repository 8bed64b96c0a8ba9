/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/load/calls.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"

#define JIT_SETTING "/proc/sys/net/core/bpf_jit_enable"

/* What to call instead of a placeholder. */
struct filling {
	int32_t number;
	int32_t function; /* 0: leave the call unchanged */
	uint8_t kind;     /* kind of the function: 0 for a helper, or BPF_PSEUDO_KFUNC_CALL */
};

bool calls_are_compiled(void)
{
	FILE *file = fopen(JIT_SETTING, "re");
	int setting = file ? fgetc(file) : EOF;

	if (file)
		fclose(file);
	return setting != '0';
}

static int program_fill(struct bpf_program *program, const struct filling *fillings, size_t count)
{
	size_t length = bpf_program__insn_cnt(program);
	struct bpf_insn *code = malloc(length * sizeof(*code));
	int err;

	if (!code)
		return -ENOMEM;
	memcpy(code, bpf_program__insns(program), length * sizeof(*code));
	for (size_t i = 0; i < length; i++) {
		for (size_t j = 0; j < count; j++) {
			if (code[i].code != (BPF_JMP | BPF_CALL) ||
			    code[i].imm != fillings[j].number || !fillings[j].function)
				continue;
			code[i].imm = fillings[j].function;
			code[i].src_reg = fillings[j].kind & 0xf;
			break;
		}
	}
	err = bpf_program__set_insns(program, code, length);
	free(code);
	return err;
}

int calls_fill(struct bpf_object *object, const struct kernel_types *kernel)
{
	const struct filling fillings[] = {
		{CALL_SESSION_WORD, (int32_t)kernel->ids[KERNEL_SESSION_WORD],
		 BPF_PSEUDO_KFUNC_CALL},
		{CALL_OWN_STACK, kernel->ids[KERNEL_BORROWED_STACKS] ? BPF_FUNC_tail_call : 0, 0},
	};
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		int err = program_fill(program, fillings, sizeof(fillings) / sizeof(fillings[0]));

		if (err)
			return err;
	}
	return 0;
}
