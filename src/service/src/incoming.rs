//! A request as its host brings it.

use js_sys::Uint8Array;
use statewright_engine::request::MAX_BODY_BYTES;
use wasm_bindgen::prelude::{JsCast, JsValue, wasm_bindgen};
use wasm_bindgen_futures::JsFuture;
use web_sys::ReadableStreamDefaultReader;

use crate::{host::words, refusal::Refusal};

#[wasm_bindgen]
extern "C" {
    /// A body that may have a reader already.
    type Body;
    #[wasm_bindgen(method, catch, js_name = getReader)]
    fn get_reader(this: &Body) -> Result<ReadableStreamDefaultReader, JsValue>;
}

/// A request, in the runtime's own shape or in ours.
#[derive(Debug)]
pub enum Incoming {
    /// One of the runtime.
    Web(web_sys::Request),
    /// A call from the program that the service is a part of.
    Direct(Direct),
}

/// A call from the program that the service is a part of: no key is asked of it.
#[derive(Debug, Clone, Default)]
pub struct Direct {
    /// `GET`, `POST`, ….
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names, in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body; an empty one is none.
    pub body: Vec<u8>,
}

impl Incoming {
    /// Its method.
    pub(crate) fn method(&self) -> String {
        match self {
            Self::Web(request) => request.method(),
            Self::Direct(call) => call.method.clone(),
        }
    }

    /// Path and query as they were sent.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Web(request) => path_and_query(&request.url()).to_owned(),
            Self::Direct(call) => call.path.clone(),
        }
    }

    /// Whether it comes from the program itself.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::Direct(_))
    }

    /// A header's value as text; the name is in lower case. The runtime reads its bytes as UTF-8.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        match self {
            Self::Web(request) => request.headers().get(name).ok().flatten(),
            Self::Direct(call) => {
                let mut headers = call.headers.iter();
                headers
                    .find(|(known, _)| known == name)
                    .map(|(_, value)| value.clone())
            }
        }
    }

    /// The body as it came; of at most [`MAX_BODY_BYTES`].
    pub(crate) async fn body(&self) -> Result<Vec<u8>, Refusal> {
        match self {
            Self::Web(request) => read(request, self.header("content-length")).await,
            Self::Direct(call) => bounded(call.body.clone()),
        }
    }
}

/// Path and query of an absolute URL.
fn path_and_query(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find('/').map_or("/", |at| rest.get(at..).unwrap_or("/"));
    path.split('#').next().unwrap_or(path)
}

async fn read(request: &web_sys::Request, length: Option<String>) -> Result<Vec<u8>, Refusal> {
    let broken = |error: JsValue| Refusal::BodyBroken(words(&error));
    if let Some(length) = length {
        if length
            .parse::<u64>()
            .is_ok_and(|length| length > MAX_BODY_BYTES as u64)
        {
            return Err(Refusal::BodyTooLarge);
        }
        // HTTP itself ends a body at its declared length.
        let buffer = JsFuture::from(request.array_buffer().map_err(broken)?)
            .await
            .map_err(broken)?;
        return bounded(Uint8Array::new(&buffer).to_vec());
    }
    let Some(stream) = request.body() else {
        return Ok(Vec::new());
    };
    let reader = stream.unchecked_ref::<Body>().get_reader().map_err(broken)?;
    let mut bytes = Vec::new();
    loop {
        let part = JsFuture::from(reader.read()).await.map_err(broken)?;
        let part: web_sys::ReadableStreamReadResult = part.unchecked_into();
        if part.get_done().unwrap_or(true) {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&Uint8Array::new(&part.get_value()).to_vec());
        bytes = bounded(bytes)?;
    }
}

fn bounded(bytes: Vec<u8>) -> Result<Vec<u8>, Refusal> {
    if bytes.len() > MAX_BODY_BYTES {
        Err(Refusal::BodyTooLarge)
    } else {
        Ok(bytes)
    }
}
