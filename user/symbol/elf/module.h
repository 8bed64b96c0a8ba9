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
	char *path;      /* as the process calls it, for people */
	char *open_path; /* where it can be opened now: for attaching probes; may equal path */
	int fd; /* open for reading as long as the table lives; -1: no file (module_adopt) */
	uint64_t device; /* as the kernel knows the file: st_dev and st_ino, mostly */
	uint64_t inode;
	uint64_t changed_ns; /* the file's ctime when it was read; 0: it may change and keep that */
	char build_id[41];   /* hex, "" if it has none */
	int machine;         /* e_machine */
	bool elf64;
	bool big_endian;
	bool executable; /* a program (ET_EXEC, PIE, static-pie) rather than a library */
	struct module_segment *segments; /* as the program headers list them */
	size_t segment_count;
	/* Prefix of its allocation functions, if the user gave one, or NULL. Not owned. */
	const char *prefix;
	struct probe_plan *plan; /* NULL until asked for; see symbol/probe_site/plan.h */
	void (*free_plan)(struct probe_plan *plan); /* set together with the plan */
};

/* Closes the file of a module that is in no table. NULL is fine. */
void module_free(struct module *module);

/* Code of the x32 ABI: 64-bit, with pointers of 32. */
bool module_is_x32(const struct module *module);

/* Virtual address in the file's own terms (st_value) ↔ file offset, by PT_LOAD. 0 or -ENOENT. */
int module_offset_to_vaddr(const struct module *module, uint64_t offset, uint64_t *ret_vaddr);

#endif
