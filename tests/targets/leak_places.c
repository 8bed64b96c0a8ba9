/* SPDX-License-Identifier: GPL-2.0-or-later */
/* leak_places: where the only pointer to a block is; see leak_truth.h. */
#include "leak_truth.h"

#include <dirent.h>
#include <dlfcn.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/socket.h>
#include <time.h>
#include <ucontext.h>

#define HOLDERS 16
#define MAPPED  16384

/* Threads that wait until a case gives them a block, and a way to hold it. */

struct holder {
	pthread_t thread;
	uintptr_t hidden;
	void (*volatile hold)(struct holder *holder); /* does not return */
	volatile int holds;
};

static struct holder holders[HOLDERS];
static void *library;
static void **main_frame;

static void *holder_run(void *argument)
{
	struct holder *holder = argument;

	while (!holder->hold)
		sched_yield();
	holder->hold(holder);
	return NULL;
}

NOINLINE static void in_thread(void (*hold)(struct holder *holder))
{
	static int used;
	struct holder *holder = &holders[used++];

	holder->hidden = HIDE(block(SIZE));
	holder->hold = hold;
	while (!holder->holds)
		sched_yield();
}

/* Does not return, but the compiler cannot know that, so the callers' variables stay alive. */
NOINLINE static void stay(struct holder *holder)
{
	holder->holds = 1;
	while (holder->holds)
		pause();
}

/* Memory of the program. */

CASE(in_bss, .reachable = {1, SIZE})
{
	ROOT(root);

	root = block(SIZE);
}

CASE(in_data, .reachable = {1, SIZE})
{
	static void **volatile root __attribute__((unused)) = (void **)&root;

	root = block(SIZE);
}

static void **in_library(const char *name)
{
	void **(*place)(void);

	*(void **)&place = checked(dlsym(library, name));
	return place();
}

CASE(in_library_bss, .reachable = {1, SIZE})
{
	*in_library("leak_library_bss") = block(SIZE);
}

CASE(in_library_data, .reachable = {1, SIZE})
{
	*in_library("leak_library_data") = block(SIZE);
}

/* Memory of threads. */

static __thread void **volatile in_tls __attribute__((unused));

CASE(in_tls, .reachable = {1, SIZE})
{
	in_tls = block(SIZE);
}

static void hold_in_tls(struct holder *holder)
{
	in_tls = SHOW(holder->hidden);
	stay(holder);
}

CASE(in_thread_tls, .reachable = {1, SIZE})
{
	in_thread(hold_in_tls);
}

/* Created on first use; the dynamic linker allocates it. */
CASE(in_library_tls, .reachable = {2, ANY})
{
	*in_library("leak_library_tls") = block(SIZE);
}

static void hold_in_specific(struct holder *holder)
{
	static pthread_key_t key;

	if (pthread_key_create(&key, NULL) || pthread_setspecific(key, SHOW(holder->hidden)))
		abort();
	leak_scrub();
	stay(holder);
}

CASE(in_thread_specific, .reachable = {1, SIZE})
{
	in_thread(hold_in_specific);
}

static void hold_on_stack(struct holder *holder)
{
	void *volatile on_stack = SHOW(holder->hidden);

	stay(holder);
	*(volatile char *)on_stack = 0; /* otherwise the variable would be dead */
}

CASE(on_thread_stack, .reachable = {1, SIZE})
{
	in_thread(hold_on_stack);
}

CASE(on_main_stack, .reachable = {1, SIZE})
{
	main_frame[1] = block(SIZE);
}

static ucontext_t coroutine, caller;
static volatile uintptr_t coroutine_hidden;

static void coroutine_run(void)
{
	void *volatile on_stack __attribute__((unused)) = SHOW(coroutine_hidden);

	swapcontext(&coroutine, &caller);
	on_stack = NULL;
}

CASE(on_coroutine_stack, .reachable = {1, SIZE})
{
	size_t size = 512 * 1024;
	void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || getcontext(&coroutine))
		abort();
	coroutine_hidden = HIDE(block(SIZE));
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = size;
	makecontext(&coroutine, coroutine_run, 0);
	swapcontext(&caller, &coroutine);
}

/* Only in a register or next to the stack pointer. Then sleeps forever. */
#if defined(__x86_64__)
#define HOLD_IN(name, code, use)                                                          \
	static void hold_in_##name(struct holder *holder)                                 \
	{                                                                                 \
		__asm__ volatile("mov %%rsi, %%rax\n"                                     \
				 "xor %%rdx, %%rax\n"                                     \
				 "xor %%ebx, %%ebx\n"                                     \
				 "xor %%r12d, %%r12d\n" code "\n"                         \
				 "movl $1, (%%rdi)\n"                                     \
				 "1: mov $34, %%eax\n"                                    \
				 "syscall\n" use "\n"                                     \
				 "jmp 1b\n"                                               \
				 :                                                        \
				 : "S"(holder->hidden), "d"(HIDE(0)), "D"(&holder->holds) \
				 : "rax", "rbx", "rcx", "r11", "r12", "xmm9", "memory");  \
	}

