// A person at a browser: signs in and consents on the pages of oidc-provider, in a real Chromium without a window.

import path from "node:path";
import { FOLDER, importPackage } from "./environment.mjs";
import { atEnd, within } from "./check.mjs";

/** No page takes longer. */
const PAGE_MS_MAX = 60_000;

/** A browser of several hundred megabytes is read from disk on its first start. */
const START_MS_MAX = 90_000;

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-dev-shm-usage",
  "--no-first-run",
];

/** Opens the browser, with nobody signed in anywhere. */
export const browser = async () => {
  const { launch } = (await importPackage("puppeteer-core")).default ?? (await importPackage("puppeteer-core"));
  const chromium = await within(
    "Chromium to start",
    launch({
      executablePath: process.env.TOOLCRIB_E2E_CHROMIUM ?? "/usr/bin/chromium",
      args: FLAGS,
      timeout: START_MS_MAX,
      userDataDir: path.join(FOLDER, "chromium"),
    }),
    START_MS_MAX,
  );
  atEnd(() => chromium.close());
  return {
    /** Opens an address, signs in where that is asked for, consents, and resolves with the text of the last page. */
    consent: async (url) => {
      const page = await chromium.newPage();
      page.setDefaultTimeout(PAGE_MS_MAX);
      await page.goto(url);
      // The pages are forms: one to sign in, which a later visit does not show, and one to consent.
      for (let form = 0; form < 2; form += 1) {
        if (!(await page.$("form button[type=submit]"))) break;
        if (await page.$("input[name=login]")) {
          await page.type("input[name=login]", "ada");
          await page.type("input[name=password]", "any");
        }
        await Promise.all([page.waitForNavigation(), page.click("form button[type=submit]")]);
      }
      const shown = await page.evaluate("document.body.innerText");
      await page.close();
      return shown;
    },
    /** Opens an address and resolves with the text of the page, and what the page may do. */
    open: async (url) => {
      const page = await chromium.newPage();
      page.setDefaultTimeout(PAGE_MS_MAX);
      const response = await page.goto(url);
      const seen = {
        status: response.status(),
        headers: response.headers(),
        text: await page.evaluate("document.body.innerText"),
      };
      await page.close();
      return seen;
    },
  };
};
