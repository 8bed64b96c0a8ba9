/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cxx [FAILURES]: every form of operator new and delete; then FAILURES times a new that throws and
 * is caught, and ordinary ones after that. If the program survives, it prints its line of truth.
 */
#include "truth.h"

#include <new>

/* 2^60, or half of a 32-bit address space: a smaller size might be available there. */
static const size_t huge = sizeof(size_t) == 8 ? SIZE_MAX / 16 + 1 : SIZE_MAX / 2 + 1;
static const std::align_val_t aligned = std::align_val_t(64);

NOINLINE static struct block t_new(size_t size)
{
	BOOKED(operator new, size, ::operator new(size));
}

NOINLINE static struct block t_new_nothrow(size_t size)
{
	BOOKED(operator new, size, ::operator new(size, std::nothrow));
}

NOINLINE static struct block t_new_aligned(size_t size)
{
	BOOKED(operator new, size, ::operator new(size, aligned));
}

NOINLINE static struct block t_new_aligned_nothrow(size_t size)
{
	BOOKED(operator new, size, ::operator new(size, aligned, std::nothrow));
}

NOINLINE static struct block t_new_array(size_t size)
{
	BOOKED(operator new[], size, ::operator new[](size));
}

NOINLINE static struct block t_new_array_nothrow(size_t size)
{
	BOOKED(operator new[], size, ::operator new[](size, std::nothrow));
}

NOINLINE static struct block t_new_array_aligned(size_t size)
{
	BOOKED(operator new[], size, ::operator new[](size, aligned));
}

NOINLINE static struct block t_new_array_aligned_nothrow(size_t size)
{
	BOOKED(operator new[], size, ::operator new[](size, aligned, std::nothrow));
}

NOINLINE static bool t_new_throws(size_t size)
{
	SITE("operator new");
	try {
		truth_allocated(&site, size, ::operator new(truth_opaque(size)));
		return false;
	} catch (const std::bad_alloc &) {
		truth_allocated(&site, size, NULL);
		return true;
	}
}

/* Each form of delete, with the allocating function that it belongs to. */

static void delete_plain(struct block block)
{
	::operator delete(block.address);
}

static void delete_sized(struct block block)
{
	::operator delete(block.address, block.size);
}

static void delete_nothrow(struct block block)
{
	::operator delete(block.address, std::nothrow);
}

static void delete_aligned(struct block block)
{
	::operator delete(block.address, aligned);
}

static void delete_sized_aligned(struct block block)
{
	::operator delete(block.address, block.size, aligned);
}

static void delete_aligned_nothrow(struct block block)
{
	::operator delete(block.address, aligned, std::nothrow);
}

static void delete_array(struct block block)
{
	::operator delete[](block.address);
}

static void delete_array_sized(struct block block)
{
	::operator delete[](block.address, block.size);
}

static void delete_array_nothrow(struct block block)
{
	::operator delete[](block.address, std::nothrow);
}

static void delete_array_aligned(struct block block)
{
	::operator delete[](block.address, aligned);
}

static void delete_array_sized_aligned(struct block block)
{
	::operator delete[](block.address, block.size, aligned);
}

static void delete_array_aligned_nothrow(struct block block)
{
	::operator delete[](block.address, aligned, std::nothrow);
}

static const struct {
	struct block (*allocate)(size_t size);
	void (*release)(struct block block);
} forms[] = {
	{t_new, delete_plain},
	{t_new, delete_sized},
	{t_new_nothrow, delete_nothrow},
	{t_new_aligned, delete_aligned},
	{t_new_aligned, delete_sized_aligned},
	{t_new_aligned_nothrow, delete_aligned_nothrow},
	{t_new_array, delete_array},
	{t_new_array, delete_array_sized},
	{t_new_array_nothrow, delete_array_nothrow},
	{t_new_array_aligned, delete_array_aligned},
	{t_new_array_aligned, delete_array_sized_aligned},
	{t_new_array_aligned_nothrow, delete_array_aligned_nothrow},
};

/*
 * libstdc++ rounds the size of an aligned new up to a multiple of the alignment, and requests that
 * size from the allocator. These are the bytes that a tracer of the allocator sees in addition.
 */
static size_t rounding, live_rounding;

static size_t rounding_of(struct block (*allocate)(size_t size), size_t size)
{
	bool is_aligned = allocate == t_new_aligned || allocate == t_new_aligned_nothrow ||
			  allocate == t_new_array_aligned ||
			  allocate == t_new_array_aligned_nothrow;

	return is_aligned ? -size % (size_t)aligned : 0;
}

static void every_form()
{
	for (const auto &form : forms) {
		for (size_t size = 10; size < 15; size++) {
			struct block block = form.allocate(size);

			rounding += rounding_of(form.allocate, size);
			truth_freed(block);
			form.release(block);
		}
		form.allocate(100);
		rounding += rounding_of(form.allocate, 100);
		live_rounding += rounding_of(form.allocate, 100);
	}
}

int main(int argc, char **argv)
{
	int failures = argc > 1 ? atoi(argv[1]) : 100;
	char extra[96];

	every_form();
	for (int i = 0; i < failures; i++)
		if (!t_new_throws(huge))
			return 3;
	if (failures && (t_new_nothrow(truth_opaque(huge)).address ||
			 t_new_aligned_nothrow(truth_opaque(huge)).address))
		return 4;
	every_form();
	snprintf(extra, sizeof(extra), ",\"rounding\":%zu,\"live_rounding\":%zu", rounding,
		 live_rounding);
	truth_tell(STDOUT_FILENO, extra);
	return 0;
}