HOLD_IN(rbx, "mov %%rax, %%rbx", "test %%rbx, %%rbx")
HOLD_IN(r12, "mov %%rax, %%r12", "test %%r12, %%r12")
HOLD_IN(xmm, "movq %%rax, %%xmm9", "")
HOLD_IN(high_xmm, "movq %%rax, %%xmm9\n pslldq $8, %%xmm9", "")
HOLD_IN(red_zone, "mov %%rax, -64(%%rsp)", "")
HOLD_IN(dead_stack, "mov %%rax, -4096(%%rsp)", "")
#elif defined(__i386__)
#define HOLD_IN(name, code, use)                                                \
	static void hold_in_##name(struct holder *holder)                       \
	{                                                                       \
		__asm__ volatile("mov %%esi, %%eax\n"                           \
				 "xor %%edx, %%eax\n"                           \
				 "xor %%esi, %%esi\n" code "\n"                 \
				 "movl $1, (%%edi)\n"                           \
				 "1: mov $29, %%eax\n"                          \
				 "int $0x80\n" use "\n"                         \
				 "jmp 1b\n"                                     \
				 :                                              \
				 : "S"(holder->hidden), "d"((uint32_t)HIDE(0)), \
				   "D"(&holder->holds)                          \
				 : "eax", "ebx", "ecx", "memory");              \
	}

HOLD_IN(rbx, "mov %%eax, %%ebx", "test %%ebx, %%ebx")
HOLD_IN(r12, "mov %%eax, %%ecx", "")
HOLD_IN(xmm, "movd %%eax, %%xmm5", "")
HOLD_IN(high_xmm, "movd %%eax, %%xmm5\n pslldq $8, %%xmm5", "")
HOLD_IN(dead_stack, "mov %%eax, -4096(%%esp)", "")
#endif

#if defined(__x86_64__) || defined(__i386__)
CASE(in_rbx, .reachable = {1, SIZE})
{
	in_thread(hold_in_rbx);
}

CASE(in_r12, .reachable = {1, SIZE})
{
	in_thread(hold_in_r12);
}

CASE(in_xmm, .reachable = {1, SIZE})
{
	in_thread(hold_in_xmm);
}

CASE(in_high_xmm, .reachable = {1, SIZE})
{
	in_thread(hold_in_high_xmm);
}

CASE(in_dead_stack, .definite = {1, SIZE})
{
	in_thread(hold_in_dead_stack);
}
#endif

#if defined(__x86_64__)
CASE(in_red_zone, .reachable = {1, SIZE})
{
	in_thread(hold_in_red_zone);
}
#endif

/* In the kernel: it gives the pointer back to the program, or uses what it points to. */

CASE(in_epoll, .reachable = {2, 2 * SIZE})
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0), watched = eventfd(0, 0);
	void **connection = block(SIZE);

	connection[1] = block(SIZE);
	event.data.ptr = connection;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, watched, &event))
		abort();
}

CASE(in_io_uring, .reachable = {1, SIZE})
{
	struct io_uring_params params = {0};
	long ring = syscall(__NR_io_uring_setup, 8, &params);
	struct iovec buffer = {block(SIZE), SIZE};
	ROOT(root); /* where there is no io_uring */

	if (ring < 0 || syscall(__NR_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1))
		root = buffer.iov_base;
}

CASE(in_timer, .reachable = {1, SIZE})
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	timer_t timer;

	event.sigev_value.sival_ptr = block(SIZE);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		abort();
}

CASE(in_sigaltstack, .reachable = {1, 1 << 16})
{
	stack_t stack = {.ss_size = 1 << 16};

	stack.ss_sp = block(stack.ss_size);
	if (sigaltstack(&stack, NULL))
		abort();
}

/* In mappings that the program still references. */

