/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same with exceptions: functions with a personality routine, and landing pads. */
int outside(int number);

struct owner {
	int number;
	explicit owner(int n) : number(outside(n))
	{
	}
	~owner()
	{
		outside(number);
	}
	virtual int ask(int n)
	{
		return outside(n + number);
	}
};

struct heir : owner {
	char bytes[2000];
	explicit heir(int n) : owner(n)
	{
		bytes[0] = static_cast<char>(n);
	}
	int ask(int n) override
	{
		return owner::ask(n) + bytes[n];
	}
};

int catches(int n)
{
	try {
		owner one(n);
		heir two(n + 1);

		return one.ask(two.ask(n)) + outside(n);
	} catch (int code) {
		return code;
	} catch (...) {
		outside(n);
		throw;
	}
}

int throws(int n)
{
	owner one(n);

	if (n == 3)
		throw n;
	return one.ask(n) + 1;
}

int nothing(int n) noexcept
{
	return outside(n) + outside(n + 1);
}

template <typename F> static int apply(F callee, int n)
{
	return callee(n) + callee(n + 1);
}

int lambda(int n)
{
	heir one(n);

	return apply([&](int m) { return one.ask(m) + n; }, n);
}
