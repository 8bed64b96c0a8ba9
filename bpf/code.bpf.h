/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the mapping that contains a code address, and so the file and the offset in it.
 *
 * Consecutive frames are mostly in the same mapping, so the one found last is tried first. Then
 * comes a table per thread, by 64 KiB of address space, then one per process, which is filled in
 * advance at exec, by the dynamic linker's hook, or by user space when it attaches. If all of them
 * fail, the kernel is asked (bpf_find_vma), which is ten times as expensive, and fails while
 * another thread changes mappings. Cached mappings become invalid when the generation of the
 * process changes: it counts new images, changes by the dynamic linker, and unmapped code.
 * Generations are indexed by the low bits of the pid: processes that share one invalidate more
 * often than necessary, but no lookup is needed.
 */
#ifndef MTRACE_BPF_CODE_BPF_H
#define MTRACE_BPF_CODE_BPF_H

#define BUSY_TRIES      64
#define EBUSY_NUMBER    16  /* another thread is changing mappings */
#define CODE_EXECUTABLE 0x4 /* VM_EXEC */
#define CODE_MAPPINGS   16384

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CODE_MAPPINGS);
	__type(key, struct code_region);
	__type(value, struct code_mapping);
} code_mappings SEC(".maps");

/* Shared with user space: how many tables it has published, and generations by the low bits of the
 * pid. */
__u32 unwind_published;
__u32 code_generations[CODE_GENERATIONS];

/*
 * The generation of a process's mappings: it counts their changes, so that what was cached for
 * earlier ones is no longer used. Processes that share an entry only look up more often.
 */
static __always_inline __u32 *code_generation_of(__u32 pid)
{
	return &code_generations[pid & (CODE_GENERATIONS - 1)];
}

/* Invalidates what is known about the process's mappings. */
static __always_inline void forget_mappings(void)
{
	__sync_fetch_and_add(code_generation_of(thread_id() >> 32), 1);
}

#define DEV_MINOR_BITS 20

struct found_code {
	__u64 start;
	__u64 end;
	__u64 offset;
	__u64 flags;
	struct unwind_file_key key;
};

static long note_code(struct task_struct *task, struct vm_area_struct *trusted,
		      struct found_code *found)
{
	struct vm_area_struct *vma = PLAIN(struct vm_area_struct, trusted);
	struct file *file = vma->vm_file;
	struct mm_struct *mm = vma->vm_mm; /* newer kernels require a check for NULL */

	found->start = vma->vm_start;
	found->end = vma->vm_end;
	found->offset = vma->vm_pgoff << 12;
	found->flags = vma->vm_flags;
	if (file) {
		found->key.inode = file->f_inode->i_ino;
		found->key.device = file->f_inode->i_sb->s_dev;
	} else if (mm && vma->vm_start == (__u64)mm->context.vdso) {
		found->key.inode = VDSO_INODE;
		found->key.device = vma->vm_start >> 32 ? 8 : 4;
		found->offset = 0;
	}
	return 0;
}

/* Reserves and fills a record except its names. The caller submits it. NULL if there is no room. */
static __always_inline struct record_mapping *mapping_record(const struct found_code *found)
{
	struct record_mapping *record =
		must_wait() ? NULL : bpf_ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record) {
		keep_mappings();
		return NULL;
	}
	__builtin_memset(record, 0, sizeof(*record));
	fill_head(&record->head, RECORD_MAPPING, 0, sizeof(*record));
	record->head.time_ns = bpf_ktime_get_ns(); /* exact, as gaps start there */
	record->start = found->start;
	record->end = found->end;
	if (!found->key.inode || found->key.inode == VDSO_INODE)
		return record;
	record->offset = found->offset;
	record->inode = found->key.inode;
	record->dev_major = found->key.device >> DEV_MINOR_BITS;
	record->dev_minor = found->key.device & ((1u << DEV_MINOR_BITS) - 1);
	return record;
}

/* The context of the callback must be on the program's own stack. */
__noinline int code_try(__u64 address, struct found_code *ret_found)
{
	struct found_code found = {};
	int err;

	if (!ret_found)
		return -1;
	err = bpf_find_vma(bpf_get_current_task_btf(), address, note_code, &found, 0);
	*ret_found = found;
	return err;
}

/* Gets the mapping of an address from the kernel. Returns 0 or enum stack_stop. */
__noinline int code_find(__u64 address, struct found_code *found)
{
	int err = -EBUSY_NUMBER;

	if (!found)
		return STOP_NO_CODE;
	for (int i = 0; i < BUSY_TRIES && err == -EBUSY_NUMBER; i++)
		err = code_try(address, found);
	if (err)
		return err == -EBUSY_NUMBER ? STOP_BUSY : STOP_NO_CODE;
	return found->flags & CODE_EXECUTABLE ? 0 : STOP_NO_CODE;
}

