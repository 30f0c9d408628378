"""Shapes of the keys of many services, and of texts that only look like them.

A shape is how a key looks, such as `sk_live_{b62:24}`; the samples are made from
shapes at run time, so that nothing that looks like a key stands in this file.
"""

from __future__ import annotations

import base64
import hashlib
import random
import re
import string
from collections.abc import Iterator

ALPHABETS = {
    "dec": string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "b32": string.ascii_uppercase + "234567",
    "b36": string.ascii_lowercase + string.digits,
    "B36": string.ascii_uppercase + string.digits,
    "b62": string.ascii_letters + string.digits,
    "url": string.ascii_letters + string.digits + "-_",
    "b64": string.ascii_letters + string.digits + "+/",
}
FIELD = re.compile(r"\{(\w+):(\d+)\}")

TOLD_BY_THEMSELVES = """
1password: ops_eyJ{b62:260}
1password: A3-{B36:6}-{B36:6}-{B36:5}-{B36:5}-{B36:5}-{B36:5}
adafruit: aio_{b62:28}
adobe: p8e-{b36:32}
age: AGE-SECRET-KEY-1{B36:58}
airtable: pat{b62:14}.{hex:64}
alibaba: LTAI{b62:20}
anthropic: sk-ant-api03-{url:93}AA
anthropic: sk-ant-admin01-{url:93}AA
artifactory: AKCp{b62:69}
artifactory: cmVmdGtu{b62:56}
atlassian: ATATT3{url:186}
authress: sc_{b36:12}.{b36:4}.acc-{b36:16}.{b62:40}
aws: AKIA{b32:16}
aws: ASIA{b32:16}
azure-ad: {b62:3}8Q~{b62:34}
bedrock: ABSK{b62:110}
brevo: xkeysib-{hex:64}-{b62:16}
buildkite: bkua_{hex:40}
cerebras: csk-{b36:48}
clickhouse: 4b1d{b62:38}
clojars: CLOJARS_{hex:60}
cloudflare: v1.0-{hex:24}-{hex:146}
crates: cio{b62:32}
databricks: dapi{hex:32}
defined: dnkey-{b36:26}-{b36:52}
digitalocean: dop_v1_{hex:64}
digitalocean: doo_v1_{hex:64}
discord: https://discord.com/api/webhooks/{dec:18}/{url:68}
docker: dckr_pat_{url:27}
doppler: dp.pt.{b62:43}
dropbox: sl.{url:135}
duffel: duffel_live_{url:43}
dynatrace: dt0c01.{B36:24}.{B36:64}
easypost: EZAK{b62:54}
facebook: EAAM{b62:120}
figma: figd_{url:40}
fireworks: fw_{b62:24}
flutterwave: FLWSECK-{hex:32}-X
fly: fo1_{url:43}
frameio: fio-u-{url:64}
github: ghp_{b62:36}
github: gho_{b62:36}
github: ghs_{b62:36}
github: github_pat_{b62:22}_{b62:59}
gitlab: glpat-{url:20}
gitlab: gldt-{url:20}
gitlab: glrt-{url:20}
gitlab: glptt-{hex:40}
gitlab: GR1348941{url:20}
google: AIza{url:35}
google: GOCSPX-{url:28}
google: ya29.{url:120}
grafana: glsa_{b62:32}_{hex:8}
grafana: glc_{b62:120}
groq: gsk_{b62:52}
harness: pat.{url:22}.{b62:24}.{b62:20}
heroku: HRKU-AA{url:58}
hugging-face: hf_{b62:34}
infracost: ico-{b62:32}
intra42: s-s4t2ud-{hex:64}
langsmith: lsv2_pt_{hex:32}_{hex:10}
linear: lin_api_{b62:40}
mailgun: key-{hex:32}
mapbox: sk.eyJ{b62:80}.{b62:22}
netlify: nfp_{b62:36}
new-relic: NRAK-{B36:27}
notion: ntn_{dec:11}{b62:35}
npm: npm_{b62:36}
nvidia: nvapi-{url:64}
octopus: API-{B36:26}
office: https://acme.webhook.office.com/webhookb2/{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}@{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}/IncomingWebhook/{hex:32}/{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
openai: sk-proj-{url:74}T3BlbkFJ{url:74}
openai: sk-{b62:48}
openrouter: sk-or-v1-{hex:64}
openshift: sha256~{b62:43}
perplexity: pplx-{b62:48}
plaid: access-sandbox-{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
planetscale: pscale_tkn_{url:43}
postman: PMAK-{hex:24}-{hex:34}
prefect: pnu_{b62:36}
pulumi: pul-{hex:40}
pypi: pypi-AgEIcHlwaS5vcmc{url:70}
readme: rdme_{b36:70}
replicate: r8_{b62:37}
rubygems: rubygems_{hex:48}
scalingo: tk-us-{url:48}
sendgrid: SG.{url:22}.{url:43}
sentry: sntryu_{hex:64}
settlemint: sm_pat_{b62:16}
shippo: shippo_live_{hex:40}
shopify: shpat_{hex:32}
slack: xoxb-{dec:12}-{dec:12}-{b62:24}
slack: xapp-1-{B36:11}-{dec:13}-{hex:64}
slack: https://hooks.slack.com/services/T{B36:10}/B{B36:10}/{b62:24}
sourcegraph: sgp_{hex:40}
square: sq0atp-{url:22}
stripe: sk_live_{b62:24}
stripe: rk_test_{b62:24}
supabase: sbp_{hex:40}
tailscale: tskey-auth-{b62:16}-{b62:32}
tavily: tvly-{b62:32}
telegram: bot{dec:9}:AA{url:33}
terraform: {b62:14}.atlasv1.{url:67}
twilio: SK{hex:32}
typeform: tfp_{b62:44}_{b62:14}
vault: hvs.{url:90}
vercel: vcp_{b62:56}
webhook: whsec_{b62:32}
xai: xai-{b62:80}
yandex: AQVN{url:36}
"""

