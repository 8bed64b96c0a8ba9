// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/vdso.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

static struct module *find(struct module_table *table)
{
	struct module *module;

	for (uint32_t id = 0; (module = module_get(table, id)); id++)
		if (!strcmp(module->path, VDSO_NAME))
			return module;
	return NULL;
}

/* The section headers are its last part (as the kernel's own linker script lays it out). */
static size_t image_size(const ElfW(Ehdr) * image)
{
	return image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
}

/* A file with the same contents. Returns its descriptor or -errno. */
static int image_file(const void *image, size_t size)
{
	int fd = memfd_create(VDSO_NAME, MFD_CLOEXEC);
	ssize_t written;

	if (fd < 0)
		return -errno;
	written = write(fd, image, size);
	if (written == (ssize_t)size)
		return fd;
	close(fd);
	return written < 0 ? -errno : -EIO;
}

int vdso_module(struct module_table *table, struct module **ret_module)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct module *module = find(table);
	int fd, err;

	if (module) {
		*ret_module = module;
		return 0;
	}
	if (!image)
		return -ENOENT;
	fd = image_file(image, image_size(image));
	if (fd < 0)
		return fd;
	err = module_intern(table, fd, VDSO_NAME, ret_module, NULL);
	if (err)
		close(fd);
	return err;
}
