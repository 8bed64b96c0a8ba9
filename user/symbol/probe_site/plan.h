/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where to put probes in a module: the allocation functions that it defines and, for each, the
 * cheapest instruction at which a probe sees exactly what it would see at the entry.
 *
 * The cost of a uprobe on x86 depends on the probed instruction. Those that the kernel emulates
 * (push, nop, jmp, jcc, call; see arch/x86/kernel/uprobes.c) cost one trap; all others cost a
 * second one for single-stepping. A later instruction is as good as the first one if every call
 * reaches it exactly once, the stack pointer has not moved, no argument register has been
 * overwritten, and no branch of the function leads between the entry and the site.
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
#include "symbol/gate/gate_site.h"
#include "symbol/probe_site/hook.h"

struct probe_site {
	enum api api;
	bool needs_return;      /* also needs a return probe */
	bool by_exits;          /* probed at its exits instead */
	bool emulated;          /* the kernel emulates the instruction: one trap */
	bool thumb;             /* Thumb code: only ptrace can probe it */
	uint64_t offset;        /* file offset of the probed instruction */
	uint64_t entry;         /* file offset of the function's first byte */
	uint8_t original;       /* the byte that the breakpoint replaces */
	char symbol[64];        /* its name; the canonical one if it has several */
	char instruction[48];   /* the probed instruction, as text */
	char reason[96];        /* why this site: for -v */
	struct probe_gate gate; /* only if the module wants gates, and for heap functions */
};

struct probe_wrapper {
	enum api api;
	uint64_t start; /* file offsets of the function's code */
	uint64_t end;
};

/* An exit of a function that is probed at its exits. */
struct probe_exit {
	enum exit_kind kind;
	uint64_t offset; /* in the file */
	uint8_t original;
};

/* The entry of a wrapper, probed only to tell operators apart (bpf/sanity.bpf.h). */
struct probe_mark {
	enum api api;
	uint64_t offset;    /* file offset of the probed instruction … */
	uint64_t entry;     /* … and of the function's first byte */
	uint32_t size;      /* bytes of the function */
	int8_t passed_size; /* position of the size argument, or -1 if it has none; … */
	int8_t aligned;     /* … of the alignment to which the size may be rounded up */
	bool thumb;
};

/* An allocation function that cannot be probed, and why. */
struct probe_refusal {
	enum api api;
	char symbol[64];
	char reason[96];
};

struct probe_plan {
	struct probe_site *sites; /* one per address; sorted by offset */
	size_t site_count;
	struct probe_exit *exits; /* of all sites with by_exits; sorted by offset */
	size_t exit_count;
	struct probe_wrapper *wrappers;
	size_t wrapper_count;
	struct probe_mark *marks;
	size_t mark_count;
	struct probe_refusal *refusals;
	size_t refusal_count;
	uint64_t hooks[HOOK_COUNT]; /* file offsets; 0: the module has none */
	bool allocator;             /* defines malloc under that name */
	enum sanitizer sanitizer;
};

/*
 * Returns the plan of a module, which is made once and kept in module->plan. Modules without
 * allocation functions have an empty plan. Returns 0, -ENOMEM, or another -errno; sets *err.
 */
int probe_plan_make(struct module *module, const struct probe_plan **ret_plan, struct error *err);
void probe_plan_free(struct probe_plan *plan);

#endif
