/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entries of real allocators: a gate is possible at each, and a copy of what it displaces,
 * continued in the function, allocates and frees. Each library runs in a child. libstdc++ is not
 * among them: its operators call malloc, and some do that in their first bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>

#include "arch/gate.h"

/* AddressSanitizer replaces the allocator. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)

#define PAGE  4096
#define REACH 0x40000000 /* bytes to search for a free page near the library */
#define CALLS 1000

enum shape {
	SHAPE_MALLOC,
	SHAPE_CALLOC,
	SHAPE_REALLOC,
	SHAPE_REALLOCARRAY,
	SHAPE_ALIGNED, /* alignment, size */
	SHAPE_POSIX,
	SHAPE_NEW_ALIGNED, /* size, alignment */
	SHAPE_FREE,
	SHAPE_DELETE,
	SHAPE_DELETE_SIZED,
	SHAPE_DELETE_ALIGNED, /* block, alignment */
};

static const struct entry {
	const char *name;
	enum shape shape;
} entries[] = {
	{"malloc", SHAPE_MALLOC},
	{"calloc", SHAPE_CALLOC},
	{"realloc", SHAPE_REALLOC},
	{"reallocarray", SHAPE_REALLOCARRAY},
	{"memalign", SHAPE_ALIGNED},
	{"aligned_alloc", SHAPE_ALIGNED},
	{"posix_memalign", SHAPE_POSIX},
	{"valloc", SHAPE_MALLOC},
	{"pvalloc", SHAPE_MALLOC},
	{"free", SHAPE_FREE},
	{"_Znwm", SHAPE_MALLOC},
	{"_Znam", SHAPE_MALLOC},
	{"_ZnwmRKSt9nothrow_t", SHAPE_MALLOC},
	{"_ZnamRKSt9nothrow_t", SHAPE_MALLOC},
	{"_ZnwmSt11align_val_t", SHAPE_NEW_ALIGNED},
	{"_ZnamSt11align_val_t", SHAPE_NEW_ALIGNED},
	{"_ZdlPv", SHAPE_DELETE},
	{"_ZdaPv", SHAPE_DELETE},
	{"_ZdlPvm", SHAPE_DELETE_SIZED},
	{"_ZdaPvm", SHAPE_DELETE_SIZED},
	{"_ZdlPvSt11align_val_t", SHAPE_DELETE_ALIGNED},
	{"_ZdaPvSt11align_val_t", SHAPE_DELETE_ALIGNED},
};

/* One library, and a page near it for the copies. */
struct library {
	const char *path;
	void *handle;
	struct gate_code text;
	uint8_t *page;
};

typedef void *malloc_fn(size_t size);
typedef void free_fn(void *block);

static void *function_of(const struct library *library, const char *name)
{
	void *function = dlsym(library->handle, name);

	return function ? function : dlsym(RTLD_DEFAULT, name);
}

static size_t length_of(unsigned int call)
{
	return call * 37 % 5000 + 1;
}

#define ALIGNMENT 64

/* Allocates with a function of this shape; NULL if it does not allocate. */
static void *allocate(enum shape shape, void *function, void *old, size_t size)
{
	void *block = NULL;

	switch (shape) {
	case SHAPE_CALLOC:
		return ((void *(*)(size_t, size_t))function)(1, size);
	case SHAPE_REALLOC:
		return ((void *(*)(void *, size_t))function)(old, size);
	case SHAPE_REALLOCARRAY:
		return ((void *(*)(void *, size_t, size_t))function)(old, 1, size);
	case SHAPE_ALIGNED:
		return ((void *(*)(size_t, size_t))function)(ALIGNMENT, size);
	case SHAPE_NEW_ALIGNED:
		return ((void *(*)(size_t, size_t))function)(size, ALIGNMENT);
	case SHAPE_POSIX:
		assert_int_equal(
			((int (*)(void **, size_t, size_t))function)(&block, ALIGNMENT, size), 0);
		return block;
	default:
		return ((malloc_fn *)function)(size);
	}
}

static bool is_aligned(enum shape shape)
{
	return shape == SHAPE_ALIGNED || shape == SHAPE_NEW_ALIGNED || shape == SHAPE_POSIX;
}

/* nothrow's second argument may be anything, and is. */
static void call_allocator(const struct library *library, const struct entry *entry, void *copy)
{
	bool is_new = *entry->name == '_', aligned = entry->shape == SHAPE_NEW_ALIGNED;
	void *release = function_of(library, aligned  ? "_ZdlPvSt11align_val_t"
					     : is_new ? "_ZdlPv"
						      : "free");

	for (unsigned int call = 0; call < CALLS; call++) {
		size_t size = length_of(call);
		malloc_fn *first = (malloc_fn *)function_of(library, "malloc");
		bool resizes = entry->shape == SHAPE_REALLOC || entry->shape == SHAPE_REALLOCARRAY;
		void *block = allocate(entry->shape, copy, resizes ? first(size / 2) : NULL, size);

		assert_non_null(block);
		assert_true(!is_aligned(entry->shape) || (uintptr_t)block % ALIGNMENT == 0);
		for (size_t i = 0; i < size && entry->shape == SHAPE_CALLOC; i++)
			assert_int_equal(((char *)block)[i], 0);
		memset(block, 0xa5, size);
		((void (*)(void *, size_t))release)(block, ALIGNMENT);
	}
}

