// A stdio client with no manners: sends any bytes, keeps every line that comes back as raw text.
// For what a real SDK would never send, and for what it would not show.

import { check, show, within } from "./check.mjs";
import { ALONE, start } from "./toolcrib.mjs";

/** Opens `toolcrib stdio` for raw lines; with a revision it shakes hands first. */
export const openWire = async (config, { revision = "2025-11-25", spell = ["stdio", ALONE], ...options } = {}) => {
  const wire = new Wire(start([...spell, "--config", config.file], options));
  if (revision) await wire.handshake(revision);
  return wire;
};

export class Wire {
  #waiting = [];
  #ids = 1_000;

  constructor(program) {
    Object.assign(this, program);
    /** Every line so far, raw. */
    this.lines = [];
    /** How many of them answer something; notifications come when they like. */
    this.answers = 0;
    /** What came on stdout that is no JSON message. */
    this.garbage = [];
    let rest = Buffer.alloc(0);
    this.child.stdout.on("data", (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (let end; (end = rest.indexOf(10)) >= 0; rest = rest.subarray(end + 1))
        this.#take(rest.toString("utf8", 0, end));
    });
    this.child.stdout.on("end", () => rest.length > 0 && this.garbage.push(rest.toString()));
  }

  #take(line) {
    this.lines.push(line);
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      this.garbage.push(line);
      return;
    }
    if (Array.isArray(message) || !("method" in message)) this.answers += 1;
    for (const waiter of [...this.#waiting]) waiter(message, line);
  }

  /** Sends bytes or text as they are, with the newline that ends a frame. */
  send(frame) {
    this.child.stdin.write(typeof frame === "string" || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame));
    this.child.stdin.write("\n");
  }

  /** The next message from now on that `wanted` accepts, as `{message, line}`. */
  next(what, wanted, limit_ms) {
    let waiter;
    const came = new Promise((resolve) => {
      waiter = (message, line) => wanted(message) && resolve({ message, line });
      this.#waiting.push(waiter);
    });
    const since = this.lines.length;
    return within(what, came, limit_ms)
      .catch((error) => {
        throw new Error(
          `${error.message}; since then: ${show(this.lines.slice(since))}; stderr: ${show(this.stderr().slice(-600))}`,
        );
      })
      .finally(() => this.#waiting.splice(this.#waiting.indexOf(waiter), 1));
  }

  /** Sends a request with a fresh id and resolves with its answer, as `{message, line}`. */
  request(method, params, limit_ms) {
    const id = (this.#ids += 1);
    const answer = this.next(`an answer to ${method}`, (message) => message.id === id && !message.method, limit_ms);
    this.send({ jsonrpc: "2.0", id, method, ...(params && { params }) });
    return answer;
  }

  /** Calls a tool and resolves with the raw answer. */
  call(name, args = {}, limit_ms) {
    return this.request("tools/call", { name, arguments: args }, limit_ms);
  }

  async handshake(revision) {
    const clientInfo = { name: "wire", version: "1" };
    const { message } = await this.request("initialize", { protocolVersion: revision, capabilities: {}, clientInfo });
    check(message.result, "an initialize result", message);
    this.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return message.result;
  }

  /** Proves that the server still works. */
  async ping() {
    const { message } = await this.request("ping");
    check(message.result && !message.error, "an answer to a ping", message);
  }

  /** Ends the client's side and resolves with how the program ended. */
  async end(limit_ms) {
    this.child.stdin.end();
    return within("the program to end after EOF", this.ended, limit_ms);
  }
}
