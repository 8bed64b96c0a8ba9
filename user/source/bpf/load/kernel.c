// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/bpf/load/kernel.h"

#include <bpf/btf.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

static const struct {
	const char *name;
	const char *member; /* required member of the structure, or NULL */
	uint32_t kind;
} wanted[KERNEL_TYPE_COUNT] = {
	[KERNEL_SESSION_WORD] = {"bpf_session_cookie", NULL, BTF_KIND_FUNC},
	[KERNEL_SESSIONS] = {"return_consumer", NULL, BTF_KIND_STRUCT},
	[KERNEL_MULTI_UPROBES] = {"bpf_uprobe_multi_link", NULL, BTF_KIND_STRUCT},
	[KERNEL_CASTS] = {"bpf_rdonly_cast", NULL, BTF_KIND_FUNC},
	[KERNEL_MAPPING_ITERATOR] = {"bpf_iter_task_vma_new", NULL, BTF_KIND_FUNC},
	[KERNEL_MAPLE_TREE] = {"maple_tree", NULL, BTF_KIND_STRUCT},
	[KERNEL_BORROWED_STACKS] = {"bpf_prog_aux", "jits_use_priv_stack", BTF_KIND_STRUCT},
};

/* The bytes that follow a type: once, and for each of its members. */
static const struct {
	uint8_t once;
	uint8_t each;
} kinds[] = {
	[BTF_KIND_INT] = {sizeof(uint32_t), 0},
	[BTF_KIND_PTR] = {0, 0},
	[BTF_KIND_ARRAY] = {sizeof(struct btf_array), 0},
	[BTF_KIND_STRUCT] = {0, sizeof(struct btf_member)},
	[BTF_KIND_UNION] = {0, sizeof(struct btf_member)},
	[BTF_KIND_ENUM] = {0, sizeof(struct btf_enum)},
	[BTF_KIND_FUNC_PROTO] = {0, sizeof(struct btf_param)},
	[BTF_KIND_VAR] = {sizeof(struct btf_var), 0},
	[BTF_KIND_DATASEC] = {0, sizeof(struct btf_var_secinfo)},
	[BTF_KIND_DECL_TAG] = {sizeof(struct btf_decl_tag), 0},
	[BTF_KIND_ENUM64] = {0, sizeof(struct btf_enum64)},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/* The parts of the BTF, within its bounds. */
struct btf_view {
	const uint8_t *at;
	const uint8_t *end;
	const char *strings;
	size_t string_bytes; /* the last one is NUL */
};

static bool is_within(uint64_t start, uint64_t length, size_t size)
{
	return start <= size && length <= size - start;
}

static bool view_open(struct btf_view *view, const void *btf, size_t size)
{
	const struct btf_header *header = btf;
	uint64_t types, strings;

	if (size < sizeof(*header) || header->magic != BTF_MAGIC)
		return false;
	types = (uint64_t)header->hdr_len + header->type_off;
	strings = (uint64_t)header->hdr_len + header->str_off;
	if (!is_within(types, header->type_len, size) ||
	    !is_within(strings, header->str_len, size) || types % sizeof(uint32_t) ||
	    !header->str_len)
		return false;
	view->at = (const uint8_t *)btf + types;
	view->end = view->at + header->type_len;
	view->strings = (const char *)btf + strings;
	view->string_bytes = header->str_len;
	return !view->strings[view->string_bytes - 1];
}

/* Returns the next type, which has all its members, or NULL. */
static const struct btf_type *view_next(struct btf_view *view)
{
	const struct btf_type *type = (const void *)view->at;
	size_t left = (size_t)(view->end - view->at), size;
	uint32_t kind;

	if (left < sizeof(*type))
		return NULL;
	kind = BTF_INFO_KIND(type->info);
	if (kind >= KIND_COUNT)
		return NULL;
	size = sizeof(*type) + kinds[kind].once +
	       (size_t)kinds[kind].each * BTF_INFO_VLEN(type->info);
	if (left < size)
		return NULL;
	view->at += size;
	return type;
}

static const char *view_name(const struct btf_view *view, uint32_t offset)
{
	return offset < view->string_bytes ? view->strings + offset : "";
}

static bool has_member(const struct btf_view *view, const struct btf_type *type, const char *name)
{
	const struct btf_member *members = (const void *)(type + 1);

	for (uint32_t i = 0; i < BTF_INFO_VLEN(type->info); i++)
		if (!strcmp(view_name(view, members[i].name_off), name))
			return true;
	return false;
}

static void note(const struct btf_view *view, const struct btf_type *type, uint32_t id,
		 struct kernel_types *types)
{
	uint32_t kind = BTF_INFO_KIND(type->info);
	const char *name;

	if (kind != BTF_KIND_FUNC && kind != BTF_KIND_STRUCT)
		return;
	name = view_name(view, type->name_off);
	for (size_t i = 0; i < KERNEL_TYPE_COUNT; i++)
		if (!types->ids[i] && kind == wanted[i].kind && !strcmp(name, wanted[i].name) &&
		    (!wanted[i].member || has_member(view, type, wanted[i].member)))
			types->ids[i] = id;
}

void kernel_types_find(const void *btf, size_t size, struct kernel_types *ret_types)
{
	const struct btf_type *type;
	struct btf_view view;

	*ret_types = (struct kernel_types){0};
	if (!view_open(&view, btf, size))
		return;
	for (uint32_t id = 1; (type = view_next(&view)); id++)
		note(&view, type, id, ret_types);
}

/* Linux 6.16 and later can map it. */
static bool read_mapped(struct kernel_types *types)
{
	int fd = open(KERNEL_BTF, O_RDONLY | O_CLOEXEC);
	void *bytes = MAP_FAILED;
	struct stat status;

	if (fd >= 0 && !fstat(fd, &status) && status.st_size > 0)
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (bytes == MAP_FAILED)
		return false;
	kernel_types_find(bytes, (size_t)status.st_size, types);
	munmap(bytes, (size_t)status.st_size);
	return true;
}

void kernel_types_read(struct kernel_types *ret_types)
{
	struct btf *kernel;
	const void *bytes;
	uint32_t size;

	if (read_mapped(ret_types))
		return;
	*ret_types = (struct kernel_types){0};
	kernel = btf__load_vmlinux_btf(); /* also from /boot */
	bytes = kernel ? btf__raw_data(kernel, &size) : NULL;
	if (bytes)
		kernel_types_find(bytes, size, ret_types);
	btf__free(kernel);
}
