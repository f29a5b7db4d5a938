// What a server may send, by revision: the client holds every message to it.

import { CODE, META, statusOf } from "../../fixtures/matrix/revisions.mjs";

const CACHED = new Set([
  "server/discover",
  "tools/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
]);

const ANY_ERA = [
  "notifications/progress",
  "notifications/message",
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
  "notifications/cancelled",
];
const MODERN_ONLY = ["notifications/subscriptions/acknowledged"];
const LEGACY_ONLY = ["notifications/elicitation/complete", "notifications/tasks/status"];

/** These may belong to a stream of subscriptions, and then say to which. */
const SUBSCRIBED = /list_changed$|updated$|acknowledged$/;

const CONTENT = { text: "", image: "", resource: "", audio: "2025-03-26", resource_link: "2025-06-18" };

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function* faultsOfModernResult(method, result) {
  if (!["complete", "input_required"].includes(result.resultType)) yield `a resultType ${result.resultType}`;
  if (!isObject(result._meta?.[META.server])) yield "no serverInfo in _meta";
  if (!CACHED.has(method) || result.resultType !== "complete") return;
  if (!Number.isInteger(result.ttlMs) || result.ttlMs < 0) yield `a ttlMs ${result.ttlMs}`;
  if (!["public", "private"].includes(result.cacheScope)) yield `a cacheScope ${result.cacheScope}`;
}

function* faultsOfLegacyResult(facts, method, result) {
  for (const member of ["resultType", "ttlMs", "cacheScope", "inputRequests", "requestState"])
    if (member in result) yield `a member ${member}`;
  for (const key of Object.keys(result._meta ?? {})) if (key.startsWith(META.prefix)) yield `_meta with ${key}`;
  const entries = [result.tools, result.prompts, result.resources, result.resourceTemplates].flatMap(
    (list) => list ?? [],
  );
  const unknown = facts.structured ? [] : ["title", "icons", "outputSchema"];
  for (const entry of entries)
    for (const member of unknown) if (member in entry) yield `an entry of ${method} with ${member}`;
  for (const { outputSchema } of entries)
    if (outputSchema && outputSchema.type !== "object") yield "an outputSchema that is no object's";
  if (method !== "tools/call" || !("structuredContent" in result)) return;
  if (!facts.structured) yield "structuredContent";
  else if (!isObject(result.structuredContent)) yield "structuredContent that is no object";
}

function* faultsOfContent({ revision }, method, { content }) {
  if (method !== "tools/call" || content === undefined) return;
  for (const { type } of content) if (revision < (CONTENT[type] ?? "9")) yield `content of type ${type}`;
}

function* faultsOfResult(facts, method, result) {
  if (!isObject(result)) return yield "a result that is no object";
  yield* facts.modern ? faultsOfModernResult(method, result) : faultsOfLegacyResult(facts, method, result);
  yield* faultsOfContent(facts, method, result);
}

/** What a revision has of the codes that belong to the specification alone. */
const knownCodes = ({ modern, elicitationByUrl }) => {
  if (modern) return [CODE.headerMismatch, CODE.missingCapability, CODE.unsupportedVersion];
  return elicitationByUrl ? [CODE.urlRequired] : [];
};

function* faultsOfError(facts, { code, message }, status) {
  if (!Number.isInteger(code) || typeof message !== "string") yield "an error without code or message";
  const reserved = code <= -32020 && code >= -32099;
  if (reserved && !knownCodes(facts).includes(code)) yield `the code ${code}, which is not known here`;
  if (!facts.modern) return;
  if (code <= -32000 && code >= -32019) yield `the code ${code}, which older revisions used`;
  const fits = status === undefined || status === statusOf(code) || (code === CODE.invalidParams && status === 400);
  if (!fits) yield `the status ${status} for the code ${code}`;
}

function* faultsOfNotification(facts, { method, params }) {
  const known = [...ANY_ERA, ...(facts.modern ? MODERN_ONLY : LEGACY_ONLY)];
  if (!known.includes(method)) yield `a notification ${method}`;
  const subscription = params?._meta?.[META.subscription];
  if (facts.modern && SUBSCRIBED.test(method) && subscription === undefined)
    yield `${method} that says no subscription`;
  if (!facts.modern && subscription !== undefined) yield `${method} that says a subscription`;
}

/** What is wrong with a message: a list of texts. `method` is that of the request it answers, `status` that of HTTP. */
export const faultsOf = (facts, message, { method, status } = {}) => {
  if (!isObject(message) || message.jsonrpc !== "2.0") return ["no JSON-RPC message"];
  if (message.method !== undefined && message.id !== undefined)
    return facts.modern ? [`a request ${message.method}`] : [];
  if (message.method !== undefined) return [...faultsOfNotification(facts, message)];
  if (message.error) return [...faultsOfError(facts, message.error, status)];
  return [...faultsOfResult(facts, method, message.result)];
};
