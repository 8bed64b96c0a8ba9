/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/library/elf_dynamic.h"

#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/file/regular.h"

#define STRINGS_MAX (64u << 20) /* bytes; far more than any real object needs */

int elf_identity_read_fd(int fd, struct elf_identity *ret_identity)
{
	/* e_ident, e_type and e_machine have the same offsets in both classes. */
	unsigned char head[offsetof(Elf64_Ehdr, e_version)];
	unsigned char *machine = head + offsetof(Elf64_Ehdr, e_machine);

	if (pread(fd, head, sizeof(head), 0) != sizeof(head) || memcmp(head, ELFMAG, SELFMAG))
		return -ENOEXEC;
	ret_identity->word = head[EI_CLASS];
	ret_identity->encoding = head[EI_DATA];
	ret_identity->machine =
		(uint16_t)(head[EI_DATA] == ELFDATA2MSB ? machine[0] << 8 | machine[1]
							: machine[1] << 8 | machine[0]);
	return 0;
}

int elf_identity_read(const char *path, struct elf_identity *ret_identity)
{
	int fd = file_open_regular(path, NULL);
	int err;

	if (fd < 0)
		return fd;
	err = elf_identity_read_fd(fd, ret_identity);
	close(fd);
	return err;
}

bool elf_identity_equal(const struct elf_identity *a, const struct elf_identity *b)
{
	return a->word == b->word && a->encoding == b->encoding && a->machine == b->machine;
}

/* The libelf state of an open file, and the two segments that we want. */
struct dynamic_reader {
	Elf *elf;
	size_t header_count;
	GElf_Phdr interpreter; /* p_type is PT_NULL if there is none */
	GElf_Phdr dynamic;
};

/* A string table, or a part of the file that contains one string. */
struct strings {
	const char *bytes;
	size_t size;
};

static int reader_find_segments(struct dynamic_reader *reader)
{
	if (elf_getphdrnum(reader->elf, &reader->header_count))
		return -ENOEXEC;
	for (size_t i = 0; i < reader->header_count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(reader->elf, (int)i, &header))
			return -ENOEXEC;
		if (header.p_type == PT_INTERP && reader->interpreter.p_type == PT_NULL)
			reader->interpreter = header;
		if (header.p_type == PT_DYNAMIC)
			reader->dynamic = header;
	}
	return 0;
}

static struct strings reader_strings(const struct dynamic_reader *reader, uint64_t offset,
				     uint64_t size)
{
	Elf_Data *data = NULL;

	if (size && size <= STRINGS_MAX && offset <= INT64_MAX)
		data = elf_getdata_rawchunk(reader->elf, (int64_t)offset, size, ELF_T_BYTE);
	return data ? (struct strings){data->d_buf, data->d_size} : (struct strings){0};
}

/* Copies the string at `offset`. Returns NULL if it is out of bounds, unterminated, longer than a
 * path or empty, or if out of memory. */
static char *strings_copy(const struct strings *strings, uint64_t offset)
{
	const char *string;
	size_t length;

	if (offset >= strings->size)
		return NULL;
	string = strings->bytes + offset;
	length = strnlen(string, strings->size - offset);
	if (!length || length >= PATH_MAX || length == strings->size - offset)
		return NULL;
	return strdup(string);
}

/* Translates an address to a file offset, and sets *ret_size to the number of bytes of the segment
 * from there on. */
