//! What is no secret stays, however much it looks like one.

use redact::{Config, Redactor};

const CLEAN: &[&str] = &[
    "the password is checked by the server, and the token expires after 3600 seconds",
    "password: string; token?: string; apiKey = process.env.API_KEY;",
    "let token = parse_token_v2(&input[1..], Some(Token::Ident2));",
    "let key = hasher.finish64();",
    "def login(self, user='', password='', domain=''):",
    "password = getpass.getpass('Password: ')",
    "my_password = request.json_body['hey']",
    "login(username=username, password=password)",
    "export DATABASE_PASSWORD=\"${DATABASE_PASSWORD}\"",
    "password: ${{ secrets.NPM_TOKEN }}",
    "API_KEY=your_api_key_here_123456",
    "api_key: \"<YOUR-API-KEY-1234567890>\"",
    "postgres://user:password@localhost:5432/db",
    "https://user:${PASSWORD}@example.com/x",
    "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "password = \"$DB_PASS2\"; pwd: $1; password=$PASS2&x=1; curl -u \"$USER:$PASS2\" https://h.example",
    "password: ${PASS2}x9!, password=$(cat /run/pw2!)",
    "app --password $APP_PASS2 --token=${TOKEN2}",
    "Server=h;Password=$DB_PASS2;",
    "tc_abc123_short",
    "\"key\": \"550e8400-e29b-41d4-a716-446655440000\"",
    "cache-key: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    "checksum = \"5d2a3a2b7e3b8f3d4c5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4\"",
    "\"integrity\": \"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==\"",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "pub const ERROR_INVALID_PASSWORD: WIN32_ERROR = 86u32;",
    "windows_core::imp::define_interface!(IWebTokenRequest2, IWebTokenRequest2_Vtbl, 0xd700c079);",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEVs/o5+uQbTjL3chynL4wXgUg2R9\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ0JmZ3VyYXRpb24wDQYJKoZIhvcNAQELBQAwDTELMAkG\n-----END CERTIFICATE-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2fNvQmGkGkVnF0b1p0b1p0b1p0b1p0b1p0b1p0b1p0 me@host",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
    "docker run --user 1000:1000 image",
    "[REDACTED:github-pat] and [REDACTED:API_KEY]",
    "<input type=\"password\" name=\"password\" placeholder=\"Password\">",
    "token_count: 128000, max_tokens: 4096, secret_name: \"prod/db/main-2\"",
    "primary_key = \"id\"; foreign_key: user_id2; key_size_bits = 2048",
    "tokenizer: cl100k_base, key_id: k2-2024-01-15",
    "{\"items\":[],\"next_page_token\":\"CAUQAA8xZ7f3kQpL2mN9\"}",
    "{\"nextPageToken\":\"CAUQAA8xZ7f3kQpL2mN9\",\"nextSyncToken\":\"CPDAlvWDx70CEPDAlvWDx70CGAU=\"}",
    "{\"continuationToken\":\"1!96!MDAwMDEyIWRvY3MvYTdLcTlaIXVwOTk5\"}",
    "NextToken=eyJ2IjoiMiIsImMiOiJhN0txOVoifQ8xZ7f3kQ",
    "Next page token: CAUQAA8xZ7f3kQpL2mN9",
    "https://graph.example/v1/users?$top=2&$skiptoken=RFNwdAIAAQAAAB86dXNlcjFAY29udG9zbzE",
    "{\"LastEvaluatedKey\": \"aB3dE5fG7hJ9kL1mN2pQ\", \"cacheKey\": \"aB3dE5fG7hJ9kL1mN2pQ\"}",
    "{\"fileKey\":\"aBcD1234eFgH5678iJkL9m\",\"node_key\":\"aB3dE5fG7hJ9kL1mN2pQ\"}",
    "{\"csrf_token\":\"aB3dE5fG7hJ9kL1mN2pQ4rS6\",\"cursor_token\":\"aB3dE5fG7hJ9kL1mN2pQ4rS6\"}",
    "{\"api_key_hash\":\"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\"}",
    "password: process.env.DB_PASSWORD_2!, token: process.env.API_TOKEN_V2x9,",
    "password: config.dbPass2!, api_key = os.environ.API_KEY_V2",
];

#[test]
fn what_is_no_secret_stays() {
    let redactor = Redactor::new(&Config::default());
    for text in CLEAN {
        assert_eq!(redactor.text(text), *text);
        let json = serde_json::json!({ "text": text }).to_string();
        let struck = redactor.json(json.as_bytes());
        let struck = struck.map(|struck| String::from_utf8_lossy(&struck.bytes).into_owned());
        assert_eq!(struck, None, "{text}");
    }
}
