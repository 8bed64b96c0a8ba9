/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * malloc_stacks [-k N] -o FILE COMMAND [ARG…]: a second opinion on stacks that uses none of our
 * code.
 *
 * Runs COMMAND under ptrace and stops each thread at the start of malloc, calloc and realloc. At
 * every Nth of these calls, libdwfl unwinds the thread. FILE gets one line for each distinct stack,
 *
 * 	CALLS BYTES MODULE+OFFSET MODULE+OFFSET … [?]
 *
 * with return addresses, from the allocator's caller outwards; offsets are file offsets. A "?" at
 * the end means that libdwfl could not continue, although it had not reached the outermost frame.
 *
 * The breakpoints are hardware breakpoints (debug registers): code stays unchanged, so nothing has
 * to be stepped over, threads do not wait for each other, and forked children run free. Each thread
 * has its own debug registers, so a new thread is stopped at its start (PTRACE_O_TRACECLONE) to set
 * them.
 *
 * The allocator is the first mapped module, by address, that defines the three functions. Until it
 * is mapped, the program runs from system call to system call, so that calls by constructors are
 * seen as well. An allocator's calls to itself are not calls of the program: realloc(NULL) jumps to
 * malloc, and a growing realloc calls it.
 *
 * x86-64 only. Children, and programs that COMMAND executes, are not followed.
 */
#include <elfutils/libdwfl.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUNCTIONS_COUNT 3
#define THREADS_MAX     256
#define MAPPINGS_MAX    1024
#define TEXT_SIZE       (1 << 16)

/* An executable mapping of a file. */
struct mapping {
	uint64_t start, end, offset;
	char module[64]; /* the file's name without its directory */
};

struct function {
	const char *name;
	GElf_Addr start, end;
	uint64_t (*size)(const struct user_regs_struct *regs);
};

struct call {
	const struct function *function;
	uint64_t block, size; /* block: realloc's argument */
	uint64_t sp, caller;
};

struct thread {
	pid_t id;
	struct call last;
};

struct stack {
	uint64_t calls, bytes;
	char *text;
};

struct oracle {
	pid_t pid;
	unsigned long every, calls;
	Dwfl *dwfl; /* for the current `mappings`; or NULL */
	struct mapping mappings[MAPPINGS_MAX];
	size_t mapping_count;
	struct thread threads[THREADS_MAX];
	size_t thread_count;
	void *stacks; /* tsearch(3), by text */
	FILE *out;
	/* The current stack: */
	char text[TEXT_SIZE];
	size_t length;
	bool inner; /* the allocator's own frame comes next */
};

static uint64_t size_malloc(const struct user_regs_struct *regs)
{
	return regs->rdi;
}

static uint64_t size_calloc(const struct user_regs_struct *regs)
{
	return regs->rdi * regs->rsi;
}

static uint64_t size_realloc(const struct user_regs_struct *regs)
{
	return regs->rsi;
}

enum { MALLOC, CALLOC, REALLOC };

static struct function functions[FUNCTIONS_COUNT] = {
	[MALLOC] = {.name = "malloc", .size = size_malloc},
	[CALLOC] = {.name = "calloc", .size = size_calloc},
	[REALLOC] = {.name = "realloc", .size = size_realloc},
};

/* Mappings */

static bool parse_mapping(const char *line, struct mapping *mapping)
{
	char path[512] = "";
	const char *name;
	char executable;

	memset(mapping, 0, sizeof(*mapping));
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %" SCNx64 " %*s %*s %511[^\n]",
		   &mapping->start, &mapping->end, &executable, &mapping->offset, path) != 5)
		return false;
	name = strrchr(path, '/');
	if (executable != 'x' || !name)
		return false;
	snprintf(mapping->module, sizeof(mapping->module), "%s", name + 1);
	return true;
}

static size_t read_mappings(pid_t pid, struct mapping *mappings)
{
	char path[32], line[1024];
	size_t count = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		err(1, "%s", path);
	while (count < MAPPINGS_MAX && fgets(line, sizeof(line), file))
		count += parse_mapping(line, &mappings[count]);
	fclose(file);
	return count;
}

static int no_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **ret_name)
{
	(void)module, (void)userdata, (void)name, (void)base;
	(void)file, (void)link, (void)crc, (void)ret_name;
	return -1;
}

static Dwfl *open_dwfl(pid_t pid)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = no_debuginfo,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (!dwfl || dwfl_linux_proc_report(dwfl, pid) || dwfl_report_end(dwfl, NULL, NULL) ||
	    dwfl_linux_proc_attach(dwfl, pid, true))
		errx(1, "libdwfl: %s", dwfl_errmsg(-1));
	return dwfl;
}

/* Reads the current modules. Returns true if they have changed. */
static bool refresh(struct oracle *oracle)
{
	static struct mapping now[MAPPINGS_MAX];
	size_t count = read_mappings(oracle->pid, now);

	if (oracle->dwfl && count == oracle->mapping_count &&
	    !memcmp(now, oracle->mappings, count * sizeof(*now)))
		return false;
	memcpy(oracle->mappings, now, count * sizeof(*now));
	oracle->mapping_count = count;
	dwfl_end(oracle->dwfl);
	oracle->dwfl = open_dwfl(oracle->pid);
	return true;
}

