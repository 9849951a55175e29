//! Secrets sealed by AES-256-GCM, through the runtime's `WebCrypto`, under `SECRETS_KEY`.
//!
//! A sealed text is `v1.`, the random 96-bit IV in base64, a dot, and the ciphertext with its tag in base64. What the secret is
//! for is authenticated with it, so that a row copied to another name or tenant does not open.

use std::{cell::RefCell, rc::Rc};

use js_sys::{Array, Object, Promise, Reflect, Uint8Array};
use statewright_engine::{
    outbound::VaultFailure,
    signature::{from_base64, to_base64},
};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use wasm_bindgen_futures::JsFuture;

use crate::host::{fill_with_random, words};

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = importKey)]
    fn import_key(
        format: &str,
        key: &Uint8Array,
        algorithm: &str,
        extractable: bool,
        usages: &Array,
    ) -> Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = encrypt)]
    fn encrypt(algorithm: &Object, key: &JsValue, data: &Uint8Array) -> Result<Promise, JsValue>;
    #[wasm_bindgen(catch, js_namespace = ["crypto", "subtle"], js_name = decrypt)]
    fn decrypt(algorithm: &Object, key: &JsValue, data: &Uint8Array) -> Result<Promise, JsValue>;
}

/// How long the key is.
const KEY_BYTES: usize = 32;
/// How long an IV is.
const IV_BYTES: usize = 12;
/// What a sealed text begins with.
const VERSION: &str = "v1";

/// A key, and what the runtime made of it.
#[derive(Debug)]
struct Key {
    bytes: Vec<u8>,
    /// An object, never the promise of one: a request that waits for another's can hang.
    imported: RefCell<Option<JsValue>>,
}

/// A vault; without a key it keeps nothing.
#[derive(Debug, Clone)]
pub struct SubtleVault(Option<Rc<Key>>);

impl SubtleVault {
    /// Reads the setting `SECRETS_KEY`.
    ///
    /// # Errors
    /// It is not the base64 of 32 bytes. What it is is not told.
    pub(crate) fn read(key: Option<&str>) -> Result<Self, String> {
        let Some(key) = key else {
            return Ok(Self(None));
        };
        let bytes = from_base64(key.trim()).filter(|bytes| bytes.len() == KEY_BYTES);
        let key = |bytes| Key {
            bytes,
            imported: RefCell::default(),
        };
        bytes.map(|bytes| Self(Some(Rc::new(key(bytes))))).ok_or_else(|| {
            format!("SECRETS_KEY is no key; {KEY_BYTES} random bytes in base64 are needed (openssl rand -base64 {KEY_BYTES})")
        })
    }

    async fn key(&self) -> Result<JsValue, VaultFailure> {
        let key = self.0.as_ref().ok_or(VaultFailure::NoKey)?;
        if let Some(imported) = key.imported.borrow().clone() {
            return Ok(imported);
        }
        let usages = Array::of2(&"encrypt".into(), &"decrypt".into());
        let bytes = Uint8Array::from(key.bytes.as_slice());
        let promise = import_key("raw", &bytes, "AES-GCM", false, &usages).map_err(|error| broken(&error))?;
        let imported = JsFuture::from(promise).await.map_err(|error| broken(&error))?;
        key.imported.replace(Some(imported.clone()));
        Ok(imported)
    }

    /// Seals a value for `context`.
    pub(crate) async fn seal(&self, context: &str, value: &str) -> Result<String, VaultFailure> {
        let key = self.key().await?;
        let mut iv = [0; IV_BYTES];
        fill_with_random(&mut iv);
        let promise = encrypt(
            &algorithm(&iv, context),
            &key,
            &Uint8Array::from(value.as_bytes()),
        );
        let sealed = bytes_of(promise).await.map_err(|error| broken(&error))?;
        Ok(format!("{VERSION}.{}.{}", to_base64(&iv), to_base64(&sealed)))
    }

    /// Opens what [`Self::seal`] gave for the same context.
    pub(crate) async fn open(&self, context: &str, sealed: &str) -> Result<String, VaultFailure> {
        let key = self.key().await?;
        let wrong = |why: &str| VaultFailure::Sealed(why.to_owned());
        let mut parts = sealed.splitn(3, '.');
        let version = parts.next();
        let mut part = || parts.next().and_then(from_base64);
        let (Some(VERSION), Some(iv), Some(data)) = (version, part(), part()) else {
            return Err(wrong("it is none of this version"));
        };
        let promise = decrypt(&algorithm(&iv, context), &key, &Uint8Array::from(data.as_slice()));
        let Ok(bytes) = bytes_of(promise).await else {
            return Err(wrong(
                "it was sealed with another SECRETS_KEY or for another name, or it was altered",
            ));
        };
        String::from_utf8(bytes).map_err(|_| wrong("it is no text"))
    }
}

fn algorithm(iv: &[u8], context: &str) -> Object {
    let algorithm = Object::new();
    let bytes = |bytes: &[u8]| Uint8Array::from(bytes).into();
    let fields: [(&str, JsValue); 3] = [
        ("name", "AES-GCM".into()),
        ("iv", bytes(iv)),
        ("additionalData", bytes(context.as_bytes())),
    ];
    for (name, value) in fields {
        // INVARIANT: a plain object takes any property.
        let _ = Reflect::set(&algorithm, &name.into(), &value);
    }
    algorithm
}

async fn bytes_of(promise: Result<Promise, JsValue>) -> Result<Vec<u8>, JsValue> {
    let buffer = JsFuture::from(promise?).await?;
    Ok(Uint8Array::new(&buffer).to_vec())
}

fn broken(error: &JsValue) -> VaultFailure {
    VaultFailure::Sealed(words(error))
}
