// Every way in which a secret may be written, and where one of them is found.

const inJson = (text) => JSON.stringify(text).slice(1, -1);
const inAsciiJson = (text) =>
  inJson(text).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The digits of base64 that the secret alone settles, behind `before` other bytes. */
const inBase64 = (text, before, encoding) => {
  const whole = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
  const digits = whole.toString(encoding).replace(/=+$/, "");
  return digits.slice(Math.ceil((before * 8) / 6), Math.floor((whole.length * 8) / 6));
};

/** The spellings of a text, by their names. */
export const spellings = (text) => ({
  plain: text,
  json: inJson(text),
  "json twice": inJson(inJson(text)),
  "ascii json": inAsciiJson(text),
  url: encodeURIComponent(text),
  form: new URLSearchParams({ "": text }).toString().slice(1),
  hex: Buffer.from(text).toString("hex"),
  HEX: Buffer.from(text).toString("hex").toUpperCase(),
  ...Object.fromEntries(
    ["base64", "base64url"].flatMap((encoding) =>
      [0, 1, 2].map((before) => [`${encoding} behind ${before}`, inBase64(text, before, encoding)]),
    ),
  ),
});

/** `NAME as SPELLING` for each of the secrets, `{NAME: text}`, that stands in the bytes. */
export const found = (bytes, secrets) => {
  const seen = Buffer.isBuffer(bytes) ? bytes.toString("latin1") : Buffer.from(bytes).toString("latin1");
  return Object.entries(secrets).flatMap(([name, text]) =>
    Object.entries(spellings(text))
      .filter(([, spelt]) => seen.includes(Buffer.from(spelt).toString("latin1")))
      .map(([how]) => `${name} as ${how}`),
  );
};
