// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/names/debug_want.h"

#include <elfutils/libdwelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CRC_POLYNOMIAL 0xedb88320u /* IEEE 802.3, reflected; see GDB's manual, 18.3 */
#define CHUNK          65536

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

static void crc_prepare(uint32_t table[256])
{
	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? CRC_POLYNOMIAL : 0);
	}
}

static bool has_crc(int fd, uint32_t wanted)
{
	uint32_t table[256], crc = UINT32_MAX;
	uint8_t *chunk = malloc(CHUNK);
	off_t offset = 0;
	ssize_t got = 0;

	if (!chunk)
		return false;
	crc_prepare(table);
	while ((got = pread(fd, chunk, CHUNK, offset)) > 0) {
		for (ssize_t i = 0; i < got; i++)
			crc = crc >> 8 ^ table[(crc ^ chunk[i]) & 0xff];
		offset += got;
	}
	free(chunk);
	return !got && ~crc == wanted;
}

/* Like libdwfl: if both files have a build id, the checksum does not matter. */
static bool is_wanted(int fd, const struct debug_want *want, uint32_t crc)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool is_elf = elf_kind(elf) == ELF_K_ELF, same;
	const void *bytes;
	ssize_t size = is_elf ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;

	if (size > 0 && want->build_id_size)
		same = (size_t)size == want->build_id_size && !memcmp(bytes, want->build_id, size);
	else
		same = is_elf && want->link && !want->alternate && has_crc(fd, crc);
	elf_end(elf);
	return same;
}

/* Candidates are checked here, because reading a file can take long or fail in many ways. */
static int find_wanted(const struct debug_source *source, struct debug_want *want, uint32_t crc)
{
	int fd;

	for (want->candidate = 0; want->candidate < DEBUG_CANDIDATES_MAX; want->candidate++) {
		fd = source->find(source->ctx, source->module, want);
		if (fd < 0 || is_wanted(fd, want, crc))
			return fd;
		close(fd);
	}
	return -1;
}

/*
 * libdwfl passes 0 for the checksum of alternate files, which have none. The link of a program may
 * claim this checksum, too; then it has no alternate files.
 */
static bool is_alternate(Dwfl_Module *dwfl_module, const char *link, GElf_Word crc)
{
	GElf_Addr bias;
	GElf_Word claimed = 1;
	Elf *elf = dwfl_module_getelf(dwfl_module, &bias);

	return link && !crc && !(elf && dwelf_elf_gnu_debuglink(elf, &claimed) && !claimed);
}

int debug_want_find(Dwfl_Module *dwfl_module, void **userdata, const char *module_name,
		    Dwarf_Addr base, const char *file_name, const char *link, GElf_Word crc,
		    char **ret_name)
{
	const struct debug_source *source = *userdata;
	struct debug_want want = {.link = link};

	(void)module_name, (void)base, (void)file_name, (void)ret_name;
	if (!source || !source->find)
		return -1;
	if (is_alternate(dwfl_module, link, crc))
		want_alternate(&want, dwfl_module);
	else
		want_debug(&want, dwfl_module);
	return find_wanted(source, &want, crc);
}
