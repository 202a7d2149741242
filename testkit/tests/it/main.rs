//! The test bed itself: what others rest on is tested first.

mod private_libvirtd;
mod scene;
