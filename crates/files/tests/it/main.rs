//! Copies of files and folders, whole and interrupted.

mod confined;
mod copies;
mod earlier;
mod keeping;
