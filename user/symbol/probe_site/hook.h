/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_SYMBOL_PROBE_SITE_HOOK_H
#define MTRACE_SYMBOL_PROBE_SITE_HOOK_H

/* Functions of the C and C++ libraries whose calls signal other events than allocations. */
enum hook {
	HOOK_LINK_MAP,     /* _dl_debug_state: the list of loaded objects has changed */
	HOOK_THREAD_EXITS, /* __call_tls_dtors, __libc_thread_freeres: called early when a thread
			     exits */
	HOOK_THROW,        /* __cxa_allocate_exception: an exception is about to be thrown */
	HOOK_COUNT,
};

#endif