static bool reader_locate(const struct dynamic_reader *reader, uint64_t address,
			  uint64_t *ret_offset, uint64_t *ret_size)
{
	for (size_t i = 0; i < reader->header_count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(reader->elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		if (address < header.p_vaddr || address - header.p_vaddr >= header.p_filesz)
			continue;
		*ret_size = header.p_filesz - (address - header.p_vaddr);
		return !__builtin_add_overflow(header.p_offset, address - header.p_vaddr,
					       ret_offset);
	}
	return false;
}

/* Returns the value of the first entry with the tag, or 0. */
static uint64_t dynamic_value(Elf_Data *entries, int64_t tag)
{
	GElf_Dyn entry;

	for (int i = 0; gelf_getdyn(entries, i, &entry) && entry.d_tag != DT_NULL; i++)
		if (entry.d_tag == tag)
			return entry.d_un.d_val;
	return 0;
}

static struct strings dynamic_strings(const struct dynamic_reader *reader, Elf_Data *entries)
{
	uint64_t size = dynamic_value(entries, DT_STRSZ);
	uint64_t offset, available;

	if (!reader_locate(reader, dynamic_value(entries, DT_STRTAB), &offset, &available))
		return (struct strings){0};
	return reader_strings(reader, offset, size < available ? size : available);
}

static int dynamic_add_needed(struct elf_dynamic *dynamic, char *name)
{
	if (!name)
		return 0;
	if (dynamic->needed.count < ELF_NEEDED_MAX)
		return string_list_take(&dynamic->needed, name);
	free(name);
	return 0;
}

static void string_replace(char **string, char *with)
{
	free(*string);
	*string = with;
}

static int dynamic_add_entry(struct elf_dynamic *dynamic, const GElf_Dyn *entry,
			     const struct strings *strings)
{
	switch (entry->d_tag) {
	case DT_NEEDED:
	case DT_FILTER:
	case DT_AUXILIARY:
		return dynamic_add_needed(dynamic, strings_copy(strings, entry->d_un.d_val));
	case DT_RPATH:
		string_replace(&dynamic->rpath, strings_copy(strings, entry->d_un.d_val));
		return 0;
	case DT_RUNPATH:
		string_replace(&dynamic->runpath, strings_copy(strings, entry->d_un.d_val));
		return 0;
	default:
		return 0;
	}
}

static int reader_get_dynamic(const struct dynamic_reader *reader, struct elf_dynamic *dynamic)
{
	const GElf_Phdr *segment = &reader->dynamic;
	struct strings strings;
	Elf_Data *entries;
	GElf_Dyn entry;

	if (segment->p_type != PT_DYNAMIC || segment->p_offset > INT64_MAX || !segment->p_filesz)
		return 0;
	entries = elf_getdata_rawchunk(reader->elf, (int64_t)segment->p_offset, segment->p_filesz,
				       ELF_T_DYN);
	if (!entries)
		return 0;
	strings = dynamic_strings(reader, entries);
	for (int i = 0; gelf_getdyn(entries, i, &entry) && entry.d_tag != DT_NULL; i++) {
		int err = dynamic_add_entry(dynamic, &entry, &strings);

		if (err)
			return err;
	}
	return 0;
}

static int reader_get_all(struct dynamic_reader *reader, struct elf_dynamic *dynamic)
{
	int err = reader_find_segments(reader);

	if (err)
		return err;
	if (reader->interpreter.p_type == PT_INTERP) {
		struct strings bytes = reader_strings(reader, reader->interpreter.p_offset,
						      reader->interpreter.p_filesz);

		dynamic->interpreter = strings_copy(&bytes, 0);
		if (!dynamic->interpreter)
			return -ENOEXEC;
	}
	return reader_get_dynamic(reader, dynamic);
}

/* Makes libelf read the file instead of mapping it: if a mapped file shrinks, we get SIGBUS. */
static int dynamic_read_all(int fd, struct elf_dynamic *dynamic)
{
	struct dynamic_reader reader = {0};
	int err;

	elf_version(EV_CURRENT);
	reader.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!reader.elf)
		return -ENOEXEC;
	err = elf_kind(reader.elf) == ELF_K_ELF ? reader_get_all(&reader, dynamic) : -ENOEXEC;
	elf_end(reader.elf);
	return err;
}

int elf_dynamic_read(int fd, struct elf_dynamic *ret_dynamic)
{
	struct elf_dynamic dynamic = {0};
	int err = elf_identity_read_fd(fd, &dynamic.identity);

	if (!err)
		err = dynamic_read_all(fd, &dynamic);
	if (err)
		elf_dynamic_free(&dynamic);
	else
		*ret_dynamic = dynamic;
	return err;
}

void elf_dynamic_free(struct elf_dynamic *dynamic)
{
	free(dynamic->interpreter);
	free(dynamic->rpath);
	free(dynamic->runpath);
	string_list_free(&dynamic->needed);
	*dynamic = (struct elf_dynamic){0};
}
