// SPDX-License-Identifier: GPL-2.0-or-later

//! Rust with the function names that tikv-jemallocator calls, from a C library in the program.
//! Prints how many blocks of 50000 bytes it allocated and freed, and how many it kept.

use std::alloc::{GlobalAlloc, Layout};

extern "C" {
    fn _rjem_malloc(size: usize) -> *mut u8;
    fn _rjem_calloc(count: usize, size: usize) -> *mut u8;
    fn _rjem_realloc(old: *mut u8, size: usize) -> *mut u8;
    fn _rjem_sdallocx(block: *mut u8, size: usize, flags: i32);
}

#[cfg(rjem)]
struct Jemalloc;

#[cfg(rjem)]
unsafe impl GlobalAlloc for Jemalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        _rjem_malloc(layout.size())
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        _rjem_calloc(1, layout.size())
    }
    unsafe fn realloc(&self, old: *mut u8, _: Layout, size: usize) -> *mut u8 {
        _rjem_realloc(old, size)
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        _rjem_sdallocx(block, layout.size(), 0)
    }
}

#[cfg(rjem)]
#[global_allocator]
static GLOBAL: Jemalloc = Jemalloc;

#[inline(never)]
#[no_mangle]
pub extern "C" fn t_box(rounds: usize) -> Vec<Box<[u8; 50000]>> {
    let mut kept = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let block = std::hint::black_box(Box::new([1u8; 50000]));
        if round % 4 == 0 {
            kept.push(block);
        }
    }
    kept
}

fn main() {
    let kept = std::hint::black_box(t_box(400));
    println!("400 {}", kept.len());
    std::mem::forget(kept);
}
