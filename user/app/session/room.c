/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/session/room.h"

#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "model/model.h"
#include "os/memory/limit.h"
#include "os/memory/resident.h"
#include "os/process/proc.h"

#define PERIOD_NS   1000000000ULL
#define MODEL_LEAST (1u << 20)

/* Returns how many bytes we may use in addition to what we use now. */
static uint64_t bytes_left(const struct room *room)
{
	uint64_t resident = 0;

	if (!room->max_memory)
		return memory_left();
	if (resident_bytes(getpid(), &resident) || resident > room->max_memory)
		return 0;
	return room->max_memory - resident;
}

static void warn(struct room *room, const struct model *model, uint64_t left)
{
	char bytes[UNITS_TEXT_SIZE];

	if (room->warned || !model_limit_mean(model))
		return;
	room->warned = true;
	log_warn("%s%s%s: from now on, only a sample of new blocks is kept, so all figures are "
		 "estimates",
		 room->max_memory ? "the limit of --max-memory is near (" : "memory is short (",
		 bytes_format(room->max_memory ? room->max_memory : left, bytes),
		 room->max_memory ? ")" : " left)");
}

/* Half of what is left is for the model; reports, leak scans and names need the rest. */
void room_measure(struct room *room, struct model *model)
{
	uint64_t now_ns = clock_now_ns(), left, most;

	if (room->measured_ns && now_ns - room->measured_ns < PERIOD_NS)
		return;
	room->measured_ns = now_ns;
	left = bytes_left(room);
	if (left == UINT64_MAX)
		return;
	most = model_bytes(model) + left / 2;
	model_set_limit(model, most < MODEL_LEAST ? MODEL_LEAST : most);
	warn(room, model, left);
}
