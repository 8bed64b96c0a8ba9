/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

struct unit_suffix {
	const char *suffix;
	uint64_t factor;
};

static const struct unit_suffix byte_units[] = {
	{"", 1},           {"b", 1},          {"k", 1ULL << 10},
	{"m", 1ULL << 20}, {"g", 1ULL << 30}, {"t", 1ULL << 40},
};
static const struct unit_suffix duration_units[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", 1000000000ULL},
	{"m", 60000000000ULL},
	{"h", 3600000000000ULL},
};

#define UNIT_COUNT(units) (sizeof(units) / sizeof((units)[0]))

static int digits_parse(const char *text, char **ret_end, uint64_t *ret_number)
{
	unsigned long long number;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	number = strtoull(text, ret_end, 10);
	if (errno)
		return -errno;
	*ret_number = number;
	return 0;
}

static int unit_parse(const char *text, const struct unit_suffix *units, size_t count,
		      uint64_t *ret)
{
	uint64_t number;
	char *suffix;
	int err = digits_parse(text, &suffix, &number);

	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(suffix, units[i].suffix))
			continue;
		return __builtin_mul_overflow(number, units[i].factor, ret) ? -ERANGE : 0;
	}
	return -EINVAL;
}

int bytes_parse(const char *text, uint64_t *ret_bytes)
{
	return unit_parse(text, byte_units, UNIT_COUNT(byte_units), ret_bytes);
}

int duration_parse(const char *text, uint64_t *ret_ns)
{
	return unit_parse(text, duration_units, UNIT_COUNT(duration_units), ret_ns);
}

int number_parse(const char *text, uint64_t max, uint64_t *ret_number)
{
	uint64_t number;
	char *end;
	int err = digits_parse(text, &end, &number);

	if (err)
		return err;
	if (*end)
		return -EINVAL;
	if (number > max)
		return -ERANGE;
	*ret_number = number;
	return 0;
}

const char *bytes_format(uint64_t bytes, char text[UNITS_TEXT_SIZE])
{
	static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1023.95 && unit + 1 < UNIT_COUNT(names)) {
		value /= 1024;
		unit++;
	}
	snprintf(text, UNITS_TEXT_SIZE, unit ? "%.1f %s" : "%.0f %s", value, names[unit]);
	return text;
}

const char *count_format(uint64_t count, char text[UNITS_TEXT_SIZE])
{
	char digits[UNITS_TEXT_SIZE];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	char *out = text;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return text;
}

const char *duration_format(uint64_t ns, char text[UNITS_TEXT_SIZE])
{
	uint64_t seconds = ns / 1000000000;

	if (ns < 1000000)
		snprintf(text, UNITS_TEXT_SIZE, "%" PRIu64 " µs", ns / 1000);
	else if (seconds < 1)
		snprintf(text, UNITS_TEXT_SIZE, "%" PRIu64 " ms", ns / 1000000);
	else if (seconds < 60)
		snprintf(text, UNITS_TEXT_SIZE, "%.1f s", (double)(ns / 100000000) / 10);
	else if (seconds < 3600)
		snprintf(text, UNITS_TEXT_SIZE, "%" PRIu64 "m %" PRIu64 "s", seconds / 60,
			 seconds % 60);
	else
		snprintf(text, UNITS_TEXT_SIZE, "%" PRIu64 "h %" PRIu64 "m", seconds / 3600,
			 seconds / 60 % 60);
	return text;
}
