//! The clock and the randomness that the runtime lends the engine.

use std::{
    cell::{Cell, RefCell},
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use js_sys::Function;
use statewright_core::ids::Millis;
use statewright_engine::database::{Clock, Random};
use wasm_bindgen::prelude::{Closure, JsCast, JsValue, wasm_bindgen};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = Date, js_name = now)]
    fn date_now() -> f64;

    /// Fills it with what nobody can guess.
    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues)]
    pub(crate) fn fill_with_random(bytes: &mut [u8]);

    /// Gives what cancels it: a number, or an object where the runtime has one.
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(wake: &Function, millis: f64) -> JsValue;

    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(timer: &JsValue);
}

/// What an error of JavaScript says, for whoever is to be told: no stack and no paths. What was thrown may be no error at all.
pub fn words(error: &JsValue) -> String {
    let said = error
        .dyn_ref::<js_sys::Error>()
        .map_or_else(|| error.as_string(), |error| Some(String::from(error.message())));
    said.unwrap_or_else(|| "what was thrown says nothing".to_owned())
}

/// The runtime's clock, or one that the host gives. That of a Worker stands still while code runs and moves on with each
/// answer from outside.
///
/// One that the host gives may stand still for good: what waits by it is told that the time it waited for has come, so that
/// nothing waits for ever.
#[derive(Debug, Clone, Default)]
pub struct HostClock {
    given: Option<Function>,
    /// How much later it is, in milliseconds.
    ahead: i64,
    /// What it was waited for: it is not earlier.
    waited_for: Cell<Option<i64>>,
}

impl HostClock {
    /// A clock that is read by calling `now`: it gives milliseconds since the epoch.
    pub fn given(now: Function) -> Self {
        Self {
            given: Some(now),
            ..Self::default()
        }
    }

    /// This clock as if it were `now`; it goes on from there.
    #[must_use]
    pub fn set_to(&self, now: Millis) -> Self {
        Self {
            ahead: now.0.saturating_sub(self.plain()),
            ..self.afresh()
        }
    }

    /// This clock for somebody who has not waited yet.
    #[must_use]
    pub(crate) fn afresh(&self) -> Self {
        Self {
            waited_for: Cell::default(),
            ..self.clone()
        }
    }

    /// The time now.
    pub fn read(&self) -> Millis {
        let now = self.plain().saturating_add(self.ahead);
        Millis(self.waited_for.get().map_or(now, |time| now.max(time)))
    }

    fn plain(&self) -> i64 {
        let given = self
            .given
            .as_ref()
            .and_then(|now| now.call0(&JsValue::UNDEFINED).ok()?.as_f64());
        // Exact: milliseconds since the epoch are far below 2^53.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a clock gives whole milliseconds below 2^53"
        )]
        let time = given.unwrap_or_else(date_now) as i64;
        time
    }
}

impl Clock for HostClock {
    fn now(&self) -> Millis {
        self.read()
    }

    async fn sleep(&self, millis: u64) {
        let over = self.read().0.saturating_add_unsigned(millis);
        Delay::of(millis).await;
        if self.given.is_some() {
            self.waited_for.set(Some(over));
        }
    }
}

/// A wait. Dropped before it is over, it leaves no timer behind.
struct Delay {
    millis: u64,
    state: Rc<Waiting>,
    started: Option<(JsValue, Closure<dyn FnMut()>)>,
}

/// Whether a wait is over, and who is to be told. It may be polled by one and then by another.
#[derive(Default)]
struct Waiting {
    over: Cell<bool>,
    waker: Cell<Option<Waker>>,
}

impl Delay {
    fn of(millis: u64) -> Self {
        Self {
            millis,
            state: Rc::default(),
            started: None,
        }
    }
}

impl Future for Delay {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.state.over.get() {
            return Poll::Ready(());
        }
        self.state.waker.set(Some(context.waker().clone()));
        if self.started.is_none() {
            let state = Rc::clone(&self.state);
            let wake = Closure::new(move || {
                state.over.set(true);
                if let Some(waker) = state.waker.take() {
                    waker.wake();
                }
            });
            #[expect(clippy::cast_precision_loss, reason = "a wait is far below 2^53")]
            let timer = set_timeout(wake.as_ref().unchecked_ref(), self.millis as f64);
            self.started = Some((timer, wake));
        }
        Poll::Pending
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        if let Some((timer, _)) = self.started.as_ref().filter(|_| !self.state.over.get()) {
            clear_timeout(timer);
        }
    }
}

/// How much randomness is fetched at once: each time costs as much as all else that a name is made of.
const POOL_BYTES: usize = 4096;

thread_local! {
    /// Randomness that nobody has had yet.
    static POOL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The runtime's randomness, made for keys.
#[derive(Debug, Clone, Copy)]
pub struct HostRandom;

impl Random for HostRandom {
    fn bytes(&self) -> [u8; 16] {
        POOL.with_borrow_mut(|pool| {
            let mut bytes = [0; 16];
            if pool.len() < bytes.len() {
                pool.resize(POOL_BYTES, 0);
                fill_with_random(pool);
            }
            let rest = pool.len().saturating_sub(bytes.len());
            for (byte, taken) in bytes.iter_mut().zip(pool.drain(rest..)) {
                *byte = taken;
            }
            bytes
        })
    }
}

/// A random name for a request that has none.
pub fn random_id() -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |four: u8| char::from(DIGITS.get(usize::from(four)).copied().unwrap_or(b'0'));
    let mut id = String::with_capacity(32);
    for byte in HostRandom.bytes() {
        id.push(digit(byte >> 4));
        id.push(digit(byte & 15));
    }
    id
}