TOLD_BY_A_NAME = """
adafruit: {b36:32}
airtable: {b62:17}
algolia: {hex:32}
aliyun: {b62:30}
appveyor: {b36:20}
asana: {hex:32}
atlassian: {b62:24}
auth0: {url:64}
aws: {b64:40}
azure: {b64:43}=
beamer: b_{url:44}
binance: {b62:64}
bitbucket: {b62:32}
bittrex: {hex:32}
bugsnag: {hex:32}
circleci: {hex:40}
cloudflare: {url:40}
cloudflare: {hex:37}
cloudinary: {url:27}
codecov: {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
codecov: {b36:32}
cohere: {b62:40}
coinbase: {b62:64}
confluent: {b64:64}
contentful: {url:43}
coveralls: {b62:33}
datadog: {hex:40}
deepgram: {hex:40}
deepl: {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}:fx
discord: {hex:64}
discord: {url:32}
droneci: {b62:32}
dropbox: {b36:15}
elevenlabs: {hex:32}
etsy: {b36:24}
facebook: {hex:32}
fastly: {url:32}
finicity: {hex:32}
finnhub: {b36:20}
flickr: {hex:32}
freshbooks: {hex:64}
gitter: {hex:40}
gocardless: live_{url:40}
heroku: {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
honeycomb: {b62:22}
hubspot: {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
infura: {hex:32}
intercom: {url:60}
jfrog: {b62:73}
kraken: {b64:86}
kucoin: {hex:24}
launchdarkly: {hex:40}
linkedin: {b62:16}
lob: live_{hex:35}
looker: {b62:24}
mailchimp: {hex:32}-us12
mailjet: {hex:32}
mattermost: {b36:26}
maxmind: {b62:6}_{b62:29}_mmk
meraki: {hex:40}
messagebird: {b62:25}
mistral: {b62:32}
mixpanel: {hex:32}
nytimes: {b62:32}
okta: 00{url:40}
opsgenie: {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
pagerduty: {b62:20}
pinecone: {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
plaid: {hex:30}
postmark: {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
pusher: {hex:20}7e4a
rapidapi: {b62:50}
rollbar: {hex:32}
sendbird: {hex:40}
sentry: {hex:64}
snyk: {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
sonar: {hex:40}
spotify: {hex:32}
squarespace: {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
sumologic: {b62:64}
travis: {b62:22}
trello: {hex:64}
twitch: {b36:30}
twitter: {b62:50}
twitter: {dec:18}-{b62:40}
virustotal: {hex:64}
wakatime: {hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}
yelp: {url:128}
zendesk: {b62:40}
zoom: {b62:32}
"""

