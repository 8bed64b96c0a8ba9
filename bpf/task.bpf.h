/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of traced processes, in the same ring buffer and so in the same order as their calls:
 * a new image, a change of the dynamic linker's list of objects, the end of a thread and of the
 * whole. With the first two go
 * the executable mappings as they are at that moment, told by the kernel itself, so that a process
 * that is gone before user space looks still has its libraries known.
 *
 * Where the kernel cannot iterate over mappings (before Linux 6.7), or they are locked just then,
 * a mapping record without name and range asks user space to read /proc/PID/maps.
 */
#ifndef MTRACE_BPF_TASK_BPF_H
#define MTRACE_BPF_TASK_BPF_H

#define VM_EXEC           0x4
#define MAPPINGS_MAX      4096
#define DEV_MINOR_BITS    20
#define SIGNAL_GROUP_EXIT 0x4

#include "bpf/select.bpf.h"

extern int bpf_iter_task_vma_new(struct bpf_iter_task_vma *it, struct task_struct *task,
				 __u64 address) __weak __ksym;
extern struct vm_area_struct *bpf_iter_task_vma_next(struct bpf_iter_task_vma *it) __weak __ksym;
extern void bpf_iter_task_vma_destroy(struct bpf_iter_task_vma *it) __weak __ksym;

#define PATH_DEPTH_MAX 32
#define VDSO_NAME      "[vdso]"

/* The names of a file's path, the last first: from dentry to parent, and over mount points. */
static __noinline int path_names(struct file *file, char *names)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct vfsmount *root = BPF_CORE_READ(file, f_path.mnt);
	struct mount *mount = (void *)root - bpf_core_field_offset(struct mount, mnt);
	__u32 used = 0;

	if (!names)
		return 0;
	for (int i = 0; i < PATH_DEPTH_MAX; i++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
		struct mount *above = BPF_CORE_READ(mount, mnt_parent);
		long length;

		if (dentry == BPF_CORE_READ(mount, mnt.mnt_root) || dentry == parent) {
			if (above == mount)
				break;
			dentry = BPF_CORE_READ(mount, mnt_mountpoint);
			mount = above;
			continue;
		}
		if (used > PATH_NAMES_SIZE - NAME_SIZE_MAX - 1)
			break;
		length = bpf_probe_read_kernel_str(names + used, NAME_SIZE_MAX,
						   BPF_CORE_READ(dentry, d_name.name));
		if (length <= 0)
			break;
		used += length & (NAME_SIZE_MAX * 2 - 1);
		dentry = parent;
	}
	return 0;
}

static __noinline int send_mapping(struct vm_area_struct *vma)
{
	struct record_mapping *record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);
	struct file *file = BPF_CORE_READ(vma, vm_file);
	__u32 device;

	if (!record) {
		count_loss(LOSS_EVENTS);
		return 0;
	}
	__builtin_memset(record, 0, sizeof(*record));
	fill_head(&record->head, RECORD_MAPPING, 0, sizeof(*record));
	record->head.time_ns = bpf_ktime_get_ns(); /* gaps begin there */
	record->start = BPF_CORE_READ(vma, vm_start);
	record->end = BPF_CORE_READ(vma, vm_end);
	if (file) {
		record->offset = BPF_CORE_READ(vma, vm_pgoff) << 12;
		record->inode = BPF_CORE_READ(file, f_inode, i_ino);
		device = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
		record->dev_major = device >> DEV_MINOR_BITS;
		record->dev_minor = device & ((1u << DEV_MINOR_BITS) - 1);
		path_names(file, record->names);
	} else if (record->start == (__u64)BPF_CORE_READ(vma, vm_mm, context.vdso)) {
		__builtin_memcpy(record->names, VDSO_NAME, sizeof(VDSO_NAME));
	}
	bpf_ringbuf_submit(record, wake_flags());
	return 0;
}

static __noinline int tell_code(struct vm_area_struct *vma)
{
	struct found_code found = {};

	note_code(NULL, vma, &found);
	return mapping_tell(&found);
}

static __noinline int ask_for_mappings(void)
{
	struct record_mapping *record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record) {
		count_loss(LOSS_EVENTS);
		return 0;
	}
	__builtin_memset(record, 0, sizeof(*record));
	fill_head(&record->head, RECORD_MAPPING, 0, sizeof(*record));
	bpf_ringbuf_submit(record, wake_flags());
	return 0;
}

