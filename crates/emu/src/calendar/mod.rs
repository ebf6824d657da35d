//! A guest's clock: the protocol of `time-travel=ext`, by include/uapi/linux/um_timetravel.h of Linux.

pub mod protocol;
pub mod shared;
