module.exports = [{ files: ["**/*.js"], languageOptions: { sourceType: "commonjs" }, rules: { "no-unused-vars": "warn", "arrow-body-style": "error" } }];