static __always_inline void mapping_fill(struct code_mapping *mapping,
					 const struct found_code *found, __u32 generation)
{
	struct unwind_file_key key = found->key; /* older kernels only accept keys on the stack */
	struct unwind_file *file;

	mapping->start = found->start;
	mapping->size = found->end - found->start;
	mapping->to_offset = found->offset - found->start;
	mapping->generation = generation;
	mapping->published = unwind_published;
	mapping->file = (struct unwind_file){.known = !key.inode};
	file = key.inode ? bpf_map_lookup_elem(&unwind_files, &key) : NULL;
	if (file)
		mapping->file = *file;
}

static __always_inline int mapping_holds(const struct code_mapping *mapping, __u64 address,
					 __u32 generation)
{
	return address - mapping->start < mapping->size && mapping->generation == generation &&
	       (mapping->file.pages || mapping->published == unwind_published);
}

/*
 * Stores the thread's current slot for the process. This is a separate function because a chain of
 * calls has 512 bytes of stack in total, and older kernels only accept map values on the stack.
 */
__noinline int mapping_keep(struct stack_buffer *buffer, __u64 region)
{
	struct code_region key = {.region = region};
	struct code_mapping mapping;

	if (!buffer)
		return 0;
	key.pid = thread_id() >> 32;
	key.generation = buffer->generation;
	mapping = buffer->mappings[buffer->slot & (MAPPING_SLOTS - 1)];
	bpf_map_update_elem(&code_mappings, &key, &mapping, BPF_ANY);
	return 0;
}

/*
 * Code that no walk has met before may not have been mapped by the dynamic linker. If the file's
 * table is known from elsewhere, nothing stops the walk. So report the mapping here; user space
 * finds the file by its device and inode.
 */
static __noinline int mapping_announce(const struct found_code *found)
{
	struct record_mapping *record;

	if (!found || !found->key.inode || found->key.inode == VDSO_INODE)
		return 0;
	record = mapping_record(found);
	if (record)
		bpf_ringbuf_submit(record, wake_flags());
	return 0;
}

/* Loads the mapping of an address into the thread's current slot. Returns 0 or enum stack_stop. */
__noinline int mapping_load(struct stack_buffer *buffer, __u64 address)
{
	struct code_region key = {.region = address >> CODE_REGION_SHIFT};
	struct code_mapping *mapping, *known;
	struct found_code found = {};
	int stop;

	if (!buffer)
		return STOP_NO_CODE;
	mapping = &buffer->mappings[buffer->slot & (MAPPING_SLOTS - 1)];
	key.pid = thread_id() >> 32;
	key.generation = buffer->generation;
	known = bpf_map_lookup_elem(&code_mappings, &key);
	if (known && mapping_holds(known, address, buffer->generation)) {
		*mapping = *known;
		return 0;
	}
	stop = code_find(address, &found);
	if (stop)
		return stop;
	mapping_fill(mapping, &found, buffer->generation);
	if (mapping->file.pages)
		mapping_announce(&found);
	return mapping_keep(buffer, key.region);
}

struct region_fill {
	struct code_region key;
	struct code_mapping mapping;
	__u64 end;
};

static long fill_region(__u32 i, struct region_fill *fill)
{
	if (fill->key.region << CODE_REGION_SHIFT >= fill->end)
		return 1;
	bpf_map_update_elem(&code_mappings, &fill->key, &fill->mapping, BPF_ANY);
	fill->key.region++;
	return 0;
}

/* Fills the regions of a mapping in advance. */
__noinline int fill_regions(struct found_code *found)
{
	struct region_fill fill = {};

	if (!found)
		return 0;
	fill.key.pid = thread_id() >> 32;
	fill.key.generation = *code_generation_of(fill.key.pid);
	fill.key.region = found->start >> CODE_REGION_SHIFT;
	fill.end = found->end;
	mapping_fill(&fill.mapping, found, fill.key.generation);
	bpf_loop(CODE_REGION_FILL, fill_region, &fill, 0);
	return 0;
}

/* Sets the buffer's slot to the mapping of an address. Returns 0 or enum stack_stop. */
static __always_inline int mapping_seek(struct stack_buffer *buffer, __u64 address)
{
	if (mapping_holds(&buffer->mappings[buffer->slot & (MAPPING_SLOTS - 1)], address,
			  buffer->generation))
		return 0;
	buffer->slot = (address >> CODE_REGION_SHIFT ^ address >> (CODE_REGION_SHIFT + 8)) &
		       (MAPPING_SLOTS - 1);
	if (mapping_holds(&buffer->mappings[buffer->slot & (MAPPING_SLOTS - 1)], address,
			  buffer->generation))
		return 0;
	return mapping_load(buffer, address);
}

#endif
