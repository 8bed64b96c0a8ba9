/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares our emulation (arch/) with qemu's, instruction by instruction, over the run of a static
 * program: replay PROGRAM <LOG, where the log has the registers before each instruction (qemu-…
 * -singlestep -d nochain,cpu). The registers after an instruction are those before the next one.
 *
 * The log has no memory. Values stored by emulated instructions are remembered. A loaded value is
 * compared only if it was stored this way or is in memory that the program cannot change. After a
 * store by an instruction that is not emulated, everything is forgotten.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/map64.h"

#define SEGMENTS 16
#define SHOWN    20 /* differences printed */

struct segment {
	uint64_t start, size;
	uint8_t *bytes;
	bool executable, writable;
};

static struct segment segments[SEGMENTS];
static size_t segment_count;
static struct map64 stored; /* address → word, in memory byte order */

/*
 * The program.
 */

static void read_segment(int fd, const GElf_Phdr *header)
{
	struct segment *segment = &segments[segment_count++];

	*segment = (struct segment){
		.start = header->p_vaddr,
		.size = header->p_filesz,
		.bytes = calloc(1, header->p_filesz + ARCH_CODE_MAX),
		.executable = header->p_flags & PF_X,
		.writable = header->p_flags & PF_W,
	};
	if (!segment->bytes || pread(fd, segment->bytes, header->p_filesz,
				     (off_t)header->p_offset) != (ssize_t)header->p_filesz)
		exit(2);
}

/* Returns its e_machine. */
static int read_program(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), machine;
	GElf_Phdr header;
	GElf_Ehdr head;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || !gelf_getehdr(elf, &head))
		exit(2);
	for (int i = 0; i < head.e_phnum && segment_count < SEGMENTS; i++)
		if (gelf_getphdr(elf, i, &header) && header.p_type == PT_LOAD)
			read_segment(fd, &header);
	machine = head.e_machine;
	elf_end(elf);
	close(fd);
	return machine;
}

static const struct segment *find_segment(uint64_t address)
{
	for (size_t i = 0; i < segment_count; i++)
		if (address - segments[i].start < segments[i].size)
			return &segments[i];
	return NULL;
}

/*
 * Memory.
 */

static int memory_read(void *ctx, uint64_t address, void *bytes, size_t size)
{
	const struct segment *segment = find_segment(address);

	(void)ctx;
	if (segment && !segment->writable && address + size <= segment->start + segment->size) {
		memcpy(bytes, segment->bytes + (address - segment->start), size);
		return 0;
	}
	if (address % 4 || size % 4)
		return -1;
	for (size_t i = 0; i < size; i += 4) {
		uint32_t word = map64_get(&stored, address + i);

		if (word == MAP64_NONE)
			return -1;
		memcpy((uint8_t *)bytes + i, &word, sizeof(word));
	}
	return 0;
}

static int memory_write(void *ctx, uint64_t address, const void *bytes, size_t size)
{
	(void)ctx;
	for (uint64_t at = address & ~3ull; at < address + size; at += 4)
		map64_delete(&stored, at);
	for (size_t i = 0; address % 4 == 0 && i + 4 <= size; i += 4) {
		uint32_t word;

		memcpy(&word, (const uint8_t *)bytes + i, sizeof(word));
		if (word != MAP64_NONE && map64_set(&stored, address + i, word))
			exit(2);
	}
	return 0;
}

/*
 * Log formats. In each, one line begins the registers of a thread, and another one ends them.
 */

struct log {
	int machine;
	const struct arch *arch;
	bool (*take)(char *line, struct arch_registers *registers); /* true: they are complete */
};

/* "NAME hex NAME hex …" */
static const char *value_of(const char *line, const char *name, uint64_t *ret_value)
{
	const char *found = strstr(line, name);
	char *end;

	if (!found)
		return NULL;
	*ret_value = strtoull(found + strlen(name), &end, 16);
	return end;
}

static bool take_arm(char *line, struct arch_registers *registers)
{
	uint64_t value;

	for (unsigned int i = 0; i < 16; i++) {
		char name[8];

		snprintf(name, sizeof(name), "R%02u=", i);
		if (value_of(line, name, &value))
			registers->arm.r[i] = (uint32_t)value;
	}
	if (!value_of(line, "PSR=", &value))
		return false;
	registers->arm.cpsr = (uint32_t)value;
	return true;
}

static bool take_arm64(char *line, struct arch_registers *registers)
{
	struct arm64_registers *arm64 = &registers->arm64;
	uint64_t value;

	for (unsigned int i = 0; i < 31; i++) {
		char name[8];

		snprintf(name, sizeof(name), "X%02u=", i);
		if (value_of(line, name, &value))
			arm64->x[i] = value;
	}
	value_of(line, " PC=", &arm64->pc);
	value_of(line, " SP=", &arm64->sp);
	return value_of(line, "PSTATE=", &arm64->pstate) != NULL;
}

