/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mmap family. */
#ifndef MTRACE_MODEL_UPDATE_MAP_H
#define MTRACE_MODEL_UPDATE_MAP_H

#include "model/update/update.h"

extern const struct update_ops update_map;

#endif
