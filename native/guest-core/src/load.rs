//! Modules: files of the guest, which are few. Nothing else can be imported.

use deno_core::error::ModuleLoaderError;
use deno_core::{
    ModuleLoadOptions, ModuleLoadReferrer, ModuleLoadResponse, ModuleLoader, ModuleSource, ModuleSourceCode,
    ModuleSpecifier, ModuleType, ResolutionKind,
};
use deno_error::JsErrorBox;

/// The module of an absolute path, by the name that its stacks use.
pub fn to_specifier(path: &str) -> Result<ModuleSpecifier, String> {
    ModuleSpecifier::from_file_path(path).map_err(|()| format!("cannot load {path}: wanted an absolute path"))
}

/// Loads what lies in the guest's file system.
pub struct GuestFiles;

impl ModuleLoader for GuestFiles {
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
        let text = specifier
            .to_file_path()
            .ok()
            .and_then(|path| std::fs::read_to_string(crate::trace::to_host(&path)).ok());
        ModuleLoadResponse::Sync(text.ok_or_else(|| refuse(specifier.as_str())).map(|text| {
            ModuleSource::new(
                ModuleType::JavaScript,
                ModuleSourceCode::String(text.into()),
                specifier,
                None,
            )
        }))
    }
}

fn refuse(specifier: &str) -> JsErrorBox {
    JsErrorBox::type_error(format!(
        "Cannot import {specifier}: the runtime 'core' has no modules but those of the bundle, want runtime: 'deno'"
    ))
}
