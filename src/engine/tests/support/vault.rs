//! A vault that hides what it seals, and opens it with the same key in the same place alone.

use std::cell::Cell;
use std::fmt::Write as _;
use std::rc::Rc;

use statewright_engine::outbound::{
    Outbound, OutboundRequest, OutboundResponse, SendFailure, Vault, VaultFailure,
};

/// A vault with a key that tests change. No two texts that it gives are the same.
#[derive(Clone)]
pub struct TestVault {
    pub key: Rc<Cell<Option<u8>>>,
    sealed: Rc<Cell<u64>>,
}

impl TestVault {
    pub fn new() -> Self {
        Self {
            key: Rc::new(Cell::new(Some(0x5a))),
            sealed: Rc::default(),
        }
    }
}

/// What is within a sealed text before it is hidden.
fn within(key: u8, context: &str, value: &str) -> String {
    format!("{key}\0{context}\0{value}")
}

impl Vault for TestVault {
    async fn seal(&self, context: &str, value: &str) -> Result<String, VaultFailure> {
        let key = self.key.get().ok_or(VaultFailure::NoKey)?;
        self.sealed.set(self.sealed.get() + 1);
        let mut text = format!("{}.", self.sealed.get());
        for byte in within(key, context, value).bytes() {
            write!(text, "{:02x}", byte ^ 0xa5).unwrap();
        }
        Ok(text)
    }

    async fn open(&self, context: &str, sealed: &str) -> Result<String, VaultFailure> {
        let key = self.key.get().ok_or(VaultFailure::NoKey)?;
        let wrong = || VaultFailure::Sealed("it is of another key or place".to_owned());
        let (_, hidden) = sealed.split_once('.').ok_or_else(wrong)?;
        let bytes = (0..hidden.len() / 2)
            .map(|at| u8::from_str_radix(&hidden[2 * at..2 * at + 2], 16).unwrap() ^ 0xa5);
        let text = String::from_utf8(bytes.collect()).map_err(|_| wrong())?;
        let value = text.strip_prefix(&within(key, context, "")).ok_or_else(wrong)?;
        Ok(value.to_owned())
    }
}

/// It sends nothing.
impl Outbound for TestVault {
    fn sends(&self) -> bool {
        false
    }

    async fn send(&self, _: OutboundRequest) -> Result<OutboundResponse, SendFailure> {
        Err(SendFailure::Failed("this host sends nothing".to_owned()))
    }

    async fn enqueue(&self, _: &str, _: &str) -> Result<(), SendFailure> {
        Err(SendFailure::Failed("this host has no queues".to_owned()))
    }
}
