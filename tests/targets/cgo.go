// SPDX-License-Identifier: GPL-2.0-or-later

// cgo: goroutines that allocate in C, at many depths of Go, and of Go called by C called by Go.
// Prints the number of blocks; each has 50000 bytes.
package main

/*
#include <stdlib.h>

extern void goBack(int);

static void take(void)
{
	void *block = malloc(50000);

	__asm__ volatile("" : : "r"(block) : "memory");
	free(block);
}

static void through(int depth)
{
	goBack(depth);
	__asm__ volatile("");
}
*/
import "C"

import (
	"fmt"
	"sync"
)

const routines, rounds, depths = 8, 100, 12

//export goBack
func goBack(depth C.int) {
	descend(int(depth))
}

//go:noinline
func descend(depth int) {
	switch {
	case depth == 0:
		C.take()
	case depth%3 == 0:
		C.through(C.int(depth - 1))
	default:
		descend(depth - 1)
	}
}

func main() {
	var group sync.WaitGroup

	for i := 0; i < routines; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < rounds; j++ {
				descend(j % depths)
			}
		}()
	}
	group.Wait()
	fmt.Println(routines * rounds)
}
