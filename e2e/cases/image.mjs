// `ReadImage`: pictures made here, shown smaller and without what their files tell beside them; what is no picture, damaged or a
// lie refused in words; decoded by a worker that is confined.

import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { check, checkHolds, checkSame, eventually, run } from "../support/check.mjs";
import { configure, expectExit } from "../support/toolcrib.mjs";
import { openWire } from "../support/wire_stdio.mjs";

const config = configure();
const wire = await openWire(config);
const put = (name, bytes) => writeFileSync(path.join(config.workspace, name), bytes);
const view = async (file_path, of = wire) => (await of.call("ReadImage", { file_path })).message.result;

/** The picture, and what is said of it. */
const shown = async (file_path, of = wire) => {
  const result = await view(file_path, of);
  check(!result.isError, "a picture", result);
  checkSame(
    "its blocks",
    ["image", "text"],
    result.content.map(({ type }) => type),
  );
  check(result.structuredContent === undefined, "no second form, which would hide it", result);
  const [{ data, mimeType }, { text }] = result.content;
  return { bytes: Buffer.from(data, "base64"), mimeType, text };
};
const refused = async (file_path, ...words) => {
  const result = await view(file_path);
  check(result.isError, `${file_path} to be refused`, result);
  checkHolds("why", result.content[0].text, ...words);
};

const number = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const chunk = (kind, content) => {
  const named = Buffer.concat([Buffer.from(kind), content]);
  return Buffer.concat([number(content.length), named, number(crc32(named))]);
};
/** A PNG of these lines of RGB, or one that says so. */
const png = (width, height, pixels, ...chunks) =>
  Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", Buffer.concat([number(width), number(height), Buffer.from([8, 2, 0, 0, 0])])),
    ...chunks,
    chunk("IDAT", deflateSync(pixels, { level: 1 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);

/** Numbers that look random and are the same in every run. */
let seed = 3;
const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) >>> 16;
const lines = (width, height, pixel) => {
  const bytes = Buffer.alloc(height * (1 + 3 * width));
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < 3 * width; x += 1) bytes[y * (1 + 3 * width) + 1 + x] = pixel(x, y);
  return bytes;
};
const screen = png(
  2_000,
  1_000,
  lines(2_000, 1_000, (x, y) => (x >> 5) + y),
);

const sizeOfPng = (bytes) => [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
/** What its frame says. */
const sizeOfJpeg = (bytes) => {
  for (let at = 2; ; at += 2 + bytes.readUInt16BE(at + 2))
    if ([0xc0, 0xc2].includes(bytes[at + 1])) return [bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5)];
};

