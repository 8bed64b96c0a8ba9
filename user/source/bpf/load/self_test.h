/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do the loaded programs work on this kernel? Features that are there by version may be broken or
 * restricted, so they are run: on a child of our own that makes a known call in two threads.
 */
#ifndef MTRACE_SOURCE_BPF_LOAD_SELF_TEST_H
#define MTRACE_SOURCE_BPF_LOAD_SELF_TEST_H

struct loaded_programs;

/*
 * 0 if both threads' calls came back with the right size and result; -EOPNOTSUPP if the programs
 * attach but see the wrong thing; another -errno if they cannot be attached at all. Also fills in
 * program->seccomp_safe.
 */
int self_test_run(struct loaded_programs *program);

#endif
