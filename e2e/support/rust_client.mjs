// The Rust SDK's client (e2e/peers/rmcp-client) with the face that `era_parts.mjs` wants.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { RUST_CLIENT } from "./environment.mjs";
import { atEnd, within } from "./check.mjs";

/** Connects in that mode (`initialize`, `discover`, `auto`) to `{url}` or `{command, args}`; `peer` is what the server said of itself. */
export const connectRust = async (mode, { url, command, args }) => {
  const child = spawn(RUST_CLIENT, [mode, ...(url ? [url] : [command, ...args])], { stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (said += text));
  child.stdin.on("error", () => {}); // It has ended; whoever waits is told below.
  const ended = new Promise((resolve) => child.on("exit", resolve));
  atEnd(() => child.kill("SIGKILL"));

  let waiting;
  const answer = (onprogress) => new Promise((resolve, reject) => (waiting = { resolve, reject, onprogress }));
  createInterface({ input: child.stdout })
    .on("line", (line) => {
      const { ok, error, progress } = JSON.parse(line);
      if (progress) waiting.onprogress?.(progress);
      else if (error === undefined) waiting.resolve(ok);
      else waiting.reject(new Error(error));
    })
    .on("close", () => waiting?.reject(new Error(`the Rust client has ended: ${said}`)));

  const ask = async (command, onprogress) => {
    const answered = answer(onprogress);
    child.stdin.write(`${JSON.stringify(command)}\n`);
    return within(`an answer to ${command.do}`, answered);
  };
  const peer = await within(`the Rust client to connect, ${mode}`, answer());
  return {
    peer,
    tools: () => ask({ do: "tools" }),
    call: (name, args = {}, { onprogress } = {}) => ask({ do: "call", name, arguments: args }, onprogress),
    resources: () => ask({ do: "resources" }),
    templates: () => ask({ do: "templates" }),
    read: (uri) => ask({ do: "read", uri }),
    prompts: () => ask({ do: "prompts" }),
    prompt: (name, args) => ask({ do: "prompt", name, arguments: args }),
    complete: (ref, argument) => ask({ do: "complete", ref, argument }),
    close: () => {
      child.stdin.end();
      return within("the Rust client to end", ended);
    },
  };
};
