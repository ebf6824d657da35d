//! Plans, against the bounds that no plan can pass.

mod bounds;
mod measured;
mod properties;
mod refused;
mod support;
mod worked_example;
