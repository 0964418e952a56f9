//! Modules: files of the guest, which are few, and texts that it was sent. Nothing else can be imported.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use deno_core::error::ModuleLoaderError;
use deno_core::{
    ModuleLoadOptions, ModuleLoadReferrer, ModuleLoadResponse, ModuleLoader, ModuleSource, ModuleSourceCode,
    ModuleSpecifier, ModuleType, RequestedModuleType, ResolutionKind,
};

/// The module of an absolute path, by the name that its stacks use.
pub fn to_specifier(path: &str) -> Result<ModuleSpecifier, String> {
    ModuleSpecifier::from_file_path(path).map_err(|()| format!("cannot load {path}: wanted an absolute path"))
}

/// A module that came as text.
struct Text {
    code: String,
    /// What it is where an import says that it wants JSON.
    json: Option<String>,
}

/// Modules that came as texts: by URL, and the URLs by the names that imports may use as they are.
#[derive(Default)]
struct Known {
    texts: HashMap<String, Text>,
    names: HashMap<String, ModuleSpecifier>,
}

/// The modules that came as texts, for the loader and the operation that adds to them.
#[derive(Clone, Default)]
pub struct Texts(Rc<RefCell<Known>>);

impl Texts {
    /// Makes `code` the module at `url`, which bare imports find as `name`.
    pub fn define(&self, name: String, url: &str, code: String, json: Option<String>) -> Result<(), String> {
        let url = ModuleSpecifier::parse(url).map_err(|error| format!("cannot define {url}: {error}"))?;
        let mut known = self.0.borrow_mut();
        known.texts.insert(url.to_string(), Text { code, json });
        known.names.insert(name, url);
        Ok(())
    }

    fn find(&self, name: &str) -> Option<ModuleSpecifier> {
        self.0.borrow().names.get(name).cloned()
    }

    fn read(&self, url: &ModuleSpecifier, wanted: &RequestedModuleType) -> Option<(ModuleType, String)> {
        let known = self.0.borrow();
        let text = known.texts.get(url.as_str())?;
        Some(match (wanted, &text.json) {
            (RequestedModuleType::Json, Some(json)) => (ModuleType::Json, json.clone()),
            _ => (ModuleType::JavaScript, text.code.clone()),
        })
    }
}

/// Loads what lies in the guest's file system, and texts.
pub struct GuestFiles(pub Texts);

impl ModuleLoader for GuestFiles {
    fn resolve(
        &self,
        specifier: &str,
        referrer: &str,
        _kind: ResolutionKind,
    ) -> Result<ModuleSpecifier, ModuleLoaderError> {
        Ok(deno_core::resolve_import(specifier, referrer)
            .ok()
            .or_else(|| self.0.find(specifier))
            .unwrap_or_else(|| nothing(specifier)))
    }

    fn load(
        &self,
        specifier: &ModuleSpecifier,
        _referrer: Option<&ModuleLoadReferrer>,
        options: ModuleLoadOptions,
    ) -> ModuleLoadResponse {
        let text = self.0.read(specifier, &options.requested_module_type);
        let (kind, text) = text.unwrap_or_else(|| (ModuleType::JavaScript, read(specifier)));
        ModuleLoadResponse::Sync(Ok(ModuleSource::new(
            kind,
            ModuleSourceCode::String(text.into()),
            specifier,
            None,
        )))
    }
}

/// The text of a file, or of a module that throws where there is none.
fn read(specifier: &ModuleSpecifier) -> String {
    let text = specifier
        .to_file_path()
        .ok()
        .and_then(|path| std::fs::read_to_string(crate::trace::to_host(&path)).ok());
    text.unwrap_or_else(|| throwing(specifier))
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
