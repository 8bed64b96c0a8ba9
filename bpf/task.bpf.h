/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of traced processes, in the same ring buffer and so in the same order as their calls: a
 * new image, a change of the dynamic linker's list of objects, the exit of a thread and of the
 * process. The first two come with the executable mappings at that moment, read in the kernel, so
 * that the libraries of a process are known even if it is gone before user space looks.
 *
 * If the kernel cannot iterate over mappings (before Linux 6.7), their maple tree is read instead
 * (since 6.1). On older kernels, or if the mappings are locked at that moment, a mapping record
 * without a name and range asks user space to read /proc/PID/maps.
 */
#ifndef MTRACE_BPF_TASK_BPF_H
#define MTRACE_BPF_TASK_BPF_H

#define VM_EXEC           0x4
#define SIGNAL_GROUP_EXIT 0x4

#include "bpf/exit_time.bpf.h"
#include "bpf/maple.bpf.h"
#include "bpf/select.bpf.h"
#include "bpf/translator.bpf.h"

extern int bpf_iter_task_vma_new(struct bpf_iter_task_vma *it, struct task_struct *task,
				 __u64 address) __weak __ksym;
extern struct vm_area_struct *bpf_iter_task_vma_next(struct bpf_iter_task_vma *it) __weak __ksym;
extern void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma *it) __weak __ksym;

#define VDSO_NAME "[vdso]"

/*
 * The names of a file's path, the last one first: from each dentry to its parent, and across mount
 * points. A step only depends on memory, so that all steps are the same to the verifier.
 */
struct path_walk {
	struct dentry *dentry;
	struct mount *mount;
	__u64 used;
	__u64 ended;
};

struct path_names {
	char names[PATH_NAMES_SIZE];
};

__noinline int path_step(struct path_walk *walk, struct path_names *path)
{
	struct dentry *dentry, *parent;
	struct mount *mount, *above;
	__u64 used;
	long length;

	if (!walk || !path)
		return 0;
	dentry = walk->dentry;
	mount = walk->mount;
	used = walk->used;
	parent = BPF_CORE_READ(dentry, d_parent);
	above = BPF_CORE_READ(mount, mnt_parent);
	if (dentry == BPF_CORE_READ(mount, mnt.mnt_root) || dentry == parent) {
		walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		walk->mount = above;
		walk->ended = above == mount;
		return 0;
	}
	walk->ended = 1;
	if (used > PATH_NAMES_SIZE - NAME_SIZE_MAX - 1)
		return 0;
	length = bpf_probe_read_kernel_str(path->names + used, NAME_SIZE_MAX,
					   BPF_CORE_READ(dentry, d_name.name));
	if (length <= 0)
		return 0;
	walk->used = used + length;
	walk->dentry = parent;
	walk->ended = 0;
	return 0;
}

/* The file is passed as a number, because global functions cannot take kernel objects. */
__noinline int path_names(__u64 address, struct path_names *path)
{
	struct file *file = (struct file *)address;
	struct vfsmount *root = BPF_CORE_READ(file, f_path.mnt);
	struct path_walk walk = {
		.dentry = BPF_CORE_READ(file, f_path.dentry),
		.mount = (void *)root - bpf_core_field_offset(struct mount, mnt),
	};

	for (int i = 0; i < PATH_DEPTH_MAX && !walk.ended; i++)
		path_step(&walk, path);
	return 0;
}

static __noinline int send_mapping(struct vm_area_struct *vma)
{
	struct file *file = BPF_CORE_READ(vma, vm_file);
	struct found_code found = {};
	struct record_mapping *record;

	note_code(NULL, vma, &found);
	record = mapping_record(&found);
	if (!record)
		return 0;
	if (file)
		path_names((__u64)file, (struct path_names *)record->names);
	else if (found.key.inode == VDSO_INODE)
		__builtin_memcpy(record->names, VDSO_NAME, sizeof(VDSO_NAME));
	bpf_ringbuf_submit(record, wake_flags());
	return 0;
}

static __noinline int fill_regions_of(struct vm_area_struct *vma)
{
	struct found_code found = {};

	note_code(NULL, vma, &found);
	return fill_regions(&found);
}

