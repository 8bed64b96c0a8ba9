/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leak_cases_cxx: the ways in which C++ references its blocks; see leak_truth.h. Compiled a second
 * time, as leak_cases_cxx_old, with the std::string from before C++11: a single pointer past a
 * header of length, capacity and references.
 */
#include "leak_truth.h"

#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#define TEXT 100 /* the length of a string that does not fit into the object */

#if _GLIBCXX_USE_CXX11_ABI
#define TEXT_BYTES (TEXT + 1)
#else
#define TEXT_BYTES ((long)(3 * sizeof(size_t)) + TEXT + 1)
#endif

#define BYTES(...) ((long)sizeof(__VA_ARGS__))

/* Static storage without a destructor call. The compiler must assume that it is read. */
template <class T> struct eternal {
	alignas(T) unsigned char bytes[sizeof(T)];

	template <class... Arguments> T &make(Arguments... arguments)
	{
		T *object = new (bytes) T(arguments...);

		__asm__ volatile("" : : "r"(object) : "memory");
		return *object;
	}
};

static std::string text()
{
	return std::string(TEXT, 'x');
}

/* Operators. */

CASE(new_lost, .definite = {1, SIZE})
{
	__asm__ volatile("" : : "r"(operator new(SIZE)));
}

CASE(new_held, .reachable = {1, SIZE})
{
	ROOT(root);

	root = (void **)operator new(SIZE);
}

CASE(new_aligned, .definite = {1, 256}, .reachable = {1, 256})
{
	ROOT(root);

	root = (void **)operator new(256, std::align_val_t(128));
	__asm__ volatile("" : : "r"(operator new(256, std::align_val_t(128))));
}

struct destroyed {
	long number = 7;
	~destroyed()
	{
		number = 0;
	}
};

/* The number of elements is stored first (on ARM, after their size). The pointer is to the element
 * after it. */
#ifdef __arm__
#define COOKIE (2 * (long)sizeof(size_t))
#else
#define COOKIE ((long)sizeof(size_t))
#endif

CASE(array_held, .reachable = {1, COOKIE + 10 * BYTES(destroyed)})
{
	static destroyed *volatile root __attribute__((unused));

	root = new destroyed[truth_opaque(10)];
}

CASE(array_lost, .definite = {1, COOKIE + 10 * BYTES(destroyed)})
{
	__asm__ volatile("" : : "r"(new destroyed[truth_opaque(10)]));
}

/* Strings. */

CASE(string_held, .reachable = {1, TEXT_BYTES})
{
	static eternal<std::string> root;

	root.make(text());
}

CASE(string_lost, .definite = {1, BYTES(std::string)}, .indirect = {1, TEXT_BYTES})
{
	new std::string(text());
}

CASE(string_in_tls, .reachable = {1, TEXT_BYTES})
{
	static thread_local eternal<std::string> root;

	root.make(text());
}

/* Containers. */

using strings = std::vector<std::string>;

CASE(vector_held, .reachable = {9, 8 * BYTES(std::string) + 8 * TEXT_BYTES})
{
	static eternal<strings> root;
	strings &held = root.make();

	held.reserve(8);
	for (int i = 0; i < 8; i++)
		held.push_back(text());
}

CASE(vector_lost, .definite = {1, BYTES(strings)},
     .indirect = {9, 8 * BYTES(std::string) + 8 * TEXT_BYTES})
{
	strings *lost = new strings;

	lost->reserve(8);
	for (int i = 0; i < 8; i++)
		lost->push_back(text());
}

/* The vector grows. Only its last buffer is live. */
CASE(vector_grown, .reachable = {1, 128 * (long)sizeof(long)})
{
	static eternal<std::vector<long>> root;
	std::vector<long> &held = root.make();

	for (int i = 0; i < 100; i++)
		held.push_back(i);
}

using map = std::map<long, std::string>;
using map_node = std::_Rb_tree_node<map::value_type>;

CASE(map_held, .reachable = {40, 20 * (BYTES(map_node) + TEXT_BYTES)})
{
	static eternal<map> root;
	map &held = root.make();

	for (int i = 0; i < 20; i++)
		held.emplace(i, text());
}

/* The nodes point back to the head, which is in the leaked object. */
CASE(map_lost, .definite = {1, BYTES(map)}, .indirect = {40, 20 * (BYTES(map_node) + TEXT_BYTES)})
{
	map *lost = new map;

	for (int i = 0; i < 20; i++)
		lost->emplace(i, text());
}

using list_node = std::_List_node<long>;

CASE(list_held, .reachable = {10, 10 * BYTES(list_node)})
{
	static eternal<std::list<long>> root;

	root.make(10, 5L);
}

CASE(list_lost, .definite = {1, BYTES(std::list<long>)}, .indirect = {10, 10 * BYTES(list_node)})
{
	new std::list<long>(10, 5L);
}

