/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions with many shapes of frames, compiled for other machines and compared. */
#include <alloca.h>
#include <stdarg.h>
#include <string.h>

int outside(int number);
void outside_pointer(void *pointer);

int leaf(int number)
{
	return number * 3 + 1;
}

int leaf_with_frame(int number)
{
	volatile int words[10];

	words[number % 10] = number;
	return words[3];
}

int caller(int number)
{
	return outside(number) + 1;
}

int tail(int number)
{
	return outside(number + 1);
}

int late(int number) /* saves registers as late as possible */
{
	if (number < 5)
		return number;
	return outside(number) + outside(number + 1);
}

int many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j)
{
	int sum = outside(a) * outside(b);

	for (int n = 0; n < c; n++)
		sum += outside(d + n) * e + outside(f) * g - outside(h) * i + (j ^ a);
	return sum + a + b + c + d + e + f + g + h;
}

int variadic(const char *format, ...)
{
	va_list list;
	int sum = 0;

	va_start(list, format);
	while (*format++)
		sum += outside(va_arg(list, int));
	va_end(list);
	return sum;
}

int variadic_three(int a, int b, int c, ...)
{
	va_list list;
	int sum;

	va_start(list, c);
	sum = outside(va_arg(list, int)) + a + b;
	va_end(list);
	return sum;
}

void dynamic(int size)
{
	char *bytes = alloca((size_t)size);

	outside_pointer(bytes);
	if (size > 7)
		outside(size);
}

int dynamic_many(int size, int a, int b)
{
	int sum = 0;

	for (int i = 0; i < size; i++) {
		char bytes[size + i];

		outside_pointer(bytes);
		sum += bytes[0] * a + outside(b) * i;
	}
	return sum;
}

void big(void)
{
	char bytes[1500];

	outside_pointer(bytes);
}

int bigger(int a, int b)
{
	char bytes[100000];

	outside_pointer(bytes);
	return outside(a) + outside(b) * a;
}

struct many_words {
	long words[300];
};
long outside_struct(struct many_words words);

long arguments(const struct many_words *from) /* a large frame, both at its start and at its end */
{
	char bytes[5000];

	outside_pointer(bytes);
	return outside_struct(*from) + outside(bytes[0]);
}

double floating(double a, double b, double c)
{
	double sum = a * outside(1) + b * outside(2);

	return sum + c * outside(3) * a + b;
}

int choose(int which, int number)
{
	switch (which) {
	case 0:
		return outside(1);
	case 1:
		return outside(number) + 4;
	case 2:
		return leaf_with_frame(number) + outside(3);
	case 3:
		dynamic(number);
		return 5;
	case 4:
		return many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
	case 5:
		return (int)floating(1, 2, number);
	}
	return -1;
}

int pointer(int (*callee)(int), int number)
{
	return callee(callee(number)) + 1;
}

long long wide(long long a, long long b)
{
	return a / b + outside((int)b) % (a + 1);
}

__attribute__((noreturn)) void outside_end(int status);

int checked(int number)
{
	if (number == 77)
		outside_end(number);
	return outside(number) + 2;
}

int aligned(int number)
{
	int words[8] __attribute__((aligned(64)));

	outside_pointer(words);
	return words[number] + outside(number);
}

int recursive(int number)
{
	return number ? recursive(number - 1) + outside(number) : 0;
}

/* Thumb code reaches the constant through a pool between its instructions. */
int constants(int number)
{
	return outside(number ^ 0x12345678) + outside(number + 0x7bcdef01) * 0x3456789;
}

int by_value(struct many_words words)
{
	return outside((int)words.words[9]) + 1;
}
