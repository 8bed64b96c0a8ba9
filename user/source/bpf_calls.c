/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf_calls.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi.h"

#define JIT_SETTING "/proc/sys/net/core/bpf_jit_enable"

/* Where a number is found: what is to be called instead. */
struct filling {
	int32_t number;
	int32_t function; /* 0 or less: leave it */
	uint8_t kind;     /* of the function: 0 for a helper, or BPF_PSEUDO_KFUNC_CALL */
};

static bool has_member(const struct btf *kernel, const char *name, const char *member)
{
	int id = btf__find_by_name_kind(kernel, name, BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(kernel, (uint32_t)id) : NULL;

	for (uint16_t i = 0; type && i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(kernel, btf_members(type)[i].name_off), member))
			return true;
	return false;
}

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
			    code[i].imm != fillings[j].number || fillings[j].function <= 0)
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

int calls_fill(struct bpf_object *object, const struct btf *kernel)
{
	const bool borrows = kernel && has_member(kernel, "bpf_prog_aux", "jits_use_priv_stack");
	const struct filling fillings[] = {
		{CALL_SESSION_WORD,
		 kernel ? btf__find_by_name_kind(kernel, "bpf_session_cookie", BTF_KIND_FUNC) : 0,
		 BPF_PSEUDO_KFUNC_CALL},
		{CALL_OWN_STACK, borrows ? BPF_FUNC_tail_call : 0, 0},
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
