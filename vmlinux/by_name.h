/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs know of the kernel: types by name, and of those the members that they read.
 * Where a member lies is found when the programs are loaded (CO-RE), so an order, or what is left
 * out, means nothing; kind and width of a member do. What differs by processor the including file
 * has: registers, and how many entries the nodes of a maple tree have.
 */
#ifndef MTRACE_VMLINUX_BY_NAME_H
#define MTRACE_VMLINUX_BY_NAME_H

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;

typedef __s8 s8;
typedef __u8 u8;
typedef __s16 s16;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;

/* As bpf_helper_defs.h wants them. */
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

typedef _Bool bool;

enum {
	false = 0,
	true = 1,
};

/* User ABI: include/uapi/linux/bpf.h. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};

enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024,
};

enum {
	BPF_F_USER_STACK = 256,
};

enum {
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

enum {
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};

enum {
	BPF_RB_AVAIL_DATA = 0,
};

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

/* All that follows is found by name; words and pointers with the width that the kernel has. */
#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

/* The open files, and what they are called. */

struct super_block {
	u32 s_dev;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
};

struct fdtable {
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct linux_binprm {
	struct file *file;
	const char *interp;
	char buf[256];
};

/* Memory. */

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

typedef struct {
	void *vdso;
} mm_context_t;

enum maple_type {
	maple_dense,
	maple_leaf_64,
	maple_range_64,
	maple_arange_64,
};

struct maple_range_64 {
	unsigned long pivot[MAPLE_RANGE64_SLOTS - 1];
	void *slot[MAPLE_RANGE64_SLOTS];
};

struct maple_arange_64 {
	unsigned long pivot[MAPLE_ARANGE64_SLOTS - 1];
	void *slot[MAPLE_ARANGE64_SLOTS];
};

struct maple_tree {
	void *ma_root;
};

struct mm_struct {
	struct maple_tree mm_mt;
	unsigned long start_stack;
	unsigned long arg_start;
	unsigned long arg_end;
	mm_context_t context;
	struct uprobes_state uprobes_state;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct bpf_iter_task_vma {
	__u64 __opaque[1];
};

/* Probes. */

struct return_consumer {
	__u64 cookie;
	__u64 id;
};

struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	int cons_cnt;
	struct return_instance *next;
	struct return_consumer consumer;
	struct return_consumer *extra_consumers;
};

struct uprobe_task {
	unsigned int depth;
	struct return_instance *return_instances;
	unsigned long vaddr;
};

struct fetch_insn {
	unsigned long immediate;
};

struct probe_arg {
	struct fetch_insn *code;
};

struct trace_probe {
	struct probe_arg args[0];
};

struct trace_uprobe {
	struct trace_probe tp;
};

struct uprobe_dispatch_data {
	struct trace_uprobe *tu;
};

struct trace_event_call {
	int perf_refcount;
};

struct perf_event {
	struct trace_event_call *tp_event;
};

/* Tasks. */

enum pid_type {
	PIDTYPE_PID,
	PIDTYPE_TGID,
	PIDTYPE_PGID,
	PIDTYPE_SID,
	PIDTYPE_MAX,
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[0];
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
	struct pid *pids[PIDTYPE_MAX];
	int group_exit_code;
	unsigned int flags;
	unsigned long long sum_sched_runtime;
};

struct task_struct {
	struct mm_struct *mm;
	int exit_code;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	u64 start_time;
	u64 start_boottime;
	char comm[16];
	struct files_struct *files;
	struct signal_struct *signal;
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	void *robust_list;
	void *compat_robust_list;
	u64 self_exec_id;
	struct uprobe_task *utask;
};

/* Iterators. */

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute pop
#endif

#endif
