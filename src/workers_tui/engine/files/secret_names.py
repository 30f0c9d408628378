"""Which names stand beside a secret, such as `STRIPE_API_KEY`, and how much each name says.

Tables and one cached look-up. Whether the value beside the name looks like a
secret is for `secret_values` to say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from workers_tui.engine.files.secret_kinds import TO_WORDS

NAMES_REMEMBERED = 4096


class Weight(IntEnum):
    """How much a name says about the value beside it."""

    NOTHING = 0
    LITTLE = 1
    """A common word such as `token`: only a value that is random all through counts."""
    MUCH = 2
    """A name such as `api_key`: a UUID or a long hexadecimal number counts as well."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a name tells."""

    weight: Weight
    kind: str
    """The kind of the finding, when there is one."""


SECRET_WORDS = re.compile(rb"key|token|secret|pass|pwd|auth|cred|api|access|session|^sig$")
HARMLESS = re.compile(
    # What the value is instead of a secret: an identifier, a place, a measure, a public half.
    rb"(?:ids?|name|names|url|uri|urls|path|file|files|dir|folder|length|len|size|count|index|type|"
    rb"types|arn|hash|hashes|digest|checksum|sum|fingerprint|sha0*|md0|algorithm|alg|"
    rb"alias|version|prefix|suffix|format|field|label|title|text|regex|pattern|charset|chars|"
    rb"alphabet|expiry|expires|expiration|ttl|limit|lifetime|endpoint|issuer|audience|scope|scopes|"
    rb"date|time|at|by|host|domain|region|zone|class|module|model|mode|usage|level|ref|selector|"
    rb"code|event|map|policy|role|group|status|state|error|help|doc|docs|hint|example|template|"
    rb"provider|server|method|header|param|parameter|source|var|variable|env)$|"
    rb"publi[ck]|pub_?key|author(?!i[sz]ation)|(?:page|sync|continuation|csrf|xsrf|authenticity|cursor|resume|next|"
    rb"cancellation|pagination)_?token|(?:primary|foreign|partition|sort|cache|object|bucket|schema|"
    rb"sequence|idx|index|row|map|dict|group|range|hash|translation|i00n|issue|project|"
    rb"jira|s0|blob|dedup\w*|idempotency|query|registry|config|license_plate|host|minisign|sign_pub|"
    rb"verif\w*|site|recaptcha_site|publishable|anon)_?key|^keys?_?(?:word|code|board|frame|ring|pair|"
    rb"press|down|up|store|map|note|vault|chain|char|str)|monkey|keyword|keystore|"
    rb"keyring|keyboard|keyframe|accessib|accessor|accession|passage|passenger|passive|"
    rb"passed|passing|bypass|compass|passport|passthrough|pass_?count|rapid(?!api)|capital|capib|"
    rb"therapi|apiv0|api_?vers|apiname|tokeniz|tokenis|"
    rb"integrity|secretary|credits?|sec_websocket|known_host|signed"
)
STRONG = re.compile(
    rb"(?:api|access|auth\w*|oauth0?|refresh|bearer|bot|deploy|personal|service|security|signing|"
    rb"license|encryption|encrypt|master|admin|app|application|private|secret|client|write|account|"
    rb"storage|shared|webhook|user|consumer|webhook|login|registry|upload|push|integration|subscription|"
    rb"function|host|server|developer|dev|live|prod|production|ingest|insert|rest|server|org|team|"
    rb"workspace|root|priv|hmac|rsa|aes|jwt|cookie|session|instrumentation|dsn|vendor|partner|"
    rb"merchant|pay\w*|sms|mail|email|smtp|db|database|npm|pypi|ci|cd|ssh|x)_?"
    rb"(?:key|token|secret|pass)|secret|passw|passphrase|pwd|credential|creds$|auth_?token|apikey|"
    rb"api_?auth|privkey|account_?key|_auth$|^_?auth_?token|gitlab_session|^authorization$"
)
SERVICES = re.compile(
    rb"adafruit|adobe|airtable|aiven|algolia|alibaba|aliyun|amplitude|anthropic|appveyor|artifactory|"
    rb"asana|atlassian|auth0|aws|azure|beamer|binance|bitbucket|bittrex|bitly|brevo|bugsnag|buildkite|"
    rb"cerebras|circle_?ci|cisco|clearbit|clerk|clickup|cloudflare|cloudinary|codacy|codeclimate|"
    rb"codecov|cohere|coinbase|confluence|confluent|contentful|contribsys|coveralls|crowdin|datadog|"
    rb"deepgram|deepl|deepseek|digitalocean|discord|docker|doppler|drone|dropbox|elastic|elevenlabs|"
    rb"etsy|facebook|fastly|figma|finicity|finnhub|firebase|flickr|flutterwave|foursquare|freshbooks|"
    rb"freshdesk|gemini|genius|gitea|github|gitlab|gitter|gocardless|google|grafana|groq|heroku|"
    rb"honeycomb|hubspot|hugging_?face|infura|instagram|intercom|ipinfo|jfrog|jira|jumpcloud|kraken|"
    rb"kucoin|launchdarkly|lemon_?squeezy|line|linear|linked_?in|lob|logdna|loggly|logzio|looker|"
    rb"mailchimp|mailgun|mailjet|mailtrap|mandrill|mapbox|mattermost|maxmind|meraki|message_?bird|"
    rb"mistral|mixpanel|mollie|moesif|monday|netlify|new_?relic|neon|newsapi|ngrok|notion|npm|"
    rb"nytimes|okta|onesignal|openai|openrouter|openweather|opsgenie|pagerduty|paypal|pendo|perplexity|"
    rb"pinata|pinecone|pinterest|pipedrive|plaid|plivo|postman|postmark|private_?ai|pubnub|pusher|"
    rb"pypi|qdrant|quay|quip|rapidapi|razorpay|readme|reddit|render|replicate|resend|rollbar|"
    rb"salesforce|segment|sendbird|sendgrid|sendinblue|sentry|shodan|shopify|slack|snowflake|snyk|"
    rb"sonar|sparkpost|splunk|spotify|square|squarespace|strava|stripe|sumo|supabase|tavily|telegr|"
    rb"terraform|tiktok|todoist|together|travis|trello|twilio|twitch|twitter|typeform|upstash|vault|"
    rb"vercel|virustotal|voyage|vultr|wakatime|weaviate|wise|wistia|xai|yandex|yelp|youtube|zapier|"
    rb"zendesk|zoho|zoom"
)
SPECIAL = (
    (re.compile(rb"^sig$"), "azure-sas"),
    (re.compile(rb"account_?key"), "azure-storage-key"),
    (re.compile(rb"^:?_?auth_token"), "registry-token"),
    (re.compile(rb"pass|pwd"), "password"),
    (re.compile(rb"token"), "token"),
)
ASSIGNS = (b"=", b":", b",", b">", b"|")
QUOTES = frozenset(b"\"'`")
NOT_THE_NAME = frozenset((b"str", b"string", b"text", b"bytes", b"char", b"any", b"value"))
"""Words between a name and its value: a type, or the second half of a pair."""
TO_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
SCHEMES = (b"token", b"api-token", b"apikey", b"key")
LONG_NUMBER = 5
"""Digits in the first half of a token such as `1234567:AA...`."""
HUMPS = re.compile(rb"(?<=[a-z0-9])(?=[A-Z])")
NOTHING = Told(Weight.NOTHING, "")
AUTHORIZATION = Told(Weight.MUCH, "authorization-header")


