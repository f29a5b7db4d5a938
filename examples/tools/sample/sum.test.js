const { sum } = require("./sum.js");
test("adds", () => expect(sum(1, 2)).toBe(3));
test("is wrong", () => expect(sum(1, 2)).toBe(4));
test.skip("is left out", () => {});