AROUND_A_KEY = (
    "{key}",
    "KEY={key}\n",
    'connect(key="{key}")',
    "see <{key}> in the log",
    '{{"env": "A=1\\n{key}\\nB=2"}}',
    "- {key}\n- other\n",
)

BESIDE_A_NAME = (
    "{NAME}_API_KEY={key}\n",
    'export {NAME}_SECRET="{key}"',
    '{name}_api_token = "{key}"',
    '"{name}ApiKey": "{key}",',
    "{name}-secret-key: {key}\n",
    "let {name}Token = `{key}`;",
    "{name}Secret := '{key}'",
    "{name}.access.token={key}\n",
    "- name: {NAME}_TOKEN\n  value: {key}\n",
    'const {name}ApiKey: string = "{key}";',
    "<{name}Token>{key}</{name}Token>",
    "tool --{name}-token {key} --verbose",
    'System.setProperty("{name}.api.key", "{key}");',
    "curl -H 'X-{Name}-Api-Key: {key}' https://api.acme.dev",
    '{{"env": "A=1\\n{NAME}_TOKEN={key}\\nB=2"}}',
    "https://api.acme.dev/{name}?user=7&access_token={key}&page=2",
)

HARMLESS_LINES = r"""
api_key = os.environ["ACME_API_KEY"]
api_key = config.get("acme", "api_key")
apiKey: process.env.ACME_API_KEY,
const token = await getAccessToken(user2, scope1);
token = self.tokenizer.next_token(stream, position)
password: str = Field(min_length=12)
private_key: Ed25519PrivateKey | X25519PrivateKey
secret_key: PKCS7PrivateKeyTypes,
access_token: Optional[OAuth2AccessTokenModel] = None
auth_token := base64.StdEncoding.EncodeToString(raw)
api_key = sha256(b"one").hexdigest()
client_secret = "${ACME_CLIENT_SECRET}"
client_secret = "{{ vault.acme_client_secret_1 }}"
api_token: ${{ secrets.ACME_API_TOKEN_2 }}
api_key: "<your-api-key-2>"
API_KEY=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
STRIPE_SECRET_KEY=sk_test_your_key_here_0000
GITHUB_TOKEN=ghp_replace_me_with_your_own_token_123
AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE
AWS_SECRET_ACCESS_KEY=<40 characters from the console>
password = "changeme123"
password = "password1"
db_password: postgres
postgres://user:password@localhost:5432/db
mysql://root:secret@127.0.0.1/app
redis://:${REDIS_PASSWORD}@cache:6379/0
https://user:%s@host/path
token_url = "https://login.acme.dev/oauth2/v2.0/token"
TOKEN_URL=https://login.acme.dev/t1/oauth2/v2.0/token
access_token_url: /oauth2/v2/token-7f3a
secret_name = "projects/app-17/secrets/db-main-2"
SECRET_NAME=prod-db-credentials-2
secretName: app-tls-cert-2024-v3
kms_key_alias = "alias/app-key-2024-v2"
key_arn = "arn:aws:kms:eu-west-1:111122223333:key/app"
key_file: /etc/ssl/private/server-2024-key.pem
private_key_path = "~/.ssh/id_ed25519_deploy2"
ssh_key_path: ./keys/deploy_2024_rsa4096
keystore.file=config/keystore-2024.p12
tokenizer = "cl100k_base_v2_2024"
token_type: urn:ietf:params:oauth:token-type:jwt2
tokens: ["tok1", "tok2", "tok3", "tok4"]
max_tokens=4096, top_k=40, top_p=0.95
MAX_TOKENS=131072
keyword = "base64url2hex4utf8"
keyboard: "en-us-qwerty-105keys"
keyframes: fade-in-2s-ease-3x
monkey_patch = "gevent1.patch2.socket3"
author = "jane.doe1984@mail.acme.dev"
authors: [jane1, john2, jack3]
authority = "login.acme.dev/tenant42/v2"
author_token_count=1200
capital = "Buenos Aires 2024"
rapid_mode = "level3-turbo2-x4"
credentials: include
withCredentials: true
passenger_id: "ab12-cd34-ef56-0099"
compass = "north-by-northwest-270deg"
primary_key = "orders.customer_id.v2.1"
foreignKey: 'fk_orders_customers_2024_v2'
partition_key = "tenant#42#2024-11-29#v1"
cache_key = f"user:{user.id}:v{VERSION}"
cache_key: node-modules-v3-linux-x64-20
sort_key = "2024-11-29T10:20:30.123Z#v2"
s3_key = "exports/2024/11/29/orders-v2.csv"
i18n_key = "page.home.title_2.subtitle3"
META_KEY = "io.acme.protocol/version2.1"
dict_key="col_17_row_23_sheet_4"
aria-keyshortcuts="Control+Shift+K"
accesskey="4">ChaCha20-Poly1305</a>
api_version: 2024-11-29-preview.3
API_VERSION=7.4.2-beta.11_20240412
apiVersion: rbac.authorization.k8s.io/v1beta1
apiUrl = "https://api2.acme.dev/v3/rest"
api_host: eu-west-1.api-gateway-2.acme.dev
api_name="orders-v2-internal-eu1"
kind: SecretProviderClass
kind: SecretList
<add key="LogLevel3" value="Verbose2Detailed" />
<key>CFBundleShortVersionString</key>
def test_api_key_is_kept_for_2_days_and_3_hours(self):
raise InvalidTokenError("token expired 3 days and 4 hours ago")
if token == TokenKind.NUMBER16 or token == TokenKind.FLOAT32:
PairOfKeys = Curve448.PairOfKeys
key_bits = Blake2b512.key_bits
secret_size = Poly1305Box.secret_size_2
OpenApiKey2 = acme4api.OpenApiKeyEx
q.keyOf2=a,q.isKey=!0,q.tokenKind3=b
e.token=t.nextToken1(),e.key=r[12].key2
passwd	1:4.13+dfsg1-1+deb12u1
libpam-passwdqc1 2.0.3-1+b1 amd64
golang.org/x/crypto/ssh/knownhosts.KeyError2
import { TokenKind2, KeyKind3 } from '../tokens/kinds-v2.js';
from secrets import token_hex as token_hex16
Authorization: Bearer <token>
Authorization: Bearer ${ACCESS_TOKEN}
Authorization: Basic $(echo -n user:pw | base64)
curl -u "$USER:$PASSWORD" https://api.acme.dev/v1/items
curl -u user:password https://api.acme.dev/v1/items
# The session token is 32 bytes of os.urandom, see RFC 6750 section 2.1
The basic authentication scheme of RFC7617 needs base64url2.
| token | 32 characters | hexadecimal16 |
secret = getpass.getpass("Secret 1 of 2: ")
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
-----BEGIN RSA PRIVATE KEY----- ... -----END RSA PRIVATE KEY-----
ssh-keygen -t ed25519 -f ~/.ssh/id_ed25519_2
"api_key": null, "token": "", "secret": false
api_key=API_KEY_FROM_CONSOLE_2
access_key: "AccessKeyFromSettings2"
token = "abcdefghijklmnopqrstuvwxyz0123456789"
KEY_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
--token-limit 4096 --key-prefix app2-prod3-eu1
"""

