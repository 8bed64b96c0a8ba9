// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Machine code of x86 to the analysis of what its frames can still read. An ELF file is analysed as
 * it is, at the functions that it describes. Other input becomes a file with two functions:
 *
 *	machine and flags, where the frame goes on, offset of a slot (2 bytes), size of the first
 *	function's CFI, size of its table of exception handlers, where the second function starts in
 *	the code, that function's CFA offset; then the CFI, the table, and the code
 *
 * The code ends with the file, on a page that is followed by one that must not be read.
 */
#include "fuzz.h"

#include <elf.h>
#include <string.h>

#include "symbol/liveness/code.h"
#include "symbol/liveness/liveness.h"
#include "tests/unit/symbol/cfi_file.h"

#define LSDA_AT   CODE_AT
#define CODE_FROM 0xc40 /* after the section headers */
#define CODE_MAX  (FILE_SIZE - CODE_FROM)
#define SLOTS     20  /* words of the frame, and arguments, to ask about */
#define FDES_MAX  16  /* functions of an ELF file … */
#define BYTES_MAX 128 /* … and bytes of each at which frames continue */

enum { FLAGS, FROM, SLOT, CFI_SIZE = SLOT + 2, LSDA_SIZE, SPLIT, SECOND_CFA, HEADER_SIZE };
enum { IS_I386 = 1, IS_INTERRUPTED = 2 };

struct function {
	uint64_t offset;
	uint64_t size;
	bool has_lsda;
	struct program cfi;
};

/*
 * Results.
 */

static void check_frame(struct module_liveness *liveness, uint64_t offset, bool interrupted)
{
	struct frame_liveness frame, again;

	liveness_frame(liveness, offset, interrupted, &frame);
	require(frame.unwound || !frame.known, "an analysed frame is unwound");
	for (size_t i = 0; i < LIVENESS_SAVED; i++)
		require(frame.registers[i] <= LIVENESS_UNKNOWN &&
				(frame.known || frame.registers[i] == LIVENESS_UNKNOWN ||
				 (i == LIVENESS_BP && frame.cfa_from_bp)),
			"a register's verdict is one");
	liveness_frame(liveness, offset, interrupted, &again);
	require(again.known == frame.known &&
			!memcmp(again.registers, frame.registers, sizeof(frame.registers)),
		"a frame has one verdict");
}

static void check_slot(struct module_liveness *liveness, uint64_t offset, bool interrupted,
		       int32_t at)
{
	enum liveness verdict = liveness_slot(liveness, offset, interrupted, at);

	require(verdict == LIVENESS_DEAD || verdict == LIVENESS_READ || verdict == LIVENESS_UNKNOWN,
		"a slot's verdict is one of a slot");
	require(at != -4 || verdict != LIVENESS_DEAD, "a return address is read");
	require(verdict == liveness_slot(liveness, offset, interrupted, at),
		"a slot has one verdict");
}

static void check_slots(struct module_liveness *liveness, uint64_t offset, bool interrupted)
{
	for (int32_t i = -SLOTS; i < SLOTS; i++)
		check_slot(liveness, offset, interrupted, i * 4);
	check_slot(liveness, offset, interrupted, INT32_MIN);
	check_slot(liveness, offset, interrupted, INT32_MAX);
}

/*
 * Functions as bytes.
 */

static void put_cie_with_lsda(struct object *object)
{
	size_t start = object->at;
	int word = object->elf64 ? 8 : 4;

	put(object, 4, 0);
	put(object, 4, 0);
	put(object, 1, 1);
	put_bytes(object, "zL", 3);
	put(object, 1, 1);
	put(object, 1, -(uint64_t)word & 0x7f);
	put(object, 1, object->elf64 ? 16 : 8);
	put(object, 1, 1);
	put(object, 1, DW_EH_PE_absptr);
	put(object, 1, DW_CFA_def_cfa);
	put(object, 1, object->elf64 ? 7 : 4);
	put(object, 1, (uint64_t)word);
	put(object, 1, DW_CFA_offset | (object->elf64 ? 16 : 8));
	put(object, 1, 1);
	patch_length(object, start);
}

static void put_function(struct object *object, const struct function *function)
{
	size_t start = object->at;

	put(object, 4, 0);
	put(object, 4, object->at - FRAME_AT);
	put_word(object, LOADED_AT + function->offset);
	put_word(object, function->size);
	put(object, 1, object->elf64 ? 8 : 4);
	put_word(object, function->has_lsda ? LOADED_AT + LSDA_AT : 0);
	put_bytes(object, function->cfi.bytes, function->cfi.size);
	patch_length(object, start);
}