/* The allocator */

static void note_function(const char *name, const GElf_Sym *symbol, GElf_Addr address)
{
	if (symbol->st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol->st_info) != STT_FUNC)
		return;
	for (size_t i = 0; i < FUNCTIONS_COUNT; i++)
		if (!strcmp(name, functions[i].name)) {
			functions[i].start = address;
			functions[i].end = address + symbol->st_size;
		}
}

static bool has_allocator(void)
{
	for (size_t i = 0; i < FUNCTIONS_COUNT; i++)
		if (!functions[i].start)
			return false;
	return true;
}

static int look_for_allocator(Dwfl_Module *module, void **userdata, const char *name,
			      Dwarf_Addr start, void *data)
{
	int count = dwfl_module_getsymtab(module);

	(void)userdata, (void)name, (void)start, (void)data;
	for (size_t i = 0; i < FUNCTIONS_COUNT; i++)
		functions[i].start = 0;
	for (int i = 1; i < count; i++) {
		GElf_Addr address;
		GElf_Sym symbol;
		const char *found =
			dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);

		if (found)
			note_function(found, &symbol, address);
	}
	return has_allocator() ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/*
 * Returns true if the address is mapped executable. The dynamic linker maps a file piece by piece.
 */
static bool is_mapped(const struct oracle *oracle, uint64_t address)
{
	for (size_t i = 0; i < oracle->mapping_count; i++)
		if (address >= oracle->mappings[i].start && address < oracle->mappings[i].end)
			return true;
	return false;
}

static bool find_allocator(struct oracle *oracle)
{
	if (!refresh(oracle))
		return false;
	dwfl_getmodules(oracle->dwfl, look_for_allocator, NULL, 0);
	return has_allocator() && is_mapped(oracle, functions[MALLOC].start);
}

/* Stacks */

__attribute__((format(printf, 2, 3))) static void write_text(struct oracle *oracle,
							     const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	oracle->length += (size_t)vsnprintf(oracle->text + oracle->length,
					    TEXT_SIZE - oracle->length, format, arguments);
	va_end(arguments);
	if (oracle->length >= TEXT_SIZE)
		errx(1, "a stack of more than %d bytes of text", TEXT_SIZE);
}

/* A return address may be one past the last byte of its code. */
static void write_place(struct oracle *oracle, uint64_t address)
{
	for (size_t i = 0; i < oracle->mapping_count; i++) {
		const struct mapping *mapping = &oracle->mappings[i];

		if (address > mapping->start && address <= mapping->end) {
			write_text(oracle, " %s+%#" PRIx64, mapping->module,
				   address - mapping->start + mapping->offset);
			return;
		}
	}
	write_text(oracle, " anonymous");
}

static int take_frame(Dwfl_Frame *frame, void *data)
{
	struct oracle *oracle = data;
	Dwarf_Addr address;

	if (!dwfl_frame_pc(frame, &address, NULL))
		return -1;
	if (!oracle->inner)
		write_place(oracle, address);
	oracle->inner = false;
	return DWARF_CB_OK;
}

static int compare_stacks(const void *a, const void *b)
{
	return strcmp(((const struct stack *)a)->text, ((const struct stack *)b)->text);
}

static void count_stack(struct oracle *oracle, uint64_t size)
{
	struct stack key = {.text = oracle->text}, *stack;
	void *found = tfind(&key, &oracle->stacks, compare_stacks);

	if (found) {
		stack = *(struct stack **)found;
	} else {
		stack = calloc(1, sizeof(*stack));
		if (!stack || !(stack->text = strdup(oracle->text)) ||
		    !tsearch(stack, &oracle->stacks, compare_stacks))
			err(1, "no memory");
	}
	stack->calls++;
	stack->bytes += size;
}

static void take_stack(struct oracle *oracle, pid_t thread, uint64_t size)
{
	refresh(oracle);
	oracle->length = 0;
	oracle->inner = true;
	if (dwfl_getthread_frames(oracle->dwfl, thread, take_frame, oracle))
		write_text(oracle, " ?");
	count_stack(oracle, size);
}

static void print_stack(const void *node, VISIT visit, void *file)
{
	const struct stack *stack = *(struct stack *const *)node;

	if (visit == postorder || visit == leaf)
		fprintf(file, "%" PRIu64 " %" PRIu64 "%s\n", stack->calls, stack->bytes,
			stack->text);
}

/* Threads */

static void set_register(pid_t thread, size_t number, unsigned long value)
{
	if (ptrace(PTRACE_POKEUSER, thread, offsetof(struct user, u_debugreg[number]), value))
		err(1, "debug register %zu", number);
}

static void set_breakpoints(pid_t thread)
{
	unsigned long enabled = 0;

	for (size_t i = 0; i < FUNCTIONS_COUNT; i++) {
		set_register(thread, i, functions[i].start);
		enabled |= 1UL << (2 * i);
	}
	set_register(thread, 7, enabled);
}