static bool take_powerpc(char *line, struct arch_registers *registers)
{
	struct powerpc_registers *ppc = &registers->ppc;
	uint64_t value;
	char *at;

	if (!strncmp(line, "NIP ", 4)) {
		ppc->nip = (uint32_t)strtoull(line + 4, NULL, 16);
		if (value_of(line, "LR ", &value))
			ppc->lr = (uint32_t)value;
		if (value_of(line, "CTR ", &value))
			ppc->ctr = (uint32_t)value;
		if (value_of(line, "XER ", &value))
			ppc->xer = (uint32_t)value;
	} else if (!strncmp(line, "GPR", 3)) {
		unsigned long first = strtoul(line + 3, &at, 10);

		for (unsigned long i = first; i < first + 4 && i < 32; i++)
			ppc->r[i] = (uint32_t)strtoull(at, &at, 16);
	} else if (!strncmp(line, "CR ", 3)) {
		ppc->cr = (uint32_t)strtoull(line + 3, NULL, 16);
		return true;
	}
	return false;
}

static const struct log logs[] = {
	{.machine = EM_ARM, .arch = &arch_arm, .take = take_arm},
	{.machine = EM_AARCH64, .arch = &arch_arm64, .take = take_arm64},
	{.machine = EM_PPC, .arch = &arch_powerpc, .take = take_powerpc},
};

/*
 * Comparing.
 */

#define FLAGS 0xf0000000u /* of arm64: the log has only these */

static void normalize(struct arch_registers *registers)
{
	if (registers->arch == &arch_arm64)
		registers->arm64.pstate &= FLAGS;
	if (registers->arch == &arch_powerpc)
		memset(&registers->ppc.mq, 0, sizeof(uint32_t) * 9);
}

static struct counts {
	unsigned long compared, unknown, lines, refused, different;
} counts;

static void show(const char *what, const struct arch_registers *registers)
{
	uint8_t set[ARCH_SET_MAX];

	registers->arch->store(registers, set);
	fprintf(stderr, "  %s", what);
	for (size_t i = 0; i < registers->arch->set_size; i += 4) {
		uint32_t word;

		memcpy(&word, set + i, sizeof(word));
		fprintf(stderr, " %x", word);
	}
	fprintf(stderr, "\n");
}

static void compare(const struct arch_registers *before, struct arch_registers *got,
		    struct arch_registers *want, const uint8_t *code)
{
	uint8_t sets[2][ARCH_SET_MAX] = {{0}, {0}};

	normalize(got);
	normalize(want);
	got->arch->store(got, sets[0]);
	got->arch->store(want, sets[1]);
	counts.compared++;
	if (!memcmp(sets[0], sets[1], got->arch->set_size))
		return;
	if (counts.different++ >= SHOWN)
		return;
	fprintf(stderr, "different at %llx: %02x %02x %02x %02x\n",
		(unsigned long long)arch_get(before, ARCH_IP), code[0], code[1], code[2], code[3]);
	show("before", before);
	show("want  ", want);
	show("got   ", got);
}

static void replay(const struct arch_registers *before, struct arch_registers *after)
{
	const struct arch_memory memory = {.read = memory_read, .write = memory_write};
	struct arch_registers got = *before;
	uint64_t ip = arch_get(before, ARCH_IP);
	const struct segment *segment = find_segment(ip);
	uint8_t code[ARCH_CODE_MAX];
	enum arch_step step;

	if (!segment || !segment->executable || arch_get(after, ARCH_IP) == ip)
		return;
	memcpy(code, segment->bytes + (ip - segment->start), sizeof(code));
	step = got.arch->emulate(&got, code, &memory);
	if (step == ARCH_DONE)
		compare(before, &got, after, code);
	else if (step == ARCH_FAULT || got.arch->can_step(code, got.arch->mode_of(before)))
		step == ARCH_FAULT ? counts.unknown++ : counts.lines++;
	else
		counts.refused++;
	if (step == ARCH_OUT_OF_LINE || step == ARCH_REFUSED)
		map64_free(&stored);
}

int main(int argc, char **argv)
{
	int machine = argc == 2 ? read_program(argv[1]) : EM_NONE;
	const struct log *log = NULL;
	struct arch_registers before = {0}, after = {0};
	bool any = false;
	char line[1024];

	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++)
		if (logs[i].machine == machine)
			log = &logs[i];
	if (!log) {
		fprintf(stderr, "usage: replay PROGRAM <LOG\n");
		return 2;
	}
	after.arch = log->arch;
	while (fgets(line, sizeof(line), stdin)) {
		if (!log->take(line, &after))
			continue;
		if (any)
			replay(&before, &after);
		before = after;
		any = true;
	}
	printf("%s: %lu compared, %lu different; %lu load what is not known, %lu as a copy, "
	       "%lu refused\n",
	       log->arch->name, counts.compared, counts.different, counts.unknown, counts.lines,
	       counts.refused);
	return counts.different || counts.compared < 1000;
}
