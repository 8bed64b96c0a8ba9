/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mmap family. */
#ifndef MTRACE_MODEL_ACCOUNT_MAP_H
#define MTRACE_MODEL_ACCOUNT_MAP_H

#include "model/account/account.h"

extern const struct account account_map;

#endif
