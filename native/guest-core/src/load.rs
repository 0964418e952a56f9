//! What the guest is told to load, and by which names modules go.

use std::io::Read;

use deno_core::error::ModuleLoaderError;
use deno_core::{
    ModuleLoadOptions, ModuleLoadReferrer, ModuleLoadResponse, ModuleLoader, ModuleSpecifier, ResolutionKind,
    serde_json,
};
use deno_error::JsErrorBox;
use mayfly_wire::{HEAD_BYTES, HEADER_MAX, Head, Kind, Limits};

/// The frame that names a program has a header only.
const LOAD: Limits = Limits {
    header: HEADER_MAX,
    body: 0,
};

/// Waits on `input` for the frame that names the program's file. `None`: the input ended before its first byte.
pub fn read_name(input: &mut impl Read) -> Result<Option<String>, String> {
    let mut bytes = [0; HEAD_BYTES];
    let first = input
        .read(&mut bytes)
        .map_err(|error| format!("cannot read the name of the program: {error}"))?;
    if first == 0 {
        return Ok(None);
    }
    let cut = |error: std::io::Error| format!("the frame that names the program is cut short: {error}");
    input.read_exact(&mut bytes[first..]).map_err(cut)?;
    let head = Head::decode(&bytes, Kind::Request, LOAD)
        .map_err(|error| format!("the frame that names the program is none: {error}"))?;
    let mut header = vec![0; head.header_bytes as usize];
    input.read_exact(&mut header).map_err(cut)?;
    let value: serde_json::Value = serde_json::from_slice(&header)
        .map_err(|error| format!("the frame that names the program has a header that is no JSON: {error}"))?;
    match (value["control"].as_str(), value["name"].as_str()) {
        (Some("load"), Some(name)) => Ok(Some(name.to_owned())),
        _ => Err(format!(
            "the first frame says {value}, wanted {{\"control\":\"load\",\"name\":PATH}}"
        )),
    }
}

/// The URL of an absolute path, by which stacks name its module, and the text of the file.
pub fn read_module(path: &str) -> Result<(ModuleSpecifier, String), String> {
    let specifier = ModuleSpecifier::from_file_path(path)
        .map_err(|()| format!("cannot load {path}: wanted an absolute path"))?;
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot load {path}: {error}"))?;
    Ok((specifier, text))
}

/// A program is one bundle: there is nothing else to import.
pub struct NothingElse;

impl ModuleLoader for NothingElse {
    fn resolve(
        &self,
        specifier: &str,
        referrer: &str,
        _kind: ResolutionKind,
    ) -> Result<ModuleSpecifier, ModuleLoaderError> {
        deno_core::resolve_import(specifier, referrer).map_err(|_| refuse(specifier))
    }

    fn load(
        &self,
        specifier: &ModuleSpecifier,
        _referrer: Option<&ModuleLoadReferrer>,
        _options: ModuleLoadOptions,
    ) -> ModuleLoadResponse {
        ModuleLoadResponse::Sync(Err(refuse(specifier.as_str())))
    }
}

fn refuse(specifier: &str) -> JsErrorBox {
    JsErrorBox::type_error(format!(
        "Cannot import {specifier}: the runtime 'core' has no modules but those of the bundle, want runtime: 'deno'"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(header: &[u8]) -> Vec<u8> {
        let head = Head {
            kind: Kind::Request,
            header_bytes: header.len() as u32,
            body_bytes: 0,
        };
        [&head.encode()[..], header].concat()
    }

    #[test]
    fn a_name_is_read_even_byte_by_byte() {
        struct Drip(Vec<u8>);
        impl Read for Drip {
            fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
                if self.0.is_empty() || into.is_empty() {
                    return Ok(0);
                }
                into[0] = self.0.remove(0);
                Ok(1)
            }
        }
        let mut drip = Drip(frame(br#"{"control":"load","name":"/program.js"}"#));
        assert_eq!(read_name(&mut drip), Ok(Some("/program.js".to_owned())));
        assert!(drip.0.is_empty());
    }

    #[test]
    fn the_end_of_input_is_no_program() {
        assert_eq!(read_name(&mut &[][..]), Ok(None));
    }

    #[test]
    fn what_is_no_such_frame_is_refused() {
        let whole = frame(br#"{"control":"load","name":"/p"}"#);
        for end in 1..whole.len() {
            assert!(read_name(&mut &whole[..end]).is_err(), "{end} bytes");
        }
        for header in [
            &b"{}"[..],
            b"[]",
            b"null",
            b"{",
            br#"{"control":"describe"}"#,
            br#"{"control":"load","name":1}"#,
        ] {
            assert!(
                read_name(&mut &frame(header)[..]).is_err(),
                "{}",
                String::from_utf8_lossy(header)
            );
        }
        let mut answer = whole;
        answer[5] = 2;
        assert!(read_name(&mut &answer[..]).is_err());
    }
}
