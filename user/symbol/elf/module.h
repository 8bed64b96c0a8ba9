/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An ELF file that processes map. */
#ifndef MTRACE_SYMBOL_ELF_MODULE_H
#define MTRACE_SYMBOL_ELF_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A PT_LOAD. */
struct module_segment {
	uint64_t offset; /* in the file, bytes */
	uint64_t vaddr;
	uint64_t size; /* bytes that come from the file */
	bool executable;
};

struct module {
	uint32_t id;
	char *path;      /* the path that the process sees, for reports */
	char *open_path; /* path to open it now, for attaching probes; may equal path */
	int fd;          /* readable, open as long as the table; -1: no file (module_adopt) */
	uint64_t device; /* the kernel's device and inode: usually st_dev and st_ino */
	uint64_t inode;
	uint64_t changed_ns; /* ctime when the file was read; 0: too recent to detect a change */
	char build_id[41];   /* hexadecimal, "" if it has none */
	int machine;         /* e_machine */
	bool elf64;
	bool big_endian;
	bool executable; /* a program (ET_EXEC, PIE, static-pie) rather than a library */
	struct module_segment *segments; /* in program header order */
	size_t segment_count;
	/* Prefix of its allocation functions that the user gave, or NULL. Not owned. */
	const char *prefix;
	bool wants_gates;        /* its plan is to say where gates are possible */
	struct probe_plan *plan; /* NULL until first used; see symbol/probe_site/plan.h */
	void (*free_plan)(struct probe_plan *plan); /* set together with the plan */
};

/* Frees a module that is in no table, and closes its file. Accepts NULL. */
void module_free(struct module *module);

/* Returns true for the x32 ABI: 64-bit code with 32-bit pointers. */
bool module_is_x32(const struct module *module);

/* Converts a file offset to a virtual address of the file (as in st_value). Returns 0 or
 * -ENOENT. */
int module_offset_to_vaddr(const struct module *module, uint64_t offset, uint64_t *ret_vaddr);

#endif
