/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Carrier: uprobe sessions. The kernel keeps a list of pending return probes per thread (struct
 * return_instance, newest first), each with the stack pointer at entry and the 64 bits that the
 * entry program stored. That list is the stack of pending calls: no lookup of our own is needed,
 * and in the common case that it is empty, the call is the outermost one.
 *
 * The word that we store has a mark (to tell our sessions from those of other tools and other
 * tracer instances), the parts of the attach cookie that the return needs, and the payload. Each
 * helper call costs as much as the rest of the program, so the return does not ask for the cookie
 * again.
 *
 *   0..47 payload   48..52 api   53..56 COOKIE_ flags   57 has an out-pointer   58..63 mark
 */
#ifndef MTRACE_BPF_SESSION_BPF_H
#define MTRACE_BPF_SESSION_BPF_H

/* Also provided by the including file: config_session_mark, 1 to SESSION_MARK_MAX. */

#define SESSION_MARK_SHIFT 58
#define SESSION_OUT_BIT    (1ULL << 57)

_Static_assert(API_COUNT <= 32, "an api fits into 5 bits of the session word");

static __always_inline abi_u64 session_word(abi_u64 cookie, abi_u64 payload)
{
	return config_session_mark << SESSION_MARK_SHIFT |
	       (COOKIE_OUT(cookie) != COOKIE_NO_ARG ? SESSION_OUT_BIT : 0) |
	       (COOKIE_FLAGS(cookie) & 0xf) << 53 | (abi_u64)COOKIE_API(cookie) << 48 |
	       (payload & PAYLOAD_MAX);
}

static __always_inline int session_is_ours(abi_u64 word)
{
	return word >> SESSION_MARK_SHIFT == config_session_mark;
}

/* The pending call's cookie, without argument positions. */
static __always_inline abi_u64 session_cookie_of(abi_u64 word)
{
	return (word >> 48 & 0x1f) | (word >> 53 & 0xf) << 24 |
	       (abi_u64)(word & SESSION_OUT_BIT ? 0 : COOKIE_NO_ARG) << 20;
}

struct session_pending;
/* Provided by the including file: the newest pending return probe of this thread, or NULL. */
static struct session_pending *session_newest(void);
/* Reads a pending return probe; its word is 0 if it is not a session. Returns the next older one,
 * or NULL. */
static struct session_pending *session_read(struct session_pending *pending, abi_u64 *ret_sp,
					    abi_u64 *ret_word);
/* The thread's calls that are probed at their exits, or NULL. */
static struct thread_calls *exit_calls(void);

static __always_inline enum call_place session_place(const struct pt_regs *regs, abi_u64 cookie)
{
	struct session_pending *pending = session_newest();
	abi_u64 pending_sp, word;

	for (int i = 0; i < PENDING_MAX; i++) {
		enum call_place place;

		if (!pending)
			return PLACE_OUTERMOST;
		pending = session_read(pending, &pending_sp, &word);
		place = place_of_call(regs, cookie, pending_sp, session_cookie_of(word));
		if (place == PLACE_UNSAFE)
			return place;
		if (place != PLACE_GONE && session_is_ours(word))
			return place;
	}
	return is_return_list_full() ? PLACE_UNSAFE : PLACE_OUTERMOST;
}

static __always_inline int is_in_exit_call(const struct pt_regs *regs, abi_u64 cookie)
{
	struct thread_calls *thread = exit_calls();

	return thread && thread_place(thread, regs, cookie) == PLACE_NESTED;
}

/* Returns the entry program's result: 0 to probe the return, otherwise 1. */
static __always_inline int session_enter(const struct pt_regs *regs, abi_u64 cookie,
					 abi_u64 *ret_word)
{
	enum call_place place = session_place(regs, cookie);
	struct filter_verdict verdict;

	if (place == PLACE_NESTED || is_in_exit_call(regs, cookie))
		return 1;
	verdict = filter_call(regs, cookie);
	if (!verdict.report && (place == PLACE_UNSAFE || is_leaf(cookie)))
		return 1;
	if (place == PLACE_UNSAFE) {
		count_loss(LOSS_NO_RETURN);
		return 1;
	}
	if (!verdict.report) {
		*ret_word = session_word(COOKIE_MUTE, 0);
		return 0;
	}
	if (COOKIE_FLAGS(cookie) & COOKIE_FLAG_BEGIN)
		emit_begin_at_entry(regs, cookie, verdict.sample);
	*ret_word = session_word(cookie,
				 payload_with(cookie, call_payload(regs, cookie), verdict.sample));
	return 0;
}

static __always_inline void session_leave(struct pt_regs *regs, abi_u64 word)
{
	emit_outcome(regs, session_cookie_of(word), word & PAYLOAD_MAX);
}

#endif