static __noinline int ask_for_mappings(void)
{
	struct record_mapping *record =
		must_wait() ? NULL : bpf_ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record)
		return keep_mappings();
	__builtin_memset(record, 0, sizeof(*record));
	fill_head(&record->head, RECORD_MAPPING, 0, sizeof(*record));
	bpf_ringbuf_submit(record, wake_flags());
	return 0;
}

/* Returns 1 if the mapping is executable. */
static __always_inline int send_code(struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_EXEC))
		return 0;
	send_mapping(vma);
	if (config_unwind && config_depth)
		fill_regions_of(vma);
	return 1;
}

static __always_inline int iterate_mappings(void)
{
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;
	int sent = 0;

	bpf_iter_task_vma_new(&it, bpf_get_current_task_btf(), 0);
	while ((vma = bpf_iter_task_vma_next(&it)))
		sent |= send_code(vma);
	bpf_iter_task_vma_destroy(&it);
	return sent;
}

struct tree_walk {
	__u64 root;
	__u64 index;
	int sent;
	int failed;
};

static long send_found(struct task_struct *task, struct vm_area_struct *vma, int *sent)
{
	*sent |= send_code(vma);
	return 0;
}

static long tree_step(__u32 i, struct tree_walk *walk)
{
	struct maple_place place = {};
	struct vm_area_struct *vma;

	walk->failed = maple_find(&place, walk->root, walk->index);
	if (walk->failed)
		return 1;
	vma = (void *)place.node;
	if (place.node & MAPLE_SPECIAL)
		vma = NULL;
	if (vma && BPF_CORE_READ(vma, vm_flags) & VM_EXEC)
		walk->failed =
			bpf_find_vma(bpf_get_current_task_btf(), BPF_CORE_READ(vma, vm_start),
				     send_found, &walk->sent, 0);
	walk->index = place.last + 1;
	return walk->failed || !walk->index;
}

/*
 * Verifiers before Linux 6.7 check the body of a loop once, and remove what cannot happen in that
 * iteration: it must not start with constants that they know. They do not know copied values.
 */
static __always_inline int walk_mappings(void)
{
	static const struct tree_walk at_first;
	struct mm_struct *mm = BPF_CORE_READ(bpf_get_current_task_btf(), mm);
	struct tree_walk walk;

	bpf_probe_read_kernel(&walk, sizeof(walk), &at_first);
	walk.root = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);
	bpf_loop(MAPLE_ENTRIES_MAX, tree_step, &walk, 0);
	return walk.sent && !walk.failed;
}

static __always_inline void send_mappings(void)
{
	int sent = 0;

	if (config_mappings == MAPPINGS_ITERATED)
		sent = iterate_mappings();
	else if (config_mappings == MAPPINGS_WALKED)
		sent = walk_mappings();
	if (!sent)
		ask_for_mappings();
}

/* Reports code that was not mapped by the dynamic linker. */
static __noinline int send_mapping_at(__u64 address)
{
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;
	int sent = 0;

	if (config_mappings == MAPPINGS_WALKED)
		bpf_find_vma(bpf_get_current_task_btf(), address, send_found, &sent, 0);
	if (config_mappings != MAPPINGS_ITERATED)
		return 0;
	bpf_iter_task_vma_new(&it, bpf_get_current_task_btf(), address);
	vma = bpf_iter_task_vma_next(&it);
	if (vma)
		send_mapping(vma);
	bpf_iter_task_vma_destroy(&it);
	return 0;
}

/* The child is complete but does not run yet (kernel/fork.c: kernel_clone). */
static __always_inline void process_fork(struct task_struct *child)
{
	static const struct process_state no_losses;
	struct record_fork record = {};
	__u32 pid = process_number(child);

	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid) || !process_state())
		return;
	if (bpf_map_update_elem(&processes, &pid, &no_losses, BPF_ANY)) {
		count_loss(LOSS_CHILDREN);
		return;
	}
	fill_head(&record.head, RECORD_FORK, 0, sizeof(record));
	record.parent = record.head.pid;
	record.head.pid = pid;
	record.head.time_ns = bpf_ktime_get_ns();
	if (BPF_CORE_READ(child, mm) == BPF_CORE_READ(bpf_get_current_task_btf(), mm))
		record.head.flags |= RECORD_FLAG_SHARED;
	record.start_time_ns = BPF_CORE_READ(child, start_boottime);
	BPF_CORE_READ_STR_INTO(&record.comm, child, comm);
	if (!try_to_emit(&record, sizeof(record)))
		keep_fork(&record);
}

