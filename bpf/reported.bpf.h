/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that alloc_filter.bpf.h requires: which calls to report, and the table of reported
 * blocks. */
#ifndef MTRACE_BPF_REPORTED_BPF_H
#define MTRACE_BPF_REPORTED_BPF_H

/* The sampling rates, by level. */
const volatile struct sample_rate config_rates[SAMPLE_LEVELS] = {};
__u32 sample_drawn; /* the current sampling level + 1; 0: no sampling */

#define REPORTED_PAGE 4096

struct reported_page {
	__u8 bytes[REPORTED_PAGE];
};

/* User space reduces its size if it is not needed. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REPORTED_BYTES / REPORTED_PAGE);
	__type(key, __u32);
	__type(value, struct reported_page);
} reported SEC(".maps");

static __always_inline int filters_calls(void)
{
	return config_filters_calls;
}

static __always_inline int is_size_wanted(__u64 bytes)
{
	return (bytes >= config_min_size && bytes <= config_max_size) || self_testing;
}

static __always_inline __u32 sample_now(void)
{
	return config_sample ? sample_drawn : 0;
}

static __always_inline struct sample_rate sample_rate_at(__u32 level)
{
	const volatile struct sample_rate *rate = &config_rates[level & (SAMPLE_LEVELS - 1)];

	return (struct sample_rate){rate->inverse, rate->limit};
}

static __always_inline __u32 random_word(void)
{
	return bpf_get_prandom_u32();
}

static __always_inline __u8 *reported_byte_at(__u32 number)
{
	__u32 page = number / REPORTED_PAGE;
	struct reported_page *bytes = bpf_map_lookup_elem(&reported, &page);

	return bytes ? &bytes->bytes[number & (REPORTED_PAGE - 1)] : NULL;
}

#endif
