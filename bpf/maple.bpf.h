/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All mappings of the current process where the kernel has no iterator for them, but keeps them in
 * a maple tree: Linux 6.1 to 6.6 (include/linux/maple_tree.h, lib/maple_tree.c: mas_next_entry).
 *
 * The tree is read without its lock, so what lies in it is taken for a guess: an address, of which
 * the kernel is then asked (bpf_find_vma). Another thread that changes mappings meanwhile may hide
 * one; it is announced when code in it is met, as those are that the dynamic linker does not know.
 */
#ifndef MTRACE_BPF_MAPLE_BPF_H
#define MTRACE_BPF_MAPLE_BPF_H

#define MAPLE_LEVELS_MAX  8
#define MAPLE_ENTRIES_MAX 65536
#define MAPLE_NODE_BITS   0xff /* of a pointer to a node: what it is, for nodes are aligned */
#define MAPLE_TYPE_SHIFT  3
#define MAPLE_TYPE_MASK   0xf
#define MAPLE_SPECIAL     0x3 /* no pointer to what is kept in the tree (include/linux/xarray.h) */

#define MAPLE_PIVOTS(type) (sizeof(((struct type *)0)->pivot) / sizeof(__u64))

struct maple_place {
	__u64 node;
	__u64 index;
	__u64 last; /* of those that the node or entry is for */
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

/* One level down. Returns 1 if `node` is what a leaf's slot has then; below 0 for no such tree. */
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
			break; /* the last in use */
		if (pivot >= place->index) {
			place->last = pivot;
			break;
		}
	}
	place->node = maple_word(node + layout.slot_offset + slot * sizeof(node));
	return is_leaf;
}

/* What is at an index: `node` is the entry or 0, up to the index `last`. Below 0 for no tree. */
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
