// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/elf/module_read.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"

#define BUILD_ID_BYTES 20 /* SHA-1; longer ones are truncated */

/* libelf keeps a copy of each note segment. Limit their total size to that of the file. */
static bool has_bounded_notes(Elf *elf, int fd)
{
	struct stat status;
	GElf_Phdr header;
	uint64_t left;

	if (fstat(fd, &status))
		return false;
	left = (uint64_t)status.st_size;
	for (int i = 0; gelf_getphdr(elf, i, &header); i++) {
		if (header.p_type != PT_NOTE)
			continue;
		if (header.p_filesz > left)
			return false;
		left -= header.p_filesz;
	}
	return true;
}

/* Returns true if the note contains a build id (ld's --build-id), which is stored. */
static bool read_note(const Elf_Data *notes, const GElf_Nhdr *note, size_t name, size_t bytes,
		      struct module *module)
{
	const uint8_t *at = notes->d_buf;

	if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != sizeof(ELF_NOTE_GNU) ||
	    memcmp(at + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)))
		return false;
	for (size_t i = 0; i < note->n_descsz && i < BUILD_ID_BYTES; i++)
		sprintf(module->build_id + 2 * i, "%02x", at[bytes + i]);
	return true;
}

static bool read_notes(Elf *elf, const GElf_Phdr *header, struct module *module)
{
	Elf_Data *notes = elf_getdata_rawchunk(elf, (int64_t)header->p_offset, header->p_filesz,
					       header->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t next = 0, name, bytes;
	GElf_Nhdr note;

	while (notes && (next = gelf_getnote(notes, next, &note, &name, &bytes)) > 0)
		if (read_note(notes, &note, name, bytes, module))
			return true;
	return false;
}

static void read_build_id(Elf *elf, struct module *module)
{
	GElf_Phdr header;

	if (!has_bounded_notes(elf, module->fd))
		return;
	for (int i = 0; gelf_getphdr(elf, i, &header); i++)
		if (header.p_type == PT_NOTE && read_notes(elf, &header, module))
			return;
}

static int read_segments(Elf *elf, struct module *module)
{
	VEC(struct module_segment) segments = {0};
	size_t count;

	if (elf_getphdrnum(elf, &count))
		count = 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header))
			break;
		if (header.p_type != PT_LOAD)
			continue;
		if (vec_push(&segments, (struct module_segment){
						.offset = header.p_offset,
						.vaddr = header.p_vaddr,
						.size = header.p_filesz,
						.executable = header.p_flags & PF_X,
					})) {
			vec_free(&segments);
			return -ENOMEM;
		}
	}
	module->segments = segments.items;
	module->segment_count = segments.count;
	return 0;
}

static bool section_has_pie_flag(Elf_Data *dynamic)
{
	GElf_Dyn entry;

	for (int i = 0; gelf_getdyn(dynamic, i, &entry) && entry.d_tag != DT_NULL; i++)
		if (entry.d_tag == DT_FLAGS_1)
			return entry.d_un.d_val & DF_1_PIE;
	return false;
}

/* Unlike PT_INTERP, DF_1_PIE is also set in static programs, and not set in a libc that can be
 * run. */
static bool has_pie_flag(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC)
			return section_has_pie_flag(elf_getdata(section, NULL));
	return false;
}

int module_read(struct module *module, struct error *err)
{
	GElf_Ehdr header;
	Elf *elf;
	int code;

	elf_version(EV_CURRENT);
	elf = elf_begin(module->fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN)) {
		elf_end(elf);
		return error_set(err, -ENOEXEC, "%s is not an ELF program or library",
				 module->path);
	}
	module->machine = header.e_machine;
	module->elf64 = header.e_ident[EI_CLASS] == ELFCLASS64;
	module->big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
	module->executable = header.e_type == ET_EXEC || has_pie_flag(elf);
	read_build_id(elf, module);
	code = read_segments(elf, module);
	elf_end(elf);
	return code ? error_set_errno(err, code, "cannot read %s", module->path) : 0;
}
