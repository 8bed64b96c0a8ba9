/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds all mappings of the current process on kernels that have no iterator for them but keep them
 * in a maple tree: Linux 6.1 to 6.6 (include/linux/maple_tree.h, lib/maple_tree.c: mas_next_entry).
 *
 * The tree is read without its lock, so its contents are only a hint: an address, for which the
 * kernel is then asked (bpf_find_vma). A mapping may be missed if another thread changes mappings
 * at the same time. It is reported when a walk meets code in it, like code that the dynamic linker
 * did not map.
 */
#ifndef MTRACE_BPF_MAPLE_BPF_H
#define MTRACE_BPF_MAPLE_BPF_H

#define MAPLE_LEVELS_MAX  8
#define MAPLE_ENTRIES_MAX 65536
#define MAPLE_NODE_BITS   0xff /* type bits of a node pointer: nodes are aligned */
#define MAPLE_TYPE_SHIFT  3
#define MAPLE_TYPE_MASK   0xf
#define MAPLE_SPECIAL     0x3 /* not a pointer to an entry (include/linux/xarray.h) */

#define MAPLE_PIVOTS(type) (sizeof(((struct type *)0)->pivot) / sizeof(__u64))

struct maple_place {
	__u64 node;
	__u64 index;
	__u64 last; /* the last index that the node or entry covers */
};

struct maple_layout {
	__u32 pivots;
	__u32 pivot_offset;
	__u32 slot_offset;
};

static __always_inline struct maple_layout maple_layout(__u64 node)
{
	__u32 type = node >> MAPLE_TYPE_SHIFT & MAPLE_TYPE_MASK;

	if (type == maple_arange_64)
		return (struct maple_layout){MAPLE_PIVOTS(maple_arange_64),
					     bpf_core_field_offset(struct maple_arange_64, pivot),
					     bpf_core_field_offset(struct maple_arange_64, slot)};
	if (type == maple_range_64 || type == maple_leaf_64)
		return (struct maple_layout){MAPLE_PIVOTS(maple_range_64),
					     bpf_core_field_offset(struct maple_range_64, pivot),
					     bpf_core_field_offset(struct maple_range_64, slot)};
	return (struct maple_layout){0};
}

static __always_inline __u64 maple_word(__u64 address)
{
	__u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), (void *)address);
	return word;
}

/* Descends one level. Returns 1 if `node` is now the entry of a leaf, 0 if it is a node, or a
 * negative number for an unknown kind of node. */
static __noinline int maple_descend(struct maple_place *place)
{
	struct maple_layout layout;
	__u64 node, pivot;
	__u32 slot;
	int is_leaf;

	if (!place)
		return -1;
	layout = maple_layout(place->node);
	node = place->node & ~(__u64)MAPLE_NODE_BITS;
	is_leaf = (place->node >> MAPLE_TYPE_SHIFT & MAPLE_TYPE_MASK) == maple_leaf_64;
	if (!layout.pivots)
		return -1;
	for (slot = 0; slot < MAPLE_PIVOTS(maple_range_64) && slot < layout.pivots; slot++) {
		pivot = maple_word(node + layout.pivot_offset + slot * sizeof(pivot));
		if ((slot && !pivot) || pivot >= place->last)
			break; /* the last pivot in use */
		if (pivot >= place->index) {
			place->last = pivot;
			break;
		}
	}
	place->node = maple_word(node + layout.slot_offset + slot * sizeof(node));
	return is_leaf;
}

/* Finds the entry that covers an index: place->node becomes the entry, or 0 for a gap, and
 * place->last the last index that it covers. Returns 0, or a negative number on failure. */
static __noinline int maple_find(struct maple_place *place, __u64 root, __u64 index)
{
	int at_leaf = 0;

	if (!place)
		return -1;
	place->node = root;
	place->index = index;
	place->last = ~0ULL;
	for (int i = 0; i < MAPLE_LEVELS_MAX && !at_leaf; i++)
		at_leaf = maple_descend(place);
	return at_leaf > 0 ? 0 : -1;
}

#endif
