// The TypeScript SDK v1 over http: everything an agent's host needs of a server, in order.

import { runCore } from "../support/core.mjs";

await runCore("v1", "http");
