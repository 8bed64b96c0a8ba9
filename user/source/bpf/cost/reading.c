/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/cost/reading.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

int cost_read(const struct bpf_program *program, struct cost_reading *reading)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return -errno;
	reading->runs += info.run_cnt;
	reading->ns += info.run_time_ns;
	return 0;
}
