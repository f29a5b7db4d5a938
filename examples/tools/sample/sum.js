const unused = 1
module.exports = { sum: (a, b) => { return a + b } };