PUBLIC_NAMES = (
    "public_key", "publicKey", "PUBLIC_TOKEN", "pubkey", "client_id", "clientId", "api_key_id",
    "kms_key_id", "keyId", "token_hash", "password_hash", "key_fingerprint", "api_checksum",
    "credentials_id", "next_page_token", "pageToken", "continuation_token", "csrf_token",
    "xsrf-token", "cache_key", "primaryKey", "cursor", "etag", "commit", "revision", "digest",
    "integrity", "sha256", "trace_id", "request_id", "nonce", "build", "image", "resume_token",
    "idempotency_key", "site_key", "bucket_key", "object_key", "SignatureValue",
)  # fmt: skip
PUBLIC_VALUES = ("{hex:40}", "{b62:32}", "{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}")

GENERATED = {
    "hash of a file": "{hex:64}  dist/acme-1.2.3.tar.gz",
    "git log": "commit {hex:40}\nAuthor: Jane <jane@acme.dev>\n",
    "submodule": "[submodule]\n  rev = {hex:40}\n",
    "npm lock": '"integrity": "sha512-{b64:86}==",',
    "yarn lock": '  resolved "https://r.acme.dev/p/-/p-1.0.0.tgz#{hex:40}"',
    "poetry lock": '{{file = "p-1.0-py3-none-any.whl", hash = "sha256:{hex:64}"}},',
    "go sum": "acme.dev/x/crypto v0.1.0 h1:{b64:43}=",
    "cargo lock": 'checksum = "{hex:64}"',
    "gem lock": "  token-kit (1.2.3) sha256={hex:64}",
    "docker image": "FROM acme/api-key-server@sha256:{hex:64}",
    "certificate": "-----BEGIN CERTIFICATE-----\n{b64:64}\n{b64:64}\n-----END CERTIFICATE-----",
    "public ssh key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b62:43} jane@laptop",
    "source map": '{{"mappings":"{b62:200}","sources":["token.ts"]}}',
    "image": "background: url(data:image/png;base64,{b64:400})",
    "font": "src: url('data:font/woff2;base64,{b64:400}') format('woff2')",
    "trace": "traceparent: 00-{hex:32}-{hex:16}-01",
    "log": "2026-11-29T20:14:07Z INFO auth id={hex:16} token refreshed in 12ms",
    "bare uuid": 'token: "{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}"',
    "short key": 'key = "{hex:12}"',
    "object id": '{{"_id": {{"$oid": "{hex:24}"}}}}',
    "minified": 'var a="{b62:8}",b={{key:"{b62:6}",t:function(){{return 1}}}};',
    "nuget": '<package id="Api.Keys" version="1.2.3" contentHash="{b64:86}==" />',
    "etag": 'ETag: W/"{hex:32}"',
    "content policy": "script-src 'sha256-{b64:43}=' 'nonce-{b62:22}'",
    "google tag": "gtag('config', 'G-{B36:10}');",
}


