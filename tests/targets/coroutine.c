/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exits on the stack of a coroutine: allocated ("malloc"), mapped ("mmap"), mapped and run by a
 * second thread ("thread"), or within the stack of the thread ("local"). The switch is swapcontext
 * ("context"), or our own, which looks like an ordinary call to a debugger ("switch"). Both the
 * coroutine and the function that waits for it have a block that is still used. Compiled without
 * optimisation.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define BYTES      5
#define STACK_SIZE 65536

static char *stack;
static const char *how;
static ucontext_t waiting, running;

/* It always exits, but the compiler does not know that. */
static void run(void)
{
	char *block = malloc(BYTES);

	if (getpid() > 0)
		_exit(0);
	block[0] = 'a';
}

static void switch_by_context(void)
{
	getcontext(&running);
	running.uc_stack.ss_sp = stack;
	running.uc_stack.ss_size = STACK_SIZE;
	running.uc_link = &waiting;
	makecontext(&running, run, 0);
	swapcontext(&waiting, &running);
}

#ifdef __x86_64__

static void *waiting_sp;

/* Saves the stack pointer, and continues on another stack. */
void switch_stack(void **from, void *to);
__asm__(".text\n"
	".type switch_stack, @function\n"
	"switch_stack:\n"
	".cfi_startproc\n"
	"pushq %rbp\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_offset %rbp, -16\n"
	"pushq %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_offset %rbx, -24\n"
	"movq %rsp, (%rdi)\n"
	"movq %rsi, %rsp\n"
	"popq %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	"popq %rbp\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n");

static void switch_by_hand(void)
{
	void **sp = (void **)(stack + STACK_SIZE) - 4;

	sp[0] = sp[1] = NULL; /* %rbx, %rbp */
	sp[2] = run;
	sp[3] = NULL; /* the return address */
	switch_stack(&waiting_sp, sp);
}

#else
#define switch_by_hand switch_by_context
#endif

static void wait_with_block(void)
{
	char *block = malloc(BYTES);

	if (!strcmp(how, "switch"))
		switch_by_hand();
	else
		switch_by_context();
	block[0] = 'a';
}

/* The waiting function has its frame above the coroutine's stack. */
static void switch_on_local_stack(void)
{
	char local[STACK_SIZE] __attribute__((aligned(16)));

	stack = local;
	if (!strcmp(how, "switch"))
		switch_by_hand();
	else
		switch_by_context();
}

static void wait_above_stack(void)
{
	char *block = malloc(BYTES);

	switch_on_local_stack();
	block[0] = 'a';
}

static void *run_thread(void *unused)
{
	wait_with_block();
	return unused;
}

static void map_stack(void)
{
	stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		abort();
}

int main(int argc, char **argv)
{
	const char *where = argc > 2 ? argv[2] : "malloc";
	pthread_t thread;

	how = argc > 1 ? argv[1] : "switch";
	if (!strcmp(where, "malloc"))
		stack = malloc(STACK_SIZE);
	else if (strcmp(where, "local"))
		map_stack();
	if (!strcmp(where, "local"))
		wait_above_stack();
	else if (strcmp(where, "thread"))
		wait_with_block();
	else if (!pthread_create(&thread, NULL, run_thread, NULL))
		pthread_join(thread, NULL);
	return 0;
}
