// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Valid uses of operators that are easily mistaken for errors: an operator new that fails, calls a
 * handler that allocates, and tries again; one that throws; destructors that delete; signal
 * handlers on an alternate stack; exceptions in threads.
 */
#include "truth.h"

#include <atomic>
#include <new>
#include <pthread.h>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <sys/time.h>
#include <vector>

#define LARGE   (256ul << 20)
#define LIMIT   (128ul << 20)
#define THREADS 8
#define ROUNDS  2000

static int handled;

/* Each call makes calls that might be mistaken for the new that failed. Every third one raises the
 * memory limit, so that the new succeeds. */
static void handler(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	free(malloc(40));
	delete new int;
	delete[] new char[40];
	free(strdup("text"));
	if (++handled % 3 == 0 && setrlimit(RLIMIT_AS, &limit))
		abort();
}

template <typename Allocate> static void with_little_memory(Allocate allocate)
{
	struct rlimit limit = {LIMIT, RLIM_INFINITY};

	if (setrlimit(RLIMIT_AS, &limit))
		abort();
	allocate();
}

NOINLINE static void handlers(void)
{
	std::set_new_handler(handler);
	with_little_memory([] { delete[] new char[LARGE]; });
	with_little_memory([] { operator delete(operator new(LARGE)); });
	with_little_memory([] { delete[] new (std::nothrow) char[LARGE]; });
	std::set_new_handler(nullptr);
	if (handled != 9)
		abort();
}

NOINLINE static void throws(void)
{
	for (int i = 0; i < 10; i++) {
		try {
			truth_opaque((size_t) new char[truth_opaque(1ul << 60)]);
		} catch (std::bad_alloc &) {
			free(malloc(40));
		}
		try {
			truth_opaque((size_t) operator new(truth_opaque(1ul << 60)));
		} catch (std::bad_alloc &) {
			delete new int;
		}
	}
}

struct node {
	node *next;
	char *text;
	node(node *rest) : next(rest), text(new char[16])
	{
	}
	~node()
	{
		delete[] text;
		delete next;
	}
};

NOINLINE static void destructors(void)
{
	node *list = nullptr;

	for (int i = 0; i < 1000; i++)
		list = new node(list);
	delete list;
}

static void *thread_main(void *unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		try {
			std::vector<std::string> texts(1 + i % 7, std::string(100, 'x'));

			throw texts;
		} catch (std::vector<std::string> &texts) {
			texts.clear();
		}
	}
	return nullptr;
}

NOINLINE static void exceptions(void)
{
	pthread_t threads[THREADS];

	for (pthread_t &thread : threads)
		if (pthread_create(&thread, nullptr, thread_main, nullptr))
			abort();
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
}

static std::atomic<int> ticks;

/* May interrupt operators between their entry and malloc. Allocates nothing. */
static void on_tick(int)
{
	ticks++;
}

NOINLINE static void signals(void)
{
	static char memory[64 << 10];
	stack_t stack = {};
	struct sigaction action = {};
	struct itimerval often = {{0, 500}, {0, 500}}, never = {};

	stack.ss_sp = memory;
	stack.ss_size = sizeof(memory);
	action.sa_handler = on_tick;
	action.sa_flags = SA_ONSTACK | SA_RESTART;
	if (sigaltstack(&stack, nullptr) || sigaction(SIGALRM, &action, nullptr) ||
	    setitimer(ITIMER_REAL, &often, nullptr))
		abort();
	while (ticks < 200)
		delete[] new int[truth_opaque(10)];
	setitimer(ITIMER_REAL, &never, nullptr);
}

int main(void)
{
	handlers();
	throws();
	destructors();
	exceptions();
	signals();
	truth_write(1, "{\"errors\":0}\n", 13);
	return 0;
}