await run({
  "a picture is shown smaller, whatever its name, and its size is said": async () => {
    put("screen.txt", screen);
    const { bytes, mimeType, text } = await shown("screen.txt");
    checkSame("its type", "image/png", mimeType);
    checkSame("its size", [1_568, 784], sizeOfPng(bytes));
    checkSame("what is said", "[screen.txt: image/png, 2000 × 1000 pixels, shown as 1568 × 784.]", text);
    checkSame("by its whole path", text, (await shown(path.join(config.workspace, "screen.txt"))).text);
  },

  "one that is small stays as large, and loses what its file tells": async () => {
    const beside = chunk("tEXt", Buffer.from("Comment\0taken at home"));
    put(
      "small.png",
      png(
        4,
        2,
        lines(4, 2, (x) => x),
        beside,
      ),
    );
    const { bytes, text } = await shown("/workspace/small.png");
    checkSame("its size", [4, 2], sizeOfPng(bytes));
    check(!bytes.includes("taken at home"), "no comment", bytes.toString("latin1"));
    checkSame("what is said", "[small.png: image/png, 4 × 2 pixels.]", text);
  },

  "what is too large as PNG comes as JPEG, and a JPEG is turned as its camera says": async () => {
    put("noise.png", png(1_500, 1_000, lines(1_500, 1_000, random)));
    const { bytes, mimeType } = await shown("noise.png");
    checkSame("its type", "image/jpeg", mimeType);
    checkSame("its size", [1_500, 1_000], sizeOfJpeg(bytes));
    check(bytes.length <= 3_932_160, "no more than providers take", bytes.length);
    const exif = Buffer.from("Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0", "latin1");
    const segment = Buffer.concat([Buffer.from([0xff, 0xe1, 0, 2 + exif.length]), exif]);
    put("photo.jpg", Buffer.concat([bytes.subarray(0, 2), segment, bytes.subarray(2)]));
    const photo = await shown("photo.jpg");
    checkSame("what is said", "[photo.jpg: image/jpeg, 1000 × 1500 pixels.]", photo.text);
    checkSame("its size", [1_000, 1_500], sizeOfJpeg(photo.bytes));
    check(!photo.bytes.includes("Exif"), "nothing of the camera", "Exif");
    put("cut.jpg", bytes.subarray(0, bytes.length >> 1));
    await refused("cut.jpg", "cut.jpg", "damaged or cut short");
  },

  "what models do not see becomes a PNG": async () => {
    const bmp = Buffer.alloc(54 + 2 * 8);
    bmp.write("BM");
    bmp.writeUInt32LE(bmp.length, 2);
    const head = [
      [bmp.length, 2],
      [54, 10],
      [40, 14],
      [2, 18],
      [2, 22],
      [1 | (24 << 16), 26],
      [16, 34],
    ];
    for (const [value, at] of head) bmp.writeUInt32LE(value, at);
    put("old", bmp);
    const { mimeType, text } = await shown("old");
    checkSame("its type", ["image/png", "[old: image/bmp, 2 × 2 pixels.]"], [mimeType, text]);
  },

  "what is no picture is refused in words": async () => {
    mkdirSync(path.join(config.workspace, "folder"));
    put("drawing.png", '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>');
    put("text.png", "no picture");
    put("empty.png", "");
    await refused("drawing.png", "SVG", "workspace_read", "convert it to PNG");
    await refused("text.png", "no picture by its content", "PNG, JPEG, GIF, WebP, BMP and TIFF");
    await refused("empty.png", "empty");
    await refused("folder", "folder");
    await refused("none.png", "none.png");
    await refused("/etc/passwd", "outside the workspace");
    await refused("../toolcrib.toml", "outside the workspace");
  },

  "what is damaged or lies is refused in words, and takes nothing with it": async () => {
    put("cut.png", screen.subarray(0, screen.length >> 1));
    const wrong = Buffer.from(screen);
    wrong[wrong.length >> 1] ^= 0x40;
    put("wrong.png", wrong);
    put("huge.png", png(60_000, 60_000, Buffer.alloc(1_000)));
    put("deep.png", png(10_001, 10_000, Buffer.alloc(1_000)));
    await Promise.all([
      refused("cut.png", "damaged or cut short"),
      refused("wrong.png", "damaged or cut short"),
      refused("huge.png", "60000 × 60000", "100 megapixels", "smaller"),
      refused("deep.png", "10001 × 10000", "100 megapixels"),
    ]);
    await shown("screen.txt");
  },

  "how large is a setting": async () => {
    const small = configure({ more: "[tools]\nimage_edge = 100\n" });
    writeFileSync(path.join(small.workspace, "screen.png"), screen);
    const other = await openWire(small);
    checkSame("its size", [100, 50], sizeOfPng((await shown("screen.png", other)).bytes));
    await other.end();
    const { file } = configure({ more: "[tools]\nimage_edge = 10\n" });
    const { stderr } = await expectExit(2, ["config", "check", "--config", file]);
    checkHolds("too small", stderr, "tools.image_edge", "between 64 and 4000");
  },

  "the record says that a worker was confined": async () => {
    await shown("screen.txt");
    // A record is written once its call is answered.
    await eventually("a record with its profile", async () => {
      const { stdout } = await expectExit(0, ["audit", "tail", "-n", "1", "--json", "--config", config.file]);
      return stdout.includes('"ReadImage"') && /"profile":\s*"worker"/.test(stdout);
    });
    await wire.end();
  },
});
