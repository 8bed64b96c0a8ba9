/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/backends.h"

#include "source/bpf/load/capability.h"
#include "source/bpf/source.h"
#include "source/ptrace/capability.h"
#include "source/ptrace/source.h"

const struct source_ops *source_backend(enum backend backend)
{
	return backend == BACKEND_PTRACE ? source_ptrace() : source_bpf();
}

size_t source_capabilities(enum backend backend, struct capability ret[CAPABILITY_MAX])
{
	return backend == BACKEND_PTRACE ? source_ptrace_capabilities(ret)
					 : source_bpf_capabilities(ret);
}
