// The TypeScript SDK v1 over stdio: everything an agent's host needs of a server, in order.

import { runCore } from "../support/core.mjs";

await runCore("v1", "stdio");
