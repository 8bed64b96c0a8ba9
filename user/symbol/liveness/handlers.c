// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the call site table of the language-specific data area, in the format that gcc, clang and
 * rustc write for the personality routines of C++, Rust and C (Itanium C++ ABI, exception handling
 * tables).
 */
#include "symbol/liveness/handlers.h"

#include <dwarf.h>
#include <errno.h>

static int add(struct liveness_handlers *handlers, struct liveness_handler handler)
{
	size_t count = handlers->list.count;

	if (handler.end < handler.start ||
	    (count && handlers->list.items[count - 1].end > handler.start))
		return -ENOEXEC;
	return vec_push(&handlers->list, handler);
}

static int read_sites(struct liveness_handlers *handlers, struct cfi_reader sites,
		      const struct cfi_pointer_base *base, uint8_t encoding, uint64_t function,
		      uint64_t pads)
{
	int code = 0;

	while (!code && !cfi_reader_is_empty(&sites)) {
		struct liveness_handler handler;
		uint64_t pad;

		handler.start = function + cfi_read_pointer(&sites, base, encoding);
		handler.end = handler.start + cfi_read_pointer(&sites, base, encoding);
		pad = cfi_read_pointer(&sites, base, encoding);
		handler.pad = pads + pad;
		cfi_read_uleb(&sites); /* action: the types to catch */
		if (sites.failed || ++handlers->sites > LIVENESS_HANDLERS_MAX)
			return -ENOEXEC;
		if (pad)
			code = add(handlers, handler);
	}
	return code;
}

int liveness_handlers_read(struct liveness_handlers *handlers, const struct liveness_code *code,
			   const struct cfi_fde *fde)
{
	struct cfi_pointer_base base = {.vaddr = fde->lsda, .address_size = code->abi.word};
	uint64_t size, pads = fde->vaddr;
	struct cfi_reader reader, sites;
	uint8_t encoding;

	if (fde->lsda == CFI_LSDA_NONE)
		return 0;
	base.bytes = cfi_object_bytes(&code->object, fde->lsda, &size);
	reader = (struct cfi_reader){.at = base.bytes, .end = base.bytes + size};
	encoding = cfi_read_byte(&reader);
	if (encoding != DW_EH_PE_omit)
		pads = cfi_read_pointer(&reader, &base, encoding);
	encoding = cfi_read_byte(&reader);
	if (encoding != DW_EH_PE_omit)
		cfi_read_uleb(&reader); /* offset of the type table */
	encoding = cfi_read_byte(&reader);
	sites = cfi_read_part(&reader, cfi_read_uleb(&reader));
	if (reader.failed || encoding > DW_EH_PE_sdata8)
		return -ENOEXEC;
	return read_sites(handlers, sites, &base, encoding, fde->vaddr, pads);
}

uint64_t liveness_handlers_find(const struct liveness_handlers *handlers, uint64_t vaddr)
{
	const struct liveness_handler *list = handlers->list.items;
	size_t low = 0, high = handlers->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && vaddr < list[low - 1].end ? list[low - 1].pad : 0;
}

void liveness_handlers_free(struct liveness_handlers *handlers)
{
	vec_free(&handlers->list);
}
