#!/bin/sh
# Says plainly what this machine lacks, before anything else can fail obscurely.
missing=0
need() {
  if ! command -v "$1" >/dev/null 2>&1; then
    echo "$1 was not found: $2" >&2
    missing=1
  fi
}
need node "install Node.js 20 or newer (https://nodejs.org)"
need npm "it comes with Node.js (https://nodejs.org)"
need cargo "install Rust with rustup (https://rustup.rs)"
need cc "install a C compiler (Debian: apt-get install gcc libc6-dev; macOS: xcode-select --install)"
exit $missing
