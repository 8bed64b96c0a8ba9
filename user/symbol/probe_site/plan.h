/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where to put probes in a module: which allocation functions it defines, and for each the
 * cheapest instruction at which a probe sees exactly what it would see at the entry.
 *
 * The cost of a uprobe on x86 is decided by the instruction under it: those that the kernel
 * emulates (push, nop, jmp, jcc, call; see arch/x86/kernel/uprobes.c) cost one trap, all others a
 * second one for single-stepping. A later instruction is as good as the first if every call passes
 * it exactly once, the stack pointer has not moved, no argument register has been overwritten, and
 * no branch of the function leads between entry and site.
 */
#ifndef MTRACE_SYMBOL_PROBE_SITE_PLAN_H
#define MTRACE_SYMBOL_PROBE_SITE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "base/error.h"
#include "symbol/elf/module.h"
#include "symbol/probe_site/api_functions.h"
#include "symbol/probe_site/hook.h"

struct probe_site {
	enum api api;
	bool needs_return;    /* a return probe */
	bool by_exits;        /* watched at its exits instead */
	bool emulated;        /* the kernel emulates the instruction: one trap */
	bool thumb;           /* ARM's compact instruction set: by ptrace alone */
	uint64_t offset;      /* file offset of the probed instruction */
	uint64_t entry;       /* file offset of the function's first byte */
	uint8_t original;     /* the byte that the breakpoint will replace */
	char symbol[64];      /* the name by which it was found (canonical one first) */
	char instruction[48]; /* the probed instruction, as text */
	char reason[96];      /* why here: for -v */
};

struct probe_wrapper {
	enum api api;
	uint64_t start; /* file offsets of the function's code */
	uint64_t end;
};

/* Where a call that is watched by exits ends. */
struct probe_exit {
	enum exit_kind kind;
	uint64_t offset; /* in the file */
	uint8_t original;
};

/* A wrapper's entry, probed only where operators are told from each other (bpf/sanity.bpf.h). */
struct probe_mark {
	enum api api;
	uint64_t offset; /* file offset of the probed instruction … */
	uint64_t entry;  /* … and of the function's first byte */
	uint32_t size;   /* bytes of the function */
	int8_t told;     /* position of the argument that is a size, -1 where there is none; … */
	int8_t aligned;  /* … of the alignment that it may be rounded up to */
	bool thumb;
};

/* An allocation function that has to stay without probe, and why. */
struct probe_refusal {
	enum api api;
	char symbol[64];
	char reason[96];
};

struct probe_plan {
	struct probe_site *sites; /* one per address, whatever its names; sorted by offset */
	size_t site_count;
	struct probe_exit *exits; /* of all sites that are watched by them; sorted by offset */
	size_t exit_count;
	struct probe_wrapper *wrappers;
	size_t wrapper_count;
	struct probe_mark *marks;
	size_t mark_count;
	struct probe_refusal *refusals;
	size_t refusal_count;
	uint64_t hooks[HOOK_COUNT]; /* file offsets; 0 where the module has none */
	bool allocator;             /* defines malloc, by that name */
	enum sanitizer sanitizer;
};

/*
 * The plan of a module, made once and kept in module->plan. Modules without allocation functions
 * have an empty plan. 0, -ENOMEM, or another -errno with words.
 */
int probe_plan_make(struct module *module, const struct probe_plan **ret_plan, struct error *err);
void probe_plan_free(struct probe_plan *plan);

#endif
