// What the runner hands every case, with defaults for a run by hand: the program under test, the
// installed packages, the interpreters and a fresh folder. Everything else asks here, so no case
// knows where anything lies.

import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const E2E = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
/** Where the program's sources are. */
export const CHECKOUT = path.dirname(E2E);

const fromRunner = (name, fallback) => process.env[name] ?? path.join(CHECKOUT, fallback);

/** The `toolcrib` program under test. */
export const PROGRAM = path.resolve(fromRunner("TOOLCRIB_BIN", "target/debug/toolcrib"));

/** The Node that runs servers and the Inspector; this one when nothing else is named. */
export const NODE = process.env.TOOLCRIB_E2E_NODE ?? process.execPath;

/** The Python that has the SDK and the PyPI servers. */
export const PYTHON = fromRunner("TOOLCRIB_E2E_PYTHON", ".cache/python/bin/python");

/** The client on the Rust SDK. */
export const RUST_CLIENT = path.resolve(fromRunner("TOOLCRIB_E2E_RUST_CLIENT", ".cache/rust-client/debug/rmcp-client"));

/** The compiler's own Cargo and no front that chooses one: in a case's home none is chosen. */
export const cargo = () =>
  process.env.TOOLCRIB_E2E_CARGO ??
  path.join(execFileSync("rustc", ["--print", "sysroot"], { cwd: CHECKOUT, encoding: "utf8" }).trim(), "bin", "cargo");

/** A fresh folder of this case's own; real, since paths are compared as text. */
export const FOLDER = realpathSync(process.env.TOOLCRIB_E2E_TMP ?? mkdtempSync(path.join(tmpdir(), "toolcrib-e2e-")));

/** The sandbox of a server that writes what it does into this case's folder. */
export const WRITES_HERE = { write: [FOLDER] };

const PACKAGES = path.resolve(fromRunner("TOOLCRIB_E2E_NPM", ".cache/npm/node_modules"));

const fileIn = (packages) => (name, file) => path.join(packages, name, file);

const importFrom = (packages) => (specifier) => {
  const resolve = createRequire(path.join(packages, "any.js")).resolve;
  // The CommonJS build is what `resolve` finds; both builds speak to the wire alike.
  return import(pathToFileURL(resolve(specifier)).href);
};

/** A file inside an installed package, by path: `packageFile("@scope/name", "dist/index.js")`. */
export const packageFile = fileIn(PACKAGES);

/** Imports an installed package; a bare `import` would look beside this file and find nothing. */
export const importPackage = importFrom(PACKAGES);

const LONG_PACKAGES = path.resolve(fromRunner("TOOLCRIB_E2E_LONG_NPM", ".cache/long-npm/node_modules"));

/** The same for what only the cases of `e2e/long` are given. */
export const longPackageFile = fileIn(LONG_PACKAGES);
export const importLongPackage = importFrom(LONG_PACKAGES);

/** The Pythons that have other people's servers, by the version of the SDK that those are on. */
export const LONG_PYTHONS = {
  v1: fromRunner("TOOLCRIB_E2E_LONG_PYTHON", ".cache/long-python/bin/python"),
  v2: fromRunner("TOOLCRIB_E2E_LONG_PYTHON_SDK_V2", ".cache/long-python-sdk-v2/bin/python"),
};

/** A small server of our own that misbehaves on request. */
export const fixture = (name) => path.join(E2E, "fixtures", name);

/** A server from npm, as the `command` and `args` that start it over stdio. */
export const everything = {
  command: NODE,
  args: [packageFile("@modelcontextprotocol/server-everything", "dist/index.js"), "stdio"],
};

/** The reference server that remembers, in that file. */
export const memory = (file) => ({
  command: NODE,
  args: [packageFile("@modelcontextprotocol/server-memory", "dist/index.js")],
  env: { MEMORY_FILE_PATH: file },
});

/** A server from PyPI, by its module. */
export const pythonServer = (module, ...args) => ({ command: PYTHON, args: ["-m", module, ...args] });

/** The reference file server, allowed to see `folder`. */
export const filesystem = (folder) => ({
  command: NODE,
  args: [packageFile("@modelcontextprotocol/server-filesystem", "dist/index.js"), folder],
  sandbox: { write: [folder] },
});
