/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SCOPE_SYSTEM: decides whether to trace the program being executed. All conditions must hold; see
 * struct selection.
 */
#ifndef MTRACE_BPF_SELECT_BPF_H
#define MTRACE_BPF_SELECT_BPF_H

#include "bpf/glob.bpf.h"

#define SELECTED_FILES_MAX 1024

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SELECTED_FILES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct unwind_file_key);
	__type(value, __u32);
} selected_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} selected_cgroup SEC(".maps");

/* No memcpy(): the compiler would copy the initial values that it sees here instead of those set
 * when loading. */
static __always_inline void take_pattern(struct glob_words *words, const volatile char *pattern)
{
	for (int i = 0; i < GLOB_MAX; i++)
		words->pattern[i] = pattern[i];
}

static __always_inline int is_selected_comm(void)
{
	struct glob_words words = {};

	take_pattern(&words, config_selection.comm);
	bpf_get_current_comm(words.text, COMM_SIZE);
	return glob_matches(&words);
}

static __always_inline int is_selected_name(struct file *file)
{
	struct glob_words words = {};

	take_pattern(&words, config_selection.name);
	if (bpf_probe_read_kernel_str(words.text, sizeof(words.text),
				      BPF_CORE_READ(file, f_path.dentry, d_name.name)) < 0)
		return 0;
	return glob_matches(&words);
}

static __always_inline int is_selected_file(struct file *file)
{
	struct unwind_file_key key = {.inode = BPF_CORE_READ(file, f_inode, i_ino),
				      .device = BPF_CORE_READ(file, f_inode, i_sb, s_dev)};

	return bpf_map_lookup_elem(&selected_files, &key) != NULL;
}

static __always_inline int is_selected(struct linux_binprm *program)
{
	struct file *file = BPF_CORE_READ(program, file);
	__u32 wants = config_selection.wants;

	if (wants & SELECT_USER && (__u32)bpf_get_current_uid_gid() != config_selection.user)
		return 0;
	if (wants & SELECT_CGROUP && bpf_current_task_under_cgroup(&selected_cgroup, 0) != 1)
		return 0;
	if (wants & SELECT_COMM && !is_selected_comm())
		return 0;
	if (wants & SELECT_NAME && !is_selected_name(file))
		return 0;
	return !(wants & SELECT_FILE) || is_selected_file(file);
}

#endif
