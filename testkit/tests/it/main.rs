//! The test bed itself: what others rest on is tested first.

mod emulated_guest;
mod emulated_host;
mod private_libvirtd;
mod scene;
