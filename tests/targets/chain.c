/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chain [KIND…]: allocates at the end of chains of calls, and prints these without an unwinder:
 * each function records its return address on entry (a shadow stack). So the truth does not depend
 * on how the program is compiled; the Makefile has a table of all its builds. One line for each
 * allocation:
 *
 *	KIND BYTES PLACE PLACE …
 *
 * The places are return addresses, from that of the allocating function to that of main or of the
 * thread's function: "main+0xOFFSET" in the program's file, "lib+0xOFFSET" in another one, "*" for
 * any number of frames that the program cannot know, of the C library or of interrupted code.
 */
#include <alloca.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define NOINLINE   __attribute__((noinline))
#define DEPTH_MAX  100
#define TAKEN_MAX  1000
#define SIZE_FIRST 50000 /* no other block is this large */

struct shadow {
	const char *kind;
	int depth;
	const void *places[DEPTH_MAX]; /* outermost first; NULL: unknown */
};

struct taken {
	size_t size;
	struct shadow shadow;
};

static struct taken taken[TAKEN_MAX];
static int taken_count;
static __thread struct shadow shadow;

static inline void enter(const void *place)
{
	if (shadow.depth == DEPTH_MAX)
		abort();
	shadow.places[shadow.depth++] = place;
}

/* Also prevents that the previous call becomes a tail call. */
static inline void leave(void)
{
	shadow.depth--;
	__asm__ volatile("" : : : "memory");
}

#define ENTER() enter(__builtin_return_address(0))

/* Hides from the compiler what happens to the memory. */
static inline void keep(void *memory)
{
	__asm__ volatile("" : : "r"(memory) : "memory");
}

NOINLINE static void take(void)
{
	int number = __atomic_fetch_add(&taken_count, 1, __ATOMIC_RELAXED);
	void *block;

	ENTER();
	if (number >= TAKEN_MAX)
		abort();
	taken[number].size = SIZE_FIRST + (size_t)number;
	taken[number].shadow = shadow;
	block = malloc(taken[number].size);
	keep(block);
	free(block);
	leave();
}

/* Chains of functions whose frames differ. */

static __thread uint32_t random_state;

static unsigned int choose(unsigned int limit)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 16) % limit;
}

static void descend(int depth);

NOINLINE static void plain(int depth)
{
	ENTER();
	descend(depth);
	leave();
}

NOINLINE static void large(int depth)
{
	char room[5000];

	ENTER();
	keep(room);
	descend(depth);
	keep(room);
	leave();
}

NOINLINE static void variable(int depth)
{
	char *room = alloca(16 + choose(700));

	ENTER();
	keep(room);
	descend(depth);
	keep(room);
	leave();
}

NOINLINE static void aligned(int depth)
{
	_Alignas(64) char room[128];

	ENTER();
	keep(room);
	descend(depth);
	keep(room);
	leave();
}

NOINLINE static unsigned int registers(int depth)
{
	unsigned int a = choose(9), b = choose(9), c = choose(9), d = choose(9), e = choose(9);

	ENTER();
	descend(depth);
	leave();
	return a + 3 * b + 5 * c + 7 * d + 11 * e + choose(3);
}

NOINLINE static int many(int depth, int b, int c, int d, int e, int f, int g, int h, int i)
{
	ENTER();
	descend(depth);
	leave();
	return b + c + d + e + f + g + h + i;
}

NOINLINE static void descend(int depth)
{
	ENTER();
	if (depth <= 0)
		take();
	else
		switch (choose(6)) {
		case 0:
			plain(depth - 1);
			break;
		case 1:
			large(depth - 1);
			break;
		case 2:
			variable(depth - 1);
			break;
		case 3:
			aligned(depth - 1);
			break;
		case 4:
			registers(depth - 1);
			break;
		default:
			many(depth - 1, 2, 3, 4, 5, 6, 7, 8, 9);
		}
	leave();
}

NOINLINE static void tree(void)
{
	ENTER();
	for (int i = 0; i < 100; i++)
		descend((int)choose(20));
	leave();
}

NOINLINE static void *on_thread(void *data)
{
	ENTER();
	shadow.kind = "thread";
	tree();
	leave();
	return data;
}

NOINLINE static void thread(void)
{
	pthread_t id;

	if (pthread_create(&id, NULL, on_thread, NULL))
		abort();
	pthread_join(id, NULL);
}

/* Called by the C library. */

NOINLINE static int compare(const void *a, const void *b)
{
	int one = *(const int *)a, other = *(const int *)b;

	enter(NULL);
	ENTER();
	take();
	leave();
	leave();
	return (one > other) - (one < other);
}

NOINLINE static void sort(void)
{
	int numbers[] = {3, 1, 4, 1, 5, 9, 2, 6};

	ENTER();
	qsort(numbers, sizeof(numbers) / sizeof(*numbers), sizeof(*numbers), compare);
	leave();
}

/*
 * Calls through a function that has neither call frame information nor a frame pointer, however the
 * program is compiled: bare(depth, call) calls call(depth). The frame pointer is that of some
 * caller.
 */

void bare(int depth, void (*call)(int depth));

