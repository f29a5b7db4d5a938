// Several clients, whose ids and tokens are the same, use the same upstreams at the same time. Each must get its own
// answers, be asked its own questions and hear of its own progress.

import { randomUUID } from "node:crypto";
import { about } from "../../fixtures/matrix/revisions.mjs";
import { hidesWhoIsAsked } from "./expectations.mjs";

/** Enough for calls of one client to stand between those of another. */
const CALLS_EACH = 20;
const QUESTIONS_EACH = 3;

const textOf = ({ content }) => content.map(({ text }) => text ?? "").join("\n");

const echo = async (client, { prefix }) => {
  const words = randomUUID();
  const came = textOf(await client.call(`${prefix}_echo`, { text: words }));
  if (came !== words) throw new Error(`expected its own words\n       came another's: ${came}`);
};

const slow = async (client, { prefix }) => {
  const seen = [];
  await client.call(`${prefix}_slow`, {}, { report: ({ progress }) => seen.push(progress) });
  if (seen.join() !== "1,2,3") throw new Error(`expected three reports\n       came ${seen.join()}`);
};

const ask = async (client, upstream) => {
  const [label, name] = [randomUUID(), randomUUID()];
  client.elicit.set(label, () => ({ action: "accept", content: { name } }));
  const result = await client.call(`${upstream.prefix}_ask`, { label, times: 2 });
  client.elicit.delete(label);
  if (result.isError && hidesWhoIsAsked(upstream)) return; // But nobody else may have been asked.
  if (textOf(result) !== `${name} and ${name}`)
    throw new Error(`expected its own answers\n       came ${textOf(result)}`);
};

const times = (count, start) => Array.from({ length: count }, start);

/** Resolves with what did not pass, as for a row of the matrix; closes the clients. */
export const runSideBySide = async (clients, upstreams) => {
  const found = [];
  const attempt = (step, upstream, doing) =>
    doing.catch((error) => {
      const { revision, transport, prefix } = upstream;
      found.push({ kind: "fault", where: `${revision} ${transport}`, prefix, step, message: error.message });
    });
  // A client has to know the schemas: some arguments are repeated in headers.
  await Promise.all(clients.map((client) => client.list("tools/list", "tools")));
  const all = clients.flatMap((client) =>
    upstreams.flatMap((upstream) => [
      ...times(CALLS_EACH, () => attempt("echo", upstream, echo(client, upstream))),
      ...times(CALLS_EACH, () => attempt("slow", upstream, slow(client, upstream))),
      ...(about(upstream.revision).elicitation
        ? times(QUESTIONS_EACH, () => attempt("ask", upstream, ask(client, upstream)))
        : []),
    ]),
  );
  await Promise.all(all);
  for (const client of clients) {
    await client.close().catch((error) => client.faults.push(error.message));
    const message = (text) => ({
      kind: "fault",
      where: `the client of ${client.facts.revision}`,
      step: "what it must not be sent",
      message: text,
    });
    found.push(...client.faults.map(message));
  }
  for (const upstream of upstreams) {
    const { revision, transport, prefix } = upstream;
    const lines = upstream.complaints();
    found.push(
      ...lines.map((message) => ({
        kind: "fault",
        where: `${revision} ${transport}`,
        prefix,
        step: "the upstream complains",
        message,
      })),
    );
  }
  return found;
};
