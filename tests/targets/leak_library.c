/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that leak_places loads: places in it that hold blocks. */
void **leak_library_bss(void);
void **leak_library_data(void);
void **leak_library_tls(void);

static void *in_bss;
static void *in_data = &in_bss;
static __thread void *in_tls;

void **leak_library_bss(void)
{
	return &in_bss;
}

void **leak_library_data(void)
{
	return &in_data;
}

void **leak_library_tls(void)
{
	return &in_tls;
}
