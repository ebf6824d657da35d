"""Emulated hosts: Linux as a program, in virtual time (`crates/emu`)."""
