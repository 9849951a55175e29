//! The whole service in a JavaScript process, over a database that its user brings.
