// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/elf/vdso.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/process/maps.h"
#include "symbol/elf/module_table.h"

#define MAP_VDSO_32 0x2002 /* ARCH_MAP_VDSO_32 of asm/prctl.h */

static struct module *find(struct module_table *table, bool is_64bit)
{
	struct module *module;

	for (uint32_t id = 0; (module = module_get(table, id)); id++)
		if (module->elf64 == is_64bit && !strcmp(module->path, VDSO_NAME))
			return module;
	return NULL;
}

/* The section headers come last (see the kernel's vdso linker script). */
static size_t image_size(const ElfW(Ehdr) * image)
{
	return image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
}

static int write_image(int fd, const void *image, size_t size)
{
	ssize_t written = write(fd, image, size);

	if (written == (ssize_t)size)
		return 0;
	return written < 0 ? -errno : -EIO;
}

static int write_own(int fd)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);

	return image ? write_image(fd, image, image_size(image)) : -ENOENT;
}

#ifdef SYS_arch_prctl
static int write_mapped(int fd)
{
	struct proc_maps maps;
	int err = proc_maps_read(getpid(), &maps);

	if (err)
		return err;
	err = -ENOENT;
	for (size_t i = 0; i < maps.count; i++)
		if (!strcmp(maps.items[i].path, VDSO_NAME))
			err = write_image(fd, (const void *)(uintptr_t)maps.items[i].start,
					  maps.items[i].end - maps.items[i].start);
	return err;
}

/* The kernel refuses to map a second vdso: unmap ours, and its [vvar] data. */
static int unmap_own(void)
{
	struct proc_maps maps;
	int err = proc_maps_read(getpid(), &maps);

	for (size_t i = 0; !err && i < maps.count; i++)
		if (!strncmp(maps.items[i].path, "[v", 2))
			munmap((void *)(uintptr_t)maps.items[i].start,
			       maps.items[i].end - maps.items[i].start);
	return err;
}

static int exchange(int fd)
{
	int err = unmap_own();

	if (!err && syscall(SYS_arch_prctl, MAP_VDSO_32, 0) < 0)
		err = -ENOENT;
	return err ? err : write_mapped(fd);
}

static int ask_kernel(int fd)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		return -errno;
	if (!child)
		_exit(exchange(fd) ? 1 : 0);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ENOENT;
}

/* Asks only once if the kernel does not have it. */
static int write_other(int fd)
{
	static bool has_none;
	int err = has_none ? -ENOENT : ask_kernel(fd);

	has_none = err == -ENOENT;
	return err;
}
#else
static int write_other(int fd)
{
	(void)fd;
	return -ENOENT;
}
#endif

/* Copies the image to a memory file. Returns its descriptor or -errno. */
static int image_file(bool is_64bit)
{
	int fd = memfd_create(VDSO_NAME, MFD_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = is_64bit == (sizeof(void *) == 8) ? write_own(fd) : write_other(fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int vdso_module(struct module_table *table, bool is_64bit, struct module **ret_module)
{
	struct module *module = find(table, is_64bit);
	int fd, err;

	if (module) {
		*ret_module = module;
		return 0;
	}
	fd = image_file(is_64bit);
	if (fd < 0)
		return fd;
	err = module_intern(table, fd, VDSO_NAME, ret_module, NULL);
	if (err)
		close(fd);
	return err;
}
