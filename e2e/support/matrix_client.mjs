// A strict client of one revision: it shakes hands or says who it is with every request, answers what it is asked,
// and keeps a list of all that its revision does not allow.

import { META, about, encodeHeader } from "../fixtures/matrix/revisions.mjs";
import { within } from "./check.mjs";
import { faultsOf } from "./matrix/legal.mjs";
import { openHttp, openSse, openStdio } from "./matrix/links.mjs";
import { Watch } from "./matrix/watch.mjs";

const INFO = { name: "matrix-client", version: "1" };

/** A step that waits longer than this waits in vain. */
export const ANSWER_MS_MAX = 20_000;

/** A call that has been asked about so often is asked about without end. */
const ROUNDS_MAX = 10;

const NAMED = { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" };

/** A JSON-RPC error. */
export class Refused extends Error {
  constructor({ code, message, data }) {
    super(`${code} ${message}`);
    Object.assign(this, { code, data });
  }
}

/** What this client says it can do: all of its revision but sampling. */
const capabilitiesOf = (facts) => ({
  roots: {},
  ...(facts.elicitation && { elicitation: facts.elicitationByUrl ? { form: {}, url: {} } : {} }),
});

/** Connects as `revision` over `transport` to `target`: `{command, args}` or `{url}`. */
export const openClient = async ({ revision, transport, target }) => {
  const client = new MatrixClient({ revision, transport });
  await client.open(target).catch((error) => {
    throw new Error(
      `expected to be let in as ${revision} over ${transport}\n       came ${[error.message, ...client.faults].join("\n       and ")}`,
    );
  });
  return client;
};

class MatrixClient {
  /** What the server did that this revision does not allow. */
  faults = [];
  /** Answers to questions: label → function of the question's number. */
  elicit = new Map();
  roots = [{ uri: "file:///matrix", name: "matrix" }];
  #pending = new Map();
  #watches = new Set();
  #schemas = new Map();
  #nextId = 0; // From 0 in every client, as everybody does.
  #settled = false; // Whether the version is agreed on.

  constructor(door) {
    const facts = about(door.revision);
    Object.assign(this, { door, facts, transport: door.transport, capabilities: capabilitiesOf(facts) });
  }

  async open(target) {
    const hooks = {
      take: (message, status) => this.#take(message, status),
      lost: (id, why) => this.#lost(id, why),
      fault: (what) => this.faults.push(what),
    };
    const { transport, facts } = this;
    if (transport === "stdio") this.link = openStdio(target, hooks);
    else this.link = transport === "sse" ? await openSse(target, hooks) : openHttp(target, facts, hooks);
    if (facts.modern) {
      this.welcome = await this.request("server/discover");
      return;
    }
    this.welcome = await this.request("initialize", {
      protocolVersion: facts.revision,
      capabilities: this.capabilities,
      clientInfo: INFO,
    });
    if (this.welcome.protocolVersion !== facts.revision)
      throw new Error(`expected ${facts.revision}\n       came ${this.welcome.protocolVersion}`);
    this.#settled = true;
    await this.notify("notifications/initialized");
  }

  /** Ends the conversation as this revision does. */
  close() {
    return this.link.close(this.#headers({}));
  }

  notify(method, params) {
    return this.#send({ jsonrpc: "2.0", method, ...(params && { params }) });
  }

  /** Sends a request: `{answer, cancel()}`. `report(params)` hears of its progress. */
  begin(method, params, { report, capabilities = this.capabilities } = {}) {
    const id = this.#nextId++;
    const token = id % 2 ? id : `token ${id}`;
    const meta = {
      ...(report && { progressToken: token }),
      ...(this.facts.modern && {
        [META.version]: this.facts.revision,
        [META.capabilities]: capabilities,
        [META.client]: INFO,
      }),
    };
    const whole = { ...params, ...(Object.keys(meta).length > 0 && { _meta: meta }) };
    const message = { jsonrpc: "2.0", id, method, ...(Object.keys(whole).length > 0 && { params: whole }) };
    const answer = new Promise((resolve, reject) =>
      this.#pending.set(id, { resolve, reject, method, token, report, capabilities }),
    );
    answer.catch(() => {}); // Whoever waits hears it; nobody has to.
    this.#send(message).catch((error) => this.#lost(id, error.message));
    return { id, answer, cancel: () => this.#cancel(id) };
  }

  /** Sends a request, answers whatever it is asked meanwhile, and resolves with the result. */
  async request(method, params, options) {
    let answers = {};
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const result = await within(
        `an answer to ${method} ${params?.name ?? params?.uri ?? ""}`,
        this.begin(method, { ...params, ...answers }, options).answer,
        ANSWER_MS_MAX,
      );
      if (result.resultType !== "input_required") {
        if (method === "tools/list")
          for (const { name, inputSchema } of result.tools) this.#schemas.set(name, inputSchema);
        return result;
      }
      const requests = Object.entries(result.inputRequests ?? {});
      const responses = requests.map(([key, { method, params }]) => [
        key,
        this.#answerTo(method, params, options?.capabilities),
      ]);
      answers = {
        inputResponses: Object.fromEntries(responses),
        ...(result.requestState !== undefined && { requestState: result.requestState }),
      };
    }
    throw new Error(`expected an end of questions after ${ROUNDS_MAX} rounds\n       came another`);
  }

  call(name, args = {}, options) {
    return this.request("tools/call", { name, arguments: args }, options);
  }

  /** All pages of a list: `member` of the results of `method`. */
  async list(method, member) {
    const all = [];
    let cursor;
    do {
      const page = await this.request(method, cursor === undefined ? undefined : { cursor });
      all.push(...page[member]);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return all;
  }

  /** Begins to hear of changed tools and of these resources. */
  async watch(uris = []) {
    const watch = new Watch(this);
    this.#watches.add(watch);
    const { facts, transport } = this;
    if (facts.modern) {
      const listen = this.begin("subscriptions/listen", {
        notifications: { toolsListChanged: true, resourceSubscriptions: uris },
      });
      watch.subscription = listen.id;
      watch.stop = listen.cancel;
      const { params } = await watch.next("an acknowledgement", () => true);
      const honoured =
        params.notifications?.toolsListChanged === true &&
        uris.every((uri) => params.notifications.resourceSubscriptions?.includes(uri));
      if (!honoured)
        this.faults.push(`a subscription that is honoured in part: ${JSON.stringify(params.notifications)}`);
      return watch;
    }
    if (transport === "http") await this.link.listen(this.#headers({}));
    for (const uri of uris) await this.request("resources/subscribe", { uri });
    watch.stop = () => Promise.all(uris.map((uri) => this.request("resources/unsubscribe", { uri })));
    return watch;
  }

  async unwatch(watch) {
    this.#watches.delete(watch);
    await watch.stop();
  }

  #cancel(id) {
    const waiting = this.#pending.get(id);
    if (!waiting) return undefined; // It has ended already.
    waiting.cancelled = true;
    if (this.facts.modern && this.transport === "http") return this.link.hangUp(id);
    return this.notify("notifications/cancelled", { requestId: id, reason: "enough" });
  }

  #send(message) {
    return this.link.send(message, this.#headers(message));
  }

  #headers({ id, method, params }) {
    const { modern, versionHeader, revision } = this.facts;
    if (!modern) return this.#settled && versionHeader ? { "mcp-protocol-version": revision } : {};
    const name = params?.[NAMED[method]];
    return {
      "mcp-protocol-version": revision,
      ...(id !== undefined && { "mcp-method": method }),
      ...(name !== undefined && { "mcp-name": encodeHeader(name) }),
      ...(method === "tools/call" && this.#parameters(params)),
    };
  }

  /** The arguments that the tool wants to see in headers. */
  #parameters({ name, arguments: given = {} }) {
    const properties = Object.entries(this.#schemas.get(name)?.properties ?? {});
    const wanted = properties.filter(([argument, schema]) => schema["x-mcp-header"] && given[argument] !== undefined);
    return Object.fromEntries(
      wanted.map(([argument, schema]) => [
        `mcp-param-${schema["x-mcp-header"]}`,
        encodeHeader(String(given[argument])),
      ]),
    );
  }

  #take(message, status) {
    const isAnswer = message?.method === undefined;
    const waiting = isAnswer ? this.#pending.get(message?.id) : undefined;
    for (const fault of faultsOf(this.facts, message, { method: waiting?.method, status })) this.faults.push(fault);
    if (isAnswer) return this.#settle(message, waiting);
    if (message.id !== undefined) return this.#asked(message);
    if (message.method === "notifications/progress") return this.#progress(message.params);
    const subscription = message.params?._meta?.[META.subscription];
    for (const watch of this.#watches) if (watch.subscription === subscription) watch.take(message);
    return undefined;
  }

  #settle(message, waiting) {
    if (!waiting) return this.faults.push(`an answer to nothing that was asked: ${JSON.stringify(message)}`);
    if (waiting.cancelled) this.faults.push(`an answer to what was cancelled: ${JSON.stringify(message)}`);
    this.#pending.delete(message.id);
    return message.error ? waiting.reject(new Refused(message.error)) : waiting.resolve(message.result);
  }

  #progress({ progressToken, ...report }) {
    const waiting = [...this.#pending.values()].find(({ token, report }) => report && token === progressToken);
    if (waiting) waiting.report(report);
    else this.faults.push(`progress of nothing that runs: ${JSON.stringify(progressToken)}`);
  }

  async #asked({ id, method, params }) {
    if (method === "ping") return this.#send({ jsonrpc: "2.0", id, result: {} });
    const result = this.#answerTo(method, params, this.capabilities);
    const unable = { code: -32601, message: `this client does not do ${method}` };
    return this.#send({ jsonrpc: "2.0", id, ...(result ? { result } : { error: unable }) });
  }

  /** The answer to a question; a question of a kind that was not declared is a fault of the server's. */
  #answerTo(method, params, capabilities = this.capabilities) {
    const declared = { "elicitation/create": capabilities.elicitation, "roots/list": capabilities.roots }[method];
    if (!declared) return void this.faults.push(`a question that was not declared: ${method}`);
    if (method === "roots/list") return { roots: this.roots };
    const [label, number] = String(params?.message).split("#");
    const answer = this.elicit.get(label);
    if (!answer || !this.#isWhole(params))
      return void this.faults.push(`a form that nobody waits for: ${JSON.stringify(params)}`);
    return answer(Number(number));
  }

  /** True for a form, or for an address in the way this revision asks for one. */
  #isWhole({ mode, requestedSchema, url, elicitationId }) {
    if (mode === undefined || mode === "form") return requestedSchema?.type === "object";
    return (
      mode === "url" &&
      this.facts.elicitationByUrl &&
      typeof url === "string" &&
      (elicitationId === undefined) === this.facts.modern
    );
  }

  #lost(id, why) {
    for (const [each, { reject, method, cancelled }] of id === undefined
      ? [...this.#pending]
      : [[id, this.#pending.get(id) ?? {}]]) {
      this.#pending.delete(each);
      if (reject) reject(new Error(`expected an answer to ${method}\n       came ${cancelled ? "its end" : why}`));
    }
  }
}
