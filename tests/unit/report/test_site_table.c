/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shell's tables of sites, compared with tests/golden; UPDATE_GOLDEN=1 rewrites those files.
 * Run from the root of the tree.
 */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/event.h"
#include "report/common/table.h"
#include "report/site/card.h"
#include "report/site/table.h"
#include "tests/golden/snapshots.h"
#include "tests/unit/golden.h"

#define ROWS_MAX 64

struct picture {
	struct page page;
	char *text;
	size_t size;
};

static void picture_open(struct picture *picture, size_t width, bool color, bool utf8)
{
	*picture = (struct picture){
		.page = {.width = width, .limit = width, .color = color, .utf8 = utf8}};
	picture->page.out.file = open_memstream(&picture->text, &picture->size);
	assert_non_null(picture->page.out.file);
}

static char *picture_close(struct picture *picture)
{
	assert_int_equal(page_finish(&picture->page), 0);
	fclose(picture->page.out.file);
	return picture->text;
}

/* Every site of the snapshot, with made-up changes. */
static size_t rows_of(const struct snapshot *snapshot, struct site_row rows[ROWS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < snapshot->process_count; i++)
		for (size_t j = 0; j < snapshot->processes[i].site_count && count < ROWS_MAX; j++)
			rows[count++] = (struct site_row){
				.process = &snapshot->processes[i],
				.site = &snapshot->processes[i].sites[j],
				.bytes = j % 3 ? (j % 3 == 1 ? 4096 : -100) : 0,
				.blocks = j % 3 ? (j % 3 == 1 ? 2 : -1) : 0,
				.calls = j,
			};
	return count;
}

static char *table_text_of(const struct snapshot *snapshot, struct site_table_options look,
			   size_t width, bool color, bool utf8)
{
	struct site_row rows[ROWS_MAX];
	size_t count = rows_of(snapshot, rows);
	struct picture picture;

	look.now_ns = snapshot->taken_ns;
	picture_open(&picture, width, color, utf8);
	site_table_write(&picture.page, rows, count, &look);
	return picture_close(&picture);
}

static void test_tables(void **state)
{
	(void)state;
	check_golden_text(table_text_of(&leaky_snapshot,
					(struct site_table_options){.sort = SORT_USAGE}, 80, false,
					true),
			  "shell-leaky.txt");
	check_golden_text(table_text_of(&server_snapshot,
					(struct site_table_options){.sort = SORT_AVERAGE}, 160,
					false, true),
			  "shell-server-wide.txt");
	check_golden_text(table_text_of(&server_snapshot,
					(struct site_table_options){.several = true}, 40, false,
					false),
			  "shell-server-narrow.txt");
	check_golden_text(table_text_of(&build_snapshot,
					(struct site_table_options){.several = true}, 100, true,
					true),
			  "shell-build-color.txt");
}

static void test_cards(void **state)
{
	struct site_table_options look = {.now_ns = leaky_snapshot.taken_ns};
	struct picture picture;

	(void)state;
	picture_open(&picture, 80, false, true);
	site_card_write(&picture.page, &leaky[0], &leaky_sites[0], &look, false);
	site_card_write(&picture.page, &leaky[0], &leaky_sites[2], &look, true);
	check_golden_text(picture_close(&picture), "shell-site.txt");
}

/* No line is wider than the terminal, and no control characters of the target reach it. */
static void test_properties(void **state)
{
	static const struct snapshot *const snapshots[] = {&leaky_snapshot, &server_snapshot,
							   &build_snapshot, &hostile_snapshot};

	(void)state;
	for (size_t i = 0; i < COUNT(snapshots); i++) {
		for (uint32_t width = 20; width < 220; width += 7) {
			struct format_options options = {.width = width, .utf8 = width & 1};
			struct site_table_options look = {
				.several = width & 2,
				.leaks = width & 4,
				.sort = (enum sort_key)(width % SORT_COUNT)};
			char *text = table_text_of(snapshots[i], look, width, false, options.utf8);

			check_lines(text, &options);
			check_bytes(text, &options);
			free(text);
		}
	}
}

/* ---- tables ---- */

static void test_columns(void **state)
{
	static const struct table_column columns[] = {{.title = "a", .right = true},
						      {.title = "empty"},
						      {.title = "names", .flexible = true},
						      {.title = "gone", .rank = 2},
						      {.title = "last", .rank = 1}};
	struct picture picture;
	struct table table;
	char *text;

	(void)state;
	picture_open(&picture, 44, false, false);
	table_open(&table, &picture.page, columns, COUNT(columns));
	table_cell(&table, STYLE_PLAIN, "%d", 12345);
	table_empty(&table);
	table_text(&table, STYLE_PLAIN, "a name that is much too long for this");
	table_text(&table, STYLE_PLAIN, "1234567890");
	table_text(&table, STYLE_PLAIN, "end");
	table_cell(&table, STYLE_PLAIN, "%d", 1);
	table_empty(&table);
	table_empty(&table);
	table_empty(&table);
	table_text(&table, STYLE_PLAIN, "end");
	table_close(&table);
	text = picture_close(&picture);
	assert_string_equal(text, "      a  names                          last\n"
				  "  12345  a name tha...oo long for this  end\n"
				  "      1                                 end\n");
	free(text);
}

static void test_no_rows(void **state)
{
	struct picture picture;
	struct site_table_options look = {0};
	char *text;

	(void)state;
	picture_open(&picture, 80, false, false);
	site_table_write(&picture.page, NULL, 0, &look);
	text = picture_close(&picture);
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),     cmocka_unit_test(test_cards),
		cmocka_unit_test(test_properties), cmocka_unit_test(test_columns),
		cmocka_unit_test(test_no_rows),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
