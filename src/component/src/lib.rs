//! The pure core as a WebAssembly component.
