//! The same pictures as vector graphics.
