// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds types in a kernel's BTF. libbpf is the reference. */
#include "source/bpf/load/kernel.h"

#include <bpf/btf.h>
#include <linux/btf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* One type of each kind, so that all are skipped, and then the ones to be found. */
static struct btf *make(bool has_member)
{
	struct btf *btf = btf__new_empty();
	int integer, proto, aux;

	assert_non_null(btf);
	integer = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	assert_true(integer > 0);
	assert_true(btf__add_ptr(btf, integer) > 0);
	assert_true(btf__add_array(btf, integer, integer, 7) > 0);
	assert_true(btf__add_struct(btf, "maple_node", 8) > 0);
	assert_false(btf__add_field(btf, "parent", integer, 0, 0));
	assert_false(btf__add_field(btf, "slot", integer, 32, 0));
	assert_true(btf__add_union(btf, "maple_tree", 4) > 0); /* of another kind */
	assert_false(btf__add_field(btf, "a", integer, 0, 0));
	assert_true(btf__add_enum(btf, "e", 4) > 0);
	assert_false(btf__add_enum_value(btf, "one", 1));
	assert_true(btf__add_enum64(btf, "e64", 8, false) > 0);
	assert_false(btf__add_enum64_value(btf, "two", 2));
	assert_true(btf__add_fwd(btf, "return_consumer", BTF_FWD_STRUCT) > 0);
	assert_true(btf__add_typedef(btf, "t", integer) > 0);
	assert_true(btf__add_volatile(btf, integer) > 0);
	assert_true(btf__add_const(btf, integer) > 0);
	assert_true(btf__add_restrict(btf, integer) > 0);
	assert_true(btf__add_float(btf, "float", 4) > 0);
	assert_true(btf__add_type_tag(btf, "user", integer) > 0);
	proto = btf__add_func_proto(btf, integer);
	assert_true(proto > 0);
	assert_false(btf__add_func_param(btf, "x", integer));
	aux = btf__add_var(btf, "v", BTF_VAR_STATIC, integer);
	assert_true(aux > 0);
	assert_true(btf__add_decl_tag(btf, "tag", aux, -1) > 0);
	assert_true(btf__add_datasec(btf, ".data", 4) > 0);
	assert_false(btf__add_datasec_var_info(btf, aux, 0, 4));
	aux = btf__add_struct(btf, "bpf_prog_aux", 8);
	assert_true(aux > 0);
	assert_false(btf__add_field(btf, "ops", integer, 0, 0));
	if (has_member)
		assert_false(btf__add_field(btf, "jits_use_priv_stack", integer, 32, 0));
	assert_true(btf__add_func(btf, "bpf_session_cookie", BTF_FUNC_STATIC, proto) > 0);
	assert_true(btf__add_func(btf, "bpf_session_cookie", BTF_FUNC_STATIC, proto) > 0);
	return btf;
}

static void test_types_are_found_as_by_libbpf(void **state)
{
	struct btf *btf = make(true);
	struct kernel_types types;
	uint32_t size;
	const void *bytes = btf__raw_data(btf, &size);

	(void)state;
	kernel_types_find(bytes, size, &types);
	assert_int_equal(types.ids[KERNEL_SESSION_WORD],
			 btf__find_by_name_kind(btf, "bpf_session_cookie", BTF_KIND_FUNC));
	assert_int_equal(types.ids[KERNEL_BORROWED_STACKS],
			 btf__find_by_name_kind(btf, "bpf_prog_aux", BTF_KIND_STRUCT));
	assert_int_equal(types.ids[KERNEL_MAPLE_TREE], 0);
	assert_int_equal(types.ids[KERNEL_SESSIONS], 0);
	assert_int_equal(types.ids[KERNEL_CASTS], 0);
	btf__free(btf);
}

static void test_structure_without_the_member_is_not_found(void **state)
{
	struct btf *btf = make(false);
	struct kernel_types types;
	uint32_t size;
	const void *bytes = btf__raw_data(btf, &size);

	(void)state;
	kernel_types_find(bytes, size, &types);
	assert_int_equal(types.ids[KERNEL_BORROWED_STACKS], 0);
	assert_int_not_equal(types.ids[KERNEL_SESSION_WORD], 0);
	btf__free(btf);
}

/* In memory of exactly this size, so that sanitizers detect reads beyond it. */
static void find_in_copy(const uint8_t *bytes, uint32_t size, struct kernel_types *ret_types)
{
	uint8_t *copy = malloc(size ? size : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	kernel_types_find(copy, size, ret_types);
	free(copy);
}

static void test_truncated_btf_has_no_types(void **state)
{
	const struct kernel_types none = {0};
	struct btf *btf = make(true);
	struct kernel_types types;
	uint32_t size;
	const uint8_t *bytes = btf__raw_data(btf, &size);

	(void)state;
	for (uint32_t cut = 0; cut < size; cut++) {
		find_in_copy(bytes, cut, &types);
		assert_memory_equal(&types, &none, sizeof(none));
	}
	btf__free(btf);
}

static void test_damaged_btf_does_not_crash(void **state)
{
	struct btf *btf = make(true);
	struct kernel_types types;
	uint32_t size;
	const uint8_t *bytes = btf__raw_data(btf, &size);
	uint8_t *wrong = malloc(size);

	(void)state;
	assert_non_null(wrong);
	for (uint32_t i = 0; i < size; i++) {
		for (int bit = 0; bit < 8; bit++) {
			memcpy(wrong, bytes, size);
			wrong[i] ^= (uint8_t)(1 << bit);
			find_in_copy(wrong, size, &types);
		}
	}
	free(wrong);
	btf__free(btf);
}

static void test_types_of_the_running_kernel_are_found_as_by_libbpf(void **state)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct kernel_types types;
	int word = 0, casts = 0;

	(void)state;
	if (btf) {
		word = btf__find_by_name_kind(btf, "bpf_session_cookie", BTF_KIND_FUNC);
		casts = btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC);
	}
	kernel_types_read(&types);
	assert_int_equal(types.ids[KERNEL_SESSION_WORD], word > 0 ? word : 0);
	assert_int_equal(types.ids[KERNEL_CASTS], casts > 0 ? casts : 0);
	btf__free(btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types_are_found_as_by_libbpf),
		cmocka_unit_test(test_structure_without_the_member_is_not_found),
		cmocka_unit_test(test_truncated_btf_has_no_types),
		cmocka_unit_test(test_damaged_btf_does_not_crash),
		cmocka_unit_test(test_types_of_the_running_kernel_are_found_as_by_libbpf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