static void put_code(struct object *object, const uint8_t *header, const uint8_t *code, size_t size)
{
	size_t at = FILE_SIZE - size, split = header[SPLIT] < size ? header[SPLIT] : size;
	const char cfa[] = {DW_CFA_def_cfa_offset, (char)(header[SECOND_CFA] & 0x7f)};
	struct function first = {
		.offset = at,
		.size = split,
		.has_lsda = header[LSDA_SIZE],
		.cfi = {(const char *)header + HEADER_SIZE, header[CFI_SIZE]},
	};
	struct function second = {
		.offset = at + split,
		.size = size - split,
		.cfi = {cfa, header[SECOND_CFA] ? sizeof(cfa) : 0},
	};

	object->at = FRAME_AT;
	put_cie_with_lsda(object);
	put_function(object, &first);
	put_function(object, &second);
	put(object, 4, 0);
	finish(object);
	object->at = object->elf64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	put_program_header(object, PT_LOAD, 0, FILE_SIZE);
	object->at = LSDA_AT;
	put_bytes(object, header + HEADER_SIZE + header[CFI_SIZE], header[LSDA_SIZE]);
	object->at = at;
	put_bytes(object, code, size);
}

static uint8_t *reserve(size_t size)
{
	uint8_t *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(at != MAP_FAILED, "there is memory");
	return at;
}

/*
 * Leaves a hole before a page that must not be read. The kernel maps the file into it, as the first
 * hole that is large enough: those before it are filled, and stay so.
 */
static uint8_t *make_guard(void)
{
	uint8_t *hole = reserve(2 * FILE_SIZE);

	munmap(hole, FILE_SIZE);
	while (reserve(FILE_SIZE) != hole)
		;
	munmap(hole, FILE_SIZE);
	return hole + FILE_SIZE;
}

static void analyse_code(const uint8_t *header, const uint8_t *code, size_t size)
{
	struct object object = {
		.machine = header[FLAGS] & IS_I386 ? EM_386 : EM_X86_64,
		.elf64 = !(header[FLAGS] & IS_I386),
	};
	bool interrupted = header[FLAGS] & IS_INTERRUPTED;
	uint64_t offset = FILE_SIZE - size + header[FROM] % (size + 1);
	struct module_liveness *liveness;
	struct error err;
	uint8_t *guard;
	int fd;

	put_code(&object, header, code, size);
	fd = fuzz_file(object.bytes, sizeof(object.bytes));
	guard = make_guard();
	if (liveness_open(fd, &liveness, &err))
		require(false, err.text);
	check_frame(liveness, offset, interrupted);
	check_slots(liveness, offset, interrupted);
	check_slot(liveness, offset, interrupted, (int16_t)(header[SLOT] | header[SLOT + 1] << 8));
	liveness_close(liveness);
	munmap(guard, FILE_SIZE);
	close(fd);
}

/*
 * Files.
 */

static void analyse_function(struct module_liveness *liveness, const struct liveness_code *code,
			     const struct cfi_fde *fde)
{
	const struct cfi_segment *segment = cfi_object_segment(&code->object, fde->vaddr);

	for (uint64_t i = 0; segment && i <= fde->size && i < BYTES_MAX; i++) {
		uint64_t offset = segment->offset + (fde->vaddr - segment->vaddr) + i;

		check_frame(liveness, offset, i & 1);
		check_slot(liveness, offset, i & 1, -16);
		check_slot(liveness, offset, i & 1, 8);
	}
}

static void analyse_file(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);
	struct module_liveness *liveness;
	struct liveness_code code;
	struct error err;

	if (liveness_code_open(&code, fd, &err)) {
		require(err.text[0], "an error has words");
		close(fd);
		return;
	}
	require(!liveness_open(fd, &liveness, &err), "what opens once opens twice");
	for (size_t i = 0; i < code.entries.fdes.count && i < FDES_MAX; i++)
		analyse_function(liveness, &code, &code.entries.fdes.items[i]);
	check_frame(liveness, size, false);
	check_slot(liveness, UINT64_MAX, true, -16);
	liveness_close(liveness);
	liveness_code_close(&code);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t code_at = HEADER_SIZE;

	if (size > SELFMAG && !memcmp(data, ELFMAG, SELFMAG)) {
		analyse_file(data, size);
		return 0;
	}
	if (size > HEADER_SIZE)
		code_at += data[CFI_SIZE] + data[LSDA_SIZE];
	if (size > code_at && size - code_at <= CODE_MAX)
		analyse_code(data, data + code_at, size - code_at);
	return 0;
}
