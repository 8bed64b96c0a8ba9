/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same events give the same bytes on every machine, except for the hello, which describes the
 * machine. tests/unit/cross/sender.c runs here, and under qemu for machines of other word sizes and
 * byte orders. Each of them also reads the stream of the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/stream/frame.h"
#include "tests/unit/cross.h"

static const char build[] =
	"T=%s && cp /usr/include/xxhash.h . && "
	"%s -std=gnu11 -D_GNU_SOURCE -O0 -w -static -I . -iquote $T/user -iquote "
	"$T "
	"-o %s $T/tests/unit/cross/sender.c $T/user/net/stream/read.c $T/user/net/stream/write.c "
	"$T/user/net/stream/event_code.c "
	"$T/user/net/stream/frame.c $T/user/net/stream/pack.c "
	"$T/user/net/stream/without_compressor.c "
	"$T/user/base/error.c $T/user/base/hash.c $T/user/base/vec.c";

/* Compiles and runs a sender. Its output without the hello is in NAME.out. */
static void send_event(struct scratch *scratch, const char *compiler, const char *emulator,
		       const char *name)
{
	char tree[PATH_MAX], line[8192];

	assert_non_null(realpath(".", tree));
	snprintf(line, sizeof(line), build, tree, compiler, name);
	if (scratch_run(scratch, line))
		fail_msg("cannot build: %s", line);
	snprintf(line, sizeof(line), "%s ./%s >%s.all && tail -c +%d %s.all >%s.out", emulator,
		 name, name, HELLO_SIZE + 1, name, name);
	if (scratch_run(scratch, line))
		fail_msg("cannot run: %s", line);
}

static void compare(struct scratch *scratch, const char *machine, const char *emulator)
{
	char compiler[64], line[128];

	snprintf(compiler, sizeof(compiler), "%s-gcc", machine);
	cross_require(compiler);
	cross_require(emulator);
	send_event(scratch, compiler, emulator, "there");
	snprintf(line, sizeof(line), "test -s here.out && cmp here.out there.out");
	assert_int_equal(scratch_run(scratch, line), 0);
	snprintf(line, sizeof(line),
		 "./here read <there.all >here.all && %s ./there read <here.all | "
		 "tail -c +%d | cmp - here.out",
		 emulator, HELLO_SIZE + 1);
	assert_int_equal(scratch_run(scratch, line), 0);
}

static void test_big_endian_of_32_bits(void **state)
{
	compare(*state, "powerpc-linux-gnu", "qemu-ppc");
}

static void test_32_bits(void **state)
{
	compare(*state, "arm-linux-gnueabihf", "qemu-arm");
}

/* Both tests compare with the stream of this machine, which is written once. */
static int setup(void **state)
{
	if (scratch_setup(state))
		return -1;
	send_event(*state, "cc", "", "here");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_big_endian_of_32_bits),
		cmocka_unit_test(test_32_bits),
	};

	return cmocka_run_group_tests(tests, setup, scratch_teardown);
}
