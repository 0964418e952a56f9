//! Frames between Mayfly and the program in a virtual machine.
#![no_std]
#![forbid(unsafe_code)]
