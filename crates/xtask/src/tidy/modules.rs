//! The files of one crate as modules: what each defines, imports, hands on and names. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;

use super::tree::Source;

/// A path as it is written, `crate::a::B` cut at its colons.
pub(super) type Words = Vec<String>;

/// What one file says.
#[derive(Default)]
pub(super) struct Module {
    /// Imports, each with the name that it has here.
    pub(super) imports: Vec<(String, Words)>,
    /// Imports that others may take from here, `*` among the names.
    pub(super) handed_on: Vec<(String, Words)>,
    /// Paths in its code of at least two words.
    pub(super) paths: BTreeSet<Words>,
    /// Names in its code outside of imports.
    names: BTreeSet<String>,
    /// Modules in files of their own that only tests have.
    test_modules: BTreeSet<String>,
}

impl Module {
    /// Whether what it hands on under this name is used here, too.
    pub(super) fn uses(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    fn read(text: &str) -> anyhow::Result<Module> {
        let mut module = Module::default();
        module.visit_file(&syn::parse_file(text)?);
        Ok(module)
    }

    fn add_import(&mut self, tree: &syn::UseTree, before: &[String], is_handed_on: bool) {
        let with = |word: &syn::Ident| [before, &[word.to_string()]].concat();
        let (name, words) = match tree {
            syn::UseTree::Path(path) => return self.add_import(&path.tree, &with(&path.ident), is_handed_on),
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.add_import(tree, before, is_handed_on));
            }
            syn::UseTree::Glob(_) => ("*".to_owned(), before.to_vec()),
            syn::UseTree::Name(name) if name.ident == "self" => {
                (before.last().cloned().unwrap_or_default(), before.to_vec())
            }
            syn::UseTree::Name(name) => (name.ident.to_string(), with(&name.ident)),
            syn::UseTree::Rename(rename) => (rename.rename.to_string(), with(&rename.ident)),
        };
        if is_handed_on { &mut self.handed_on } else { &mut self.imports }.push((name, words));
    }

    /// The paths in what a macro is given, which is not parsed.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut words = Words::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        self.add_path(std::mem::take(&mut words));
                    }
                    words.push(word.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => self.add_tokens(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => colons = 0,
            }
        }
        self.add_path(words);
    }

    fn add_path(&mut self, words: Words) {
        self.names.extend(words.first().cloned());
        if words.len() > 1 {
            self.paths.insert(words);
        }
    }
}

impl<'ast> Visit<'ast> for Module {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_for_tests(&item.attrs) {
            let is_handed_on = !matches!(item.vis, syn::Visibility::Inherited);
            self.add_import(&item.tree, &[], is_handed_on);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        match (is_for_tests(&item.attrs), &item.content) {
            (true, None) => _ = self.test_modules.insert(item.ident.to_string()),
            (true, Some(_)) => {}
            (false, _) => syn::visit::visit_item_mod(self, item),
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_for_tests(&item.attrs) {
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_for_tests(&item.attrs) {
            syn::visit::visit_item_impl(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add_path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.add_tokens(item.tokens.clone());
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// The modules of a crate by their paths from its root, which is empty. `files` are all below its `src`, which
/// `folder` names with a slash at the end.
pub(super) fn read(folder: &str, files: &[&Source]) -> anyhow::Result<BTreeMap<Words, Module>> {
    let mut modules = BTreeMap::new();
    for file in files {
        let Some(inside) = file.path.strip_prefix(folder).and_then(|path| path.strip_suffix(".rs")) else {
            continue;
        };
        let mut path: Words = inside.split('/').map(str::to_owned).collect();
        if matches!(path.last().map(String::as_str), Some("lib" | "main")) {
            path.pop();
        }
        let module = Module::read(&file.text).with_context(|| file.path.clone())?;
        modules.insert(path, module);
    }
    let is_for_tests = |path: &Words| {
        (1..=path.len()).any(|length| {
            let (parent, name) = (&path[..length - 1], &path[length - 1]);
            modules.get(parent).is_some_and(|module| module.test_modules.contains(name))
        })
    };
    let for_tests: Vec<Words> = modules.keys().filter(|path| is_for_tests(path)).cloned().collect();
    for_tests.iter().for_each(|path| _ = modules.remove(path));
    Ok(modules)
}
