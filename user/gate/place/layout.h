/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gates map into a process, and where. */
#ifndef MTRACE_GATE_PLACE_LAYOUT_H
#define MTRACE_GATE_PLACE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* The path of the code in /proc/PID/maps. */
#define GATE_CODE_NAME "mtrace-gate"
#define GATE_CODE_PATH "/memfd:" GATE_CODE_NAME

/* Code (r-x), directly followed by data (rw-, private; zero in forked children). The sizes are in
 * bytes. code_size and data_size are multiples of the page size, and not 0. */
struct gate_image {
	uint64_t address; /* of the code; the data follows at address + code_size */
	const uint8_t *code;
	size_t code_size;
	const uint8_t *data;
	size_t data_filled; /* the first bytes of the data; the rest is zero */
	size_t data_size;
	uint64_t code_offset;  /* of the code in its file: behind all offsets of replaced pages
				  (gate/pages.h) */
	uint64_t parking_size; /* bytes behind the data for the program's own pages */
};

/* The address of the room for the program's pages. */
static inline uint64_t gate_image_parking(const struct gate_image *image)
{
	return image->address + image->code_size + image->data_size;
}

#endif
