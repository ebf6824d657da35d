//! Which server owns which node, and the part that each server holds.
