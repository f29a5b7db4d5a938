// The TypeScript SDK v2 over http: everything an agent's host needs of a server, in order.

import { runCore } from "../support/core.mjs";

await runCore("v2", "http");