#define ELF_CLASS   4 /* offset in the image: EI_CLASS */
#define ELF_CLASS32 1

/* Checks the first bytes of the loaded image; for a script, of its interpreter. */
static __always_inline int is_32bit_image(struct linux_binprm *program)
{
	char class = 0;

	bpf_probe_read_kernel(&class, sizeof(class), &program->buf[ELF_CLASS]);
	return class == ELF_CLASS32;
}

/* The arguments are on the new stack and were just written there, so they can be read. */
static __always_inline void take_command(struct record_exec *record)
{
	struct mm_struct *mm = BPF_CORE_READ(bpf_get_current_task_btf(), mm);
	__u64 start = BPF_CORE_READ(mm, arg_start), size = BPF_CORE_READ(mm, arg_end) - start;

	record->command_size = size;
	if (size > sizeof(record->command))
		size = sizeof(record->command);
	asm volatile("" : "+r"(size)); /* otherwise the verifier loses the bound */
	if (size <= sizeof(record->command) &&
	    bpf_probe_read_user(record->command, size, (void *)start))
		record->command_size = 0;
}

/* Takes the count of the old image: what was filtered there must not count for the new one. */
static __always_inline __u64 take_filtered(void)
{
	struct process_state *state = process_state();
	__u64 filtered;

	if (!state)
		return 0;
	filtered = state->losses[LOSS_FILTERED];
	state->losses[LOSS_FILTERED] = 0;
	return filtered;
}

/* The exec of a process that was not traced before is deferred as a fork; user space gets its
 * details from /proc. */
static __noinline int keep_newborn(void)
{
	struct record_fork record = {};

	fill_head(&record.head, RECORD_FORK, 0, sizeof(record));
	record.head.time_ns = bpf_ktime_get_ns();
	keep_fork(&record);
	return 0;
}

static __noinline int fill_exec(struct record_exec *record, struct linux_binprm *program,
				__u16 flags, __u32 length)
{
	struct task_struct *task = bpf_get_current_task_btf();

	fill_head(&record->head, RECORD_EXEC, 0, length);
	record->head.time_ns = bpf_ktime_get_ns();
	record->start_time_ns = BPF_CORE_READ(task, start_boottime);
	record->filtered = take_filtered();
	record->parent = process_number(BPF_CORE_READ(task, real_parent));
	record->inner = inner_number();
	record->head.flags = flags | (is_32bit_image(program) ? RECORD_FLAG_32BIT : 0);
	bpf_get_current_comm(record->comm, sizeof(record->comm));
	bpf_probe_read_kernel_str(record->path, sizeof(record->path),
				  BPF_CORE_READ(program, interp));
	path_names((__u64)BPF_CORE_READ(program, file), (struct path_names *)record->names);
	take_command(record);
	return 0;
}

static __noinline int lose_exec(struct linux_binprm *program, __u16 flags)
{
	struct record_exec *record;

	if (flags & RECORD_FLAG_NEWBORN)
		return keep_newborn();
	record = exec_slot();
	if (!record)
		return 0;
	fill_exec(record, program, flags, 0);
	exec_store(record);
	return 0;
}

static __noinline int send_exec(struct linux_binprm *program, __u16 flags)
{
	struct record_exec *record =
		must_wait() ? NULL : bpf_ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record)
		return lose_exec(program, flags);
	__builtin_memset(record, 0, offsetof(struct record_exec, command));
	fill_exec(record, program, flags, sizeof(*record));
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* Deferred like an exec. The process is no longer traced. */
static __noinline int lose_leave(const struct record_exit *leave)
{
	struct record_exec *record = exec_slot();
	struct record_exit *kept = (void *)record;
	__u32 pid = thread_id() >> 32;

	bpf_map_delete_elem(&processes, &pid);
	if (!record)
		return 0;
	__builtin_memcpy(kept, leave, sizeof(*kept));
	kept->head.length = 0;
	exec_store(record);
	return 0;
}

/*
 * The last record about a process, with its losses. If there is no room for it, the process stays
 * in the map. User space then notices its exit by itself or, for RECORD_LEAVE, finds the deferred
 * record.
 */
