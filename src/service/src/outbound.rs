//! The way out: `fetch`, that of the runtime or one that the host gives, the Queue bindings, and the vault.
//!
//! `fetch` is called directly: what is sent and what is kept of an answer are a few texts.

use std::rc::Rc;

use js_sys::{Array, Object, Promise, Reflect, Uint8Array};
use statewright_engine::outbound::{
    MOST_BODY_BYTES, Outbound, OutboundRequest, OutboundResponse, SendFailure, Vault, VaultFailure,
};
use wasm_bindgen::prelude::{JsCast, JsValue, wasm_bindgen};
use wasm_bindgen_futures::JsFuture;

use crate::{host::words, service::Lent, vault::SubtleVault};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_name = fetch)]
    fn fetch(url: &str, init: &Object) -> Result<Promise, JsValue>;

    #[wasm_bindgen(js_namespace = AbortSignal, js_name = timeout)]
    fn signal_after(millis: f64) -> JsValue;

    /// The binding of a queue.
    type Queue;
    #[wasm_bindgen(method, catch)]
    fn send(this: &Queue, message: &JsValue) -> Result<Promise, JsValue>;
}

/// What a host sends with.
#[derive(Debug)]
pub struct Outlet {
    lent: Rc<Lent>,
    vault: SubtleVault,
}

impl Outlet {
    /// Sends by what is lent: its `fetch`, the runtime's own where it has none, and the queues that are properties of its `env`.
    pub(crate) fn new(lent: Rc<Lent>, vault: SubtleVault) -> Self {
        Self { lent, vault }
    }

    fn fetch(&self, url: &str, init: &Object) -> Result<Promise, JsValue> {
        match &self.lent.fetch {
            Some(given) => {
                let answer = given.call2(&JsValue::UNDEFINED, &url.into(), init)?;
                Ok(Promise::resolve(&answer))
            }
            None => fetch(url, init),
        }
    }
}

impl Vault for Outlet {
    async fn seal(&self, context: &str, value: &str) -> Result<String, VaultFailure> {
        self.vault.seal(context, value).await
    }

    async fn open(&self, context: &str, sealed: &str) -> Result<String, VaultFailure> {
        self.vault.open(context, sealed).await
    }
}

impl Outbound for Outlet {
    async fn send(&self, request: OutboundRequest) -> Result<OutboundResponse, SendFailure> {
        let timeout = request.timeout_ms;
        let failed = |error| failure(&error, timeout);
        let init = init(&request);
        let promise = self.fetch(&request.url, &init).map_err(failed)?;
        let response: web_sys::Response = JsFuture::from(promise).await.map_err(failed)?.unchecked_into();
        let status = response.status();
        let retry_after = response.headers().get("retry-after").ok().flatten();
        let wanted = request.wants_body || !(200..300).contains(&status);
        let body = rest(&response, wanted).await;
        Ok(OutboundResponse {
            status,
            retry_after,
            body,
        })
    }

    async fn enqueue(&self, binding: &str, message: &str) -> Result<(), SendFailure> {
        let queue = Reflect::get(&self.lent.env, &JsValue::from_str(binding)).unwrap_or_default();
        let sends = Reflect::get(&queue, &JsValue::from_str("send")).is_ok_and(|send| send.is_function());
        if !sends {
            return Err(SendFailure::Failed(format!(
                "there is no Queue binding `{binding}`"
            )));
        }
        let failed = |error: JsValue| SendFailure::Failed(words(&error));
        // A consumer gets the document itself.
        let document = js_sys::JSON::parse(message).map_err(failed)?;
        let sent = queue.unchecked_ref::<Queue>().send(&document).map_err(failed)?;
        JsFuture::from(sent).await.map_err(failed)?;
        Ok(())
    }
}

/// A request as `fetch` takes it. Redirects are not followed: where they lead was not checked.
fn init(request: &OutboundRequest) -> Object {
    let headers: Array = request
        .headers
        .iter()
        .map(|(name, value)| Array::of2(&name.as_str().into(), &value.as_str().into()))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "a timeout is far below 2^53")]
    let signal = signal_after(request.timeout_ms as f64);
    let init = Object::new();
    let mut fields = vec![
        ("method", JsValue::from_str(request.method)),
        ("headers", headers.into()),
        ("redirect", JsValue::from_str("manual")),
        ("signal", signal),
    ];
    if let Some(body) = &request.body {
        fields.push(("body", JsValue::from_str(body)));
    }
    for (name, value) in fields {
        // INVARIANT: a plain object takes any property.
        let _ = Reflect::set(&init, &JsValue::from_str(name), &value);
    }
    init
}

/// The first bytes of an answer's body, where they are wanted. What is not read is cancelled: it would keep one of the few
/// connections that an invocation may have.
async fn rest(response: &web_sys::Response, wanted: bool) -> String {
    let Some(stream) = response.body() else {
        return String::new();
    };
    let reader = stream
        .get_reader()
        .unchecked_into::<web_sys::ReadableStreamDefaultReader>();
    let mut bytes = Vec::new();
    while wanted && bytes.len() < MOST_BODY_BYTES {
        // A body that breaks off or stalls does not take back the status that came with it.
        let Ok(part) = JsFuture::from(reader.read()).await else {
            break;
        };
        let part: web_sys::ReadableStreamReadResult = part.unchecked_into();
        if part.get_done().unwrap_or(true) {
            break;
        }
        let value = Uint8Array::new(&part.get_value());
        let most = u32::try_from(MOST_BODY_BYTES - bytes.len()).unwrap_or_default();
        bytes.extend_from_slice(&value.subarray(0, most.min(value.length())).to_vec());
    }
    let _ = JsFuture::from(reader.cancel()).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

fn failure(error: &JsValue, timeout: u64) -> SendFailure {
    let name = Reflect::get(error, &JsValue::from_str("name")).unwrap_or_default();
    if name.as_string().is_some_and(|name| name == "TimeoutError") {
        SendFailure::Timeout(timeout)
    } else {
        SendFailure::Failed(words(error))
    }
}
