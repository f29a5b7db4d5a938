// What a cell of the matrix is held to: made from the two revisions that meet in it, and from nothing else.

import { CODE, about } from "../../fixtures/matrix/revisions.mjs";
import { TOOLS } from "../../fixtures/matrix/tools.mjs";

/**
 * True when the server does not say which call a question belongs to, as older ones do not on a stream that all calls
 * share. With calls of several clients under way a gateway must not guess; such a call may fail.
 */
export const hidesWhoIsAsked = ({ revision, transport }) => !about(revision).modern && transport !== "http";

/** Both are doors, `{revision, transport}`; without a gateway they are the same one. */
export const expectationsOf = (clientDoor, upstreamDoor) => {
  const upstreamRevision = upstreamDoor.revision;
  const [client, upstream] = [about(clientDoor.revision), about(upstreamRevision)];
  const both = (fact) => client[fact] && upstream[fact];
  return {
    /** The names of the tools, but for those that are added later. */
    tools: Object.entries(TOOLS)
      .filter(([, { since = "", last = "9" }]) => upstreamRevision >= since && upstreamRevision <= last)
      .map(([name]) => name),
    /** `title`, and an object's `outputSchema` and `structuredContent`. */
    structured: both("structured"),
    /** The result of `tally`: any JSON as `structuredContent`, of any schema. */
    anyStructured: both("modern"),
    hasTally: upstream.modern,
    /** How a note is pointed at: a link if both know links; else the client gets what it knows. */
    link: both("structured") ? ["resource_link"] : upstream.structured ? ["resource", "text"] : ["resource"],
    /** The words of a progress report; a client of the first revision may see them or not. */
    progressMessages: upstream.progressMessage
      ? client.progressMessage
        ? ["step 1"]
        : ["step 1", undefined]
      : [undefined],
    resourceMissing: client.resourceMissing,
    missingNamesUri: client.modern,
    /** What comes of `ask`: the tool is not there, it is answered, or it is refused. */
    ask: !upstream.elicitation ? "absent" : client.elicitation ? "answered" : "refused",
    /** Whether several calls can be asked at once: nothing holds together what a client of this era says over HTTP. */
    mayRefuseAtOnce: client.modern && clientDoor.transport === "http" && hidesWhoIsAsked(upstreamDoor),
    /** The same of `visit`, which asks the user to open an address. */
    visit: !upstream.elicitationByUrl ? "absent" : client.elicitationByUrl ? "answered" : "refused",
    /** What comes of an error that says so: who can open an address is asked to, the others are told in words. */
    wall:
      upstreamRevision !== "2025-11-25"
        ? "absent"
        : !upstreamDoor.prefix
          ? CODE.urlRequired
          : client.elicitationByUrl
            ? "answered"
            : "isError",
    /** A client over Streamable HTTP that hangs up has not cancelled, before 2026-07-28. */
    outlivesHangUp: clientDoor.transport === "http" && !client.modern,
    /** What comes of a request of a kind that the client did not declare. */
    undeclared: client.modern ? CODE.missingCapability : "isError",
    /** A client of this era can leave a capability out of one request. */
    canWithhold: client.modern && upstream.elicitation,
    /** How an upstream tells that the client cannot be asked: 2026-07-28 has a code, the others tell it in the result. */
    withheld: upstream.modern ? [CODE.missingCapability] : [CODE.missingCapability, "isError"],
    /** Schemas pass as they are, with what 2026-07-28 says in them. */
    echoSchema: {
      type: "object",
      properties: { text: { type: "string", ...(upstream.modern && { "x-mcp-header": "Text" }) } },
      required: ["text"],
    },
  };
};
