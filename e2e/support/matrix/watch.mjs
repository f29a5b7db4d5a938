// What a client hears of changes, kept until somebody looks for it.

import { within } from "../check.mjs";

/** As the client's own limit for an answer. */
const CHANGE_MS_MAX = 20_000;

/** Nobody needs the oldest of so many. */
const KEPT_MAX = 1_000;

export class Watch {
  #heard = [];
  #waiting = new Set();

  /** One more notification. */
  take(notification) {
    this.#heard.push(notification);
    if (this.#heard.length > KEPT_MAX) this.#heard.shift();
    for (const look of [...this.#waiting]) look();
  }

  /** The first notification that `wanted` accepts and nobody had before; it may be yet to come. */
  async next(what, wanted) {
    let look;
    const found = new Promise((resolve) => {
      look = () => {
        const index = this.#heard.findIndex(wanted);
        if (index < 0) return;
        this.#waiting.delete(look);
        resolve(this.#heard.splice(index, 1)[0]);
      };
      this.#waiting.add(look);
      look();
    });
    return within(what, found, CHANGE_MS_MAX).finally(() => this.#waiting.delete(look));
  }
}