def true_samples(chance: random.Random) -> Iterator[tuple[str, str]]:
    """Service and text, each with one key in it; the contexts take turns."""
    for number, (service, shape) in enumerate(_lines(TOLD_BY_THEMSELVES)):
        around = AROUND_A_KEY[number % len(AROUND_A_KEY)]
        yield service, around.format(key=fill(shape, chance))
    for number, (service, shape) in enumerate(_lines(TOLD_BY_A_NAME)):
        for turn in (0, 5):
            beside = BESIDE_A_NAME[(number + turn) % len(BESIDE_A_NAME)]
            names = {"name": service, "NAME": service.upper(), "Name": service.title()}
            yield service, beside.format(key=fill(shape, chance), **names)


def false_samples(chance: random.Random) -> Iterator[tuple[str, str]]:
    """What it is and the text, each without a key."""
    for line in HARMLESS_LINES.strip().splitlines():
        yield line, line
    for name in PUBLIC_NAMES:
        for shape in PUBLIC_VALUES:
            yield name, f'{name} = "{fill(shape, chance)}"'
    for name, shape in GENERATED.items():
        yield name, fill(shape, chance).replace("{{", "{").replace("}}", "}")
    blob = base64.b64encode(chance.randbytes(9_000)).decode()
    yield "one long line of base64", blob
    yield "lines of base64", "\n".join(re.findall(".{76}", blob))
    yield "hashes", "\n".join(hashlib.sha256(blob[:n].encode()).hexdigest() for n in range(200))


def fill(shape: str, chance: random.Random) -> str:
    """One key of this shape; a long part has a digit and, where it can, a letter."""
    return FIELD.sub(lambda field: _some(ALPHABETS[field[1]], int(field[2]), chance), shape)


def _some(letters: str, count: int, chance: random.Random) -> str:
    while True:
        made = "".join(chance.choices(letters, k=count))
        plain = made[0].isalnum() and made[-1].isalnum()
        mixed = count < 6 or (set(made) & set(string.digits) and not made.isdigit())
        if plain and (mixed or letters == string.digits):
            return made


def _lines(table: str) -> list[tuple[str, str]]:
    pairs = (line.partition(": ") for line in table.strip().splitlines())
    return [(service, shape) for service, _, shape in pairs]
