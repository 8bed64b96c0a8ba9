/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/thread_words.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "bpf/thread_words.h"
#include "thread_words.skel.h"

#define THREADS_AT_ONCE 64

struct thread_words_reader {
	struct thread_words_bpf *skeleton;
};

int thread_words_open(struct thread_words_reader **ret_reader)
{
	struct thread_words_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return -ENOMEM;
	reader->skeleton = thread_words_bpf__open_and_load();
	if (!reader->skeleton) {
		err = -errno;
		free(reader);
		return err;
	}
	*ret_reader = reader;
	return 0;
}

void thread_words_close(struct thread_words_reader *reader)
{
	if (!reader)
		return;
	thread_words_bpf__destroy(reader->skeleton);
	free(reader);
}

static int add_words(const struct thread_words *thread, struct kernel_words *words)
{
	int err = 0;

	for (abi_u32 i = 0; !err && i < thread->count && i < THREAD_WORDS_MAX; i++)
		if (thread->words[i])
			err = vec_push(words, thread->words[i]);
	return err;
}

/* Older kernels ignore that only one process is wanted. */
static int read_threads(int iterator, struct kernel_words *words)
{
	struct thread_words threads[THREADS_AT_ONCE];
	abi_u32 tgid = 0;
	ssize_t got;
	int err = 0;

	while (!err && (got = read(iterator, threads, sizeof(threads))) > 0) {
		for (size_t i = 0; !err && i < (size_t)got / sizeof(*threads); i++) {
			if (tgid && threads[i].tgid != tgid)
				return -EOPNOTSUPP;
			tgid = threads[i].tgid;
			err = add_words(&threads[i], words);
		}
	}
	return err || got >= 0 ? err : -errno;
}

int thread_words_read(const struct thread_words_reader *reader, pid_t pid,
		      struct kernel_words *words)
{
	union bpf_iter_link_info process = {.task.pid = (__u32)pid};
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &process,
		    .link_info_len = sizeof(process));
	size_t known = words->count;
	struct bpf_link *link =
		bpf_program__attach_iter(reader->skeleton->progs.write_thread_words, &options);
	int iterator, err;

	if (!link)
		return -errno;
	iterator = bpf_iter_create(bpf_link__fd(link));
	err = iterator < 0 ? iterator : read_threads(iterator, words);
	if (iterator >= 0)
		close(iterator);
	bpf_link__destroy(link);
	if (err)
		words->count = known;
	return err;
}
