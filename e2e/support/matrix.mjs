// The matrix: every revision of a client against every revision of a server, each over the transports it defines.
// A case names one transport on the client's side; this file runs the cells and prints those that failed.

import { DOORS } from "../fixtures/matrix/revisions.mjs";
import { run } from "./check.mjs";
import { openClient } from "./matrix_client.mjs";
import { runCell } from "./matrix/cell.mjs";
import { failFor } from "./matrix/report.mjs";
import { runSideBySide } from "./matrix/side_by_side.mjs";
import { startUpstreams } from "./matrix/upstreams.mjs";
import { configure, serve, stdioCommand } from "./toolcrib.mjs";

/** Cells that run at once. Two upstreams that ask at the same time must not get each other's answers. */
const CELLS_AT_ONCE = 5;

const nameOf = ({ revision, transport }) => `${revision} ${transport}`;

/** Clients that use the same upstreams at the same time, all with the same ids. */
const SIDE_BY_SIDE = ["2025-06-18", "2025-11-25", "2026-07-28", "2026-07-28"];

/** A fault that belongs to no single cell. */
const faultAt = (where, step) => (message) => ({ kind: "fault", where, step, message });

/** Runs all of one client's cells and closes it; what did not pass, each with its cell. */
const runRow = async (client, upstreams) => {
  const found = [];
  const waiting = [...upstreams];
  const worker = async () => {
    for (let upstream; (upstream = waiting.shift()); ) {
      const { prefix } = upstream;
      found.push(...(await runCell(client, upstream)).map((each) => ({ where: nameOf(upstream), prefix, ...each })));
    }
  };
  await Promise.all(Array.from({ length: CELLS_AT_ONCE }, worker));
  await client.close().catch((error) => found.push(faultAt("the client", "close")(error.message)));
  found.push(...client.faults.map(faultAt("the client", "what it must not be sent")));
  return found;
};

/** The server met directly: what fails here is not the gateway's fault. */
const selfCheck = (door) => async () => {
  const [upstream] = await startUpstreams([door]);
  const client = await openClient({ ...door, target: upstream.target });
  failFor(await runRow(client, [{ ...upstream, prefix: "", isOurs: (uri) => uri === "memo://one" }]), [nameOf(door)]);
};

/** How a client reaches the gateway over this transport. */
const GATEWAY = {
  stdio: (config) => stdioCommand(config),
  http: async (config) => ({ url: (await serve(config)).url }),
  sse: async (config) => ({ url: (await serve(config)).url.replace(/\/mcp$/, "/sse") }),
};

/** Waits until every upstream is listed: a gateway that starts need not hold up its first list for all of them. */
const whenListed = async (client, upstreams) => {
  const watch = await client.watch();
  for (;;) {
    const names = new Set((await client.list("tools/list", "tools")).map(({ name }) => name));
    const lacking = upstreams.filter(({ prefix }) => !names.has(`${prefix}_echo`));
    if (lacking.length === 0) return client.unwatch(watch);
    await watch.next(
      `news of ${lacking.map(nameOf).join(", ")}`,
      ({ method }) => method === "notifications/tools/list_changed",
    );
  }
};

/** Runs every cell whose client uses this transport; with `--self-check` only the servers, without a gateway. */
export const runMatrix = async (transport) => {
  const doors = DOORS.filter((door) => door.transport === transport);
  const parts = Object.fromEntries(doors.map((door) => [`${nameOf(door)}, without a gateway`, selfCheck(door)]));
  if (process.argv.includes("--self-check")) return run(parts);

  let reached;
  const begin = async () => {
    const upstreams = await startUpstreams();
    const tables = Object.fromEntries(upstreams.map(({ prefix, table }) => [prefix, table]));
    const config = configure({ upstreams: tables, more: "[tools]\noffer = []" });
    return { upstreams, target: await GATEWAY[transport](config) };
  };
  for (const door of doors)
    parts[`${nameOf(door)}, over the gateway to ${DOORS.length} upstreams`] = async () => {
      const { upstreams, target } = await (reached ??= begin());
      const client = await openClient({ ...door, target });
      const late = await whenListed(client, upstreams).then(
        () => [],
        (error) => [faultAt("all upstreams", "begin")(error.message)],
      );
      failFor([...late, ...(await runRow(client, upstreams))], upstreams.map(nameOf));
    };
  if (transport === "http")
    parts["clients at once, and nothing crossed"] = async () => {
      const { upstreams, target } = await (reached ??= begin());
      const clients = await Promise.all(SIDE_BY_SIDE.map((revision) => openClient({ revision, transport, target })));
      failFor(await runSideBySide(clients, upstreams), upstreams.map(nameOf));
    };
  return run(parts);
};
