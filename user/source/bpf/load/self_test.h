/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the loaded programs on this kernel. Features that should be there by version may be broken
 * or restricted, so they are run on a child of our own that makes a known call in two threads.
 */
#ifndef MTRACE_SOURCE_BPF_LOAD_SELF_TEST_H
#define MTRACE_SOURCE_BPF_LOAD_SELF_TEST_H

struct loaded_programs;

/*
 * Returns 0 if the calls of both threads were recorded with the right size and result; -EOPNOTSUPP
 * if the programs attach but record something else; another -errno if they cannot be attached. Also
 * sets program->seccomp_safe.
 */
int self_test_run(struct loaded_programs *program);

#endif
