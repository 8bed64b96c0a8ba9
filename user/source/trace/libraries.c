/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/trace/libraries.h"

#include <errno.h>
#include <unistd.h>

#include "arch/arch.h"
#include "os/library/ldcache.h"
#include "os/file/regular.h"
#include "source/trace/mappings.h"
#include "source/trace/probes.h"
#include "source/unwind/tables.h"
#include "symbol/elf/module_table.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

int library_open(struct traced_process *process, int fd, const char *path,
		 struct module **ret_module)
{
	struct module *module, *vdso;
	int err = 0;

	*ret_module = NULL;
	if (module_intern(process->config->modules, fd, path, &module, NULL)) {
		close(fd);
		return 0;
	}
	if (module_is_x32(module) || !arch_has_uprobes(module->machine))
		return 0;
	*ret_module = module;
	if (process->tables)
		err = unwind_tables_add(process->tables, module, unwind_module_key(module));
	/* A signal frame on an alternate stack leads to another stack, which a stack dump does not
	 * contain. So the kernel needs the vdso's table from the first stack on. */
	if (!err && process->tables)
		err = vdso_open(process, module->elf64, &vdso);
	return err;
}

int library_attach(struct traced_process *process, const char *path,
		   int (*attach)(struct traced_process *process, struct module *module))
{
	struct module *module = NULL;
	int fd = file_open_regular(path, NULL), err;

	if (fd < 0)
		return traced_process_must_fail(process, fd) ? fd : 0;
	err = library_open(process, fd, path, &module);
	return err || !module ? err : attach(process, module);
}

/* Probes all files that ld.so.cache lists under the names. */
static int attach_names(struct traced_process *process, const struct ldcache *cache,
			const char *const *names, size_t count)
{
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		uint32_t position = 0;
		const char *path;

		while (!err && (path = ldcache_next(cache, names[i], &position)))
			err = library_attach(process, path, probes_attach_ahead);
	}
	return err;
}

static int attach_cached(struct traced_process *process)
{
	static const char *const c_libraries[] = {"libc.so.6", "ld-linux-x86-64.so.2",
						  "ld-linux.so.2", "ld-linux-aarch64.so.1"};
	/* The last one throws the exceptions of the others' operator new. */
	static const char *const allocators[] = {"libjemalloc.so.2", "libtcmalloc.so.4",
						 "libtcmalloc_minimal.so.4", "libmimalloc.so.2",
						 "libstdc++.so.6"};
	struct ldcache cache;
	int err = ldcache_open("/etc/ld.so.cache", &cache);

	if (err)
		return err == -ENOMEM ? err : 0; /* no known libraries then */
	err = attach_names(process, &cache, c_libraries, COUNT_OF(c_libraries));
	if (!err && process->config->scope != SCOPE_NAMED)
		err = attach_names(process, &cache, allocators, COUNT_OF(allocators));
	ldcache_close(&cache);
	return err;
}

/* musl: libc and dynamic linker are one file, which is in no cache. */
static int attach_musl(struct traced_process *process)
{
	static const char *const paths[] = {"/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-i386.so.1",
					    "/lib/ld-musl-aarch64.so.1"};
	int err = 0;

	for (size_t i = 0; !err && i < COUNT_OF(paths); i++)
		err = library_attach(process, paths[i], probes_attach_ahead);
	return err;
}

int libraries_attach_known(struct traced_process *process)
{
	int err = attach_cached(process);

	if (!err && process->config->scope != SCOPE_NAMED)
		err = attach_musl(process);
	return err;
}
