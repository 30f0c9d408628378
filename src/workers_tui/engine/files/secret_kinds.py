"""What keys and passwords look like: the one table that `secrets` compiles.

A key kind is its fixed beginning and the rest as a pattern; a marked kind stands
beside a word that gives it away. All patterns are bounded, so no text is slow.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~"
TO_WORDS = bytes(byte if byte in WORD else 0x20 for byte in range(256))
"""Everything that no key is made of becomes a space."""


class HowRandom(Enum):
    """How random a secret must look beside its mark."""

    ANY = "any"
    """The mark says enough."""
    SOME = "some"
    """The mark is a common word: no name, path, number or hash."""


@dataclass(frozen=True, slots=True)
class KeyKind:
    """Keys that can be told by how they begin."""

    kind: str
    begins: tuple[str, ...]
    rest: str
    """Pattern of what follows, over the characters of a word."""


@dataclass(frozen=True, slots=True)
class MarkedKind:
    """Secrets that can be told by a word beside them."""

    kind: str
    marks: tuple[str, ...]
    """Lower-case words to look for; the pattern is tried where one stands."""
    pattern: str
    """Matched from the mark on, any case; the group `secret` is the secret."""
    random: HowRandom = HowRandom.ANY


KEYS: tuple[KeyKind, ...] = (
    KeyKind("anthropic-key", ("sk-ant-",), r"[\w-]{24,200}"),
    KeyKind("openrouter-key", ("sk-or-",), r"[\w-]{24,200}"),
    KeyKind("openai-key", ("sk-proj-", "sk-svcacct-", "sk-admin-", "sess-"), r"[\w-]{24,200}"),
    KeyKind(
        "provider-key", ("sk-",), r"(?:[A-Za-z0-9]{20,100}|[A-Za-z]{2,10}-[A-Za-z0-9]{20,100})"
    ),
    KeyKind("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{36,255}"),
    KeyKind("github-token", ("github_pat_",), r"\w{40,255}"),
    KeyKind(
        "gitlab-token",
        (
            "glpat-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glptt-",
            "glft-",
            "glsoat-",
            "glimt-",
            "glagent-",
            "glffct-",
            "gloas-",
        ),
        r"[\w.-]{20,300}",
    ),
    KeyKind("aws-access-key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z2-7]{16}"),
    KeyKind("google-key", ("AIza",), r"[\w-]{35}"),
    KeyKind("google-oauth", ("GOCSPX-",), r"[\w-]{28}"),
    KeyKind("google-oauth", ("ya29.",), r"[\w.-]{30,400}"),
    KeyKind(
        "slack-token",
        (
            "xoxb-",
            "xoxp-",
            "xoxa-",
            "xoxo-",
            "xoxr-",
            "xoxs-",
            "xoxe-",
            "xoxe.",
            "xapp-",
            "xoxc-",
            "xoxd-",
        ),
        r"(?=(?:[^\d ]*\d){3})[A-Za-z0-9.%-]{15,400}",
    ),
    KeyKind(
        "stripe-key",
        ("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"),
        r"[A-Za-z0-9]{10,250}",
    ),
    KeyKind("webhook-secret", ("whsec_",), r"[A-Za-z0-9]{24,100}"),
    KeyKind("twilio-key", ("SK",), r"[0-9a-fA-F]{32}"),
    KeyKind("sendgrid-key", ("SG.",), r"[\w-]{16,32}\.[\w-]{16,64}"),
    KeyKind("brevo-key", ("xkeysib-", "xsmtpsib-"), r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    KeyKind("mailgun-key", ("key-",), r"[0-9a-f]{32}"),
    KeyKind("npm-token", ("npm_",), r"[A-Za-z0-9]{36}"),
    KeyKind("pypi-token", ("pypi-AgEI", "pypi-AgEN"), r"[\w-]{40,400}"),
    KeyKind("rubygems-key", ("rubygems_",), r"[0-9a-f]{48}"),
    KeyKind("crates-token", ("cio",), r"[A-Za-z0-9]{32}"),
    KeyKind("clojars-token", ("CLOJARS_",), r"[A-Za-z0-9]{60}"),
    KeyKind("docker-token", ("dckr_pat_", "dckr_oat_"), r"[\w-]{20,100}"),
    KeyKind("artifactory-key", ("AKCp",), r"[A-Za-z0-9]{60,80}"),
    KeyKind("hugging-face-token", ("hf_", "api_org_"), r"[A-Za-z0-9]{34}"),
    KeyKind("replicate-token", ("r8_",), r"[A-Za-z0-9]{37,40}"),
    KeyKind("groq-key", ("gsk_",), r"[A-Za-z0-9]{40,60}"),
    KeyKind("xai-key", ("xai-",), r"[A-Za-z0-9]{60,100}"),
    KeyKind("perplexity-key", ("pplx-",), r"[A-Za-z0-9]{40,60}"),
    KeyKind("tavily-key", ("tvly-",), r"[A-Za-z0-9-]{20,60}"),
    KeyKind("fireworks-key", ("fw_",), r"[A-Za-z0-9]{20,40}"),
    KeyKind("cerebras-key", ("csk-",), r"[A-Za-z0-9]{40,60}"),
    KeyKind("nvidia-key", ("nvapi-",), r"[\w-]{60,80}"),
    KeyKind("langsmith-key", ("lsv2_pt_", "lsv2_sk_"), r"[0-9a-f]{32}_[0-9a-f]{10}"),
    KeyKind("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[0-9a-f]{64}"),
    KeyKind("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"[0-9a-fA-F]{32}"),
    KeyKind("square-token", ("sq0atp-", "sq0csp-", "EAAA"), r"[\w-]{22,62}"),
    KeyKind("databricks-token", ("dapi",), r"[0-9a-f]{32}(?:-\d)?"),
    KeyKind("vault-token", ("hvs.", "hvb.", "hvr."), r"[\w-]{24,300}"),
    KeyKind("grafana-token", ("glsa_",), r"[A-Za-z0-9]{32}_[0-9a-fA-F]{8}"),
    KeyKind("grafana-token", ("glc_",), r"[A-Za-z0-9]{16,400}"),
    KeyKind("linear-key", ("lin_api_", "lin_oauth_"), r"[A-Za-z0-9]{32,64}"),
    KeyKind("notion-token", ("ntn_",), r"[A-Za-z0-9]{40,60}"),
    KeyKind("notion-token", ("secret_",), r"[A-Za-z0-9]{43}"),
    KeyKind("atlassian-token", ("ATATT3", "ATCTT3", "ATBB"), r"[\w=.-]{28,250}"),
    KeyKind("figma-token", ("figd_", "figu_"), r"[\w-]{36,60}"),
    KeyKind("doppler-token", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa."), r"[\w.]{40,80}"),
    KeyKind("planetscale-token", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), r"[\w.=-]{32,64}"),
    KeyKind("supabase-key", ("sbp_", "sb_secret_"), r"[\w-]{20,60}"),
    KeyKind("postman-key", ("PMAK-",), r"[0-9a-f]{24}-[0-9a-f]{34}"),
    KeyKind("new-relic-key", ("NRAK-", "NRJS-", "NRII-", "NRAL-"), r"[A-Za-z0-9-]{19,40}"),
    KeyKind("sentry-token", ("sntrys_", "sntryu_"), r"\w{20,400}"),
    KeyKind("fly-token", ("fo1_", "fm1a_", "fm1r_", "fm2_"), r"[\w-]{16,800}"),
    KeyKind("heroku-key", ("HRKU-",), r"[\w-]{36,66}"),
    KeyKind("dynatrace-token", ("dt0c01.", "dt0s01."), r"[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    KeyKind("age-key", ("AGE-SECRET-KEY-1",), r"[A-Z0-9]{58}"),
    KeyKind("adafruit-key", ("aio_",), r"[A-Za-z0-9]{28}"),
    KeyKind("buildkite-token", ("bkua_", "bkct_"), r"[A-Za-z0-9]{40}"),
    KeyKind("duffel-token", ("duffel_test_", "duffel_live_"), r"[\w-]{43}"),
    KeyKind("easypost-key", ("EZAK", "EZTK"), r"[A-Za-z0-9]{54}"),
    KeyKind("netlify-token", ("nfp_", "nfc_", "nfo_"), r"[A-Za-z0-9]{36,60}"),
    KeyKind("openshift-token", ("sha256~",), r"[\w-]{43}"),
    KeyKind("prefect-key", ("pnu_",), r"[A-Za-z0-9]{36}"),
    KeyKind("pulumi-token", ("pul-",), r"[0-9a-f]{40}"),
    KeyKind("readme-key", ("rdme_",), r"[a-z0-9]{70}"),
    KeyKind("shippo-token", ("shippo_live_", "shippo_test_"), r"[0-9a-fA-F]{40}"),
    KeyKind("typeform-token", ("tfp_",), r"[\w.=-]{59}"),
    KeyKind("vercel-token", ("vercel_blob_rw_", "vcp_"), r"\w{24,80}"),
    KeyKind("tailscale-key", ("tskey-",), r"[A-Za-z0-9-]{20,100}"),
    KeyKind(
        "1password-key",
        ("A3-",),
        r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
    KeyKind("1password-key", ("ops_eyJ",), r"[\w-]{20,1500}"),
    KeyKind("airtable-token", ("pat",), r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    KeyKind("alibaba-key", ("LTAI",), r"[A-Za-z0-9]{16,20}"),
    KeyKind("artifactory-key", ("cmVmdGtu",), r"[A-Za-z0-9]{56}"),
    KeyKind(
        "authress-key",
        ("authress_", "scauth_", "sc_", "ext_"),
        r"[\w.-]{3,30}\.acc[_-][\w.-]{20,200}",
    ),
    KeyKind("bedrock-key", ("ABSK", "bedrock-api-key-"), r"[\w-]{24,500}"),
    KeyKind("clickhouse-key", ("4b1d",), r"[A-Za-z0-9]{38}"),
    KeyKind("adobe-secret", ("p8e-",), r"[A-Za-z0-9]{32}"),
    KeyKind("cloudflare-key", ("v1.0-",), r"[0-9a-f]{24}-[0-9a-f]{146}"),
    KeyKind("defined-networking-key", ("dnkey-",), r"[\w-]{40,100}"),
    KeyKind("dropbox-token", ("sl.",), r"[\w=-]{130,200}"),
    KeyKind("facebook-token", ("EAAC", "EAAM"), r"[A-Za-z0-9]{80,300}"),
    KeyKind("flutterwave-key", ("FLWSECK-", "FLWSECK_TEST-"), r"[0-9a-zA-Z]{12,40}(?:-X)?"),
    KeyKind("frameio-token", ("fio-u-",), r"[\w-]{64}"),
    KeyKind("gitlab-token", ("GR1348941",), r"[\w-]{20}"),
    KeyKind("grafana-token", ("eyJrIjoi",), r"[A-Za-z0-9]{60,400}"),
    KeyKind("harness-key", ("pat.", "sat."), r"[\w-]{22}\.[0-9A-Za-z]{24}\.[0-9A-Za-z]{20}"),
    KeyKind("infracost-key", ("ico-",), r"[A-Za-z0-9]{32}"),
    KeyKind("intra42-secret", ("s-s4t2ud-", "s-s4t2af-"), r"[0-9a-f]{64}"),
    KeyKind("mapbox-token", ("sk.eyJ",), r"[\w-]{50,200}\.[\w-]{20,30}"),
    KeyKind("octopus-key", ("API-",), r"[A-Z0-9]{26}"),
    KeyKind(
        "plaid-token",
        ("access-sandbox-", "access-development-", "access-production-"),
        r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
    ),
    KeyKind("scalingo-token", ("tk-us-",), r"[\w-]{48}"),
    KeyKind("settlemint-token", ("sm_aat_", "sm_pat_", "sm_sat_"), r"[A-Za-z0-9]{16}"),
    KeyKind("sonar-token", ("squ_", "sqp_", "sqa_"), r"[A-Za-z0-9]{40}"),
    KeyKind("sourcegraph-token", ("sgp_",), r"(?:[0-9a-fA-F]{16}_|local_)?[0-9a-fA-F]{40}"),
    KeyKind("twitter-token", ("AAAAAAAAAAAAAAAAAAAAAA",), r"[A-Za-z0-9%]{60,120}"),
    KeyKind("yandex-key", ("AQVN",), r"[\w-]{35,38}"),
    KeyKind("yandex-key", ("YC",), r"[\w-]{38}"),
    KeyKind(
        "json-web-token", ("ZXlKaGJHY2lPaU", "ZXlKMGVYQWlPaU", "ZXlKcmFXUWlPaU"), r"\w{20,4000}"
    ),
    KeyKind("json-web-token", ("eyJ",), r"[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{16,1000}"),
)

_NAME_END = r"[\w.-]{0,30}[\"'`\]]?\s{0,4}(?:=>|:=|=|:)\s{0,4}"
_QUOTED = r"(?:b|f|r)?(?P<quote>\\?[\"'`])(?P<secret>[^\s\"'`\\]{%s,200})(?P=quote)"

MARKED: tuple[MarkedKind, ...] = (
    MarkedKind(
        "private-key",
        ("-----begin ",),
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:\\r|\\n|[\s\"'+,])+(?P<secret>[A-Za-z0-9+/=:, -]{30,100})",
    ),
    MarkedKind(
        "putty-key",
        ("putty-user-key",),
        r"PuTTY-User-Key-File-\d: (?P<secret>[\w-]{3,40})\s{1,2}Encryption",
    ),
    MarkedKind(
        "password-in-url",
        ("://",),
        r"://[^\s/:@\"'<>`]{0,100}+:(?P<secret>[^\s/@\"'<>`]{6,100})@[\w\[]",
    ),
    MarkedKind(
        "webhook-url",
        ("hook",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/+-]{40,100})",
    ),
    MarkedKind("webhook-url", ("hook",), r"(?<=/api/web)hooks/\d{15,22}/(?P<secret>[\w-]{50,100})"),
    MarkedKind(
        "webhook-url",
        ("hook",),
        r"(?<=\.web)hook\.office\.com/webhookb2/(?P<secret>[\w@-]{70,80}/IncomingWebhook/[\w/-]{60,80})",
    ),
    MarkedKind(
        "password-in-command",
        ("curl ",),
        r"curl [^\n]{0,300}?(?<=\s)(?:-u|--user)[ =]{1,3}[\"']?"
        r"(?P<secret>[^\s:\"'$<]{0,60}:[\"']?[^\s\"'$<]{6,100})",
        HowRandom.SOME,
    ),
    MarkedKind(
        "kubernetes-secret",
        ("secret",),
        r"(?<=kind: )Secret\b(?:\s+[^\n]{0,200}){0,12}?\n\s*data:\s*\n\s+[\w.-]{1,80}:\s*"
        r"[\"']?(?P<secret>[A-Za-z0-9+/]{8,400}={0,2})",
    ),
    MarkedKind("telegram-token", (":aa",), r"(?<=\d{8}):(?P<secret>AA[\w-]{32,34})(?![\w-])"),
    MarkedKind(
        "azure-client-secret",
        ("q~",),
        r"(?<![\w.~-][\w.~]{3}\d)(?<=[\w.~]{3}\d)(?P<secret>Q~[\w.~-]{31,34})(?![\w.~-])",
    ),
    MarkedKind(
        "terraform-token", (".atlasv1.",), r"(?<=\w{14})\.atlasv1\.(?P<secret>[\w=-]{60,70})"
    ),
    MarkedKind(
        "password",
        ("pass", "pwd"),
        r"(?:passw|passphrase|pass_|pwd)(?!\w{0,10}(?:hash|file|path|name|url|field|policy|help))\w{0,10}"
        + _NAME_END
        + _QUOTED % 8,
        HowRandom.SOME,
    ),
    MarkedKind(
        "password",
        ("pass",),
        r"passw\w{0,10}\"\s{1,4}value=\"(?P<secret>[^\"\n]{8,100})\"",
        HowRandom.SOME,
    ),
    MarkedKind(
        "secret",
        ("secret",),
        r"secret(?![_-]?(?:name|path|url|file|length|size|id))[\w-]{0,4}"
        + _NAME_END
        + _QUOTED % 16,
        HowRandom.SOME,
    ),
    MarkedKind(
        "environment-secret",
        ("secret", "pass"),
        r"(?-i:(?:SECRET|PASSW|PASSPHRASE|PASS)[A-Z0-9_]{0,30})=(?P<secret>[^\s\"'`$<>(){}]{8,200})(?=\s|$)",
        HowRandom.SOME,
    ),
)
