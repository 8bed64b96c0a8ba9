/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses JSON like a typical C++ program: `json ROUNDS` parses a document of about 2 MiB that many
 * times into a tree of nodes and frees it again.
 */
#include <cstdio>
#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

static std::string document()
{
	std::string text = "[";

	for (int i = 0; i < 10000; i++)
		text += (i ? ",{\"id\":" : "{\"id\":") + std::to_string(i) +
			",\"name\":\"somebody with a name of some length\",\"tags\":[\"one\","
			"\"another, longer than a short string\",null,true],\"place\":"
			"{\"x\":1.5,\"y\":-2.25,\"words\":\"street, number, town\"}}";
	return text + "]";
}

int main(int argc, char **argv)
{
	std::string text = document();
	size_t entries = 0;

	for (int i = argc > 1 ? std::atoi(argv[1]) : 1; i > 0; i--)
		entries += nlohmann::json::parse(text).size();
	std::printf("%zu\n", entries);
	return 0;
}
