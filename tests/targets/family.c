/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * family WAY [ARG...]: a process that creates children in the given way. Each process prints its
 * truth on one line, with its pid: what it inherited, and what it did itself.
 *
 *	fork		a child that frees some of what it inherited and allocates
 *	nested DEPTH	DEPTH levels of children
 *	vfork		a child in the parent's memory, where its calls count as the parent's;
 *			then it executes `family leaf`
 *	spawn PROGRAM	posix_spawn of another program
 *	share		a child by clone(CLONE_VM) that never execs; its calls count as the parent's
 *	daemon		forks twice, and exits before the grandchild
 *	thread		a thread forks while others allocate
 *	early		the first thread exits before another one forks
 *	killed		a child that is killed by SIGKILL
 *	quiet		a child that exits without a call
 *	storm COUNT THREADS	COUNT processes, each with up to three children and THREADS threads
 *	leaf		no children: allocates and exits
 *
 * `family wait WAY …` prints READY first, and continues after it reads a byte, in a thread that it
 * created before.
 */
#include "truth.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#define FORKS       3
#define THREADS_MAX 64
#define ROUND       50

NOINLINE static struct block t_shared(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_own(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_thread(size_t size)
{
	BOOKED(calloc, size, calloc(1, size));
}

NOINLINE static struct block t_map(size_t size)
{
	BOOKED(mmap, size,
	       mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

NOINLINE static void t_unmap(struct block block)
{
	truth_freed(block);
	munmap(block.address, block.size);
}

static struct block kept, given, mapped;

static void tell(const char *role)
{
	char extra[96];

	snprintf(extra, sizeof(extra), ",\"pid\":%d,\"role\":\"%s\"", (int)getpid(), role);
	truth_tell(STDOUT_FILENO, extra);
}

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		abort();
}

static void begin(void)
{
	kept = t_shared(100);
	given = t_shared(1000);
	mapped = t_map(8192);
}

/* What a child does with its inherited blocks. */
static void use_inheritance(void)
{
	t_free(given);
	t_unmap(mapped);
	t_own(10);
	t_free(t_own(20));
	t_map(4096);
}

static void child_end(const char *role)
{
	tell(role);
	_exit(0);
}

static pid_t forked(void)
{
	pid_t pid = fork();

	if (!pid)
		truth_inherit();
	return pid;
}

static void way_fork(char **argv)
{
	pid_t pid = forked();

	(void)argv;
	if (!pid) {
		use_inheritance();
		child_end("child");
	}
	t_free(kept);
	wait_for(pid);
}

static void nest(int depth)
{
	pid_t pid = forked();

	if (pid) {
		wait_for(pid);
		return;
	}
	t_own((size_t)depth + 1);
	if (depth > 1)
		nest(depth - 1);
	else
		t_free(given);
	child_end("nested");
}

static void way_nested(char **argv)
{
	nest(atoi(argv[0]));
}

static void way_vfork(char **argv)
{
	pid_t pid = vfork();

	(void)argv;
	if (!pid) {
		t_own(77);
		t_free(given);
		execl("/proc/self/exe", "family", "leaf", (char *)NULL);
		_exit(1);
	}
	wait_for(pid);
	t_own(5);
}

static void way_spawn(char **argv)
{
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, argv + 8))
		abort();
	wait_for(pid);
}

static int sharer(void *argument)
{
	(void)argument;
	t_own(33);
	t_free(given);
	return 0;
}

static void way_share(char **argv)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid = clone(sharer, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);

	(void)argv;
	wait_for(pid);
	t_own(34);
}

static void way_daemon(char **argv)
{
	pid_t pid = forked();
	int gate[2];

	(void)argv;
	if (pid) {
		wait_for(pid);
		return;
	}
	if (pipe(gate))
		abort();
	if (forked())
		child_end("middle");
	setsid();
	close(gate[1]);
	if (read(gate[0], gate, 1)) /* until the middle process has exited */
		abort();
	use_inheritance();
	child_end("daemon");
}

static void *work(void *argument)
{
	int i;

	(void)argument;
	for (i = 1; i <= ROUND; i++) {
		struct block block = t_thread((size_t)i);

		if (i % 10)
			t_free(block);
	}
	return NULL;
}

static void run_threads(int count)
{
	pthread_t threads[THREADS_MAX];
	int i;

	for (i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			abort();
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void *fork_in_thread(void *argument)
{
	(void)argument;
	way_fork(NULL);
	return NULL;
}

static void way_thread(char **argv)
{
	pthread_t thread;

	(void)argv;
	if (pthread_create(&thread, NULL, fork_in_thread, NULL))
		abort();
	pthread_join(thread, NULL);
	run_threads(4);
}

static void *fork_after_leader(void *leader)
{
	pthread_join(*(pthread_t *)leader, NULL);
	way_fork(NULL);
	run_threads(2);
	tell("parent");
	exit(0);
}

static void way_early(char **argv)
{
	static pthread_t leader;
	pthread_t thread;

	(void)argv;
	leader = pthread_self();
	if (pthread_create(&thread, NULL, fork_after_leader, &leader))
		abort();
	pthread_exit(NULL);
}

static void way_killed(char **argv)
{
	pid_t pid = forked();

	(void)argv;
	if (!pid) {
		use_inheritance();
		tell("killed");
		kill(getpid(), SIGKILL);
	}
	wait_for(pid);
}

static void way_quiet(char **argv)
{
	pid_t pid = forked();

	(void)argv;
	if (!pid)
		child_end("quiet");
	wait_for(pid);
}

/* Processes are numbered like the nodes of a heap: i has the children FORKS * i + 1 and so on. */
static void storm(int index, int count, int threads)
{
	pid_t children[FORKS];
	int i, started = 0;

	for (i = 1; i <= FORKS && index * FORKS + i < count; i++) {
		pid_t pid = forked();

		if (!pid) {
			storm(index * FORKS + i, count, threads);
			child_end("storm");
		}
		children[started++] = pid;
	}
	t_own((size_t)index + 1);
	run_threads(threads);
	for (i = 0; i < started; i++)
		wait_for(children[i]);
}

static void way_storm(char **argv)
{
	storm(0, atoi(argv[0]), atoi(argv[1]));
}

static void way_leaf(char **argv)
{
	(void)argv;
	t_own(500);
}

static const struct {
	const char *name;
	void (*run)(char **argv);
} ways[] = {
	{"fork", way_fork},     {"nested", way_nested}, {"vfork", way_vfork},
	{"spawn", way_spawn},   {"share", way_share},   {"daemon", way_daemon},
	{"thread", way_thread}, {"early", way_early},   {"killed", way_killed},
	{"quiet", way_quiet},   {"storm", way_storm},   {"leaf", way_leaf},
};

static int run(char **argv)
{
	size_t i;

	begin();
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, argv[0]))
			ways[i].run(argv + 1);
	tell("parent");
	return 0;
}

static void *run_when_told(void *argv)
{
	char byte;

	truth_write(STDOUT_FILENO, "READY\n", 6);
	if (read(STDIN_FILENO, &byte, 1) == 1)
		exit(run(argv));
	exit(2);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "wait"))
		return run(argv + 1);
	if (argc < 3 || pthread_create(&thread, NULL, run_when_told, argv + 2))
		return 2;
	pthread_join(thread, NULL);
	return 2;
}