#ifdef __x86_64__
#define BARE_BODY          \
	"	sub $24, %rsp\n" \
	"	call *%rsi\n"    \
	"	add $24, %rsp\n"
#else
#define BARE_BODY               \
	"	sub $12, %esp\n"      \
	"	mov 16(%esp), %eax\n" \
	"	mov %eax, (%esp)\n"   \
	"	call *20(%esp)\n"     \
	"	add $12, %esp\n"
#endif

__asm__(".pushsection .text\n"
	".type bare, @function\n"
	"bare:\n" BARE_BODY "	ret\n"
	".size bare, . - bare\n"
	".popsection\n");

NOINLINE static void called_bare(int depth)
{
	ENTER();
	descend(depth);
	leave();
}

NOINLINE static void call_bare(int depth)
{
	ENTER();
	enter(NULL); /* the call of bare */
	bare(depth, called_bare);
	leave();
	leave();
}

/* Has a frame pointer, which its callees inherit. */
NOINLINE static void call_bare_far(int depth)
{
	char *room = alloca(16 + choose(700));

	ENTER();
	keep(room);
	call_bare(depth);
	keep(room);
	leave();
}

NOINLINE static void untabled(void)
{
	ENTER();
	for (int i = 0; i < 5; i++) {
		call_bare(i);
		call_bare_far(i);
	}
	leave();
}

/* Frames that are left by longjmp, and whose memory is reused. */

static jmp_buf jump_target;

NOINLINE static void dive(int depth)
{
	char room[100];

	ENTER();
	keep(room);
	if (depth > 0)
		dive(depth - 1);
	take();
	if (!depth)
		longjmp(jump_target, 1);
	leave();
}

NOINLINE static void jump(void)
{
	int depth;

	ENTER();
	depth = shadow.depth;
	for (volatile int i = 1; i < 9; i++) {
		if (!setjmp(jump_target))
			dive(i);
		shadow.depth = depth;
		take();
		plain(i);
	}
	leave();
}

/*
 * Signals from a timer, repeated until they have interrupted the intended code. The handler's
 * return address is that of the trampoline; next to it is the frame of the interrupted function.
 */

static volatile sig_atomic_t is_ready, is_done;

NOINLINE static void on_signal(int number)
{
	(void)number;
	if (!is_ready || is_done)
		return;
	enter(NULL);
	ENTER();
	take();
	leave();
	leave();
	is_done = 1;
}

NOINLINE static void spin(void)
{
	ENTER();
	is_ready = 1;
	while (!is_done)
		;
	is_ready = 0;
	leave();
}

NOINLINE static void sleep_until(void)
{
	ENTER();
	is_ready = 1;
	while (!is_done)
		pause();
	is_ready = 0;
	leave();
}

NOINLINE static void with_timer(const char *kind, int flags, void (*wait)(void))
{
	static const struct itimerval on = {{0, 2000}, {0, 2000}}, off;
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};

	ENTER();
	shadow.kind = kind;
	is_done = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &on, NULL);
	wait();
	setitimer(ITIMER_REAL, &off, NULL);
	leave();
}

NOINLINE static void signals(void)
{
	static char room[1 << 16];
	stack_t alternate = {.ss_sp = room, .ss_size = sizeof(room)};

	ENTER();
	sigaltstack(&alternate, NULL);
	with_timer("sleep", 0, sleep_until);
	with_timer("spin", 0, spin);
	with_timer("sleep-alternate", SA_ONSTACK, sleep_until);
	with_timer("spin-alternate", SA_ONSTACK, spin);
	leave();
}

/* The truth. */

struct place {
	uintptr_t address, offset;
	int modules; /* that come before it; the first module is the program */
};

static int find_place(struct dl_phdr_info *info, size_t size, void *data)
{
	struct place *place = data;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t distance = place->address - info->dlpi_addr - header->p_vaddr;

		if (header->p_type != PT_LOAD || distance >= header->p_filesz)
			continue;
		place->offset = distance + header->p_offset;
		return 1;
	}
	place->modules++;
	return 0;
}

static void tell_place(const void *address)
{
	struct place place = {.address = (uintptr_t)address};

	if (!address) {
		printf(" *");
		return;
	}
	dl_iterate_phdr(find_place, &place);
	printf(" %s+%#lx", place.modules ? "lib" : "main", (unsigned long)place.offset);
}

static void tell(const struct taken *one)
{
	printf("%s %zu", one->shadow.kind, one->size);
	for (int i = one->shadow.depth - 1; i >= 0; i--)
		tell_place(one->shadow.places[i]);
	printf("\n");
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{"tree", tree}, {"thread", thread},   {"sort", sort},
	{"jump", jump}, {"signals", signals}, {"bare", untabled},
};

NOINLINE static void run(const char *name)
{
	ENTER();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, name) != 0)
			continue;
		shadow.kind = name;
		kinds[i].run();
	}
	leave();
}

int main(int count, char **names)
{
	ENTER();
	for (int i = 1; i < count; i++)
		run(names[i]);
	for (int i = 0; i < taken_count; i++)
		tell(&taken[i]);
	return 0;
}
