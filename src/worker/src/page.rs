//! The simulator and the console at `/`: static files, but for the nonce of the page's policy, which is another one in each
//! answer. The policy stands in the page (`www/build/policy.ts`), where hosts of static files leave it; here it is a header too.

use js_sys::Reflect;
use statewright_service::host::random_id;
use wasm_bindgen::prelude::{JsCast, JsValue, wasm_bindgen};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Headers, Request, Response, ResponseInit};
use worker::Env;

#[wasm_bindgen]
extern "C" {
    /// The binding of the static files.
    type Assets;
    #[wasm_bindgen(method, catch)]
    async fn fetch(this: &Assets, url: &str) -> Result<JsValue, JsValue>;
}

/// The name of the binding in wrangler.toml.
const BINDING: &str = "ASSETS";
const POLICY: &str = r#"http-equiv="Content-Security-Policy" content=""#;
const NONCE: &str = r#"name="csp-nonce" content=""#;
/// What a page can say of itself in a header alone.
const ONLY_IN_HEADER: &str = "; frame-ancestors 'none'";

/// The page, where it is asked for and there is one: a Worker may be without.
pub(crate) async fn page(request: &Request, env: &Env) -> Option<Response> {
    let method = request.method();
    let url = request.url();
    let (_, path) = url.split_once("://")?.1.split_once('/')?;
    let path = path.split(['?', '#']).next()?;
    if !matches!(path, "" | "index.html") || !matches!(method.as_str(), "GET" | "HEAD") {
        return None;
    }
    let assets = Reflect::get(env, &JsValue::from_str(BINDING)).ok()?;
    if assets.is_undefined() {
        return None;
    }
    // Without the conditions that the request may have: what the browser keeps has a nonce of its own.
    let built = assets.unchecked_ref::<Assets>().fetch(&url).await.ok()?;
    let built: Response = built.unchecked_into();
    match built.status() {
        404 => None,
        200 => fresh(&built, method == "HEAD").await.ok(),
        _ => Some(built),
    }
}

async fn fresh(built: &Response, head: bool) -> Result<Response, JsValue> {
    let page = JsFuture::from(built.text()?)
        .await?
        .as_string()
        .unwrap_or_default();
    let page = match content(&page, NONCE) {
        Some(nonce) if !nonce.is_empty() => page.replace(nonce, &random_id()),
        _ => page,
    };
    let headers = Headers::new_with_headers(&built.headers())?;
    headers.delete("ETag")?;
    headers.set("Cache-Control", "no-cache")?;
    if let Some(policy) = content(&page, POLICY) {
        headers.set("Content-Security-Policy", &[policy, ONLY_IN_HEADER].concat())?;
    }
    let init = ResponseInit::new();
    init.set_headers(&headers);
    Response::new_with_opt_str_and_init(Some(&page).filter(|_| !head).map(String::as_str), &init)
}

/// What a `<meta>` of the page says: what stands between its beginning and the next quote.
fn content<'a>(page: &'a str, meta: &str) -> Option<&'a str> {
    Some(page.split_once(meta)?.1.split_once('"')?.0)
}