/* Returns NULL if the thread was not known; it is known from then on. */
static struct thread *find_thread(struct oracle *oracle, pid_t id)
{
	for (size_t i = 0; i < oracle->thread_count; i++)
		if (oracle->threads[i].id == id)
			return &oracle->threads[i];
	if (oracle->thread_count == THREADS_MAX)
		errx(1, "more than %d threads", THREADS_MAX);
	oracle->threads[oracle->thread_count++] = (struct thread){.id = id};
	return NULL;
}

static void forget_thread(struct oracle *oracle, pid_t id)
{
	for (size_t i = 0; i < oracle->thread_count; i++)
		if (oracle->threads[i].id == id)
			oracle->threads[i] = oracle->threads[--oracle->thread_count];
}

static const struct function *find_function(uint64_t address)
{
	for (size_t i = 0; i < FUNCTIONS_COUNT; i++)
		if (address == functions[i].start)
			return &functions[i];
	errx(1, "a breakpoint at %#" PRIx64, address);
}

static struct call read_call(pid_t thread)
{
	struct user_regs_struct regs;
	struct call call;

	if (ptrace(PTRACE_GETREGS, thread, 0, &regs))
		err(1, "registers of %d", thread);
	call.function = find_function(regs.rip);
	call.block = call.function == &functions[REALLOC] ? regs.rdi : 0;
	call.size = call.function->size(&regs);
	call.sp = regs.rsp;
	errno = 0;
	call.caller = (uint64_t)ptrace(PTRACE_PEEKDATA, thread, regs.rsp, 0);
	if (errno)
		err(1, "the stack of %d", thread);
	return call;
}

/*
 * Returns true for calls by the allocator itself: called, or jumped to with the arguments of the
 * previous call.
 */
static bool is_inner(const struct call *call, const struct call *before)
{
	for (size_t i = 0; i < FUNCTIONS_COUNT; i++)
		if (call->caller > functions[i].start && call->caller <= functions[i].end)
			return true;
	return call->function == &functions[MALLOC] && before->function == &functions[REALLOC] &&
	       !before->block && call->sp == before->sp && call->caller == before->caller;
}

static void on_call(struct oracle *oracle, struct thread *thread)
{
	struct call call = read_call(thread->id);
	bool counts = !is_inner(&call, &thread->last);

	thread->last = call;
	if (call.block && !call.size) /* a realloc that frees */
		return;
	if (counts && oracle->calls++ % oracle->every == 0)
		take_stack(oracle, thread->id, call.size);
}

/* Returns the signal to deliver. */
static int on_stop(struct oracle *oracle, pid_t id, int status)
{
	struct thread *thread = find_thread(oracle, id);
	int number = WSTOPSIG(status);
	siginfo_t signal;

	if (!thread) {
		set_breakpoints(id);
		return 0;
	}
	if (status >> 16)
		return 0;
	if (number != SIGTRAP || ptrace(PTRACE_GETSIGINFO, id, 0, &signal) ||
	    signal.si_code != TRAP_HWBKPT)
		return number;
	on_call(oracle, thread);
	return 0;
}

/* The program */

static pid_t launch(char **command)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(command[0], command);
		err(127, "%s", command[0]);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL))
		errx(1, "cannot start %s", command[0]);
	return pid;
}

static void run_until_allocator(struct oracle *oracle)
{
	int status;

	while (!find_allocator(oracle))
		if (ptrace(PTRACE_SYSCALL, oracle->pid, 0, 0) ||
		    waitpid(oracle->pid, &status, 0) != oracle->pid || !WIFSTOPPED(status))
			errx(1, "ended before it had an allocator");
	find_thread(oracle, oracle->pid);
	set_breakpoints(oracle->pid);
	ptrace(PTRACE_CONT, oracle->pid, 0, 0);
}

/* Returns the program's exit status. */
static int run(struct oracle *oracle)
{
	int status, result = 1;
	pid_t id;

	while ((id = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status))
			ptrace(PTRACE_CONT, id, 0, on_stop(oracle, id, status));
		else
			forget_thread(oracle, id);
		if (id == oracle->pid)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
	}
	return result;
}

static void parse(int count, char **words, struct oracle *oracle)
{
	int option;

	oracle->every = 1;
	while ((option = getopt(count, words, "+k:o:")) != -1)
		if (option == 'k')
			oracle->every = strtoul(optarg, NULL, 10);
		else if (option == 'o')
			oracle->out = fopen(optarg, "we");
	if (!oracle->out || !oracle->every || optind == count)
		errx(2, "usage: malloc_stacks [-k N] -o FILE COMMAND [ARG…]");
}

int main(int count, char **words)
{
	static struct oracle oracle;
	int result;

	parse(count, words, &oracle);
	oracle.pid = launch(words + optind);
	run_until_allocator(&oracle);
	result = run(&oracle);
	twalk_r(oracle.stacks, print_stack, oracle.out);
	if (fclose(oracle.out))
		err(1, "output");
	return result;
}
