/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Emulated instructions compared with the processor. Each runs three times from the same registers
 * and memory: natively, by x86_emulate, and as a copy elsewhere. The results must be equal.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/x86.h"
#include "arch/x86_copy.h"

#define PAGE         4096
#define CODE         0x10000000ULL
#define DATA         0x10100000ULL /* near the code: reached by rip-relative addresses */
#define DISTANT      0x700000000000ULL
#define ROUNDS       40
#define BIT_RF       0x10000ULL
#define BIT_TF       0x100ULL
#define BIT_AF       0x10ULL
#define STATUS       0x8d5ULL /* CF PF AF ZF SF OF */
#define ADDRESS_MASK 0x7fffffffffffULL
#define NEAR_DATA    "\x00\x01\x10\x00" /* from the end of CODE into DATA */

struct row {
	const char *name;
	const char *code;
	size_t size;
	enum arch_step step;
	bool logical; /* leaves AF undefined */
};

#define ROW(name, bytes, step)                              \
	{                                                   \
		name, bytes, sizeof(bytes) - 1, step, false \
	}
#define LOGICAL(name, bytes, step)                         \
	{                                                  \
		name, bytes, sizeof(bytes) - 1, step, true \
	}

static const struct row rows[] = {
	ROW("push %rax", "\x50", ARCH_DONE),
	ROW("push %rsp", "\x54", ARCH_DONE),
	ROW("push %r12", "\x41\x54", ARCH_DONE),
	ROW("pop %rbx", "\x5b", ARCH_DONE),
	ROW("pop %rsp", "\x5c", ARCH_DONE),
	ROW("pop %r15", "\x41\x5f", ARCH_DONE),
	ROW("push $-5", "\x6a\xfb", ARCH_DONE),
	ROW("push $0x12345678", "\x68\x78\x56\x34\x12", ARCH_DONE),
	ROW("push 8(%rbx)", "\xff\x73\x08", ARCH_DONE),
	ROW("nop", "\x90", ARCH_DONE),
	ROW("data16 nop", "\x66\x90", ARCH_DONE),
	ROW("pause", "\xf3\x90", ARCH_DONE),
	ROW("nopl 0(%rax,%rax)", "\x0f\x1f\x44\x00\x00", ARCH_DONE),
	ROW("nopw %cs:0(%rax,%rax)", "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", ARCH_DONE),
	ROW("endbr64", "\xf3\x0f\x1e\xfa", ARCH_DONE),
	ROW("call", "\xe8\x00\x01\x00\x00", ARCH_DONE),
	ROW("jmp", "\xe9\xf0\xff\xff\xff", ARCH_DONE),
	ROW("jmp short", "\xeb\x10", ARCH_DONE),
	ROW("bnd jmp", "\xf2\xe9\x40\x00\x00\x00", ARCH_DONE),
	ROW("ret", "\xc3", ARCH_DONE),
	ROW("rep ret", "\xf3\xc3", ARCH_DONE),
	ROW("ret $16", "\xc2\x10\x00", ARCH_DONE),
	ROW("jmp *%rax", "\xff\xe0", ARCH_DONE),
	ROW("notrack jmp *%rax", "\x3e\xff\xe0", ARCH_DONE),
	ROW("jmp *0(%rip)", "\xff\x25\xfa\x00\x10\x00", ARCH_DONE),
	ROW("call *%r10", "\x41\xff\xd2", ARCH_DONE),
	ROW("call *16(%rbx,%rcx,1)", "\xff\x54\x0b\x10", ARCH_DONE),
	ROW("leave", "\xc9", ARCH_DONE),
	ROW("cltq", "\x48\x98", ARCH_DONE),
	ROW("cwtl", "\x98", ARCH_DONE),
	ROW("mov %rax,%rbx", "\x48\x89\xc3", ARCH_DONE),
	ROW("mov %eax,%ebp", "\x89\xc5", ARCH_DONE),
	ROW("mov %rax,8(%rbx)", "\x48\x89\x43\x08", ARCH_DONE),
	ROW("mov %r9,(%rbx,%rcx,2)", "\x4c\x89\x0c\x4b", ARCH_DONE),
	ROW("mov %eax,(%rsp)", "\x89\x04\x24", ARCH_DONE),
	ROW("mov %rax,x(%rip)", "\x48\x89\x05" NEAR_DATA, ARCH_DONE),
	ROW("mov x(%rip),%rdx", "\x48\x8b\x15" NEAR_DATA, ARCH_DONE),
	ROW("mov 16(%rsp),%rdi", "\x48\x8b\x7c\x24\x10", ARCH_DONE),
	ROW("mov $5,%eax", "\xb8\x05\x00\x00\x00", ARCH_DONE),
	ROW("movabs $x,%r8", "\x49\xb8\x01\x02\x03\x04\x05\x06\x07\x88", ARCH_DONE),
	ROW("movl $5,x(%rip)", "\xc7\x05" NEAR_DATA "\x05\x00\x00\x00", ARCH_DONE),
	ROW("movq $-1,8(%rbx)", "\x48\xc7\x43\x08\xff\xff\xff\xff", ARCH_DONE),
	ROW("lea 8(%rdi,%rsi,4),%rax", "\x48\x8d\x44\xb7\x08", ARCH_DONE),
	ROW("lea x(%rip),%rdi", "\x48\x8d\x3d" NEAR_DATA, ARCH_DONE),
	ROW("lea (%r12),%ecx", "\x41\x8d\x0c\x24", ARCH_DONE),
	ROW("lea 8(,%rdx,8),%rax", "\x48\x8d\x04\xd5\x08\x00\x00\x00", ARCH_DONE),
	ROW("movslq %edi,%rax", "\x48\x63\xc7", ARCH_DONE),
	ROW("movzbl (%rbx),%eax", "\x0f\xb6\x03", ARCH_DONE),
	ROW("movswq 2(%rbx),%rax", "\x48\x0f\xbf\x43\x02", ARCH_DONE),
	ROW("add $8,%rsp", "\x48\x83\xc4\x08", ARCH_DONE),
	ROW("sub $0x128,%rsp", "\x48\x81\xec\x28\x01\x00\x00", ARCH_DONE),
	ROW("add %rax,%rdx", "\x48\x01\xc2", ARCH_DONE),
	ROW("add 8(%rbx),%edx", "\x03\x53\x08", ARCH_DONE),
	ROW("sub %ecx,%eax", "\x29\xc8", ARCH_DONE),
	ROW("sub (%rbx),%r14", "\x4c\x2b\x33", ARCH_DONE),
	ROW("cmp %rsi,%rdi", "\x48\x39\xf7", ARCH_DONE),
	ROW("cmp $0,%eax", "\x83\xf8\x00", ARCH_DONE),
	ROW("cmpl $7,x(%rip)", "\x83\x3d" NEAR_DATA "\x07", ARCH_DONE),
	ROW("cmp %rax,(%rbx)", "\x48\x39\x03", ARCH_DONE),
	ROW("cmp (%rbx),%rax", "\x48\x3b\x03", ARCH_DONE),
	LOGICAL("test %rdi,%rdi", "\x48\x85\xff", ARCH_DONE),
	LOGICAL("test %eax,%edx", "\x85\xc2", ARCH_DONE),
	LOGICAL("xor %eax,%eax", "\x31\xc0", ARCH_DONE),
	LOGICAL("xor (%rbx),%rdx", "\x48\x33\x13", ARCH_DONE),
	LOGICAL("and $-16,%rsp", "\x48\x83\xe4\xf0", ARCH_DONE),
	LOGICAL("or $-1,%rax", "\x48\x83\xc8\xff", ARCH_DONE),
	LOGICAL("or %rcx,%r8", "\x49\x09\xc8", ARCH_DONE),
	ROW("cmove %rbx,%rax", "\x48\x0f\x44\xc3", ARCH_DONE),
	ROW("cmovbe (%rbx),%ecx", "\x0f\x46\x0b", ARCH_DONE),
	ROW("je", "\x0f\x84\x00\x01\x00\x00", ARCH_DONE),
	ROW("jo", "\x70\x10", ARCH_DONE),
	ROW("jno", "\x71\x10", ARCH_DONE),
	ROW("jb", "\x72\x10", ARCH_DONE),
	ROW("jae", "\x73\x10", ARCH_DONE),
	ROW("je short", "\x74\x10", ARCH_DONE),
	ROW("jne", "\x75\xf0", ARCH_DONE),
	ROW("jbe", "\x76\x10", ARCH_DONE),
	ROW("ja", "\x77\x10", ARCH_DONE),
	ROW("js", "\x78\x10", ARCH_DONE),
	ROW("jns", "\x79\x10", ARCH_DONE),
	ROW("jp", "\x7a\x10", ARCH_DONE),
	ROW("jnp", "\x7b\x10", ARCH_DONE),
	ROW("jl", "\x7c\x10", ARCH_DONE),
	ROW("jge", "\x7d\x10", ARCH_DONE),
	ROW("jle", "\x7e\x10", ARCH_DONE),
	ROW("jg", "\x7f\x10", ARCH_DONE),
	/* Not emulated: copies. */
	ROW("adc %rax,%rbx", "\x48\x11\xc3", ARCH_OUT_OF_LINE),
	ROW("addq $1,x(%rip)", "\x48\x83\x05" NEAR_DATA "\x01", ARCH_OUT_OF_LINE),
	ROW("cmpb $0,x(%rip)", "\x80\x3d" NEAR_DATA "\x00", ARCH_OUT_OF_LINE),
	ROW("mov %si,x(%rip)", "\x66\x89\x35" NEAR_DATA, ARCH_OUT_OF_LINE),
	ROW("movw $5,x(%rip)", "\x66\xc7\x05" NEAR_DATA "\x05\x00", ARCH_OUT_OF_LINE),
	LOGICAL("testb $1,x(%rip)", "\xf6\x05" NEAR_DATA "\x01", ARCH_OUT_OF_LINE),
	ROW("notb x(%rip)", "\xf6\x15" NEAR_DATA, ARCH_OUT_OF_LINE),
	LOGICAL("testl $1,x(%rip)", "\xf7\x05" NEAR_DATA "\x01\x00\x00\x00", ARCH_OUT_OF_LINE),
	ROW("xchg %rdi,x(%rip)", "\x48\x87\x3d" NEAR_DATA, ARCH_OUT_OF_LINE),
	ROW("lock incl x(%rip)", "\xf0\xff\x05" NEAR_DATA, ARCH_OUT_OF_LINE),
	ROW("movups x(%rip),%xmm0", "\x0f\x10\x05" NEAR_DATA, ARCH_OUT_OF_LINE),
	ROW("pinsrw $1,x(%rip),%xmm0", "\x66\x0f\xc4\x05" NEAR_DATA "\x01", ARCH_OUT_OF_LINE),
	ROW("crc32l x(%rip),%esi", "\xf2\x0f\x38\xf1\x35" NEAR_DATA, ARCH_OUT_OF_LINE),
	ROW("seto (%rbx)", "\x0f\x90\x03", ARCH_OUT_OF_LINE),
	ROW("movzbl %al,%eax", "\x0f\xb6\xc0", ARCH_OUT_OF_LINE),
	ROW("xchg %rax,%r8", "\x49\x90", ARCH_OUT_OF_LINE),
	ROW("stosb", "\xaa", ARCH_OUT_OF_LINE),
	ROW("bswap %eax", "\x0f\xc8", ARCH_OUT_OF_LINE),
	ROW("rorx $1,x(%rip),%rsi", "\xc4\xe3\xfb\xf0\x35" NEAR_DATA "\x01", ARCH_OUT_OF_LINE),
	ROW("andn x(%rip),%rdi,%rsi", "\xc4\xe2\xc0\xf2\x35" NEAR_DATA, ARCH_OUT_OF_LINE),
};

