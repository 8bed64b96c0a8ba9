-- SPDX-License-Identifier: GPL-2.0-or-later
-- Calls libc's malloc from interpreted code, from JIT-compiled code, and from callbacks of qsort.
-- Prints the number of blocks; each has 50000 bytes.
local ffi = require("ffi")

ffi.cdef [[
void *malloc(size_t);
void free(void *);
void qsort(void *, size_t, size_t, int (*)(const int *, const int *));
]]

local taken = 0

local function take()
	ffi.C.free(ffi.C.malloc(50000))
	taken = taken + 1
	return taken
end

local function descend(depth)
	if depth > 0 then
		return descend(depth - 1) + 1
	end
	return take()
end

for i = 1, 2000 do
	descend(i % 9)
end

local numbers = ffi.new("int[5]", {3, 1, 2, 0, 4})
ffi.C.qsort(numbers, 5, ffi.sizeof("int"), function(a, b)
	descend(2)
	return a[0] - b[0]
end)
print(taken)
