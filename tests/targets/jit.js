// SPDX-License-Identifier: GPL-2.0-or-later
// Allocates in native code that is called from interpreted and from compiled code.
"use strict";

function leaf(size) {
	return Buffer.allocUnsafeSlow(50000 + size % 7).length;
}

function middle(size) {
	let sum = 0;
	for (let i = 0; i < 20; i++)
		sum += leaf(size + i);
	return sum;
}

let total = 0;
for (let i = 0; i < 300; i++)
	total += middle(i);
console.log([3, 1, 2].sort((a, b) => leaf(a) - leaf(b)).length + total);