/* A stopped process with memory at known addresses. */
static pid_t stand(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (int i = 0; i < 3; i++) {
		static const uint64_t places[] = {CODE, DATA, DISTANT};

		if (mmap((void *)places[i], 4 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			_exit(1);
	}
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	_exit(0);
}

struct bench {
	pid_t pid;
	struct x86_registers base; /* in the stopped process */
	uint8_t data[PAGE];
};

static int bench_setup(void **state)
{
	static struct bench bench;
	int status;

	bench.pid = stand();
	if (waitpid(bench.pid, &status, 0) != bench.pid || !WIFSTOPPED(status))
		return -1;
	*state = &bench;
	return (int)ptrace(PTRACE_GETREGS, bench.pid, NULL, &bench.base);
}

static int bench_teardown(void **state)
{
	const struct bench *bench = *state;

	kill(bench->pid, SIGKILL);
	return waitpid(bench->pid, NULL, 0) == bench->pid ? 0 : -1;
}

static void write_all(pid_t pid, uint64_t address, const void *bytes, size_t size)
{
	struct iovec local = {(void *)(uintptr_t)bytes, size};
	struct iovec remote = {(void *)(uintptr_t)address, size};

	assert_int_equal(process_vm_writev(pid, &local, 1, &remote, 1, 0), size);
}

static void read_all(pid_t pid, uint64_t address, void *bytes, size_t size)
{
	struct iovec local = {bytes, size}, remote = {(void *)(uintptr_t)address, size};

	assert_int_equal(process_vm_readv(pid, &local, 1, &remote, 1, 0), size);
}

/* The memory of the emulation. */
static uint8_t *place_of(void *ctx, uint64_t address, size_t size)
{
	uint8_t *data = ctx;

	assert_true(address >= DATA && address + size <= DATA + PAGE);
	return data + (address - DATA);
}

static int data_read(void *ctx, uint64_t address, void *bytes, size_t size)
{
	memcpy(bytes, place_of(ctx, address, size), size);
	return 0;
}

static int data_write(void *ctx, uint64_t address, const void *bytes, size_t size)
{
	memcpy(place_of(ctx, address, size), bytes, size);
	return 0;
}

static uint64_t any(void)
{
	uint64_t word = (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();

	return random() % 4 ? word : word % 3; /* also zero results */
}

/* Random registers, except for those that point to memory. */
static struct x86_registers registers_make(const struct bench *bench)
{
	struct x86_registers registers = bench->base;
	uint64_t *const free_ones[] = {&registers.ax,  &registers.dx,  &registers.si,
				       &registers.r8,  &registers.r9,  &registers.r10,
				       &registers.r11, &registers.r12, &registers.r13,
				       &registers.r14, &registers.r15};

	for (size_t i = 0; i < sizeof(free_ones) / sizeof(free_ones[0]); i++)
		*free_ones[i] = any();
	registers.bx = DATA + 0x400;
	registers.cx = (uint64_t)random() % 64 * 8;
	registers.di = DATA + 0x900;
	registers.sp = DATA + 0x800;
	registers.bp = DATA + 0xa00;
	registers.flags = (registers.flags & ~STATUS) | ((uint64_t)random() & STATUS);
	registers.ip = CODE;
	registers.orig_ax = ~0ULL;
	return registers;
}

static void step_native(const struct bench *bench, const struct row *row,
			struct x86_registers *registers, uint8_t *data)
{
	int status;

	write_all(bench->pid, DATA, data, PAGE);
	assert_int_equal(ptrace(PTRACE_SETREGS, bench->pid, NULL, registers), 0);
	assert_int_equal(ptrace(PTRACE_SINGLESTEP, bench->pid, NULL, NULL), 0);
	assert_int_equal(waitpid(bench->pid, &status, 0), bench->pid);
	assert_true(WIFSTOPPED(status));
	if (WSTOPSIG(status) != SIGTRAP)
		fail_msg("%s: signal %d", row->name, WSTOPSIG(status));
	assert_int_equal(ptrace(PTRACE_GETREGS, bench->pid, NULL, registers), 0);
	read_all(bench->pid, DATA, data, PAGE);
}

static void assert_same(const struct row *row, const char *how, struct x86_registers got,
			struct x86_registers want, const uint8_t *got_data,
			const uint8_t *want_data)
{
	uint64_t ignored = BIT_RF | BIT_TF | (row->logical ? BIT_AF : 0);

	got.flags &= ~ignored;
	want.flags &= ~ignored;
	got.orig_ax = want.orig_ax = 0;
	if (memcmp(&got, &want, sizeof(got)) || memcmp(got_data, want_data, PAGE))
		fail_msg("%s, %s: ip %#lx sp %#lx flags %#lx ax %#lx, not ip %#lx sp %#lx flags "
			 "%#lx ax %#lx",
			 row->name, how, got.ip, got.sp, got.flags, got.ax, want.ip, want.sp,
			 want.flags, want.ax);
}

/* Runs the copy, on a page other than the original's. */
static void step_copy(const struct bench *bench, const struct row *row,
		      struct x86_registers *registers, uint8_t *data, const uint8_t *code)
{
	struct arch_copy line;

	x86_copy_begin(&line, registers, code, DISTANT);
	write_all(bench->pid, DISTANT, line.code, sizeof(line.code));
	step_native(bench, row, registers, data);
	x86_copy_end(&line, registers);
}

/* Its words are valid jump targets. */
static void data_make(uint8_t *data)
{
	for (size_t i = 0; i < PAGE; i += sizeof(uint64_t)) {
		uint64_t word = any() & ADDRESS_MASK;

		memcpy(data + i, &word, sizeof(word));
	}
}

static void run_row(const struct bench *bench, const struct row *row)
{
	struct x86_registers before = registers_make(bench), want = before, got = before;
	uint8_t code[ARCH_CODE_MAX] = {0}, data[PAGE], native[PAGE], ours[PAGE];
	const struct arch_memory memory = {data_read, data_write, ours};

	data_make(data);
	if (strchr(row->name, '*')) {
		before.ax &= ADDRESS_MASK;
		before.r10 &= ADDRESS_MASK;
		want = got = before;
	}
	memcpy(code, row->code, row->size);
	memcpy(native, data, PAGE);
	memcpy(ours, data, PAGE);
	write_all(bench->pid, CODE, code, sizeof(code));
	step_native(bench, row, &want, native);
	assert_int_equal(x86_emulate(&got, code, &memory), row->step);
	if (row->step == ARCH_DONE) {
		assert_same(row, "emulated", got, want, ours, native);
		return;
	}
	assert_memory_equal(&got, &before, sizeof(got));
	memcpy(ours, data, PAGE);
	step_copy(bench, row, &got, ours, code);
	assert_same(row, "copied", got, want, ours, native);
}

static void test_emulation_equals_the_processor(void **state)
{
	srandom(1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int round = 0; round < ROUNDS; round++)
			run_row(*state, &rows[i]);
}

/* Instructions that are emulated elsewhere also work as copies. */
static void test_copies(void **state)
{
	static const struct row copies[] = {
		ROW("mov %rax,x(%rip)", "\x48\x89\x05" NEAR_DATA, ARCH_DONE),
		ROW("mov x(%rip),%r14", "\x4c\x8b\x35" NEAR_DATA, ARCH_DONE),
		ROW("cmpl $7,x(%rip)", "\x83\x3d" NEAR_DATA "\x07", ARCH_DONE),
		ROW("movl $5,x(%rip)", "\xc7\x05" NEAR_DATA "\x05\x00\x00\x00", ARCH_DONE),
		ROW("mov x(%rip),%rsi", "\x48\x8b\x35" NEAR_DATA, ARCH_DONE),
	};
	const struct bench *bench = *state;

	for (size_t i = 0; i < sizeof(copies) / sizeof(copies[0]); i++) {
		struct x86_registers want = registers_make(bench), got = want;
		uint8_t code[ARCH_CODE_MAX] = {0}, native[PAGE] = {1, 2, 3}, ours[PAGE] = {1, 2, 3};

		memcpy(code, copies[i].code, copies[i].size);
		write_all(bench->pid, CODE, code, sizeof(code));
		step_native(bench, &copies[i], &want, native);
		step_copy(bench, &copies[i], &got, ours, code);
		assert_same(&copies[i], "copied", got, want, ours, native);
	}
}

static void test_refused(void **state)
{
	static const struct {
		uint8_t code[ARCH_CODE_MAX];
		bool is_32bit, can;
	} cases[] = {
		{{0xcc}, false, false},             /* a breakpoint of the program's own */
		{{0x0f, 0x05}, false, false},       /* syscall */
		{{0x9c}, false, false},             /* pushf */
		{{0xe3, 0x10}, false, false},       /* jrcxz */
		{{0xc7, 0xf8, 0, 0}, false, false}, /* xbegin */
		{{0xff, 0x28}, false, false},       /* a far jump */
		{{0x55}, false, true},
		{{0x0f, 0x34}, true, false}, /* sysenter */
		{{0x55}, true, true},
		{{0x0f, 0xa2}, true, true}, /* cpuid */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(x86_can_step(cases[i].code, cases[i].is_32bit), cases[i].can);
}

/* 32-bit code: smaller words, and 40 to 4f are not prefixes. */
static void test_compat32(void **state)
{
	uint8_t data[PAGE] = {0};
	const struct arch_memory memory = {data_read, data_write, data};
	struct x86_registers registers = {.cs = 0x23, .ip = 0xfffffffe, .sp = DATA + 16, .bx = 7};
	const uint8_t push[ARCH_CODE_MAX] = {0x53}, inc[ARCH_CODE_MAX] = {0x43, 0x53};
	uint32_t word;

	(void)state;
	assert_int_equal(x86_emulate(&registers, push, &memory), ARCH_DONE);
	assert_int_equal(registers.sp, DATA + 12);
	assert_int_equal(registers.ip, 0xffffffff);
	memcpy(&word, data + 12, sizeof(word));
	assert_int_equal(word, 7);
	assert_int_equal(x86_emulate(&registers, inc, &memory), ARCH_OUT_OF_LINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_emulation_equals_the_processor),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_compat32),
	};

	return cmocka_run_group_tests(tests, bench_setup, bench_teardown);
}
