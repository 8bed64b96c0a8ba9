/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls in the BPF programs that cannot be written down when they are compiled, as it depends on
 * the kernel what is called, or whether. They have numbers of no helper (bpf/abi.h).
 *
 * - CALL_SESSION_WORD is bpf_session_cookie. It has no argument before Linux 7.0, and then the
 *   context, and libbpf refuses an object that declares the other. With the context in its register
 *   the same call is right for both.
 * - CALL_OWN_STACK is a tail call that is never made. It keeps the kernel from giving the program a
 *   stack of the processor's (bpf/mtrace.bpf.c: OWN_STACK). Only where it does that, since others
 *   may refuse tail calls in programs with functions. Else it stays as it is: the verifier removes
 *   what is never reached without looking.
 */
#ifndef MTRACE_SOURCE_BPF_LOAD_CALLS_H
#define MTRACE_SOURCE_BPF_LOAD_CALLS_H

#include <stdbool.h>

#include "source/bpf/load/kernel.h"

struct bpf_object;

/* Does the kernel compile BPF programs? It can be told to interpret them, and does not take
 * callbacks and calls of its functions then, of which ours have some. */
bool calls_are_compiled(void);

/* To be done before the object is loaded. Returns 0 or -errno. */
int calls_fill(struct bpf_object *object, const struct kernel_types *kernel);

#endif
