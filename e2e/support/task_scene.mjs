// What an agent's task needs around it: a site with a page that a script fills in and a service to search, and homes with a skill and
// a workspace in which something is to be mended.

import { createServer } from "node:http";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { atEnd } from "./check.mjs";
import { FOLDER } from "./environment.mjs";
import { listen } from "./http_servers.mjs";
import { homely } from "./other_client.mjs";

/** The services that a search asks where nothing else is said. */
const SERVICES = "wikipedia wikidata stackexchange github crates hackernews arxiv openalex mdn".split(" ");

const PAGE = `<!doctype html><title>Fence posts</title><nav>menu</nav><main></main><script>
  document.querySelector("main").innerHTML = "<h1>Fence posts</h1><p>A fence of n panels has n + 1 posts.</p>";
</script>`;
const site = createServer((request, response) => {
  if (request.url.startsWith("/find")) {
    const found = [
      { title: "Fence posts", url: `http://localhost:${port}/posts`, snippet: "how many posts a fence has" },
    ];
    return response.setHeader("content-type", "application/json").end(JSON.stringify({ found }));
  }
  response.setHeader("content-type", "text/html").end(PAGE);
});
export const port = await listen(site);
atEnd(() => site.close());
atEnd(() => site.closeAllConnections());

const chunk = (kind, content) => {
  const [named, length, sum] = [Buffer.concat([Buffer.from(kind), content]), Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
};
const head = Buffer.from([0, 0, 0, 8, 0, 0, 0, 1, 8, 2, 0, 0, 0]);
const picture = [chunk("IHDR", head), chunk("IDAT", deflateSync(Buffer.alloc(25))), chunk("IEND", Buffer.alloc(0))];
const picturePng = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), ...picture]);

/** A home with a configuration, a skill, and a workspace in which something is to be mended. */
export const makeScene = (name) => {
  const home = path.join(FOLDER, name);
  const own = path.join(home, ".config", "toolcrib");
  const workspace = path.join(home, "work");
  mkdirSync(path.join(own, "skills", "fixing"), { recursive: true });
  mkdirSync(workspace, { recursive: true });
  const put = (folder, file, text) => writeFileSync(path.join(folder, file), text);
  put(
    own,
    "toolcrib.toml",
    `[sandbox]
hosts = ["localhost:${port}", "127.0.0.1:${port}"]
ask = false
${SERVICES.map((name) => `[search.services.${name}]\nenabled = false`).join("\n")}
[search.services.local]
url = "http://127.0.0.1:${port}/find?q={query}"
items = "/found"
`,
  );
  put(
    path.join(own, "skills", "fixing"),
    "SKILL.md",
    "---\nname: fixing\ndescription: Use this when a defect is to be mended.\n---\nMend $ARGUMENTS, then run check.sh.\n",
  );
  put(workspace, "posts.sh", 'posts() { echo "$1"; }\n');
  put(
    workspace,
    "check.sh",
    '. ./posts.sh\necho checking\nsleep 1\n[ "$(posts 3)" = 4 ] && echo "all is well" || { echo "posts 3 is $(posts 3), not 4"; exit 1; }\n',
  );
  put(workspace, "fence.png", picturePng);
  const env = { XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" };
  return { home, workspace, options: { env: homely(home, env), cwd: workspace } };
};