static __always_inline void send_mappings(void)
{
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;
	int sent = 0;

	if (!config_vma_iterator) {
		ask_for_mappings();
		return;
	}
	bpf_iter_task_vma_new(&it, bpf_get_current_task_btf(), 0);
	while ((vma = bpf_iter_task_vma_next(&it))) {
		if (vma->vm_flags & VM_EXEC) {
			send_mapping(vma);
			if (config_unwind && config_depth)
				tell_code(vma);
			sent = 1;
		}
	}
	bpf_iter_task_vma_destroy(&it);
	if (!sent)
		ask_for_mappings();
}

/* Code that was mapped without the dynamic linker's knowledge. */
static __noinline int send_mapping_at(__u64 address)
{
	struct bpf_iter_task_vma it;
	struct vm_area_struct *vma;

	if (!config_vma_iterator)
		return 0;
	bpf_iter_task_vma_new(&it, bpf_get_current_task_btf(), address);
	vma = bpf_iter_task_vma_next(&it);
	if (vma)
		send_mapping(vma);
	bpf_iter_task_vma_destroy(&it);
	return 0;
}

/* The child is complete, and does not run yet (kernel/fork.c: kernel_clone). */
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
	emit(&record, sizeof(record));
}

#define ELF_CLASS   4 /* offset in the image: EI_CLASS */
#define ELF_CLASS32 1

/* The first bytes of what was loaded in the end, of a script's interpreter. */
static __always_inline int is_narrow_image(struct linux_binprm *program)
{
	char class = 0;

	bpf_probe_read_kernel(&class, sizeof(class), &program->buf[ELF_CLASS]);
	return class == ELF_CLASS32;
}

static __noinline int send_exec(struct linux_binprm *program, __u16 flags)
{
	struct record_exec *record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record) {
		count_loss(LOSS_EVENTS);
		return 0;
	}
	__builtin_memset(record, 0, sizeof(*record));
	fill_head(&record->head, RECORD_EXEC, 0, sizeof(*record));
	record->head.time_ns = bpf_ktime_get_ns();
	record->head.flags = flags | (is_narrow_image(program) ? RECORD_FLAG_NARROW : 0);
	bpf_get_current_comm(record->comm, sizeof(record->comm));
	bpf_probe_read_kernel_str(record->path, sizeof(record->path),
				  BPF_CORE_READ(program, interp));
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/*
 * The last word about a process, with all that was lost of it. Where there is no room for that, the
 * process stays entered, and user space sees for itself that it is gone.
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
	if (!bpf_ringbuf_output(&events, &record, sizeof(record), BPF_RB_FORCE_WAKEUP))
		bpf_map_delete_elem(&processes, &pid);
}

/* Enter a process whose new program is wanted. */
static __always_inline int enter_newborn(void)
{
	static const struct process_state no_losses;
	__u32 pid = thread_id() >> 32;

	return bpf_map_update_elem(&processes, &pid, &no_losses, BPF_ANY);
}

/* old_pid is what the thread had before it took over the pid of the first one (fs/exec.c). */
static __always_inline void process_exec(__u32 old_pid, struct linux_binprm *program)
{
	__u16 flags = old_pid != (__u32)bpf_get_current_pid_tgid() ? RECORD_FLAG_BY_THREAD : 0;
	int wanted = config_scope != SCOPE_SYSTEM || is_selected(program);

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

/* As wait(2) will tell the parent (kernel/exit.c: wait_task_zombie). */
static __always_inline __u32 exit_code(struct task_struct *task)
{
	if (BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT)
		return BPF_CORE_READ(task, signal, group_exit_code);
	return BPF_CORE_READ(task, group_leader, exit_code);
}

/* A thread other than the first: its end has two events, and calls between them. */
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

/* Threads that end at the same moment may each find that no other is left, as the kernel counts
 * them down before its tracepoint: the process ends with the first, and is not entered any more
 * when the others get here. */
static __always_inline void process_exit(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	if (BPF_CORE_READ(task, signal, live.counter) <= 0) {
		process_end(RECORD_EXIT, exit_code(task));
		return;
	}
	process_thread(RECORD_THREAD_GONE);
	leader_gone();
}

#endif
