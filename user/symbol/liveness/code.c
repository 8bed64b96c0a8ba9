// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/liveness/code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

static int compare_fdes(const void *a, const void *b)
{
	const struct cfi_fde *one = a, *other = b;

	if (one->vaddr != other->vaddr)
		return one->vaddr > other->vaddr ? 1 : -1;
	return (one->index > other->index) - (one->index < other->index);
}

/* Keeps the first of several FDEs with the same start: .debug_frame repeats .eh_frame. */
static void drop_doubled(struct cfi_entries *entries)
{
	struct cfi_fde *fdes = entries->fdes.items;
	size_t kept = 0;

	for (size_t i = 0; i < entries->fdes.count; i++)
		if (fdes[i].size && (!kept || fdes[i].vaddr != fdes[kept - 1].vaddr))
			fdes[kept++] = fdes[i];
	entries->fdes.count = kept;
}

static int read_entries(struct liveness_code *code)
{
	struct cfi_section section;
	int status = 0;

	if (cfi_object_eh_frame(&code->object, &section))
		status = cfi_section_read(&section, &code->entries);
	if (!status && cfi_object_debug_frame(&code->object, &section))
		status = cfi_section_read(&section, &code->entries);
	if (!status && code->entries.fdes.count)
		qsort(code->entries.fdes.items, code->entries.fdes.count,
		      sizeof(*code->entries.fdes.items), compare_fdes);
	drop_doubled(&code->entries);
	return status;
}

static int open_code(struct liveness_code *code, int fd, struct error *err)
{
	size_t sections = 0;
	int status;

	elf_version(EV_CURRENT);
	status = cfi_object_open(&code->object, elf_begin(fd, ELF_C_READ_MMAP, NULL), true, err);
	if (status)
		return status;
	code->machine = (int)code->object.machine->machine;
	if ((code->machine != EM_X86_64 && code->machine != EM_386) || code->object.big_endian)
		return error_set(err, -ENOTSUP, "cannot analyze code of ELF machine %d",
				 code->machine);
	code->abi = *code->object.machine->abi;
	code->has_sections = !elf_getshdrnum(code->object.elf, &sections) && sections;
	status = read_entries(code);
	return status ? error_set_errno(err, status, "cannot read call frame information") : 0;
}

int liveness_code_open(struct liveness_code *code, int fd, struct error *err)
{
	int status;

	*code = (struct liveness_code){0};
	status = open_code(code, fd, err);
	if (status)
		liveness_code_close(code);
	return status;
}

void liveness_code_close(struct liveness_code *code)
{
	cfi_object_close(&code->object);
	cfi_entries_free(&code->entries);
}

bool liveness_code_address(const struct liveness_code *code, uint64_t offset, uint64_t *ret_vaddr)
{
	for (size_t i = 0; i < code->object.segment_count; i++) {
		const struct cfi_segment *segment = &code->object.segments[i];

		if (offset < segment->offset || offset - segment->offset > segment->size)
			continue;
		*ret_vaddr = segment->vaddr + (offset - segment->offset);
		return true;
	}
	return false;
}

const struct cfi_fde *liveness_code_fde(const struct liveness_code *code, uint64_t vaddr)
{
	const struct cfi_fde *fdes = code->entries.fdes.items;
	size_t low = 0, high = code->entries.fdes.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (fdes[middle].vaddr <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || vaddr - fdes[low - 1].vaddr >= fdes[low - 1].size)
		return NULL;
	if (low < code->entries.fdes.count &&
	    fdes[low].vaddr - fdes[low - 1].vaddr < fdes[low - 1].size)
		return NULL;
	return &fdes[low - 1];
}

struct function_code liveness_code_bytes(const struct liveness_code *code, uint64_t vaddr,
					 uint64_t size)
{
	const struct cfi_segment *segment = cfi_object_segment(&code->object, vaddr);
	struct function_code bytes = {
		.address = vaddr,
		.machine = code->machine,
		.elf64 = code->abi.word == 8,
	};
	uint64_t skip;

	if (!segment)
		return bytes;
	skip = vaddr - segment->vaddr;
	bytes.bytes = code->object.bytes + segment->offset + skip;
	bytes.size = size < segment->size - skip ? size : segment->size - skip;
	return bytes;
}
