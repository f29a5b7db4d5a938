// Modern requests with no manners, over HTTP and stdio alike: whatever is given is sent, and what comes is returned
// as `{status, message}`; stdio has no status.

import { META, MODERN, encodeHeader } from "../fixtures/matrix/revisions.mjs";
import { GOOD_HEADERS, ask, messageOf } from "./wire_http.mjs";

/** What a client says with each request; `undefined` takes a member away. */
const ENVELOPE = { [META.version]: MODERN, [META.capabilities]: {} };

const NAMED = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};

let ids = 0;

/** A whole request with that `_meta`, in which `meta` changes members. */
export const modernRequest = (method, params = {}, meta = {}) => ({
  jsonrpc: "2.0",
  id: (ids += 1),
  method,
  params: { ...params, _meta: { ...ENVELOPE, ...meta } },
});

/** The headers that repeat the body. */
export const headersOf = ({ method, params }) => ({
  ...GOOD_HEADERS,
  "mcp-protocol-version": params._meta[META.version],
  "mcp-method": method,
  ...(NAMED[method] && { "mcp-name": encodeHeader(params[NAMED[method]]) }),
});

/** `speak(method, params, {meta, headers})`. A header given as a list is sent so often; as `undefined`, not at all. */
export const speakHttp =
  (url) =>
  async (method, params, { meta, headers = {} } = {}) => {
    const body = modernRequest(method, params, meta);
    const all = Object.entries({ ...headersOf(body), ...headers }).filter(([, value]) => value !== undefined);
    const answer = await ask(url, { body, headers: Object.fromEntries(all) });
    return { status: answer.status, headers: answer.headers, message: messageOf(answer) };
  };

/** The same to a program that speaks over stdio. */
export const speakStdio =
  (wire) =>
  async (method, params, { meta } = {}) => {
    const request = modernRequest(method, params, meta);
    const answer = wire.next(`an answer to ${method}`, (message) => message.id === request.id && !message.method);
    wire.send(request);
    return answer;
  };
