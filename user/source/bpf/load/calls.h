/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls in the BPF programs whose function depends on the kernel. They are compiled with numbers
 * that no helper has (bpf/abi.h), and replaced here.
 *
 * - CALL_SESSION_WORD is bpf_session_cookie. It has no argument before Linux 7.0, and takes the
 *   context since then; libbpf refuses an object with the wrong declaration. With the context in
 *   its register, the same call works for both.
 * - CALL_OWN_STACK is a tail call that is never executed. It keeps the kernel from giving the
 *   program a per-CPU stack (bpf/mtrace.bpf.c: OWN_STACK). It is only used on kernels that would do
 *   that, since others may refuse tail calls in programs with functions. Otherwise it stays as it
 *   is: the verifier removes unreachable code without looking at it.
 */
#ifndef MTRACE_SOURCE_BPF_LOAD_CALLS_H
#define MTRACE_SOURCE_BPF_LOAD_CALLS_H

#include <stdbool.h>

#include "source/bpf/load/kernel.h"

struct bpf_object;

/* Returns true if the kernel compiles BPF programs. If it is configured to interpret them, it does
 * not support callbacks and calls of kernel functions, which ours need. */
bool calls_are_compiled(void);

/* Replaces the calls. Call it before loading the object. Returns 0 or -errno. */
int calls_fill(struct bpf_object *object, const struct kernel_types *kernel);

#endif