static __always_inline void process_end(__u8 kind, __u32 code)
{
	struct process_state *state = process_state();
	struct record_exit record = {};
	__u32 pid = thread_id() >> 32;

	if (!state)
		return;
	forget_mappings();
	fill_head(&record.head, kind, 0, sizeof(record));
	record.head.time_ns = bpf_ktime_get_ns();
	record.code = code;
	for (int i = 0; i < LOSS_COUNT; i++)
		record.losses[i] = state->losses[i];
	if (!must_wait() &&
	    !bpf_ringbuf_output(&events, &record, sizeof(record), BPF_RB_FORCE_WAKEUP))
		bpf_map_delete_elem(&processes, &pid);
	else if (kind == RECORD_LEAVE)
		lose_leave(&record);
}

/* Adds a process whose new program is selected. */
static __always_inline int enter_newborn(void)
{
	static const struct process_state no_losses;
	__u32 pid = thread_id() >> 32;

	return bpf_map_update_elem(&processes, &pid, &no_losses, BPF_ANY);
}

/* Number of translators executed while there were probes in all processes, which would kill
 * them. */
__u32 translators_begun;

__noinline int watch_translator(__u64 address)
{
	struct translator_names names = {};
	struct dentry *dentry = (struct dentry *)address;
	long length = bpf_probe_read_kernel_str(names.name, sizeof(names.name),
						BPF_CORE_READ(dentry, d_name.name));

	if (length <= 0 ||
	    bpf_probe_read_kernel_str(names.directory, sizeof(names.directory),
				      BPF_CORE_READ(dentry, d_parent, d_name.name)) <= 0 ||
	    !is_translator(&names, length))
		return 0;
	__sync_fetch_and_add(&translators_begun, 1);
	wake_now();
	return 0;
}

/* old_pid is the thread's tid before it took over the leader's (fs/exec.c). */
static __always_inline void process_exec(__u32 old_pid, struct linux_binprm *program)
{
	__u16 flags = old_pid != (__u32)bpf_get_current_pid_tgid() ? RECORD_FLAG_BY_THREAD : 0;
	int wanted = config_scope != SCOPE_SYSTEM || is_selected(program);

	if (config_everybody || leader_exited_count)
		watch_translator((__u64)BPF_CORE_READ(program, file, f_path.dentry));
	if (process_state()) {
		if (!wanted) {
			process_end(RECORD_LEAVE, 0);
			return;
		}
	} else {
		if (config_scope != SCOPE_SYSTEM || !wanted || enter_newborn())
			return;
		flags |= RECORD_FLAG_NEWBORN;
	}
	forget_mappings();
	send_exec(program, flags);
	send_mappings();
	wake_now();
}

/* The status that wait(2) will return to the parent (kernel/exit.c: wait_task_zombie). */
static __always_inline __u32 exit_code(struct task_struct *task)
{
	if (BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT)
		return BPF_CORE_READ(task, signal, group_exit_code);
	return BPF_CORE_READ(task, group_leader, exit_code);
}

/* For threads other than the leader. Their exit has two events, with calls in between. */
static __always_inline void process_thread(__u8 kind)
{
	__u64 thread = thread_id();
	struct record_head record = {};

	if (!process_state() || thread >> 32 == (__u32)thread)
		return;
	fill_head(&record, kind, 0, sizeof(record));
	emit(&record, sizeof(record));
}

static __always_inline void leader_gone(void)
{
	__u64 thread = thread_id();
	struct record_head record = {};

	if (config_scope != SCOPE_NAMED || thread >> 32 != (__u32)thread || !process_state())
		return;
	fill_head(&record, RECORD_LEADER_GONE, 0, sizeof(record));
	emit(&record, sizeof(record));
	wake_now();
}

/* Threads that exit at the same time may each find that no other is left, because the kernel
 * decrements the count before its tracepoint. The process exits with the first of them and is no
 * longer in the map when the others get here. */
static __always_inline void process_exit(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	if (BPF_CORE_READ(task, signal, live.counter) <= 0) {
		if (process_state())
			note_end(thread_id() >> 32);
		process_end(RECORD_EXIT, exit_code(task));
		return;
	}
	process_thread(RECORD_THREAD_GONE);
	leader_gone();
}

#endif
