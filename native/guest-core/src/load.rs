//! Modules: files of the guest, which are few. Nothing else can be imported.

use deno_core::error::ModuleLoaderError;
use deno_core::{
    ModuleLoadOptions, ModuleLoadReferrer, ModuleLoadResponse, ModuleLoader, ModuleSource, ModuleSourceCode,
    ModuleSpecifier, ModuleType, ResolutionKind,
};

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
        Ok(deno_core::resolve_import(specifier, referrer).unwrap_or_else(|_| nothing(specifier)))
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
        let text = text.unwrap_or_else(|| throwing(specifier));
        ModuleLoadResponse::Sync(Ok(ModuleSource::new(
            ModuleType::JavaScript,
            ModuleSourceCode::String(text.into()),
            specifier,
            None,
        )))
    }
}

/// Where a module that is not there would lie.
fn nothing(specifier: &str) -> ModuleSpecifier {
    let mut url = ModuleSpecifier::from_file_path("/nothing").expect("the path is absolute");
    url.set_fragment(Some(specifier));
    url
}

/// A module that is not there: it throws when it runs. The engine asks for the modules of static imports ahead, and takes text in template
/// literals and behind regular expressions for such; nothing imports those in truth, so they never run.
fn throwing(specifier: &ModuleSpecifier) -> String {
    let name = specifier.fragment().unwrap_or(specifier.as_str());
    let message = format!(
        "Cannot import {name}: the runtime 'core' has no modules but those of the bundle, want runtime: 'deno'"
    );
    let message = deno_core::serde_json::Value::String(message);
    format!("throw Object.assign(new TypeError({message}), {{ code: 'ERR_MODULE_NOT_FOUND' }})")
}
