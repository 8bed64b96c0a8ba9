/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pairing code of the BPF programs, compiled for the host. What the kernel would provide is
 * here: registers, the memory of a target, the list of pending return probes, the ring buffer.
 */
#ifndef TESTS_BPF_HOST_H
#define TESTS_BPF_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint32_t __u32;
typedef uint64_t __u64;

/* Named apart from ptrace's own. */
#define pt_regs host_regs
struct host_regs {
	unsigned long di, si, dx, cx, r8, r9, r11, ax, sp, ip, bp;
};

static inline uint64_t regs_argument(const struct pt_regs *regs, unsigned int position)
{
	const unsigned long words[] = {regs->di, regs->si, regs->dx, regs->cx, regs->r8, regs->r9};

	return position < 6 ? words[position] : 0;
}

static inline uint64_t regs_result(const struct pt_regs *regs)
{
	return regs->ax;
}

static inline uint64_t regs_sp(const struct pt_regs *regs)
{
	return regs->sp;
}

static inline uint64_t regs_ip(const struct pt_regs *regs)
{
	return regs->ip;
}

static inline uint64_t regs_bp(const struct pt_regs *regs)
{
	return regs->bp;
}

static inline uint32_t regs_word(const struct pt_regs *regs)
{
	(void)regs;
	return 8;
}

static inline uint32_t regs_gate_sample(const struct pt_regs *regs)
{
	return (uint32_t)regs->r11;
}

static const uint64_t config_session_mark = 41;

#define STACK_LOW  0x10000u /* the thread's stack … */
#define STACK_HIGH 0x20000u
#define ALT_LOW    0x30000u /* … and, above it, an alternate one */
#define TRAMPOLINE 0x7fffe000u

#include "bpf/alloc.bpf.h"
#include "bpf/session.bpf.h"

/* Which calls are sampled: all of them, unless a script says otherwise. */
static struct host_alloc_filter {
	bool on;
	uint64_t min_size, max_size;
	uint64_t mean; /* 0: no sampling */
	uint32_t level;
	uint32_t (*random)(void);
	uint8_t reported[REPORTED_BYTES];
	bool all; /* for now, all calls are sampled */
} alloc_filter;

static int filters_calls(void)
{
	return alloc_filter.on;
}

static int is_size_wanted(uint64_t bytes)
{
	return bytes >= alloc_filter.min_size &&
	       (!alloc_filter.max_size || bytes <= alloc_filter.max_size);
}

static uint32_t sample_now(void)
{
	return alloc_filter.mean && !alloc_filter.all ? alloc_filter.level + 1 : 0;
}

static struct sample_rate sample_rate_at(uint32_t level)
{
	return sample_rate_of(sample_mean_at(alloc_filter.mean, level));
}

static uint32_t random_word(void)
{
	return alloc_filter.random();
}

static uint8_t *reported_byte_at(uint32_t number)
{
	return &alloc_filter.reported[number];
}

/* What the code asks for that is the same in every script. */

static int read_word(const struct pt_regs *regs, uint64_t address, uint64_t *ret_word)
{
	(void)regs;
	return read_user(address, ret_word);
}

static int read_return_at(const struct pt_regs *regs, uint64_t sp, uint64_t *ret_address)
{
	return read_word(regs, sp, ret_address);
}

static int is_same_stack(uint64_t sp, uint64_t other)
{
	return (sp >= ALT_LOW) == (other >= ALT_LOW);
}

static int is_return_trampoline(uint64_t address)
{
	return address == TRAMPOLINE;
}

static int is_mark_intact(const struct operator_mark *mark, uint64_t sp)
{
	(void)sp;
	return is_return_intact(mark);
}

static uint64_t entry_sp(const struct caller_frame *caller)
{
	return caller->sp - caller->word;
}

static struct caller_frame walked_from; /* where the last stack started */

static uint64_t take_stack(void *context, const struct caller_frame *from)
{
	(void)context;
	walked_from = *from;
	return 77;
}

static uint64_t take_entry_stack(struct pt_regs *regs, uint64_t caller)
{
	(void)regs;
	return caller;
}

static int forget_code(uint64_t address)
{
	(void)address;
	return 0;
}

static void fill_head(struct record_head *head, uint8_t kind, uint64_t cookie, uint32_t length)
{
	*head = (struct record_head){.kind = kind, .api = COOKIE_API(cookie), .length = length};
}

#endif
