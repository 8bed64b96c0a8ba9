/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/snapshot/date.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

enum date_field { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, MILLISECOND, DATE_FIELDS };

/* The fields in the order of the text, each with the character after it. */
static const struct {
	unsigned int digits, least, most;
	char after;
} fields[DATE_FIELDS] = {
	[YEAR] = {4, DATE_FIRST_YEAR, DATE_LAST_YEAR, '-'},
	[MONTH] = {2, 1, 12, '-'},
	[DAY] = {2, 1, 31, 'T'},
	[HOUR] = {2, 0, 23, ':'},
	[MINUTE] = {2, 0, 59, ':'},
	[SECOND] = {2, 0, 59, '.'},
	[MILLISECOND] = {3, 0, 999, 'Z'},
};

static const unsigned int days_before[] = {0,   31,  59,  90,  120, 151, 181,
					   212, 243, 273, 304, 334, 365};

static bool is_leap(unsigned int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static unsigned int month_days(unsigned int year, unsigned int month)
{
	return days_before[month] - days_before[month - 1] + (month == 2 && is_leap(year));
}

/* The number of leap years before the year. */
static unsigned int leaps_before(unsigned int year)
{
	return (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
}

static int64_t days_since_epoch(const unsigned int parts[DATE_FIELDS])
{
	unsigned int year = parts[YEAR], month = parts[MONTH];

	return (int64_t)(year - DATE_FIRST_YEAR) * 365 + leaps_before(year) -
	       leaps_before(DATE_FIRST_YEAR) + days_before[month - 1] +
	       (month > 2 && is_leap(year)) + parts[DAY] - 1;
}

/* Reads the digits of one field. Returns what follows them, or NULL. */
static const char *field_parse(const char *text, enum date_field field, unsigned int *ret_number)
{
	unsigned int number = 0;

	for (unsigned int i = 0; i < fields[field].digits; i++, text++) {
		if (*text < '0' || *text > '9')
			return NULL;
		number = number * 10 + (unsigned int)(*text - '0');
	}
	*ret_number = number;
	return number >= fields[field].least && number <= fields[field].most ? text : NULL;
}

int date_parse(const char *text, int64_t *ret_seconds, uint32_t *ret_ms)
{
	unsigned int parts[DATE_FIELDS] = {0};

	for (enum date_field field = 0; field < DATE_FIELDS; field++) {
		text = field_parse(text, field, &parts[field]);
		if (!text || *text++ != fields[field].after)
			return -EINVAL;
	}
	if (*text || parts[DAY] > month_days(parts[YEAR], parts[MONTH]))
		return -EINVAL;
	*ret_seconds = ((days_since_epoch(parts) * 24 + parts[HOUR]) * 60 + parts[MINUTE]) * 60 +
		       parts[SECOND];
	*ret_ms = parts[MILLISECOND];
	return 0;
}