static void call_release(const struct library *library, const struct entry *entry, void *copy)
{
	bool aligned = entry->shape == SHAPE_DELETE_ALIGNED;
	void *make = function_of(library, aligned                      ? "_ZnwmSt11align_val_t"
					  : entry->shape == SHAPE_FREE ? "malloc"
								       : "_Znwm");

	for (unsigned int call = 0; call < CALLS; call++) {
		size_t size = length_of(call);
		void *block = ((void *(*)(size_t, size_t))make)(size, ALIGNMENT);

		memset(block, 0xa5, size);
		((void (*)(void *, size_t))copy)(block, aligned ? ALIGNMENT : size);
	}
}

/* A short jump to the function that does the work; this one has a gate. */
static bool is_short_thunk(const struct gate_code *function)
{
	return function->size < 5 && *function->bytes == 0xeb;
}

/* Part of the text, as it is in the file. */
static struct gate_code part_of(const struct library *library, uint64_t address, size_t size)
{
	const struct gate_code *text = &library->text;

	assert_in_range(address, text->address, text->address + text->size - size);
	return (struct gate_code){text->bytes + (address - text->address), size, address};
}

/* Writes a copy of what a gate displaces to the page. */
static void copy_entry(const struct library *library, const char *name,
		       const struct gate_code *function)
{
	const struct arch_gate *gate = arch_gate(EM_X86_64, false);
	enum gate_refusal refusal;
	struct gate_code displaced;
	struct gate_site site;
	size_t size;

	refusal = gate->find(function, &site);
	if (refusal)
		fail_msg("%s of %s: %d", name, library->path, refusal);
	assert_false(gate->is_entered(&library->text, &site));
	displaced = part_of(library, site.address, site.size);
	assert_int_equal(mprotect(library->page, PAGE, PROT_READ | PROT_WRITE), 0);
	refusal = gate->copy(&displaced, (uintptr_t)library->page, library->page, &size);
	assert_int_equal(refusal, GATE_POSSIBLE);
	assert_int_equal(mprotect(library->page, PAGE, PROT_READ | PROT_EXEC), 0);
}

/* Returns 1 if there is a gate, 0 if there is no such function. */
static int check_entry(const struct library *library, const struct entry *entry)
{
	void *start = dlsym(library->handle, entry->name);
	const ElfW(Sym) * symbol;
	struct gate_code code;
	Dl_info info;

	if (!start || !dladdr1(start, &info, (void **)&symbol, RTLD_DL_SYMENT) ||
	    !strstr(info.dli_fname, library->path))
		return 0;
	code = part_of(library, (uintptr_t)start, symbol->st_size);
	if (is_short_thunk(&code))
		return 0;
	copy_entry(library, entry->name, &code);
	if (entry->shape >= SHAPE_FREE)
		call_release(library, entry, library->page);
	else
		call_allocator(library, entry, library->page);
	return 1;
}

/* Reads the text from the file: a tracer of all processes puts breakpoints into mapped memory. */
static struct gate_code read_text(const char *path, const ElfW(Phdr) * segment, uint64_t base)
{
	struct gate_code text = {.size = segment->p_filesz, .address = base + segment->p_vaddr};
	uint8_t *bytes = malloc(text.size);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_non_null(bytes);
	assert_int_equal(pread(fd, bytes, text.size, (off_t)segment->p_offset), text.size);
	close(fd);
	text.bytes = bytes;
	return text;
}

static int find_text(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct library *library = ctx;

	(void)size;
	if (!strstr(info->dlpi_name, library->path))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
			library->text = read_text(info->dlpi_name, segment, info->dlpi_addr);
	}
	return 1;
}

/* A free page in reach of the library; the kernel says whether it is free. */
static uint8_t *page_near(const struct gate_code *text)
{
	uint64_t start = text->address / PAGE * PAGE;

	for (uint64_t distance = PAGE; distance < REACH; distance += 16 * PAGE) {
		void *page = mmap((void *)(start - distance), PAGE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (page != MAP_FAILED)
			return page;
	}
	return NULL;
}

static int check_library(const char *path)
{
	struct library library = {.path = path, .handle = dlopen(path, RTLD_NOW)};
	int gates = 0;

	if (!library.handle)
		return 0;
	assert_int_equal(dl_iterate_phdr(find_text, &library), 1);
	library.page = page_near(&library.text);
	assert_non_null(library.page);
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		gates += check_entry(&library, &entries[i]);
	return gates;
}

/* Returns the number of gates of a library; 0 if it is not installed. Some can only be preloaded.
 */
static int gates_of(const char *path)
{
	pid_t child = fork();
	int status;

	if (!child) {
		setenv("LD_PRELOAD", path, true);
		execl("/proc/self/exe", "test_gate_entries", path, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status))
		fail_msg("%s: status %#x", path, status);
	return WEXITSTATUS(status);
}

static void test_allocators(void **state)
{
	static const struct {
		const char *path;
		int least;
	} libraries[] = {
		{"libc.so.6", 10},        {"libjemalloc.so.2", 16},
		{"libtcmalloc.so.4", 16}, {"libtcmalloc_minimal.so.4", 16},
		{"libmimalloc.so.2", 16},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		int gates = gates_of(libraries[i].path);

		print_message("%s: %d gates\n", libraries[i].path, gates);
		if (gates)
			assert_in_range(gates, libraries[i].least,
					sizeof(entries) / sizeof(entries[0]));
	}
	assert_true(gates_of("libc.so.6"));
}

/* With an argument: counts the gates of this library, which was preloaded. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocators),
	};

	if (argc > 1)
		return check_library(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0; /* no gates here */
}

#endif
