/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampling: which allocations are reported, and how many each of them represents.
 *
 * Every allocated byte is hit with a small probability, once in `mean` bytes on average, and a call
 * is reported if one of its bytes is hit. So a call of s bytes is reported with p = 1 - exp(-s /
 * mean), independently of other calls. (A countdown of bytes that is redrawn from the exponential
 * distribution at each hit is equivalent, as that has no memory; but it is state that threads must
 * share or have one each.) A reported call then represents 1 / p calls and s / p bytes, which is
 * unbiased (Horvitz and Thompson, 1952) whatever the sizes are.
 *
 * BPF has no floating point. p is computed in units of 2^-64, by the same code for the decision and
 * for the weight: a rounding error changes the probability of a report and its weight alike. Uses
 * no BPF helper.
 */
#ifndef MTRACE_BPF_SAMPLE_H
#define MTRACE_BPF_SAMPLE_H

#include "bpf/abi.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif

/* s / mean is a fixed-point number with 5 integer and 59 fractional bits. */
#define SAMPLE_POINT    59
#define SAMPLE_CERTAIN  32 /* from this many means on, always report: exp(-32) is 1e-14 */
#define SAMPLE_STEP     6  /* bits of s / mean per table */
#define SAMPLE_TABLE    (1u << SAMPLE_STEP)
#define SAMPLE_ALWAYS   (~(abi_u64)0) /* p is 1 */
#define SAMPLE_MEAN_MAX ((abi_u64)1 << 40)

/* exp(-i / 2) and exp(-i / 128), in units of 2^-64. */
static const abi_u64 sample_coarse[SAMPLE_TABLE] = {
	0xffffffffffffffffULL, 0x9b4597e37cb04ff3ULL, 0x5e2d58d8b3bcdf1aULL, 0x391f0ee496b83ac8ULL,
	0x22a555477f03973fULL, 0x150385c094f424a7ULL, 0x0cbed86667585764ULL, 0x07bb0406393fd97dULL,
	0x04b0556e084f3d1dULL, 0x02d80a08d2b882e7ULL, 0x01b993fe00d53761ULL, 0x010bd4a5aca77287ULL,
	0x00a2728f889ea6aeULL, 0x006287862a553fe9ULL, 0x003bc2d73849531dULL, 0x00243f37481e63a9ULL,
	0x0015fc21041027acULL, 0x000d55a1fd9ca050ULL, 0x0008167912932a2cULL, 0x0004e7ce295263f8ULL,
	0x0002f9af36ac8f93ULL, 0x0001cdfc263f6a0bULL, 0x000118354238f676ULL, 0x0000a9f46bb3c058ULL,
	0x0000671530ed0ef2ULL, 0x00003e85da7ed1cdULL, 0x000025ec0a77303bULL, 0x000017003974e945ULL,
	0x00000df3637ed80bULL, 0x00000876281e934bULL, 0x00000521d72889fbULL, 0x0000031ce2700ee2ULL,
	0x000001e355bbaee8ULL, 0x00000125284d838eULL, 0x000000b1cf18bad3ULL, 0x0000006bd8ba49f1ULL,
	0x00000041698a31a6ULL, 0x00000027acaeedb0ULL, 0x000000181056ff2cULL, 0x0000000e986f5af8ULL,
	0x00000008da432af9ULL, 0x000000055e8ebfbbULL, 0x0000000341b61a1bULL, 0x00000001f9abe68bULL,
	0x0000000132b48bf1ULL, 0x00000000ba06b15dULL, 0x0000000070d49f90ULL, 0x00000000446f68ddULL,
	0x0000000029820f1fULL, 0x00000000192d07d6ULL, 0x000000000f451bd2ULL, 0x000000000942fe88ULL,
	0x00000000059e14a9ULL, 0x0000000003683d73ULL, 0x0000000002110a53ULL, 0x000000000140e111ULL,
	0x0000000000c29f80ULL, 0x0000000000760b7bULL, 0x000000000047990aULL, 0x00000000002b6d20ULL,
	0x00000000001a56e0ULL, 0x00000000000ff9c3ULL, 0x000000000009b090ULL, 0x000000000005e08aULL,
};
static const abi_u64 sample_fine[SAMPLE_TABLE] = {
	0xffffffffffffffffULL, 0xfe01feab551127cbULL, 0xfc07f55ff77d2493ULL, 0xfa11dc35bf73c89eULL,
	0xf81fab5445aebc8aULL, 0xf6315af2c40fd7bdULL, 0xf446e357f67dfd8eULL, 0xf2603cd9fc00028eULL,
	0xf07d5fde38151e72ULL, 0xee9e44d9344a6feaULL, 0xecc2e44e820d18c3ULL, 0xeaeb36d09cb879a6ULL,
	0xe9173500cbe0159aULL, 0xe746d78f05d4a680ULL, 0xe57a1739d263ec94ULL, 0xe3b0ecce2dd2c3fcULL,
	0xe1eb51276c110c3cULL, 0xe0293d2f1c26ee74ULL, 0xde6aa9dcebdb100bULL, 0xdcaf90368b91406aULL,
	0xdaf7e94f9261313dULL, 0xd943ae496264c997ULL, 0xd792d8530d3da531ULL, 0xd5e560a938d151d8ULL,
	0xd43b4096043bde02ULL, 0xd2947170ecf84c4aULL, 0xd0f0ec9eb43e8078ULL, 0xcf50ab9144963b9aULL,
	0xcdb3a7c7979ebd5cULL, 0xcc19dacd9c0aa1dfULL, 0xca833e3c1bcf93e9ULL, 0xc8efcbb8a2896c2bULL,
	0xc75f7cf564105743ULL, 0xc5d24bb123419caaULL, 0xc44831b718faa1d9ULL, 0xc2c128dedb45c577ULL,
	0xc13d2b0c44b8af4aULL, 0xbfbc322f5c03b26aULL, 0xbe3e38443bb1dfefULL, 0xbcc33752fa196913ULL,
	0xbb4b296f917bf09aULL, 0xb9d608b9c8566bf1ULL, 0xb863cf5d19e0354eULL, 0xb6f477909eb8f0c5ULL,
	0xb587fb96f5c4e712ULL, 0xb41e55be2d377982ULL, 0xb2b7805fabcb5327ULL, 0xb15375e01a27fc3fULL,
	0xaff230af4c747553ULL, 0xae93ab482c16806aULL, 0xad37e030a19e3f45ULL, 0xabdec9f97eddce4fULL,
	0xaa88633e692c84abULL, 0xa934a6a5c3d5825eULL, 0xa7e38ee09ab13658ULL, 0xa69516aa8ce986c6ULL,
	0xa54938c9b7e846b1ULL, 0xa3fff00ea26fa4abULL, 0xa2b9375427dc3ef5ULL, 0xa175097f63908a0eULL,
	0xa033617f9c893772ULL, 0x9ef43a4e311a4acbULL, 0x9db78eee82d48c8cULL, 0x9c7d5a6de2930992ULL,
};

