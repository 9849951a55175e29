//! The pure core for JavaScript. Documents cross as JSON text, so that no number is altered on its way; what a tight loop sends
//! crosses as numbers alone.