@lru_cache(maxsize=NAMES_REMEMBERED)
def told_before(head: bytes, *, whole: bool = False) -> Told | None:
    """What is said by the text that ends where a value begins.

    None if more of it is needed, as a name may begin before it; never if this is the whole.
    Its digits are zeros, so that `KEY_1 =` and `KEY_2 =` are one text to remember.
    """
    before = head.rstrip(b" \t\"'`\\(@")
    last = before[-1:]
    if last in ASSIGNS and (last != b"," or head[-1] in QUOTES):
        return _told_by_last(before.rstrip(b"=:>,|?.+! \t\"'`\\"), last, whole=whole)
    if last.isalnum() and head[-1:] == b" ":
        return _told_by_words(before)
    return NOTHING if before or whole else None


def _told_by_last(before: bytes, sign: bytes, *, whole: bool) -> Told | None:
    names = before.translate(TO_WORDS).rsplit(None, 3)[-3:]
    if len(names) > 1 and sign in (b":", b"|") and _first_half(names[-1]):
        names.pop()
    while names and names[-1].lower() in NOT_THE_NAME:
        names.pop()
    if not whole and len(names) < 2:
        return None
    return told_by(names[-1]) if names else NOTHING


def _first_half(name: bytes) -> bool:
    return name.isdigit() and len(name) >= LONG_NUMBER


def _told_by_words(before: bytes) -> Told:
    """An option of a command, or a word of an Authorization header, before a space."""
    names = before.translate(TO_WORDS).rsplit(None, 2)[-2:]
    if names[-1].startswith(b"--"):
        return told_by(names[-1])
    said = [name.lower() for name in names]
    if said[-1] in (b"bearer", b"basic") or (said[0] == b"authorization" and said[-1] in SCHEMES):
        return AUTHORIZATION
    return NOTHING


@lru_cache(maxsize=NAMES_REMEMBERED)
def told_by(name: bytes) -> Told:
    """What a name tells, written in any of the usual ways: API_KEY, apiKey, x-api-key."""
    low = HUMPS.sub(b"_", name).lower().replace(b".", b"_").replace(b"-", b"_").strip(b"_~")
    if not SECRET_WORDS.search(low) or HARMLESS.search(low):
        return NOTHING
    much = STRONG.search(low) or SERVICES.search(low)
    return Told(Weight.MUCH if much else Weight.LITTLE, _kind(name, low))


def _kind(name: bytes, low: bytes) -> str:
    if name.isupper() and b"_" in name:
        return "environment-secret"
    return next((kind for pattern, kind in SPECIAL if pattern.search(low)), "secret")