static __always_inline abi_u64 sample_mean_at(abi_u64 mean, abi_u32 level)
{
	return level > 40 || mean > SAMPLE_MEAN_MAX >> level ? SAMPLE_MEAN_MAX : mean << level;
}

/* `mean` is 1 to SAMPLE_MEAN_MAX bytes. */
static __always_inline struct sample_rate sample_rate_of(abi_u64 mean)
{
	return (struct sample_rate){((abi_u64)1 << SAMPLE_POINT) / mean, mean * SAMPLE_CERTAIN};
}

/* The upper half of a product. */
static __always_inline abi_u64 sample_multiply(abi_u64 a, abi_u64 b)
{
	abi_u64 a_low = (abi_u32)a, a_high = a >> 32, b_low = (abi_u32)b, b_high = b >> 32;
	abi_u64 middle = a_high * b_low + (a_low * b_low >> 32);
	abi_u64 other = a_low * b_high + (abi_u32)middle;

	return a_high * b_high + (middle >> 32) + (other >> 32);
}

/* s / mean, for less than rate->limit bytes. 0 bytes count as one, so that those are sampled,
 * too. */
static __always_inline abi_u64 sample_share(const struct sample_rate *rate, abi_u64 bytes)
{
	return (bytes ? bytes : 1) * rate->inverse;
}

/* 1 - exp(-share) = 1 - coarse * fine * exp(-rest), with a power series for exp(-rest) as rest < 1
 * / 128. */
static __always_inline abi_u64 sample_threshold(abi_u64 share)
{
	abi_u64 coarse = share >> (64 - SAMPLE_STEP);
	abi_u64 fine = share >> (64 - 2 * SAMPLE_STEP) & (SAMPLE_TABLE - 1);
	abi_u64 rest = (share & (SAMPLE_ALWAYS >> 2 * SAMPLE_STEP)) << (64 - SAMPLE_POINT);
	abi_u64 square = sample_multiply(rest, rest);
	abi_u64 cube = sample_multiply(square, rest);
	abi_u64 gone = rest - (square >> 1) + cube / 6; /* 1 - exp(-rest) */
	abi_u64 left;

	if (!(coarse | fine))
		return gone;
	left = sample_multiply(sample_coarse[coarse & (SAMPLE_TABLE - 1)],
			       sample_fine[fine & (SAMPLE_TABLE - 1)]);
	return ~left + 1 + sample_multiply(left, gone);
}

/* The probability p of a call, in units of 2^-64. */
static __always_inline abi_u64 sample_chance(const struct sample_rate *rate, abi_u64 bytes)
{
	return bytes >= rate->limit ? SAMPLE_ALWAYS : sample_threshold(sample_share(rate, bytes));
}

/* An upper bound of p, cheap to compute: enough to reject nearly all calls. */
static __always_inline abi_u64 sample_chance_most(abi_u64 share)
{
	return share >> SAMPLE_POINT ? SAMPLE_ALWAYS : share << (64 - SAMPLE_POINT);
}

#endif
