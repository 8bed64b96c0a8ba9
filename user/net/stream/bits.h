/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bit fields in frames of a stream, for the reader and the writer only. */
#ifndef MTRACE_NET_STREAM_BITS_H
#define MTRACE_NET_STREAM_BITS_H

#define SETTING_WRAPPERS     0x01
#define SETTING_SANITY       0x02
#define SETTING_OMITS        0x04
#define SETTING_SCANS        0x08
#define SETTING_EXITS_UNSEEN 0x10

#define MODULE_ELF64      0x1
#define MODULE_BIG_ENDIAN 0x2
#define MODULE_EXECUTABLE 0x4

#define SCAN_LIVE 0x1

#endif
