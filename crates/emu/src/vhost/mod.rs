//! A network card for a guest: the back end of vhost-user, by its text in QEMU's manual
//! (docs/interop/vhost-user.rst), with in-band notifications.

pub mod device;
pub mod memory;
pub mod ring;
pub mod wire;
