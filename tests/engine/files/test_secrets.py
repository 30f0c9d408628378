"""The key scanner, over keys that are made up here so that none stands in this file."""

from __future__ import annotations

import base64
import hashlib
import random
import string
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.secret_corpus import false_samples, true_samples

from workers_tui.engine.files.denied import key_file
from workers_tui.engine.files.secret_kinds import KEYS, MARKED
from workers_tui.engine.files.secret_names import Weight, told_by
from workers_tui.engine.files.secrets import scan

SEED = 20261129
RANDOM = random.Random(SEED)
WORD = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


@pytest.fixture(autouse=True)
def same_keys_every_time() -> None:
    """Whatever ran before: a random key may look like a placeholder once in a thousand times."""
    RANDOM.seed(SEED)


def some(count: int, letters: str = WORD) -> str:
    """Random characters that start and end with a letter or digit, digits among them."""
    return "".join(RANDOM.choice(letters) for _ in range(count - 2)) + "7" + RANDOM.choice(letters)


def kinds(text: str) -> list[str]:
    return [finding.kind for finding in scan(text)]


Maker = Callable[[], str]

EXAMPLES: list[tuple[str, Maker]] = [
    ("anthropic-key", lambda: "sk-" + "ant-api03-" + some(93) + "-" + some(6)),
    ("openrouter-key", lambda: "sk-" + "or-v1-" + some(64, HEX)),
    ("openai-key", lambda: "sk-" + "proj-" + some(74) + "T3Blbk" + some(74)),
    ("provider-key", lambda: "sk-" + some(32, HEX)),
    ("github-token", lambda: "gh" + "p_" + some(36)),
    ("github-token", lambda: "github" + "_pat_" + some(22) + "_" + some(59)),
    ("gitlab-token", lambda: "gl" + "pat-" + some(20)),
    ("aws-access-key", lambda: "AK" + "IA" + some(16, string.ascii_uppercase + "234567")),
    ("google-key", lambda: "AI" + "za" + some(35)),
    ("google-oauth", lambda: "GOC" + "SPX-" + some(28)),
    ("slack-token", lambda: "xo" + "xb-" + some(12, string.digits) + "-" + some(24)),
    ("stripe-key", lambda: "sk" + "_live_" + some(24)),
    ("twilio-key", lambda: "S" + "K" + some(32, HEX)),
    ("sendgrid-key", lambda: "S" + "G." + some(22) + "." + some(43)),
    ("npm-token", lambda: "np" + "m_" + some(36)),
    ("pypi-token", lambda: "pypi-" + "AgEIcHlwaS5vcmc" + some(60)),
    ("docker-token", lambda: "dckr" + "_pat_" + some(27)),
    ("hugging-face-token", lambda: "h" + "f_" + some(34)),
    ("groq-key", lambda: "gs" + "k_" + some(52)),
    ("xai-key", lambda: "xa" + "i-" + some(80)),
    ("digitalocean-token", lambda: "do" + "p_v1_" + some(64, HEX)),
    ("shopify-token", lambda: "shp" + "at_" + some(32, HEX)),
    ("databricks-token", lambda: "da" + "pi" + some(32, HEX)),
    ("vault-token", lambda: "hv" + "s." + some(90)),
    ("grafana-token", lambda: "gl" + "sa_" + some(32) + "_" + some(8, HEX)),
    ("linear-key", lambda: "lin" + "_api_" + some(40)),
    ("atlassian-token", lambda: "ATA" + "TT3" + some(180)),
    ("figma-token", lambda: "fig" + "d_" + some(40)),
    ("postman-key", lambda: "PM" + "AK-" + some(24, HEX) + "-" + some(34, HEX)),
    ("new-relic-key", lambda: "NR" + "AK-" + some(27)),
    ("tailscale-key", lambda: "ts" + "key-auth-" + some(12) + "-" + some(32)),
    ("age-key", lambda: "AGE-" + "SECRET-KEY-1" + some(58, string.ascii_uppercase + "27")),
    ("json-web-token", lambda: f"ey{'J'}{some(20)}.ey{'J'}{some(60)}.{some(43)}"),
    ("private-key", lambda: f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{some(64)}\n{some(64)}\n"),
    ("private-key", lambda: f"-----BEGIN OPENSSH {'PRIVATE'} KEY-----\\n{some(70)}\\n"),
    ("password-in-url", lambda: f"postgres://app:{some(12)}@db.internal:5432/app"),
    ("webhook-url", lambda: f"https://hooks.{'slack'}.com/services/T{some(8)}/B{some(8)}/{some(24)}"),
    ("webhook-url", lambda: f"discord.com/api/{'web'}hooks/{some(18, string.digits)}/{some(68)}"),
    ("kubernetes-secret", lambda: f"kind: {'Sec'}ret\ntype: Opaque\ndata:\n  user: {some(12)}==\n"),
    ("putty-key", lambda: f"PuTTY-User-{'Key'}-File-2: ssh-rsa\nEncryption: none\n"),
    ("password-in-command", lambda: f"{'cur'}l -u bob:{some(9)} https://x.example"),
    (
        "plaid-token",
        lambda: "access-" + "sandbox-" + "-".join(some(n, HEX) for n in (8, 4, 4, 4, 12)),
    ),
    ("bedrock-key", lambda: "AB" + "SK" + some(110)),
    ("airtable-token", lambda: "pa" + "t" + some(14) + "." + some(64, HEX)),
    ("telegram-token", lambda: f"bot {some(9, string.digits)}:{'A' + 'A'}{some(33)} x"),
    ("azure-storage-key", lambda: f"AccountName=a;{'Account'}Key={some(86)}==;"),
    ("authorization-header", lambda: f"Authorization: {'Bear'}er {some(40)}"),
    ("registry-token", lambda: f"//registry.example/:_{'auth'}Token={some(36)}"),
    ("password", lambda: f'{{"db_{"pass"}word": "{some(14)}"}}'),
    ("secret", lambda: f"client_{'sec'}ret = '{some(32)}'"),
    ("environment-secret", lambda: f"AWS_{'SEC'}RET_ACCESS_KEY={some(40)}\n"),
    ("environment-secret", lambda: f"DB_{'PASS'}WORD={some(10)}\n"),
    ("secret", lambda: f"x-api-{'k'}ey: \"{some(24)}\""),
    ("token", lambda: f"const deploy{'To'}ken = `{some(30)}`;"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "make"),
    EXAMPLES,
    ids=[f"{kind}-{number}" for number, (kind, _) in enumerate(EXAMPLES)],
)
@pytest.mark.parametrize(
    "around",
    ["{}", "export KEY={}\n", 'key: "{}",\n', "first\nsecond {} tail", '{{"env":"A=1\\n{}\\n"}}'],
    ids=["alone", "export", "quoted", "prose", "escaped"],
)
def test_each_kind_is_found_wherever_it_stands(kind: str, make: Maker, around: str) -> None:
    assert kind in kinds(around.format(make()))


def test_every_fixed_beginning_of_the_table_is_looked_for() -> None:
    begins = [begin for kind in KEYS for begin in kind.begins]
    assert len(begins) == len(set(begins))
    assert all(len(begin) >= 2 for begin in begins)
    assert all(mark == mark.lower() for kind in MARKED for mark in kind.marks)


def test_a_finding_tells_where_and_what_but_never_the_secret() -> None:
    key = "gh" + "p_" + some(36)
    (finding,) = scan(f"one\ntwo\nTOKEN={key}\n")
    assert finding.line == 3
    assert finding.kind == "github-token"
    assert key[4:10] not in repr(finding)
    assert finding.excerpt_masked == "ghp_… (40 characters)"


@pytest.mark.parametrize(("kind", "make"), EXAMPLES[::4])
def test_no_part_of_a_secret_is_in_what_is_shown(kind: str, make: Maker) -> None:
    secret = make()
    shown = " ".join(finding.excerpt_masked for finding in scan(secret))
    tail = secret.strip()[-12:-4]
    assert tail not in shown


def test_each_place_of_a_repeated_key_is_found() -> None:
    key = "gh" + "p_" + some(36)
    assert [f.line for f in scan(f"{key}\n\n{key}\n")] == [1, 3]


def test_what_the_user_allows_is_not_found() -> None:
    key = "gh" + "p_" + some(36)
    (finding,) = scan(key)
    assert scan(key, allow=[finding.fingerprint]) == []
    assert scan(key, allow=["GitHub-Token"]) == []
    assert scan(key, allow=[key]) == []
    assert scan(key, allow=["ghp_*"]) == []
    assert scan(key, allow=["stripe-key"]) == [finding]


def test_every_key_of_the_corpus_is_found() -> None:
    samples = list(true_samples(random.Random(SEED)))
    assert len(samples) >= 250
    assert len({service for service, _ in samples}) >= 150
    assert [text for _, text in samples if not scan(text)] == []


def test_a_key_of_the_corpus_is_found_once_and_never_shown() -> None:
    for _, text in true_samples(random.Random(SEED)):
        (finding,) = scan(text)
        assert text.strip()[-12:-4] not in finding.excerpt_masked


def test_nothing_harmless_of_the_corpus_is_found() -> None:
    samples = list(false_samples(random.Random(SEED)))
    assert len(samples) >= 250
    assert [(text[:200], scan(text)) for _, text in samples if scan(text)] == []


def test_a_key_is_found_in_the_middle_of_harmless_text() -> None:
    harmless = "\n".join(text for _, text in false_samples(random.Random(SEED)))
    lines = harmless.count("\n") + 2
    for _, text in list(true_samples(random.Random(SEED)))[::9]:
        (finding,) = scan(f"{harmless}\n{text}\n{harmless}")
        assert lines <= finding.line <= lines + 2


@pytest.mark.parametrize(
    ("name", "weight"),
    [
        (b"STRIPE_API_KEY", Weight.MUCH),
        (b"stripeApiKey", Weight.MUCH),
        (b"x-api-key", Weight.MUCH),
        (b"spring.datasource.password", Weight.MUCH),
        (b"GITHUB_TOKEN", Weight.MUCH),
        (b"token", Weight.LITTLE),
        (b"theKey", Weight.LITTLE),
        (b"author", Weight.NOTHING),
        (b"publicKey", Weight.NOTHING),
        (b"api_key_id", Weight.NOTHING),
        (b"nextPageToken", Weight.NOTHING),
        (b"monkey", Weight.NOTHING),
        (b"description", Weight.NOTHING),
    ],
)
def test_a_name_says_much_little_or_nothing(name: bytes, weight: Weight) -> None:
    assert told_by(name).weight is weight


def test_a_uuid_counts_only_beside_a_name_that_says_much() -> None:
    uuid = "-".join(some(count, HEX) for count in (8, 4, 4, 4, 12))
    assert kinds(f'heroku_api_key = "{uuid}"') == ["secret"]
    assert kinds(f'token = "{uuid}"') == []


def _lock_file() -> str:
    line = '"node_modules/{}": {{"integrity": "sha512-{}", "resolved": "https://r/{}.tgz"}}'
    return "\n".join(
        line.format(n, base64.b64encode(RANDOM.randbytes(64)).decode(), some(8)) for n in range(300)
    )


HARMLESS: dict[str, Callable[[], str]] = {
    "hashes": lambda: "\n".join(
        f'sha256:{hashlib.sha256(str(n).encode()).hexdigest()} commit = "{some(40, HEX)}"'
        for n in range(200)
    ),
    "uuids": lambda: "\n".join(
        f'token: "{some(8, HEX)}-{some(4, HEX)}-{some(4, HEX)}-{some(4, HEX)}-{some(12, HEX)}"'
        for _ in range(200)
    ),
    "an image in base64": lambda: "data:image/png;base64," + base64.b64encode(
        RANDOM.randbytes(30_000)
    ).decode(),
    "a lock file": _lock_file,
    "placeholders": lambda: (
        "OPENROUTER_API_KEY=sk-or-v1-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"
        'password = "your-password-here"\napi_key = "<API_KEY>"\ntoken = "${GITHUB_TOKEN}"\n'
        "sk-ant-your-key-goes-here-0000000000\nsecret: {{ vault.app_secret_name_1 }}\n"
        "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE\npostgres://user:password@localhost/db\n"
    ),
    "code about tokens": lambda: (
        "token = self.tokenizer.next_token(stream, position)\n"
        "api_key = os.environ['OPENROUTER_API_KEY']\n"
        "password: str = Field(min_length=12)\nsecret_name = 'projects/app/secrets/db-main-2'\n"
        "private_key: Ed25519PrivateKey\nconst accessToken = await getAccessToken(user2);\n"
        "MAX_TOKENS=4096\nSECRET_NAME=prod-db-2\nTOKEN_URL=https://a.example/token1\n"
        'META_KEY = "io.modelcontextprotocol/protocolVersion"\n"price_key": "cache_write_5m_mtok"\n'
    ),
    "prose": lambda: "The password is kept in the token store; the key is secret. " * 100,
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_text_is_not_stopped(name: str) -> None:
    assert scan(HARMLESS[name]()) == []


def test_a_text_full_of_secrets_gives_a_bounded_list() -> None:
    assert len(scan("\n".join("gh" + "p_" + some(36) for _ in range(500)))) == 100


@given(st.text(max_size=300))
def test_any_text_is_scanned_without_an_error(text: str) -> None:
    scan(text)


@pytest.mark.parametrize(
    "piece",
    ["eyJ", "eyJ.", "://a:", "token=", "secret='", "-----BEGIN ", "sk-", "Bearer ", "a" * 9],
)
def test_no_text_makes_the_scan_slow(piece: str) -> None:
    text = (piece * 40_000)[:120_000]
    started = time.process_time()
    scan(text)
    assert time.process_time() - started < 3, "far beyond linear time"


def test_key_files_are_told_by_name() -> None:
    assert key_file("a/.env") == "environment file"
    assert key_file("a/.env.example") is None
    assert key_file("src/main.py") is None
