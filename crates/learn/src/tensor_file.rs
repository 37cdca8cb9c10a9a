//! The file format of models and of saved learners: named tensors, text, and a checksum.
//!
//! The layout is that of safetensors (eight bytes with the length of a JSON header, the header, the tensors), so that
//! any reader of that format can open it; text is in its `__metadata__`. The last tensor, `sha256`, is the hash of all
//! bytes before it: a file that was cut or altered anywhere is refused. Only tensors of `f32` and `u32` are read.

use crate::Error;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The contents of a file.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct TensorFile {
    pub text: BTreeMap<String, String>,
    pub tensors: BTreeMap<String, Tensor>,
}

/// A shape and the numbers in row-major order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Tensor {
    F32(Vec<usize>, Vec<f32>),
    U32(Vec<usize>, Vec<u32>),
}

/// The number of bytes of the checksum.
const HASH: usize = 32;

impl TensorFile {
    /// The file's bytes; `kind` and `version` become the text `format`.
    pub(crate) fn write(&self, kind: &str, version: u32) -> Vec<u8> {
        let mut header = Map::new();
        let mut text: Map<String, Value> = self.text.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
        text.insert("format".into(), json!(format!("ludex-{kind} {version}")));
        header.insert("__metadata__".into(), Value::Object(text));
        let mut data = Vec::new();
        for (name, tensor) in &self.tensors {
            let start = data.len();
            let (dtype, shape) = match tensor {
                Tensor::F32(shape, values) => {
                    values.iter().for_each(|v| data.extend(v.to_le_bytes()));
                    ("F32", shape)
                }
                Tensor::U32(shape, values) => {
                    values.iter().for_each(|v| data.extend(v.to_le_bytes()));
                    ("U32", shape)
                }
            };
            header.insert(name.clone(), json!({"dtype": dtype, "shape": shape, "data_offsets": [start, data.len()]}));
        }
        let end = data.len();
        header.insert("sha256".into(), json!({"dtype": "U8", "shape": [HASH], "data_offsets": [end, end + HASH]}));
        let mut header = Value::Object(header).to_string();
        header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes.extend(Sha256::digest(&bytes));
        bytes
    }

    /// Reads what [`TensorFile::write`] wrote; anything else is refused.
    pub(crate) fn read(bytes: &[u8], kind: &'static str, version: u32) -> Result<TensorFile, Error> {
        let wrong_kind = Error::Kind(kind);
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or(wrong_kind.clone())?;
        if rest.first() != Some(&b'{') {
            return Err(wrong_kind);
        }
        let length = u64::from_le_bytes(*length);
        let expected = |end: u64| length.saturating_add(end).saturating_add(8);
        let truncated = |end: u64| Error::Truncated { found: bytes.len() as u64, expected: expected(end) };
        let at = usize::try_from(length).ok().filter(|&n| n <= rest.len()).ok_or(truncated(HASH as u64))?;
        let (header, data) = rest.split_at(at);
        let header: Map<String, Value> = serde_json::from_slice(header).map_err(|_| Error::Altered)?;
        let end = header.get("sha256").and_then(offsets).map(|(_, end)| end as u64).ok_or(wrong_kind.clone())?;
        if data.len() as u64 != end {
            return Err(truncated(end));
        }
        let (body, hash) = bytes.split_at(bytes.len().checked_sub(HASH).ok_or(Error::Altered)?);
        if Sha256::digest(body)[..] != *hash {
            return Err(Error::Altered);
        }

        // The checksum is right; the contents may still be inconsistent.
        let mut file = TensorFile::default();
        let malformed = |what: &str| Error::Malformed(what.into());
        let text = header.get("__metadata__").and_then(Value::as_object).ok_or(wrong_kind.clone())?;
        for (key, value) in text {
            let value = value.as_str().ok_or_else(|| malformed("its metadata is not text"))?;
            file.text.insert(key.clone(), value.into());
        }
        let found = file.text.remove("format").unwrap_or_default();
        let known = format!("ludex-{kind} {version}");
        if !found.starts_with(&format!("ludex-{kind} ")) {
            return Err(wrong_kind);
        }
        if found != known {
            return Err(Error::Version { found, known });
        }
        for (name, value) in header.iter().filter(|(name, _)| !["__metadata__", "sha256"].contains(&name.as_str())) {
            let tensor = tensor(value, data).ok_or_else(|| malformed(&format!("tensor {name}")))?;
            file.tensors.insert(name.clone(), tensor);
        }
        Ok(file)
    }

    /// The text under this key.
    pub(crate) fn get(&self, key: &str) -> Result<&str, Error> {
        self.text.get(key).map(String::as_str).ok_or_else(|| Error::Malformed(format!("no {key}")))
    }

    /// The JSON under this key.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self, key: &str) -> Result<T, Error> {
        serde_json::from_str(self.get(key)?).map_err(|e| Error::Malformed(format!("{key}: {e}")))
    }

    pub(crate) fn put_json(&mut self, key: &str, value: &impl serde::Serialize) {
        self.text.insert(key.into(), serde_json::to_string(value).expect("plain data"));
    }

    pub(crate) fn put(&mut self, name: impl Into<String>, tensor: Tensor) {
        self.tensors.insert(name.into(), tensor);
    }

    /// The numbers of this tensor, which must have this many.
    pub(crate) fn floats(&self, name: &str, n: usize) -> Result<Vec<f32>, Error> {
        match self.tensors.get(name) {
            Some(Tensor::F32(_, values)) if values.len() == n => Ok(values.clone()),
            _ => Err(Error::Malformed(format!("tensor {name}"))),
        }
    }

    /// The numbers of this tensor.
    pub(crate) fn integers(&self, name: &str) -> Result<Vec<u32>, Error> {
        match self.tensors.get(name) {
            Some(Tensor::U32(_, values)) => Ok(values.clone()),
            _ => Err(Error::Malformed(format!("tensor {name}"))),
        }
    }
}

fn offsets(value: &Value) -> Option<(usize, usize)> {
    let pair = value.get("data_offsets")?.as_array()?;
    let [start, end] = &pair[..] else { return None };
    let (start, end) = (start.as_u64()?, end.as_u64()?);
    (start <= end).then_some((usize::try_from(start).ok()?, usize::try_from(end).ok()?))
}

fn tensor(value: &Value, data: &[u8]) -> Option<Tensor> {
    let (start, end) = offsets(value)?;
    let bytes = data.get(start..end)?;
    let shape: Vec<usize> =
        value.get("shape")?.as_array()?.iter().map(|n| usize::try_from(n.as_u64()?).ok()).collect::<Option<_>>()?;
    let count = shape.iter().try_fold(1usize, |n, &m| n.checked_mul(m))?;
    if count.checked_mul(4)? != bytes.len() {
        return None;
    }
    let words = bytes.chunks_exact(4).map(|b| <[u8; 4]>::try_from(b).expect("four bytes"));
    match value.get("dtype")?.as_str()? {
        "F32" => Some(Tensor::F32(shape, words.map(f32::from_le_bytes).collect())),
        "U32" => Some(Tensor::U32(shape, words.map(u32::from_le_bytes).collect())),
        _ => None,
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
