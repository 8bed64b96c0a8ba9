// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/names/debug_want.h"

#include <elfutils/libdwelf.h>
#include <string.h>
#include <unistd.h>

static void want_build_id(struct debug_want *want, const void *bytes, ssize_t size)
{
	if (size <= 0 || size > DEBUG_BUILD_ID_MAX)
		return;
	memcpy(want->build_id, bytes, (size_t)size);
	want->build_id_size = (size_t)size;
}

/* At this point libdwfl has already opened the debug file that contains the link. */
static void want_alternate(struct debug_want *want, Dwfl_Module *dwfl_module)
{
	const void *bytes = NULL;
	const char *name;
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(dwfl_module, &bias);
	ssize_t size = dwarf ? dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bytes) : -1;

	want->alternate = true;
	want_build_id(want, bytes, size);
}

static void want_debug(struct debug_want *want, Dwfl_Module *dwfl_module)
{
	const unsigned char *bytes = NULL;
	GElf_Addr address;
	ssize_t size = dwfl_module_build_id(dwfl_module, &bytes, &address);

	want_build_id(want, bytes, size);
}

static bool is_wanted(int fd, const struct debug_want *want)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const void *bytes;
	ssize_t size = elf ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;
	bool same = size <= 0 || !want->build_id_size ||
		    ((size_t)size == want->build_id_size && !memcmp(bytes, want->build_id, size));

	elf_end(elf);
	return elf && same;
}

int debug_want_find(Dwfl_Module *dwfl_module, void **userdata, const char *module_name,
		    Dwarf_Addr base, const char *file_name, const char *link, GElf_Word crc,
		    char **ret_name)
{
	const struct debug_source *source = *userdata;
	struct debug_want want = {.link = link, .crc = crc};
	int fd;

	(void)module_name, (void)base, (void)file_name, (void)ret_name;
	if (!source || !source->find)
		return -1;
	if (link && !crc) /* only alternate files have no checksum */
		want_alternate(&want, dwfl_module);
	else
		want_debug(&want, dwfl_module);
	fd = source->find(source->ctx, source->module, &want);
	if (fd >= 0 && !is_wanted(fd, &want)) {
		close(fd);
		return -1;
	}
	return fd;
}
