/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch/arch.h"

#include <elf.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A build for small boards only knows the processors whose code can run there. */
static const struct arch *const known[] = {
#if !NATIVE_ONLY || defined(__x86_64__) || defined(__i386__)
	&arch_x86_64,  &arch_i386,
#endif
#if !NATIVE_ONLY || defined(__arm__) || defined(__aarch64__)
	&arch_arm,
#endif
#if !NATIVE_ONLY || defined(__aarch64__)
	&arch_arm64,
#endif
#if !NATIVE_ONLY || defined(__powerpc__)
	&arch_powerpc,
#endif
};

static int read_zeros(void *ctx, uint64_t address, void *bytes, size_t size)
{
	(void)ctx;
	(void)address;
	memset(bytes, 0, size);
	return 0;
}

static int write_away(void *ctx, uint64_t address, const void *bytes, size_t size)
{
	(void)ctx;
	(void)address;
	(void)bytes;
	(void)size;
	return 0;
}

const struct arch_memory arch_memory_of_zeros = {.read = read_zeros, .write = write_away};

bool arch_can_emulate(const struct arch *arch, const uint8_t code[ARCH_CODE_MAX])
{
	struct arch_registers registers = {.arch = arch};

	return arch->emulate(&registers, code, &arch_memory_of_zeros) != ARCH_REFUSED;
}

uint64_t arch_target_of(const struct arch *arch, const uint8_t code[ARCH_CODE_MAX], size_t size,
			uint64_t address)
{
	struct arch_registers registers = {.arch = arch};
	uint64_t ip;

	arch_set_ip(&registers, address);
	if (arch->emulate(&registers, code, &arch_memory_of_zeros))
		return 0;
	ip = arch_get(&registers, ARCH_IP);
	return ip == address + size ? 0 : ip;
}

const struct arch *arch_of_set(size_t size)
{
	for (size_t i = 0; i < COUNT(known); i++)
		if (known[i]->set_size == size)
			return known[i];
	return NULL;
}

const struct arch *arch_of_machine(int machine)
{
	for (size_t i = 0; i < COUNT(known); i++)
		if (known[i]->machine == machine && known[i]->look)
			return known[i];
	return NULL;
}

bool arch_has_uprobes(int machine)
{
#if defined(__aarch64__)
	return machine != EM_ARM; /* arch/arm64/kernel/probes/uprobes.c */
#else
	(void)machine;
	return true;
#endif
}

const char *arch_native_name(bool is_32bit)
{
#if defined(__x86_64__)
	return is_32bit ? "i386" : "x86_64";
#elif defined(__aarch64__)
	return is_32bit ? "arm" : "aarch64";
#else
	(void)is_32bit; /* only 32-bit */
	return arch_native(true) ? arch_native(true)->name : "unknown";
#endif
}

const struct arch *arch_native(bool is_32bit)
{
#if defined(__x86_64__)
	(void)is_32bit; /* all threads have 64-bit register sets */
	return &arch_x86_64;
#elif defined(__i386__)
	return is_32bit ? &arch_i386 : NULL;
#elif defined(__aarch64__)
	return is_32bit ? &arch_arm : &arch_arm64;
#elif defined(__arm__)
	return is_32bit ? &arch_arm : NULL;
#elif defined(__powerpc__) && !defined(__powerpc64__)
	return is_32bit ? &arch_powerpc : NULL;
#else
	(void)is_32bit;
	return NULL;
#endif
}