CASE(deque_held, .reachable = {ANY, ANY})
{
	static eternal<std::deque<long>> root;

	root.make(1000, 5L);
}

CASE(deque_lost, .definite = {1, BYTES(std::deque<long>)}, .indirect = {ANY, ANY})
{
	new std::deque<long>(1000, 5L);
}

CASE(hash_held, .reachable = {ANY, ANY})
{
	static eternal<std::unordered_map<long, long>> root;
	std::unordered_map<long, long> &held = root.make();

	for (long i = 0; i < 100; i++)
		held[i] = i;
}

CASE(hash_lost, .definite = {1, BYTES(std::unordered_map<long, long>)}, .indirect = {ANY, ANY})
{
	std::unordered_map<long, long> *lost = new std::unordered_map<long, long>;

	for (long i = 0; i < 100; i++)
		(*lost)[i] = i;
}

/* Smart pointers. */

struct node {
	std::shared_ptr<node> next;
	std::weak_ptr<node> back;
	long numbers[4] = {};
};

/* One block: the counters, followed by the node. */
using shared_node =
	std::_Sp_counted_ptr_inplace<node, std::allocator<void>, std::__default_lock_policy>;

CASE(unique_held, .reachable = {1, BYTES(node)})
{
	static eternal<std::unique_ptr<node>> root;

	root.make(new node);
}

CASE(shared_held, .reachable = {1, BYTES(shared_node)})
{
	static eternal<std::shared_ptr<node>> root;

	root.make(std::make_shared<node>());
}

CASE(shared_twice,
     .reachable = {2,
		   BYTES(node) + BYTES(std::_Sp_counted_ptr<node *, std::__default_lock_policy>)})
{
	static eternal<std::shared_ptr<node>> root;

	root.make(new node);
}

CASE(shared_cycle, .definite = {1, BYTES(shared_node)}, .indirect = {1, BYTES(shared_node)})
{
	std::shared_ptr<node> first = std::make_shared<node>();

	first->next = std::make_shared<node>();
	first->next->next = first;
}

CASE(shared_and_weak, .reachable = {2, 2 * BYTES(shared_node)})
{
	static eternal<std::shared_ptr<node>> root;
	std::shared_ptr<node> &held = root.make(std::make_shared<node>());

	held->next = std::make_shared<node>();
	held->next->back = held;
}

/* The node is destroyed; its memory stays until the last weak pointer is gone. */
CASE(weak_only, .reachable = {1, BYTES(shared_node)})
{
	static eternal<std::weak_ptr<node>> root;

	root.make(std::make_shared<node>());
}

/* A pointer into the block, past the counters. */
CASE(shared_by_its_node, .possible = {1, BYTES(shared_node)})
{
	static node *volatile root __attribute__((unused));
	eternal<std::shared_ptr<node>> lost;

	root = lost.make(std::make_shared<node>()).get();
}

/* Functions. */

CASE(function_held, .reachable = {1, 10 * (long)sizeof(long)})
{
	static eternal<std::function<long()>> root;
	struct {
		long numbers[10];
	} captured = {};

	root.make([captured]() { return captured.numbers[3]; });
}

/* Base classes. */

struct first_base {
	long first = 1;
	virtual ~first_base()
	{
	}
	virtual long one() const
	{
		return first;
	}
};

struct second_base {
	long second = 2;
	virtual ~second_base()
	{
	}
	virtual long two() const
	{
		return second;
	}
};

struct derived : first_base, second_base {
	long third = 3;
};

CASE(first_base_held, .reachable = {1, BYTES(derived)})
{
	static first_base *volatile root __attribute__((unused));

	root = new derived;
}

CASE(second_base_held, .reachable = {1, BYTES(derived)})
{
	static second_base *volatile root __attribute__((unused));

	root = new derived;
}

CASE(derived_lost, .definite = {1, BYTES(derived)})
{
	__asm__ volatile("" : : "r"(new derived));
}

struct left : virtual second_base {
	long left_number = 4;
};

struct right : virtual second_base {
	long right_number = 5;
};

struct diamond : left, right {
	long number = 6;
};

CASE(virtual_base_held, .reachable = {1, BYTES(diamond)})
{
	static second_base *volatile root __attribute__((unused));

	root = new diamond;
}

CASE(right_base_held, .reachable = {1, BYTES(diamond)})
{
	static right *volatile root __attribute__((unused));

	root = new diamond;
}

struct plain {
	long number = 8;
};

struct with_plain : first_base, plain {
};

/* Nothing distinguishes this from any other pointer into the object. */
CASE(plain_base_held, .possible = {1, BYTES(with_plain)})
{
	static plain *volatile root __attribute__((unused));

	root = new with_plain;
}

/* The object follows a header of the runtime. */
CASE(exception_held, .possible = {1, ANY})
{
	static eternal<std::exception_ptr> root;

	root.make(std::make_exception_ptr(7));
}

int main()
{
	leak_main();
}
