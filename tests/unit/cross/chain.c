/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls, through functions of many shapes and through a signal, a function that dumps the stack to
 * a text file: registers, bytes, mappings, and the return addresses that each function knows to be
 * its own.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECTED_MAX 64
#define STACK_BYTES  0x10000

/* The registers right after take_registers() returns. */
struct registers {
	uintptr_t ip, sp, bp, second;
};

void take_registers(struct registers *registers);

#if defined(__aarch64__)
__asm__(".text\n.global take_registers\n.type take_registers, %function\ntake_registers:\n"
	"str x30, [x0]\nmov x1, sp\nstp x1, x29, [x0, #8]\nret\n"
	".size take_registers, . - take_registers\n");
#elif defined(__arm__)
#ifdef __thumb__
__asm__(".thumb_func\n");
#endif
__asm__(".text\n.syntax unified\n.global take_registers\n.type take_registers, %function\n"
#ifdef __thumb__
	".thumb\n.thumb_func\n"
#else
	".arm\n"
#endif
	"take_registers:\nmov r1, lr\nstr r1, [r0]\nmov r1, sp\nstr r1, [r0, #4]\n"
	"mov r1, r11\nstr r1, [r0, #8]\nstr r7, [r0, #12]\nbx lr\n"
	".size take_registers, . - take_registers\n");
#elif defined(__powerpc__)
__asm__(".text\n.global take_registers\n.type take_registers, @function\ntake_registers:\n"
	"mflr 4\nstw 4, 0(3)\nstw 1, 4(3)\nstw 31, 8(3)\nblr\n"
	".size take_registers, . - take_registers\n");
#endif

static uintptr_t expected[EXPECTED_MAX];
static unsigned int expected_count;
static uintptr_t stack_end;
static const char *path;

#define EXPECT() (expected[expected_count++] = (uintptr_t)__builtin_return_address(0))

static void write_bytes(FILE *file, const char *what, const unsigned char *bytes, size_t size)
{
	fprintf(file, "%s %lx ", what, (unsigned long)(uintptr_t)bytes);
	for (size_t i = 0; i < size; i++)
		fprintf(file, "%02x", bytes[i]);
	fprintf(file, "\n");
}

static void write_maps(FILE *file)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[1024];

	while (maps && fgets(line, sizeof(line), maps))
		fprintf(file, "map %s", line);
	if (maps)
		fclose(maps);
}

__attribute__((noinline)) void dump(void)
{
	struct registers registers;
	FILE *file;
	size_t size;

	EXPECT();
	take_registers(&registers);
	file = fopen(path, "w");
	if (!file)
		abort();
	size = stack_end - registers.sp;
	write_maps(file);
	fprintf(file, "registers %lx %lx %lx %lx\nexpected", (unsigned long)registers.ip,
		(unsigned long)registers.sp, (unsigned long)registers.bp,
		(unsigned long)registers.second);
	for (unsigned int i = expected_count; i > 0; i--)
		fprintf(file, " %lx", (unsigned long)expected[i - 1]);
	fprintf(file, "\n");
	/* A signal frame has no return address of a call: its return address is in memory outside
	 * of any file. */
	for (unsigned int i = 0; i < expected_count; i++)
		write_bytes(file, "code", (const unsigned char *)(expected[i] & ~(uintptr_t)1), 16);
	write_bytes(file, "stack", (const unsigned char *)registers.sp,
		    size < STACK_BYTES ? size : STACK_BYTES);
	fclose(file);
}

static volatile int sink;

__attribute__((noinline)) int with_alloca(int n)
{
	char *bytes = alloca((size_t)n * 16);

	EXPECT();
	memset(bytes, n, (size_t)n * 16);
	dump();
	return bytes[n];
}

__attribute__((noinline)) int with_big_frame(int n)
{
	volatile char bytes[9000];

	EXPECT();
	bytes[n] = 1;
	sink += with_alloca(n);
	return bytes[n];
}

__attribute__((noinline)) int with_variadic(const char *format, ...)
{
	va_list list;
	int n;

	EXPECT();
	va_start(list, format);
	n = va_arg(list, int);
	sink += with_big_frame(n);
	va_end(list);
	return n + sink;
}

__attribute__((noinline)) int with_many(int a, int b, int c, int d, int e, int f, int g)
{
	int sum = 0;

	EXPECT();
	for (int i = 0; i < 1; i++)
		sum += with_variadic("%d", a) * b + c * sink + d / (e + 1) + f - g + sink * a;
	return sum + a + b + c + d + e + f + g;
}

__attribute__((noinline)) double with_doubles(double a, double b)
{
	double sum;

	EXPECT();
	sum = a * with_many((int)b, 2, 3, 4, 5, 6, 7);
	return sum * b + a;
}

static int has_called;

/* Called by the C library. */
static int compare(const void *a, const void *b)
{
	if (!has_called++) {
		EXPECT();
		sink += (int)with_doubles(3, 5);
	}
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) int with_callback(int n)
{
	int numbers[3] = {n, 2, 1};

	EXPECT();
	qsort(numbers, 3, sizeof(numbers[0]), compare);
	return numbers[0] + sink;
}

__attribute__((noinline)) static void handler(int number)
{
	EXPECT();
	sink += with_callback(number);
}

__attribute__((noinline)) static int plus(int n)
{
	return n + sink;
}

__attribute__((noinline)) int with_signal(int n)
{
	EXPECT();
	*(volatile int *)(uintptr_t)(n - 1) = 1; /* interrupts this instruction */
	return plus(sink) + n;                   /* keeps the instruction out of the epilogue */
}

/* Exits the program instead of returning: the dump is already written. */
static void handler_and_end(int number)
{
	EXPECT();
	handler(number);
	_Exit(0);
}

static void *thread(void *argument)
{
	EXPECT();
	/* Above are the thread's own data. */
	stack_end = (uintptr_t)__builtin_frame_address(0) + 1536;
	sink += with_callback(7);
	return argument;
}

static int in_thread(void)
{
	pthread_t id;

	return pthread_create(&id, NULL, thread, NULL) || pthread_join(id, NULL);
}

int main(int argc, char **argv)
{
	stack_end = (uintptr_t)argv[0];
	path = argc > 1 ? argv[1] : "/dev/null";
	if (argc > 2 && !strcmp(argv[2], "thread"))
		return in_thread();
	if (argc > 2) {
		struct sigaction action = {.sa_handler = handler_and_end};

		action.sa_flags = strcmp(argv[2], "siginfo") ? 0 : SA_SIGINFO;
		sigaction(SIGSEGV, &action, NULL);
		return with_signal(1);
	}
	return with_callback(7) == 12345;
}