static void **map(int flags, int file)
{
	void **memory = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, flags, file, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

/* An unnamed file of MAPPED bytes. */
static int file_make(void)
{
	int file = memfd_create("leak_places", MFD_CLOEXEC);

	if (file < 0 || ftruncate(file, MAPPED))
		abort();
	return file;
}

CASE(in_mapping, .reachable = {1, SIZE})
{
	ROOT(root);

	root = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	root[7] = block(SIZE);
}

/* The program has dropped the address of the mapping. If mappings count as blocks, both are
 * leaked. */
CASE(in_lost_mapping, .reachable = {1, SIZE})
{
	map(MAP_PRIVATE | MAP_ANONYMOUS, -1)[7] = block(SIZE);
}

CASE(in_shared_mapping, .reachable = {1, SIZE})
{
	ROOT(root);

	root = map(MAP_SHARED | MAP_ANONYMOUS, -1);
	root[7] = block(SIZE);
}

/* The page exists, but is not in the page table. */
CASE(in_shared_unmapped_page, .reachable = {1, SIZE})
{
	ROOT(root);

	root = map(MAP_SHARED | MAP_ANONYMOUS, -1);
	root[7] = block(SIZE);
	madvise(root, MAPPED, MADV_DONTNEED);
}

CASE(in_file_mapping, .reachable = {1, SIZE})
{
	ROOT(root);

	root = map(MAP_PRIVATE, file_make());
	root[7] = block(SIZE);
}

CASE(in_shared_file_mapping, .reachable = {1, SIZE})
{
	ROOT(root);

	root = map(MAP_SHARED, file_make());
	root[7] = block(SIZE);
}

CASE(in_read_only_mapping, .reachable = {1, SIZE})
{
	ROOT(root);

	root = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	root[7] = block(SIZE);
	mprotect(root, MAPPED, PROT_READ);
}

CASE(in_protected_mapping, .reachable = {1, SIZE})
{
	ROOT(root);

	root = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	root[7] = block(SIZE);
	mprotect(root, MAPPED, PROT_NONE);
}

CASE(in_page_given_back, .definite = {1, SIZE})
{
	ROOT(root);

	root = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	root[7] = block(SIZE);
	madvise(root, MAPPED, MADV_DONTNEED);
}

/* Referenced from a place that no scan reads, or in a form that it does not know: see scan.h. */

CASE(in_unmapped_file, .definite = {1, SIZE})
{
	void *memory = block(SIZE);

	if (pwrite(file_make(), &memory, sizeof(memory), 0) != sizeof(memory))
		abort();
}

CASE(in_pipe, .definite = {1, SIZE})
{
	void *memory = block(SIZE);
	int ends[2];

	if (pipe(ends) || write(ends[1], &memory, sizeof(memory)) != sizeof(memory))
		abort();
}

/* The structure is packed on 64-bit machines, so pointers are at multiples of 4. */
#if defined(__x86_64__)
CASE(in_epoll_event, .definite = {1, SIZE})
#else
CASE(in_epoll_event, .reachable = {1, SIZE})
#endif
{
	static struct epoll_event event __attribute__((aligned(16)));

	event.data.u64 = (uintptr_t)block(SIZE);
	__asm__ volatile("" : : "r"(&event) : "memory");
}

#if defined(__x86_64__)
/* setjmp mangles the frame pointer that it saves. */
CASE(in_jmp_buf, .definite = {1, SIZE})
{
	static jmp_buf buffer;
	uintptr_t hidden = HIDE(block(SIZE));

	__asm__ volatile("push %%rbp\n"
			 "mov %%rax, %%rbp\n"
			 "xor %%rdx, %%rbp\n"
			 "call _setjmp@PLT\n"
			 "pop %%rbp\n"
			 : "+a"(hidden)
			 : "d"(HIDE(0)), "D"(buffer)
			 : "rcx", "rsi", "r8", "r9", "r10", "r11", "memory");
}
#endif

CASE(in_xored_pointer, .definite = {1, SIZE})
{
	static volatile uintptr_t root __attribute__((unused));

	root = HIDE(block(SIZE));
}

/* Tags are recognised in the 16 bits that 48-bit addresses leave unused. 32-bit words have none. */
#if UINTPTR_MAX > UINT32_MAX
#define IF_TAGGED .possible
#else
#define IF_TAGGED .definite
#endif

CASE(in_tagged_pointer, IF_TAGGED = {1, SIZE})
{
	static volatile uintptr_t root __attribute__((unused));
	unsigned int bits = 8 * sizeof(root);

	root = (uintptr_t)block(SIZE) ^ (uintptr_t)1 << (bits - 1);
}

CASE(in_compressed_pointer, .definite = {1, SIZE})
{
	static volatile uint32_t root[2] __attribute__((unused));

	root[0] = (uint32_t)((uintptr_t)block(SIZE) >> 4);
}

/* Blocks that libc holds. */

static void on_end(int status, void *argument)
{
	(void)status;
	free(argument);
}

CASE(by_on_exit, .reachable = {1, SIZE})
{
	if (on_exit(on_end, block(SIZE)))
		abort();
}

CASE(by_stdio, .reachable = {1, ANY})
{
	checked(fopen("/dev/null", "w"));
}

CASE(directory_lost, .definite = {1, ANY})
{
	checked(opendir("/"));
}

/* The table that finds objects by address (dl-find_object.c) is held by an aligned-up pointer. */
CASE(by_dlopen, .possible = {ANY, ANY}, .reachable = {ANY, ANY})
{
	checked(dlopen("libutil.so.1", RTLD_NOW));
}

/* The index of the thread's local storage. The thread descriptor points to its second entry. */
CASE(by_pthread_create, .reachable = {1, ANY})
{
	static struct holder holder = {.hold = stay};

	if (pthread_create(&holder.thread, NULL, holder_run, &holder))
		abort();
	while (!holder.holds)
		sched_yield();
}

static void prepare(void **frame)
{
	static char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 32);

	if (length < 0)
		abort();
	strcpy(strrchr(path, '/'), "/libleak.so");
	library = checked(dlopen(path, RTLD_NOW));
	main_frame = frame;
	for (int i = 0; i < HOLDERS; i++)
		if (pthread_create(&holders[i].thread, NULL, holder_run, &holders[i]))
			abort();
}

int main(void)
{
	void *volatile frame[4] = {NULL};

	prepare((void **)(uintptr_t)frame);
	leak_main();
}
