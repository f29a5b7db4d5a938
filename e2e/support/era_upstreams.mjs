// The fixture of the conformance suites as upstreams of one era each, over stdio. It has a tool, a resource and a
// prompt of every kind, and asks its client for everything that may be asked.

import { NODE, fixture } from "./environment.mjs";

const upstream = (era) => ({ command: NODE, args: [fixture("conformance/server.mjs"), "--era", era, "--stdio"] });

/** By the name under which they stand in the configuration, which is also the prefix of what they offer. */
export const ERA_UPSTREAMS = { legacy: upstream("legacy"), modern: upstream("modern"), dual: upstream("dual") };
