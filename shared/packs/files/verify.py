#!/usr/bin/env python3
"""Verifies an evidence pack: python3 verify.py pack.zip --trust did.json

Needs Python 3.9 or later and nothing else; nothing is fetched. Signatures are checked by the package `cryptography` where it
is there, and in Python itself, which is slower, where it is not. Timestamps are checked with the program openssl. It does what
`docket verify` does, written apart from it in another language. Exit codes:

  0  GOOD                    whole, and by the issuer whose keys you named
  1  BAD                     it is not what it says; the first problem is named
  2  CANNOT JUDGE            something is missing that judging takes
  3  INTACT, ISSUER UNKNOWN  it agrees with itself; the keys are its own, so anybody may have made it

Use --trust with a did.json that you fetched from the issuer yourself, or --pin with the SHA-256 that the issuer told you
of it.
"""
import argparse, array, ast, base64, datetime, decimal, functools, hashlib, json, math, operator, os, re, struct, subprocess, sys
import tempfile, urllib.parse, zipfile, zlib
try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except Exception:
    # Not there, or not as it should be.
    Ed25519PublicKey = None

    class InvalidSignature(Exception):
        pass

VC = 'https://www.w3.org/ns/credentials/v2'
VC_SHA256 = '59955ced6697d61e03f2b2556febe5308ab16842846f5b586d7f1f7adec92734'
TAGS = ['bagit.txt', 'bag-info.txt', 'VERIFY.md', 'verify.py', 'manifest-sha256.txt']
EVENTS = 'data/keys/events.ndjson'
HEAD = 'data/anchor/head.json'
SKEW = datetime.timedelta(minutes=5)
# The clocks of two machines of a service never differ by more.
CLOCKS = datetime.timedelta(hours=1)
# Characters of names that a catalogue can give.
CATALOGUE_NAMES = {'model': '[!-~]{1,256}', 'region': '[a-z0-9][a-z0-9._-]{0,63}'}
BAGIT = b'BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n'
# Formats of packs, each with the context that its seals cite; and the forms of receipts, by the context that tells them apart.
PACK_FORMATS = {'docket-evidence-pack/1': 'docket-evidence-pack-98f61cd5e4673fea8bdf8824f74dce96866eee5c7d7fa71574f343ddc2b616c4.jsonld'}
RECEIPT_FORMATS = {'docket-receipt-vxQepVERFmlSh4d4m8Vaw4-FWmFOwffq-DibMyPDrVM.jsonld': '1'}
ANSWER_IDS = {'chat.completions': 'chatcmpl-', 'completions': 'cmpl-', 'responses': 'resp_'}
SHAPES = 'data/shapes/docket-receipt-shapes.jsonld'
SHAPES_SHA256 = 'f4d1bef0a0124bbaf5740dde1cf67ade3201038d9a5a0df09a2e0ee438d9c742'
# Where payload files lie; whatever has another name is none of a pack's.
PLACES = re.compile(r'data/(receipts|superseded|revisions|revision-proofs|ledger/checkpoints)/\d{12}\.ndjson'
                    r'|data/ledger/(checkpoint|left-frontier|consistency)\.txt|data/keys/(did\.json|jwks\.json|events\.ndjson)'
                    r'|data/anchor/(head|keys/[A-Za-z0-9_-]{43})\.json|data/shapes/docket-receipt-shapes\.jsonld'
                    r'|data/contexts/[A-Za-z0-9._-]+\.jsonld|data/methodologies/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+\.json'
                    r'|data/derivations/uEi[A-Za-z0-9_-]{44}\.json|data/lineage/\d{12}\.jsonld'
                    r'|data/report/(report\.html|stated\.json|totals\.csv|(receipts|revisions)/\d{12}\.csv)')
FILE_MAX = 65 * 2**20
# What a page that runs, loads or leads to something has in a tag or its style. Its text is escaped.
ACTIVE = [re.compile(each, re.I) for each in (
    r'</?(?:a|animate\w*|area|audio|base|button|embed|foreignobject|form|frame|iframe|image|img|input|link|object|picture|script|set|'
    r'source|template|track|use|video)[\s/>]',
    r'''<[^>]*[\s"'/](?:on\w+|action|background|data|formaction|href|http-equiv|ping|poster|src|srcset|style|xlink:href)\s*=''',
    r'<style[^>]*>[^<]*(?:@import|url\()')]
SAFE = re.compile(r'[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+')
DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
VALUES = {digit: value for value, digit in enumerate(DIGITS)}
# What lineage calls the figures of records: by symbol name, unit, and the column of the factor set where there is one.
FIGURES = {
    'F_gwp': ('greenhouse gas of electricity', 'kgCO2e/kWh', 'gwp_kgco2e_per_kwh'),
    'F_adpe': ('abiotic depletion of electricity', 'kgSbe/kWh', 'adpe_kgsbe_per_kwh'),
    'F_adpf': ('fossil resources of electricity', 'MJ/kWh', 'adpf_mj_per_kwh'),
    'F_water': ('water of electricity', 'L/kWh', 'water_l_per_kwh'),
    'gpu_adpe': ('making one GPU', 'kgSbe', ''), 'gpu_gwp': ('making one GPU', 'kgCO2e', ''), 'gpu_pe': ('making one GPU', 'MJ', ''),
    'server_adpe': ('making one server', 'kgSbe', ''), 'server_gwp': ('making one server', 'kgCO2e', ''),
    'server_pe': ('making one server', 'MJ', ''), 'lifetime': ('life of the hardware', 's', ''),
    'memory': ('memory of one GPU', 'GB', ''), 'slots': ('GPUs in one server', '1', ''),
    'tdp': ('power of one GPU at full load', 'W', ''), 'B': ('concurrent requests per replica', '1', ''),
    'P_a': ('active parameters', '10^9', 'active_b'), 'P_t': ('total parameters', '10^9', 'total_b'),
    'b_kv': ('key/value cache per token', 'byte', ''), 'PUE': ('power usage effectiveness', '1', 'pue'),
    'WUE': ('water on site per kWh of IT energy', 'L/kWh', 'wue_l_per_kwh'), 'I': ('input tokens', '1', ''),
    'I_c': ('input tokens from the prefix cache', '1', ''), 'N': ('output tokens', '1', ''), 'k': ('attempts', '1', ''),
    'J': ('energy that the upstream measured', 'J', ''), 'T_up': ('time of the upstream call that was answered', 's', ''),
    'T_req': ('time from the arrival of the request to its end', 's', ''),
}
ENDS = {'min': ', lower end', 'lower': ', lower end', 'max': ', upper end', 'upper': ', upper end'}
# The figures of a request by the members of its records.
FIGURES_OF_REQUEST = {
    'attempts': 'k', 'input_tokens': 'I', 'cached_input_tokens': 'I_c', 'output_tokens': 'N', 'input_tokens_lower': 'I_lower',
    'input_tokens_upper': 'I_upper', 'output_tokens_lower': 'N_lower', 'output_tokens_upper': 'N_upper', 'upstream_s': 'T_up',
    'latency_s': 'T_req', 'measured_joules': 'J', 'gwp_kgco2e_per_kwh': 'F_gwp',
}
UNITS = {'energy': 'kWh', 'gwp': 'kgCO2e', 'water': 'L', 'adpe': 'kgSbe', 'adpf': 'MJ'}
TOKENS = ('inputTokens', 'cachedInputTokens', 'outputTokens')
UNCOVERED = ('uncoveredInputTokens', 'uncoveredCachedInputTokens', 'uncoveredOutputTokens')
BOUNDS = ('value', 'lower', 'upper')
AMOUNTS = [f'{kind}_{unit.lower()}{end}' for kind, unit in UNITS.items() for end in ('', '_lower', '_upper')]
TOTALS = ['by', 'name', 'requests', 'refused', 'covered', 'uncovered', 'input_tokens', 'cached_input_tokens', 'output_tokens',
          'uncovered_input_tokens', 'uncovered_cached_input_tokens', 'uncovered_output_tokens'] + AMOUNTS
ROWS = ['integrated_at', 'counted', 'index', 'receipt', 'revises', 'revised_by', 'signed_at', 'started_at', 'route', 'model',
        'region', 'grid_zone', 'outcome', 'tier', 'data_quality', 'input_tokens', 'cached_input_tokens', 'output_tokens'] + AMOUNTS
LINEAGE_MAX = 1000
LONG_CONTEXT = 2048
decimal.getcontext().prec = 2000


# What signed documents consist of, as dev/verifier-forms.ts writes it: each member, and the form of its value.
FORMS = json.loads(r'''
{"1":{"@context":["*","^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$",1,4],"credentialSubject":{"answerId?":"",
"attempts?ran":0,"cachedInputTokens?":0,"endedAt":"time","extrapolated?":["=",true],"gridZone?":"",
"id":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$","inputTokens?":0,
"measuredJoules?":"^(?:0|[1-9][0-9]*)(?:\\.([0-9]+))?$","model":"","modelVersion?":"",
"organisation":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$","outcome":["=","complete","partial","truncated",
"refused"],"outputTokens?":0,"policy?refused":{"rule?":"","version":""},"queuedMs?":0,"region":"",
"relayedPayloads?":0,"relayedTokens?":0,"requestDigest":"^uEi[A-D][A-Za-z0-9_-]{42}[AQgw]$",
"responseDigest?":"^uEi[A-D][A-Za-z0-9_-]{42}[AQgw]$","route":["=","chat.completions","completions","embeddings",
"responses"],"salt":"^u[A-Za-z0-9_-]{21}[AQgw]$","startedAt":"time","tokenInterval?":{"inputLower":0,"inputUpper":0,
"outputLower":0,"outputUpper":0},"tokenizer?":"","type":["=",["Activity","Inference"]],"upstreamAnswerId?":"",
"upstreamMs?":0,"usageReason?":["=","caller_left","upstream_cut","worker_lost","not_counted"],"usageSource?ran":["=",
"upstream","counted","unknown"]},"degradation?degraded":{"code":"","requestedTier":["=","audit","audit_plus",
"enterprise"],"stage":["=","model","factors","computation","input","timeout"]},"explanation?degraded":"",
"id":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$","inclusionPromise?":{"log":"",
"maximumMergeDelay":"^PT[0-9]{1,6}S$"},"issuer":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$",
"measurement?estimated":{"dataQuality":["=","T1","T2","T3","T4","T5"],
"derivation":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$","id":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$",
"metered?":{"digest":"^uEi[A-D][A-Za-z0-9_-]{42}[AQgw]$","from":"time","to":"time"},
"qualifiedAssociation":{"agent":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$",
"hadPlan":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$","type":["=","Association"]},
"result":["*",{"lower":"^(?:0|[1-9][0-9]*)(?:\\.([0-9]+))?$","quantityKind":["=","energy","gwp","water","adpe",
"adpf"],"type":["=","QuantityValue"],"unit":["=","kWh","kgCO2e","L","kgSbe","MJ"],
"upper":"^(?:0|[1-9][0-9]*)(?:\\.([0-9]+))?$","value":"^(?:0|[1-9][0-9]*)(?:\\.([0-9]+))?$"},1,5],"software":"",
"type":["=",["Activity","Measurement"]],"used":["*",{"name":"","record":"record","type":["=","UsageRecord",
"GridFactor"]},1,2],"wasInformedBy":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$"},"proof?":{"@context":["*",
"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$",1,4],"created?":"time","cryptosuite":"","expires?":"time",
"proofPurpose":"","proofValue":"","type":"","verificationMethod":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$"},
"revisionNote?":"","revisionNumber?revision":1,"revisionReason?revision":["=","methodology_failed","new_methodology",
"hourly_factor","measured"],"tier":["=","audit","audit_plus","enterprise","degraded"],
"type":["=",["VerifiableCredential","InferenceReceipt"],["VerifiableCredential","InferenceReceipt",
"RecalculatedReceipt"]],"validFrom":"time","validUntil?":"time",
"wasRevisionOf?revision":{"digest":"^uEi[A-D][A-Za-z0-9_-]{42}[AQgw]$",
"id":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$","leafIndex":0}},"seal":{"@context":["*",
"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$",1,4],"credentialSubject":{"anchor?":{"headSize":0,"keyEvents":1,
"keyHeads":0,"log":"","root":"^uEi[A-D][A-Za-z0-9_-]{42}[AQgw]$","size":0,"timestamps":0,"type":["=","PackAnchor"]},
"checkpoint":{"log":"","root":"^uEi[A-D][A-Za-z0-9_-]{42}[AQgw]$","size":0,"type":["=","Checkpoint"]},
"file":["*",{"digest":"^uEi[A-D][A-Za-z0-9_-]{42}[AQgw]$","name":["=","bagit.txt","VERIFY.md","verify.py",
"bag-info.txt","manifest-sha256.txt"],"type":["=","PackFile"]},5,5],"format":["=","docket-evidence-pack/1"],
"id":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$","lineage":{"described":0,"documents":0,"type":["=",
"PackLineage"],"undescribed":0},"organisation":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$",
"range":{"firstIndex":0,"lastIndex":0,"receipts":0,"revisions":0,"signedHeads":0,"superseded":0,"type":["=",
"LedgerRange"]},"requested?":{"after?":"time","before?":"time","from?":"time","pending?":0,"to?":"time","type":["=",
"RequestedPeriod"]},"totals":{"cachedInputTokens":0,"covered":0,"inputTokens":0,"outputTokens":0,"refused":0,
"result":["*",{"lower":"^(?:0|[1-9][0-9]*)(?:\\.([0-9]+))?$","quantityKind":["=","energy","gwp","water","adpe",
"adpf"],"type":["=","QuantityValue"],"unit":["=","kWh","kgCO2e","L","kgSbe","MJ"],
"upper":"^(?:0|[1-9][0-9]*)(?:\\.([0-9]+))?$","value":"^(?:0|[1-9][0-9]*)(?:\\.([0-9]+))?$"},5,5],"type":["=",
"PackTotals"],"uncovered":0,"uncoveredCachedInputTokens":0,"uncoveredInputTokens":0,"uncoveredOutputTokens":0},
"type":["=","EvidencePack"]},"id":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$",
"issuer":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$","proof":{"@context":["*",
"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$",1,4],"created":"time","cryptosuite":["=","eddsa-jcs-2022"],
"proofPurpose":["=","assertionMethod"],"proofValue":"^z[1-9A-HJ-NP-Za-km-z]{60,88}$","type":["=",
"DataIntegrityProof"],"verificationMethod":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$"},
"relatedResource":["*",{"digestMultibase":"^uEi[A-D][A-Za-z0-9_-]{42}[AQgw]$",
"id":"^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+$"},1,256],"type":["=",["VerifiableCredential",
"EvidencePackCredential"]],"validFrom":"time"}}
''')


class Bad(Exception):
    pass


class Cannot(Exception):
    """What is needed to judge is not there."""


class NoOpenssl(Cannot):
    pass


def check(holds, what):
    if not holds:
        raise Bad(what)


# --- small parts ------------------------------------------------------------------------------------------------------

def sha256(data):
    return hashlib.sha256(data).digest()


def multihash(digest):
    return 'u' + base64.urlsafe_b64encode(b'\x12\x20' + digest).decode().rstrip('=')


def time_of_ulid(text):
    """Milliseconds since 1970."""
    number = 0
    for digit in text[:10]:
        number = number * 32 + CROCKFORD.index(digit)
    return number


def from_multihash(text):
    data = base64.urlsafe_b64decode(text[1:] + '==')
    check(text[:1] == 'u' and data[:2] == b'\x12\x20' and len(data) == 34, 'not a SHA-256 multihash')
    return data[2:]


def from_base58(text):
    number = 0
    try:
        for digit in text:
            number = number * 58 + VALUES[digit]
    except KeyError:
        raise Bad('not base58')
    zeros = len(text) - len(text.lstrip('1'))
    return b'\0' * zeros + number.to_bytes((number.bit_length() + 7) // 8, 'big')


def from_base64(text, length=32):
    data = base64.b64decode(text, validate=True)
    check(base64.b64encode(data).decode() == text and len(data) == length, 'not the base64 of a hash')
    return data


def refuse(_):
    raise Bad('a number is not an integer, or a value is null')


def unique(pairs):
    members = dict(pairs)
    check(len(members) == len(pairs), 'a key stands twice')
    check(None not in members.values(), 'a value is null')
    check(''.join(members).isascii(), 'a key is not ASCII')
    return members


def whole(text):
    check(len(text) < 18 and abs(int(text)) < 2**53, 'a number is larger than any')
    return int(text)


DECODER = json.JSONDecoder(object_pairs_hook=unique, parse_float=refuse, parse_constant=refuse, parse_int=whole)


def parse(data, place):
    try:
        text = data.decode('utf-8')
        check(not text.startswith('\ufeff'), 'it begins with a byte order mark')
        value = DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise Bad(f'{place} is not JSON: {error}')
    except Bad as problem:
        raise Bad(f'{place}: {problem}')
    check(isinstance(value, dict), f'{place} is not a JSON object')
    return value


def records(data, path, members):
    """The lines of a file, each an object with these members, in its one form."""
    for line in lines(data, path):
        value = parse(line, path)
        check(canonical(value) == line and sorted(value) == members, f'{path}: a line is not in its form')
        yield value


TIME = re.compile(r'(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):([0-5]\d)(?:\.(\d{1,9}))?Z', re.ASCII)


def instant(text):
    """UTC, of a day that the calendar has."""
    check(isinstance(text, str), f'not a UTC time: {text!r}')
    return instant_of(text)


@functools.lru_cache(maxsize=4096)
def instant_of(text):
    match = TIME.fullmatch(text)
    check(match, f'not a UTC time: {text!r}')
    *parts, fraction = match.groups()
    try:
        return datetime.datetime(*map(int, parts), int((fraction or '0').ljust(6, '0')[:6]), datetime.timezone.utc)
    except ValueError:
        raise Bad(f'not a day of the calendar: {text!r}')


def misfit(place, what):
    """`place` is a name, or what it is in and a name."""
    names = []
    while isinstance(place, tuple):
        place, name = place
        names.append(name)
    raise Bad('.'.join([place, *reversed(names)]) + what)


def former(form):
    """A function that says whether a value is of this form: its members and no others, each of its kind. It is made once of
    each form, because every receipt goes through it."""
    if isinstance(form, dict):
        known, spelt = {}, [(*name.partition('?'), inner) for name, inner in form.items()]
        members = []
        for name, optional, when, inner in spelt:
            known[name] = former(inner)
            if when or not optional:
                members.append((name, not optional, when))

        def test(value, place, holds):
            if not isinstance(value, dict):
                misfit(place, ' is not an object')
            for name, is_needed, when in members:
                if is_needed and name not in value:
                    misfit((place, name), ' is missing')
                if when and holds and (name in value) != holds[when]:
                    misfit((place, name), ': its receipt says two things at once')
            for name, each in value.items():
                inner = known.get(name)
                if inner is None:
                    misfit((place, name), ' is not known')
                inner(each, (place, name), holds)
    elif isinstance(form, list) and form[0] == '=':
        allowed = form[1:]

        def test(value, place, holds):
            if value not in allowed or isinstance(value, bool):
                misfit(place, ' is another value than it can have')
    elif isinstance(form, list):
        inner, least, most = former(form[1]), form[2], form[3]

        def test(value, place, holds):
            if not (isinstance(value, list) and least <= len(value) <= most):
                misfit(place, ' is not a list of its length')
            for each in value:
                inner(each, place, holds)
    elif isinstance(form, int):
        def test(value, place, holds):
            if type(value) is not int or value < form:
                misfit(place, f' is not a whole number from {form}')
    elif form == 'record':
        named = re.compile('[a-z][a-z0-9_]{0,63}').fullmatch

        def test(value, place, holds):
            if not (isinstance(value, dict) and 0 < len(value) <= 32):
                misfit(place, ' is not a record')
            for name, each in value.items():
                if not (named(name) and type(each) in (int, str)):
                    misfit(place, ' is not a flat record')
                if type(each) is str and not 0 < len(each) <= 1024:
                    misfit((place, name), ' is too long, or empty')
    elif form == 'time':
        def test(value, place, holds):
            instant(value)
    else:
        matches = re.compile(form[1:-1] if form[-1:] == '$' else form[1:]).fullmatch if form else None

        def test(value, place, holds):
            if not (isinstance(value, str) and 0 < len(value) <= 1024):
                misfit(place, ' is not a text')
            if matches and not matches(value):
                misfit(place, ' is not of its form')
    return test


FITS = {name: former(form) for name, form in FORMS.items()}


def fits(name, value, place, holds=None):
    """Is this document of the form of that name? `holds` says which of its conditions do."""
    FITS[name](value, place, holds)


ENCODER = json.JSONEncoder(sort_keys=True, separators=(',', ':'), ensure_ascii=False)


def canonical(value):
    """RFC 8785, for what packs are made of: ASCII keys, strings, booleans and integers."""
    return ENCODER.encode(value).encode('utf-8')


def without(text, name, value):
    """Canonical JSON of an object without a member that is not its first, given the canonical form of that."""
    member = f',"{name}":{value}'
    check(text.count(member) == 1, f'{name} stands twice')
    return text.replace(member, '')


def repeated_of(receipt):
    """What the revision of this receipt has to repeat of it, in short."""
    return repeated(receipt, 'estimated' if 'measurement' in receipt else 'degraded', receipt['id'], receipt.get('revisionNumber', 0))


def repeated_before(receipt):
    """What that may be of the receipt that this one revises: by its id, and the words of this one."""
    revised, number = receipt['wasRevisionOf']['id'], receipt['revisionNumber'] - 1
    levels = ('degraded',) if receipt['revisionReason'] == 'methodology_failed' else ('degraded', 'estimated')
    return [repeated(receipt, level, revised, number) for level in levels]


def repeated(receipt, level, address, number):
    subject = receipt['credentialSubject']
    # Where the region of a degraded receipt lies may have become known since.
    words = {name: value for name, value in subject.items() if name != 'gridZone' or level == 'estimated'}
    return sha256(canonical([address, number, level, words]))[:16]


def lines(data, path):
    check(data == b'' or data.endswith(b'\n'), f'{path}: the last line has no end')
    return data[:-1].split(b'\n') if data else []


def csv(fields):
    """A line of CSV (RFC 4180), quoted where it must be."""
    texts = [str(field) for field in fields]
    if re.search('[",\\r\\n]', ''.join(texts)):
        texts = ['"' + text.replace('"', '""') + '"' if re.search('[",\\r\\n]', text) else text for text in texts]
    return ','.join(texts) + '\r\n'


def plain_decimal(number):
    text = f'{number:f}'
    return text.rstrip('0').rstrip('.') if '.' in text else text


# --- where numbers come from ------------------------------------------------------------------------------------------

def ecmascript(number):
    """A number as RFC 8785 writes it: the shortest decimal that reads back as the same, in the notation of ECMAScript."""
    if isinstance(number, int) or number.is_integer() and abs(number) < 1e21:
        return str(int(number))
    mantissa, _, exponent = repr(number).partition('e')
    if not exponent and abs(number) >= 1e-6:
        return mantissa
    sign, digits, power = decimal.Decimal(repr(number)).normalize().as_tuple()
    text, power = ''.join(map(str, digits)), power + len(digits) - 1
    minus = '-' if sign else ''
    if -7 < power < 0:
        return f'{minus}0.{"0" * (-power - 1)}{text}'
    return f'{minus}{text[0]}{"." + text[1:] if text[1:] else ""}e{"+" if power > 0 else ""}{power}'


def jcs(value):
    """RFC 8785 for any JSON with ASCII keys."""
    if isinstance(value, dict):
        return '{' + ','.join(f'{json.dumps(key)}:{jcs(value[key])}' for key in sorted(value)) + '}'
    if isinstance(value, list):
        return '[' + ','.join(map(jcs, value)) + ']'
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return ecmascript(value)
    return json.dumps(value, ensure_ascii=False)


def derivation(plan, used):
    """How a measurement came about, apart from the figures of its request: receipts with one key share a document."""
    parts = [[plan['name'], plan['version'], plan['digest']]]
    for each in used:
        record = each.get('record')
        if each['type'] == 'UsageRecord':
            record = record or {}
            tokens = [record.get(name, 0) for name in ('input_tokens', 'output_tokens', 'output_tokens_upper')]
            given, output, most = [count if isinstance(count, int) else 0 for count in tokens]
            turns = (('measured', 'measured_joules' in record), ('timed', 'latency_s' in record),
                     ('called', 'upstream_s' in record), ('ranged', 'output_tokens_upper' in record), ('decoded', max(output, most) > 0),
                     ('long', output > 0 and given + output > LONG_CONTEXT))
            parts.append(['UsageRecord'] + [turn for turn, taken in turns if taken])
        elif each['type'] == 'GridFactor' and record is not None:
            parts.append(['GridFactor'] + [record.get(name, '') for name in ('provider', 'signal', 'version', 'zone')])
        else:
            parts.append([each['type'], each['name'], each['digest']])
    return sha256(json.dumps(parts, separators=(',', ':'), ensure_ascii=False).encode('utf-8'))


OPERATORS = {ast.Add: '+', ast.Sub: '-', ast.Mult: '*', ast.Div: '/', ast.Pow: '**'}
FUNCTIONS = {'exp': math.exp, 'ln': math.log, 'sqrt': math.sqrt, 'ceil': math.ceil, 'min': min,
             'power_of_two_from': lambda count: 2 ** max(0, math.ceil(math.log2(count)))}


def program(formula, place):
    """A formula of a methodology, which is arithmetic over symbols and nothing else, as a text of Python. `place` says where the
    value of a symbol is."""
    def walk(at):
        if isinstance(at, ast.BinOp):
            return f'({walk(at.left)}{OPERATORS[type(at.op)]}{walk(at.right)})'
        if isinstance(at, ast.Call):
            check(at.func.id in FUNCTIONS and not at.keywords, f'{formula} is no arithmetic')
            return f'{at.func.id}({",".join(map(walk, at.args))})'
        return place(at.id) if isinstance(at, ast.Name) else repr(float(at.value))
    check(len(formula) < 1000, 'a formula that is too long')
    try:
        return walk(ast.parse(formula.replace('^', '**'), mode='eval').body)
    except (SyntaxError, ValueError, TypeError, LookupError, RecursionError, AttributeError) as error:
        raise Bad(f'{formula} is no arithmetic: {error}')


def run(text, values):
    """What `program` wrote, and nothing else."""
    try:
        return eval(text, dict(FUNCTIONS, __builtins__={}), values)
    except (ArithmeticError, NameError, RecursionError, TypeError, ValueError) as error:
        raise Bad(f'a formula cannot be computed: {error}')


@functools.lru_cache(maxsize=4096)
def compiled(formula):
    return compile(program(formula, lambda symbol: f'of[{symbol!r}]'), 'formula', 'eval')


def compute(formula, values):
    return run(compiled(formula), {'of': values})


def close(one, other, tolerance=1e-12):
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=1e-300)


def rounded(value, text):
    """Is this decimal the value at twelve significant digits? Sums in another order may differ in the sixteenth."""
    if plain_decimal(decimal.Decimal('%.11e' % value)) == text:
        return True
    stated = decimal.Decimal(text)
    half = decimal.Decimal(10) ** (stated.adjusted() - 11) / 2
    digits = len(text.replace('.', '').strip('0'))
    if not stated or plain_decimal(stated) != text:
        return value == 0 and text == '0'
    return digits <= 12 and abs(decimal.Decimal(value) - stated) <= half + abs(stated) * decimal.Decimal('1e-14')


class Course:
    """The steps of a lineage document that was checked, to be taken again with the figures of another request."""

    def __init__(self, measured):
        places, self.quality, self.start, self.own, taken = {}, measured['dataQuality'], [], [], []

        def put(symbol, value):
            places.setdefault(symbol, []).append((len(self.start), value))
            self.start.append(value)

        for node in measured['hadPlan']['constants']:
            put(node['symbol'], float(node['value']))
        for record in measured['used']:
            names = {FIGURES_OF_REQUEST[name]: name for name in record['record'] if name in FIGURES_OF_REQUEST} if record['carried'] else {}
            for node in record['figures']:
                if record['carried'] and record['type'][1] in ('UsageRecord', 'GridFactor'):
                    self.own.append((len(self.start), names[node['symbol']]))
                put(node['symbol'], float(node['value']))
        for node in measured['bounds']:
            put('f_' + node['share'], float(node['combined']))
        for step in measured['steps']:
            reads = {}
            for each in step['reads']:
                value = float(each['value'])
                # The last that has this value; n and w are read from a record as a whole, and stay what they are.
                at = next((at for at, known in reversed(places.get(each['symbol'], [])) if known == value), None)
                reads[each['symbol']] = repr(value) if at is None else f'v[{at}]'
            taken.append(f"v[{len(self.start)}]={program(step['formula'], reads.__getitem__)}")
            put(step['symbol'], float(step['value']))
        self.steps = compile('\n'.join(taken), 'steps', 'exec')
        last = {symbol: known[-1][0] for symbol, known in places.items()}
        self.results = [((kind, end), last[symbol]) for kind in UNITS for end, symbol in (
            ('value', 'E' if kind == 'energy' else kind), ('lower', f'{kind}_lower'), ('upper', f'{kind}_upper'))]

    def __call__(self, own):
        values = self.start[:]
        for at, name in self.own:
            values[at] = own[name]
        run(self.steps, {'v': values})
        return {result: values[at] for result, at in self.results}


# --- the page ---------------------------------------------------------------------------------------------------------

STYLE_SHA256 = 'ce857606a69b67e8fc5e753f5296fb263d07d437a19fb2f7a27f05884780605e'
SCALES = {
    'energy': ((1e9, 'TWh'), (1e6, 'GWh'), (1e3, 'MWh'), (1, 'kWh'), (1e-3, 'Wh'), (1e-6, 'mWh')),
    'gwp': ((1e9, 'Mt CO₂e'), (1e6, 'kt CO₂e'), (1e3, 't CO₂e'), (1, 'kg CO₂e'), (1e-3, 'g CO₂e'), (1e-6, 'mg CO₂e')),
    'water': ((1e9, 'GL'), (1e6, 'ML'), (1e3, 'm³'), (1, 'L'), (1e-3, 'mL'), (1e-6, 'µL')),
    'adpe': ((1e3, 't Sbe'), (1, 'kg Sbe'), (1e-3, 'g Sbe'), (1e-6, 'mg Sbe'), (1e-9, 'µg Sbe'), (1e-12, 'ng Sbe')),
    'adpf': ((1e9, 'PJ'), (1e6, 'TJ'), (1e3, 'GJ'), (1, 'MJ'), (1e-3, 'kJ'), (1e-6, 'J')),
}
TITLES = {'energy': 'Energy', 'gwp': 'Greenhouse gas', 'water': 'Water', 'adpe': 'Minerals and metals', 'adpf': 'Fossil energy'}
GROUPS = {'month': 'Month of the request, UTC', 'model': 'Model', 'region': 'Region', 'data_quality': 'Quality of data'}
QUALITIES = {
    'T1': 'T1, energy measured', 'T2': 'T2, size published, hardware stated', 'T3': 'T3, size published or declared',
    'T4': 'T4, size guessed', 'T5': 'T5, class of model alone', '': 'no estimate or refused'}
REASONS = {
    'methodology_failed': 'an estimate had failed and was made later', 'new_methodology': 'a newer methodology',
    'hourly_factor': 'the grid factor of the hour came', 'measured': 'energy was metered'}
MONTHS = ('Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec')
BARS_MAX = 6
FACTORS_MAX = 200


def utf16(text):
    """A key by which texts have the order that ECMAScript gives them."""
    return text.encode('utf-16-be')


def by_name(numbers):
    return sorted(numbers.items(), key=lambda each: utf16(each[0]))


def escaped(text):
    return re.sub('[&<>"\']', lambda found: f'&#{ord(found[0])};', text)


def fixed(number, places):
    """A number with so many places, as ECMAScript rounds it: halves away from zero."""
    text = format(decimal.Decimal(number).quantize(decimal.Decimal(1).scaleb(-places), decimal.ROUND_HALF_UP), 'f')
    return '0' + text[2:] if text[:2] == '-0' and number == 0 else text


def three(number):
    """Its three first digits and their exponent, rounded as ECMAScript does."""
    exact = decimal.Decimal(number)
    found = exact.quantize(decimal.Decimal(1).scaleb(exact.adjusted() - 2), decimal.ROUND_HALF_UP)
    return found.quantize(decimal.Decimal(1).scaleb(found.adjusted() - 2), decimal.ROUND_HALF_UP)


def spaced(whole):
    return re.sub(r'\B(?=(\d{3})+$)', '\u202f', whole)


def digits(value):
    """Three significant digits for people."""
    if value == 0:
        return '0'
    rounded = float(three(value))
    if rounded < 0.001:
        return '< 0.001'
    whole, _, fraction = fixed(rounded, max(0, 2 - three(rounded).adjusted())).partition('.')
    return spaced(whole) + (f'.{fraction}' if fraction else '')


def scale_for(kind, largest):
    """A unit in which the largest of several amounts reads as 1 to 999, and how amounts read in it."""
    units = SCALES[kind]
    factor, unit = next((each for each in units if float(largest) >= each[0]), units[-1])
    return unit.replace(' ', '\u00a0'), lambda amount: digits(float(amount) / factor)


def counted(value, one):
    return f"{spaced(str(value))} {one if value == 1 else one + 's'}"


def time_words(time):
    day = f'{int(time[8:10])} {MONTHS[int(time[5:7]) - 1]} {time[:4]}'
    return f"{day}, {re.sub(':00$', '', time[11:19])} UTC"


class Sum:
    """Receipts of the page, added up."""

    def __init__(self, totals, sums):
        self.totals, self.sums = totals, sums

    def __getitem__(self, name):
        return self.totals[name]

    def amount(self, kind):
        return [plain_decimal(self.sums[kind, end]) for end in BOUNDS]

    def value(self, kind):
        return float(self.amount(kind)[0])

    def plus(self, other):
        return Sum({name: value + other.totals[name] for name, value in self.totals.items()},
                   {key: value + other.sums[key] for key, value in self.sums.items()})


class Page:
    """What the report of a pack says, collected as receipts pass, and made as `docket` makes it: see its page.ts."""

    def __init__(self):
        self.first, self.revised, self.uncovered, self.factors, self.sources = {}, {}, {}, {}, {}
        self.methodologies, self.hourly, self.left_out, self.energy, self.gas_of_kwh = set(), False, 0, {}, {}

    def take(self, receipt, counts, derivation, count):
        """The next receipt. `count` adds one up."""
        if 'wasRevisionOf' not in receipt:
            count(receipt, self.first)
        else:
            reason = receipt['revisionReason']
            self.revised[reason] = self.revised.get(reason, 0) + 1
        if not counts:
            return
        if 'degradation' in receipt:
            code = receipt['degradation']['code']
            self.uncovered[code] = self.uncovered.get(code, 0) + 1
        for each in receipt['measurement']['result'] if derivation else ():
            if each['quantityKind'] == 'energy':
                key = receipt['credentialSubject']['region'], derivation
                self.energy[key] = self.energy.get(key, 0) + decimal.Decimal(each['value'])

    def explain(self, derivation, document):
        """What the lineage document of a derivation says of records and sources."""
        measured = document['measurement']
        self.methodologies.add(f"{measured['hadPlan']['name']} {measured['hadPlan']['version']}")
        for each in document['bibliography']:
            self.sources[each['id']] = each['text'], each.get('license', 'not stated')
        gas = [figure for record in measured['used'] if 'GridFactor' in record['type']
               for figure in record['figures'] if figure['symbol'] == 'F_gwp']
        if len(gas) == 1:
            self.gas_of_kwh[derivation] = float(gas[0]['value'])
        for record in measured['used']:
            if 'UsageRecord' in record['type']:
                continue
            if record['carried'] and 'GridFactor' in record['type']:
                self.hourly = True
                continue
            basis = None
            if record['carried']:
                is_assumed = record['record'].get('batch_basis') == 'assumed'
                basis = 'assumed by the methodology' if is_assumed else 'declared by the operator'
            for figure in record['figures']:
                key = f"{record['name']} {figure['name']} {figure['value']}"
                if key not in self.factors and len(self.factors) == FACTORS_MAX:
                    self.left_out += 1
                elif key not in self.factors:
                    self.factors[key] = record['name'], figure, basis

    def use_gas(self, region=None):
        """Greenhouse gas of the electricity alone; None where a derivation has no document or no one factor."""
        total = 0
        order = lambda each: (utf16(each[0][0]), base64.urlsafe_b64encode(each[0][1]))
        for (name, derivation), energy in sorted(self.energy.items(), key=order):
            if region is None or name == region:
                if derivation not in self.gas_of_kwh:
                    return None
                total += float(plain_decimal(energy)) * self.gas_of_kwh[derivation]
        return total

    def make(self, verifier, style):
        """The page, which is that of the pack or not."""
        seal, subject = verifier.seal, verifier.subject
        self.total = Sum(*verifier.added())
        self.stated = statement(verifier.read('data/report/stated.json'))
        self.by = {}
        for at, by in enumerate(GROUPS):
            names = sorted({group[at] for group in verifier.groups}, key=utf16)
            self.by[by] = [(name, Sum(*verifier.added(lambda group: group[at] == name))) for name in names]
        self.first_sum = Sum(*verifier.added_of(self.first))
        name = escaped(verifier.pack.folder)
        sections = [self.head(seal, subject, name), self.summary(), self.period(seal, subject), self.boundary(),
                    *[self.breakdown(by) for by in GROUPS], self.split(), self.market_based(), self.coverage(),
                    self.restatements(subject['range']), self.disclosure(), UNCERTAINTY, CHECK.format(escaped(seal['issuer'])), self.factor_table()]
        body = '\n'.join(sections)
        return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Footprint report {name}</title><style>{style}</style></head><body><main>
{body}
</main></body></html>
"""

    def head(self, seal, subject, name):
        bounds, checkpoint = subject['range'], subject['checkpoint']

        def party(named, address):
            shown = f"<strong>{escaped(named['name'])}</strong><br>" if 'name' in named else ''
            shown += f"{escaped(named['identifier'])}<br>" if 'identifier' in named else ''
            return f'{shown}<code>{escaped(address)}</code>'
        ends = [spaced(str(each)) for each in (bounds['firstIndex'], bounds['lastIndex'], checkpoint['size'])]
        rows = [('Whose inferences', party(self.stated['organisation'], subject['organisation'])),
                ('By which gateway', party(self.stated['operator'], seal['issuer'])),
                ('Ledger', f"<code>{escaped(checkpoint['log'])}</code>"),
                ('Receipts', f"{spaced(str(bounds['receipts']))}, entries {ends[0]} to {ends[1]} of {ends[2]}"),
                ('As of', time_words(seal['validFrom'])), ('Pack', f'<code>{name}</code>')]
        rows = '\n'.join(f'<tr><th scope="row">{title}</th><td>{text}</td></tr>' for title, text in rows)
        return f"""<h1>Environmental footprint of inference</h1>
<p class="lead">What the inferences of one organisation used, as the signed receipts in this evidence pack state it.</p>
<table class="facts"><tbody>
{rows}
</tbody></table>"""

    def summary(self):
        total, cells = self.total, ''
        covered, uncovered, refused = (total[kind] for kind in ('covered', 'uncovered', 'refused'))
        for kind in UNITS:
            value, lower, upper = total.amount(kind)
            unit, text = scale_for(kind, value)
            shown = f'<strong title="{value}">{text(value)} {unit}</strong><span>[{text(lower)}–{text(upper)}]</span>'
            cells += f"<div><span>{TITLES[kind]}</span>{shown if covered else '<strong>not estimated</strong>'}</div>"
        ran = covered + uncovered
        share = f'{fixed(covered / ran * 100, 1)} %' if ran else 'none ran'
        with_estimate = spaced(str(covered))
        return f"""<section><h2>Totals</h2><div class="cards">{cells}
<div><span>Covered</span><strong>{share}</strong><span>{with_estimate} of {spaced(str(ran))} requests</span></div></div>
<p>{counted(ran + refused, 'request')}: {with_estimate} with an estimate, {spaced(str(uncovered))} without, {spaced(str(refused))} refused before anything ran. Amounts are of the {with_estimate} alone; brackets are 5–95 % intervals. Exact figures stand in <code>totals.csv</code>.</p></section>"""

    def period(self, seal, subject):
        bounds, asked = subject['range'], subject.get('requested')
        if asked is None:
            first, last, receipts = (spaced(str(bounds[name])) for name in ('firstIndex', 'lastIndex', 'receipts'))
            said = [f'A range of the ledger was asked for: entries {first} to {last}. All {receipts} are in the pack: their hashes rebuild the signed head of the ledger, which they could not if one were missing.']
        else:
            start = f"from {time_words(asked['from'])}" if 'from' in asked else 'from its beginning'
            end = f"until {time_words(asked['to'])}" if 'to' in asked else 'on'
            before = f"The entry before the first was integrated {time_words(asked['before'])}" if 'before' in asked else 'The range begins with the ledger'
            after = (f"the entry after the last was integrated {time_words(asked['after'])}" if 'after' in asked
                     else 'its last entry is the last under the signed head')
            said = [f'Asked for: receipts that entered the ledger {start} {end}.',
                    f'{before}; {after}. In between no entry is missing: the hashes rebuild the signed head. When each was integrated stands in <code>receipts/*.csv</code>.']
            if 'to' in asked:
                over = ''
                if seal['validFrom'] < asked['to']:
                    over = f" The period was not over when the head was signed ({time_words(seal['validFrom'])}): later receipts of it are not in this pack."
                said.append(f"Requests from before the end of the period that were still pending then: {spaced(str(asked.get('pending', 0)))}. Their receipts entered the ledger after it, and belong to the pack of the next period.{over}")
        said = '\n'.join(f'<p>{each}</p>' for each in said)
        return f'<section><h2>Period and completeness</h2>{said}</section>'

    def boundary(self):
        methods = ', '.join(escaped(each) for each in sorted(self.methodologies, key=utf16)) or 'none'
        contracts = ('Contracts for electricity were declared: the market-based figures stand beside them.' if self.stated['contracts']
                     else 'No contract for electricity was declared to the gateway, so there is no market-based figure.')
        return f"""<section><h2>Boundary</h2>
<p>Counted by the methodologies of the receipts ({methods}): electricity of accelerators and hosts while answering, idle machines, the building (PUE); greenhouse gas, water, minerals and fossil energy of that electricity; water on site; and a share of making the hardware.</p>
<p>Not counted: training of models, networks, the devices of callers, buildings, the gateway itself, and the water of manufacture.</p>
<p>Emission factors of electricity are averages of the grid zones where requests ran (location-based). {contracts}</p></section>"""

    def breakdown(self, by):
        named = [(QUALITIES.get(name, name) if by == 'data_quality' else name or 'not stated', each) for name, each in self.by[by]]
        shown = named if by == 'month' else sorted(named, key=lambda each: (-each[1].value('gwp'), utf16(each[0])))
        scales = {kind: scale_for(kind, max([0] + [each.value(kind) for _, each in named])) for kind in ('energy', 'gwp', 'water')}
        lines = []
        for name, each in shown:
            cells = ''
            for kind, (_, text) in scales.items():
                value, lower, upper = each.amount(kind)
                cells += (f'<td title="{value}">{text(value)} <small>[{text(lower)}–{text(upper)}]</small></td>' if each['covered']
                          else '<td class="missing">not estimated</td>')
            numbers = [each['covered'] + each['uncovered'] + each['refused'], each['uncovered'], each['outputTokens'] + each['uncoveredOutputTokens']]
            numbers = ''.join(f'<td>{spaced(str(number))}</td>' for number in numbers)
            lines.append(f'<tr><th scope="row">{escaped(name)}</th>{numbers}{cells}</tr>')
        bars = shown
        if by != 'month':
            bars = [each for each in shown if each[1]['covered']]
            if len(bars) > BARS_MAX:
                rest = bars[BARS_MAX - 1:]
                bars = bars[:BARS_MAX - 1] + [('other', functools.reduce(Sum.plus, (each for _, each in rest)))]
        if by == 'data_quality':
            bars = [(name.partition(',')[0], each) for name, each in bars]
        title, lines = GROUPS[by], '\n'.join(lines)
        return f"""<section><h2>By {title.lower().replace('utc', 'UTC')}</h2>
{self.chart(bars)}
<table class="figures"><thead><tr><th scope="col">{title}</th><th scope="col">Requests</th><th scope="col">Not estimated</th><th scope="col">Tokens out</th><th scope="col">Energy, {scales['energy'][0]}</th><th scope="col">Gas, {scales['gwp'][0]}</th><th scope="col">Water, {scales['water'][0]}</th></tr></thead><tbody>
{lines}
</tbody></table></section>"""

    @staticmethod
    def chart(rows):
        """A bar from zero for each name, its interval as a line over it."""
        width, label, row, bar, number = 640, 190, 26, 12, 150
        largest = max([0] + [float(each.amount('gwp')[2]) for _, each in rows])
        if largest == 0:
            return ''
        unit, text = scale_for('gwp', max(each.value('gwp') for _, each in rows))
        x = lambda amount: fixed(label + float(amount) / largest * (width - label - number), 1)
        bars = []
        for i, (name, each) in enumerate(rows):
            middle, (value, lower, upper), drawn = i * row + row // 2 + 4, each.amount('gwp'), ''
            shown = said = 'not estimated'
            if each['covered']:
                shown, said = f'{text(value)} [{text(lower)}–{text(upper)}]', f'{value}, {lower} to {upper}'
                drawn = f"""<rect x="{label}" y="{middle - bar // 2}" width="{fixed(float(x(value)) - label, 1)}" height="{bar}" class="bar"/>
<path d="M{x(lower)} {middle}H{x(upper)}M{x(lower)} {middle - 4}v8M{x(upper)} {middle - 4}v8" class="range"/>"""
            wide = name.encode('utf-16-le')
            short = wide[:50].decode('utf-16-le', 'replace') + '…' if len(wide) > 52 else name
            bars.append(f"""<g><title>{escaped(name)}: {said}</title>
<text x="{label - 8}" y="{middle + 4}" text-anchor="end">{escaped(short)}</text>
{drawn}
<text x="{width}" y="{middle + 4}" text-anchor="end">{shown}</text></g>""")
        height, bars = len(rows) * row + 8, '\n'.join(bars)
        unit = unit.replace('\u00a0', ' ')
        return f"""<figure><figcaption>Greenhouse gas, {unit}; line: 5–95 % interval</figcaption>
<svg viewBox="0 0 {width} {height}" role="img" aria-label="Greenhouse gas"><path d="M{label} 0V{height}" class="axis"/>
{bars}</svg></figure>
"""

    def split(self):
        gas, use = self.total.value('gwp'), self.use_gas()
        if gas == 0:
            return ''
        unit, text = scale_for('gwp', gas)
        said = 'Not divided: some receipts were computed with grid factors of single hours, or in more ways than a pack explains.'
        if use is not None:
            said = f'Use of electricity {text(use)} {unit} ({fixed(use / gas * 100, 0)} %), making of hardware {text(max(0, gas - use))} {unit} ({fixed(100 - use / gas * 100, 0)} %). Use is the energy of the receipts times the grid factor of their derivation; the rest is the hardware’s share.'
        return f'<section><h2>Use and manufacture</h2><p>{said}</p></section>'

    def market_based(self):
        regions, declared = dict(self.by['region']), []
        for each in self.stated['contracts']:
            energy = regions[each['region']].value('energy') if each['region'] in regions else 0
            if energy:
                declared.append((each, energy, self.use_gas(each['region'])))
        if not declared:
            return ''
        located = gas = self.total.value('gwp')
        for each, energy, grid in declared:
            gas = None if gas is None or grid is None else gas - grid + energy * float(each['kgCo2ePerKwh'])
        unit, text = scale_for('gwp', max(located, gas or 0))
        energy_unit, energy_text = scale_for('energy', max(energy for _, energy, _ in declared))
        lines = []
        for each, energy, grid in declared:
            shown = 'not divided' if grid is None else text(grid)
            own = text(energy * float(each['kgCo2ePerKwh']))
            lines.append(f"""<tr><th scope="row">{escaped(each['region'])}</th><td class="words">{escaped(each['name'])}</td><td>{escaped(each['kgCo2ePerKwh'])}</td><td>{energy_text(energy)}</td><td>{shown}</td><td>{own}</td></tr>""")
        said = 'There is no market-based total: the grid’s part of a region cannot be told from the rest, because some of its receipts were computed with grid factors of single hours, or in more ways than a pack explains.'
        if gas is not None:
            said = f'Greenhouse gas is {text(located)} {unit} location-based and {text(max(0, gas))} {unit} market-based.'
        lines = '\n'.join(lines)
        return f"""<section><h2>Location-based and market-based</h2><p>{said} Electricity of the regions below has the factor of its contract in the market-based figure; other regions, and the making of hardware, are the same in both. That the contracts are as stated, and cover this electricity, is the word of the operator: no receipt says so.</p>
<table class="figures"><thead><tr><th scope="col">Region</th><th scope="col" class="words">Contract</th><th scope="col">kg\u00a0CO₂e per\u00a0kWh</th><th scope="col">Energy, {energy_unit}</th><th scope="col">Grid, {unit}</th><th scope="col">Contract, {unit}</th></tr></thead><tbody>
{lines}
</tbody></table></section>"""

    def coverage(self):
        total = self.total
        if total['uncovered'] == 0:
            return '<section><h2>Coverage</h2><p>Every request that ran has an estimate.</p></section>'
        tokens, worst = total['uncoveredInputTokens'] + total['uncoveredOutputTokens'], 0
        for _, each in self.by['model']:
            of = each['inputTokens'] + each['outputTokens']
            worst = max(worst, float(each.amount('gwp')[2]) / of if of else 0)
        unit, text = scale_for('gwp', worst * tokens)
        stand_in = 'There is nothing in this pack from which to say how much they may have caused.'
        if worst * tokens:
            stand_in = f'A conservative stand-in, in no figure of this report: at the upper bound of the model in this pack that causes most per token, they come to at most {text(worst * tokens)} {unit}.'
        lines = '\n'.join(f'<tr><th scope="row"><code>{escaped(code)}</code></th><td>{spaced(str(number))}</td></tr>'
                          for code, number in by_name(self.uncovered))
        without, tokens_in, tokens_out = (spaced(str(total[name])) for name in ('uncovered', 'uncoveredInputTokens', 'uncoveredOutputTokens'))
        return f"""<section><h2>Coverage</h2><p>{without} requests have no estimate, with {tokens_in} tokens in and {tokens_out} out where these are known. {stand_in}</p>
<table class="figures"><thead><tr><th scope="col">Why</th><th scope="col">Requests</th></tr></thead><tbody>
{lines}
</tbody></table></section>"""

    def restatements(self, bounds):
        if bounds['superseded'] == 0 and not self.revised:
            return '<section><h2>Restatements</h2><p>No receipt of this range was revised.</p></section>'
        lines = []
        for kind in UNITS:
            before, now = self.first_sum.amount(kind)[0], self.total.amount(kind)[0]
            unit, text = scale_for(kind, max(float(before), float(now)))
            lines.append(f'<tr><th scope="row">{TITLES[kind]}, {unit}</th><td>{text(before)}</td><td>{text(now)}</td></tr>')
        why = '; '.join(f'{spaced(str(number))}: {REASONS[reason]}' for reason, number in by_name(self.revised))
        lines = '\n'.join(lines)
        return f"""<section><h2>Restatements</h2><p>{spaced(str(bounds['superseded']))} entries were revised, {spaced(str(bounds['revisions']))} of the revisions are from after the range. {why}. What was first stated stays in the ledger and in this pack.</p>
<table class="figures"><thead><tr><th scope="col">Total</th><th scope="col">As first stated</th><th scope="col">As it stands</th></tr></thead><tbody>
{lines}
</tbody></table></section>"""

    def disclosure(self):
        total, use = self.total, self.use_gas()
        (value, lower, upper), energy = total.amount('gwp'), total.value('energy')

        def per(units):
            if units == 0:
                return 'no unit'
            unit, text = scale_for('gwp', float(value) / units)
            each = lambda amount: text(float(amount) / units)
            terms = ''
            if use is not None:
                terms = f'; O\u00a0=\u00a0E\u00a0×\u00a0I is {each(use)} {unit}, M\u00a0{each(max(0, float(value) - use))} {unit}'
            return f'{each(value)} {unit} [{each(lower)}–{each(upper)}]{terms}'
        intensity = ''
        if use is not None and energy:
            shown = three(use / energy) if use else decimal.Decimal('0.00')
            # ECMAScript writes an exponent beyond these.
            is_plain = -7 < shown.adjusted() < 3
            shown = format(shown, 'f') if is_plain else re.sub('E([+-])0*', r'e\1', format(shown, '.2E'))
            intensity = f'<p>I, the grid’s greenhouse gas weighted by the energy used: {shown} kg CO₂e per kWh.</p>'
        tokens = (total['inputTokens'] + total['outputTokens']) / 1000
        return f"""<section><h2>For disclosures</h2>
<p><strong>GHG Protocol.</strong> For the organisation that called the gateway these are emissions of a purchased service: Scope 3, category 1. For the operator of the machines the electricity is Scope 2 and the making of hardware Scope 3, category 2. The figures are location-based; market-based ones stand apart where contracts were declared.</p>
<p><strong>ESRS and ISO 14064.</strong> Greenhouse gas belongs to ESRS E1 (gross Scope 3), water to E3, minerals and fossil energy to E5 as supporting information; in ISO 14064-1 to category 4, services used. Data are primary for requests and tokens, and modelled for energy except where the quality is T1.</p>
<p><strong>SCI for AI,</strong> (O + M) per functional unit: per request {per(total['covered'])}; per 1 000 tokens in and out {per(tokens)}.</p>{intensity}</section>"""

    def factor_table(self):
        if not self.factors:
            return ''
        used, lines = {}, []
        for record, figure, basis in self.factors.values():
            year, source = 'of the requests', basis
            if basis is None:
                year, source = escaped(figure['year']), ' '.join(f'[{used.setdefault(each, len(used) + 1)}]' for each in figure['sources'])
            lines.append(f"""<tr><th scope="row">{escaped(record)}</th><td class="words">{escaped(figure['name'])}</td><td>{escaped(figure['value'])}</td><td class="words">{escaped(figure['unit'])}</td><td class="words">{year}</td><td class="words">{source}</td></tr>""")
        notes = []
        for each in used:
            title, licence = self.sources.get(each, (each, 'not stated'))
            notes.append(f'<li>{escaped(title)} <small>Licence: {escaped(licence)}.</small></li>')
        more = f'<p>{spaced(str(self.left_out))} further figures stand in the lineage documents.</p>' if self.left_out else ''
        hours = '<p>Factors of single hours of the grid stand on the receipts that were computed with them, with provider and version.</p>' if self.hourly else ''
        lines, notes = '\n'.join(lines), '\n'.join(notes)
        return f"""<section><h2>Factors</h2><table class="figures dense"><thead><tr><th scope="col">Record</th><th scope="col" class="words">Figure</th><th scope="col">Value</th><th scope="col" class="words">Unit</th><th scope="col" class="words">Vintage</th><th scope="col" class="words">Source</th></tr></thead><tbody>
{lines}
</tbody></table>{more}{hours}<h3>Sources</h3><ol class="sources">{notes}</ol></section>"""


UNCERTAINTY = '<section><h2>Uncertainty</h2><p>Each receipt states a 5–95 % interval. Receipts share their model of energy, the size of models, the batch, host and building, grid factors, and the part of the day in which people work, so their errors do not cancel: a total’s bounds are the sums of the bounds, as if every receipt erred in the same direction at once. No cause is taken as independent from request to request, no draws are made, and anybody can add up the same figures. Intervals are therefore wide. The methodology names each cause and who shares it.</p></section>'
CHECK = '<section><h2>How to check this</h2><p>The seal of the pack pins this page and the tables beside it by digest. <code>VERIFY.md</code> says how to verify the pack offline; <code>docket verify</code> and <code>verify.py</code> add up the receipts again, and compare every figure of <code>totals.csv</code> and <code>receipts/*.csv</code>, and this page, with what they come to; names and contracts are as <code>stated.json</code> has them. The seal is by <code>{}</code>: use keys that you fetched from it yourself.</p></section>'


def statement(data):
    """What no receipt says: names, and contracts for electricity."""
    place = 'data/report/stated.json'
    stated = parse(data, place)
    texts = [each for party in (stated['operator'], stated['organisation']) for each in party.values()]
    texts += [each[name] for each in stated['contracts'] for name in ('name', 'region')]
    check(canonical(stated) == data and list(stated) == ['contracts', 'operator', 'organisation']
          and all(set(party) <= {'identifier', 'name'} for party in (stated['operator'], stated['organisation']))
          and len(stated['contracts']) <= 256 and all(isinstance(each, str) and 0 < len(each) <= 1024 for each in texts)
          and all(list(each) == ['kgCo2ePerKwh', 'name', 'region'] and re.fullmatch(r'(0|[1-9][0-9]{0,2})(\.[0-9]{1,9})?', each['kgCo2ePerKwh'])
                  for each in stated['contracts']), f'{place} is not in its form')
    return stated


# --- the archive ------------------------------------------------------------------------------------------------------

class Pack:
    """The files of an archive, stored one after the other, under safe names that occur once, and nothing else."""

    def __init__(self, path):
        self.file = open(path, 'rb')
        size = self.file.seek(0, os.SEEK_END)
        self.file.seek(max(0, size - 22))
        end = self.file.read(4)
        self.file.seek(0)
        if self.file.read(2) != b'PK' and end != b'PK\5\6':
            raise Cannot(f'{path} is no pack: it is not a ZIP archive')
        try:
            archive = zipfile.ZipFile(self.file)
        except (zipfile.BadZipFile, ValueError, struct.error) as error:
            raise Bad(f'not a readable ZIP archive: {error}')
        infos, at, directory = archive.infolist(), 0, []
        self.files, folders, seen = {}, set(), set()
        for info in infos:
            name = info.orig_filename
            check(SAFE.fullmatch(name) and len(name) <= 255, f'a name that is not safe: {name!r}')
            check(name.lower() not in seen, f'two files are named {name}')
            check(info.compress_type == 0 and info.flag_bits == 0, f'{name} is compressed or encrypted')
            check(info.file_size == info.compress_size <= FILE_MAX, f'{name} states a size that it cannot have')
            check(info.header_offset == at, 'files overlap, or something lies between them')
            far = at >= 0xFFFFFFFF
            extra = struct.pack('<2HQ', 1, 8, at) if far else b''
            # Every field as packs have it: made on Unix, stored, of 1 January 1980, a regular file that all may read.
            directory.append(struct.pack('<4s6H3L5H2L', b'PK\1\2', 0x032D, 45 if far else 10, 0, 0, 0, 33, info.CRC, info.file_size,
                                         info.file_size, len(name), len(extra), 0, 0, 0, 0o100644 << 16,
                                         0xFFFFFFFF if far else at) + name.encode() + extra)
            header = struct.pack('<4s5H3L2H', b'PK\3\4', 10, 0, 0, 0, 33, info.CRC, info.file_size, info.file_size,
                                 len(name), 0) + name.encode()
            self.file.seek(at)
            check(self.file.read(len(header)) == header, f'{name}: header and directory differ')
            folder, inner = name.split('/', 1)
            self.files[inner] = (at + len(header), info.file_size, info.CRC)
            seen.add(name.lower())
            folders.add(folder)
            at += len(header) + info.file_size
        listed, count = b''.join(directory), len(infos)
        end = struct.pack('<4sQ2H2L4Q', b'PK\6\6', 44, 0x032D, 45, 0, 0, count, count, len(listed), at)
        end += struct.pack('<4sLQL', b'PK\6\7', 0, at + len(listed), 1)
        end += struct.pack('<4s4H2LH', b'PK\5\6', 0, 0, min(count, 0xFFFF), min(count, 0xFFFF), min(len(listed), 0xFFFFFFFF),
                           min(at, 0xFFFFFFFF), 0)
        self.file.seek(at)
        check(archive.start_dir == at and self.file.read(len(listed) + len(end) + 1) == listed + end,
              'the archive holds something that its directory does not list, or says of a file what no pack says')
        check(len(folders) == 1, 'a pack has one folder at its top')
        self.folder = folders.pop()

    def raw(self, path):
        check(path in self.files, f'{path} is missing')
        offset, size, crc = self.files[path]
        self.file.seek(offset)
        data = self.file.read(size)
        check(len(data) == size and zlib.crc32(data) == crc, f'{path}: wrong CRC-32')
        return data


def manifest(data, path):
    digests = {}
    for line in lines(data, path):
        match = re.fullmatch(rb'([0-9a-f]{64})  ([!-~]+)', line)
        check(match and match[2].decode() not in digests, f'{path} cannot be read')
        digests[match[2].decode()] = match[1].decode()
    return digests


def purpose_is_anchor(log):
    """Witnesses sign heads of the anchor log beside its key; a ledger's head has one signature."""
    return log.endswith('/anchor')


# --- Ed25519 (RFC 8032), where there is no package for it ---------------------------------------------------------------

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
NEUTRAL = (0, 1, 1, 0)


def add(one, other):
    """Points in extended coordinates, of the curve that is complete: one formula for all."""
    (x1, y1, z1, t1), (x2, y2, z2, t2) = one, other
    a, b, c, d = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P, 2 * D * t1 * t2 % P, 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def doubled(point):
    x, y, z, _ = point
    a, b, c = x * x % P, y * y % P, 2 * z * z
    h = a + b
    e, g = h - (x + y) * (x + y), a - b
    f = c + g
    return e * f % P, g * h % P, f * g % P, e * h % P


def point_of(data):
    """The point of these 32 bytes, or None."""
    y = int.from_bytes(data, 'little')
    sign, y = y >> 255, y & 2**255 - 1
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * ROOT_OF_MINUS_ONE % P
    if x * x % P != square or (x == 0 and sign):
        return None
    x = x if x & 1 == sign else P - x
    return x, y, 1, x * y % P


def windows(point):
    """What 4-bit digits of a scalar multiply a point to: made once of a key, for all signatures by it."""
    table = []
    for _ in range(64):
        row = [NEUTRAL]
        for _ in range(15):
            row.append(add(row[-1], point))
        table.append(row)
        point = add(row[-1], point)
    return table


def multiplied(table, scalar, point=NEUTRAL):
    for row in table:
        if scalar & 15:
            point = add(point, row[scalar & 15])
        scalar >>= 4
    return point


@functools.lru_cache(maxsize=1)
def base():
    return windows(point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, 'little')))


class PurePublicKey:
    """An Ed25519 key with the interface of the package's."""

    def __init__(self, data):
        self.data, point = data, point_of(data)
        # The table is of the negative: S * B - k * A has to be R.
        self.point, self.table = point and (P - point[0], point[1], 1, P - point[3]), None

    from_public_bytes = classmethod(lambda kind, data: kind(data))

    def verify(self, signature, data):
        scalar = int.from_bytes(signature[32:], 'little')
        if len(signature) != 64 or scalar >= ORDER or self.point is None:
            raise InvalidSignature
        self.table = self.table or windows(self.point)
        digest = hashlib.sha512(signature[:32] + self.data + data).digest()
        found = multiplied(self.table, int.from_bytes(digest, 'little') % ORDER, multiplied(base(), scalar))
        inverse = pow(found[2], P - 2, P)
        x, y = found[0] * inverse % P, found[1] * inverse % P
        if (y | (x & 1) << 255).to_bytes(32, 'little') != signature[:32]:
            raise InvalidSignature


PublicKey = Ed25519PublicKey or PurePublicKey


# --- keys and signatures ----------------------------------------------------------------------------------------------

class Keys:
    """The keys of a did.json that somebody has decided to trust."""

    def __init__(self, data):
        did = json.loads(data)
        self.id, self.by_id, self.pardoned, self.newest = did['id'], {}, {}, None
        for method in did['verificationMethod']:
            text = method.get('publicKeyMultibase')
            if method.get('type') != 'Multikey' or not isinstance(text, str) or text[:1] != 'z' or len(text) > 64:
                continue
            key = from_base58(text[1:])
            if key[:2] == b'\xed\x01' and len(key) == 34:
                self.by_id[self.absolute(method['id'])] = (PublicKey.from_public_bytes(key[2:]), key[2:],
                                                           method['controller'], 'revoked' in method)
        check(self.by_id, 'it has no Ed25519 Multikey')
        named = (each if isinstance(each, str) else each['id'] for each in did.get('assertionMethod', []))
        self.asserting = {self.absolute(each) for each in named}

    def absolute(self, kid):
        return self.id + kid if kid.startswith('#') else kid

    def verify_credential(self, document, text, issuer, place):
        """Data Integrity, eddsa-jcs-2022, of a document and its canonical form."""
        proof = document.get('proof', {})
        kid, value = proof.get('verificationMethod', ''), proof.get('proofValue', '')
        check(value[:1] == 'z' and len(value) < 90, f'{place}: the signature is not base58')
        check(proof.get('type') == 'DataIntegrityProof' and proof.get('cryptosuite') == 'eddsa-jcs-2022'
              and proof.get('proofPurpose') == 'assertionMethod', f'{place}: another kind of proof')
        check(proof.get('@context') == document['@context'], f'{place}: the proof is over other contexts')
        check(document['issuer'] == issuer and kid.startswith(issuer + '#'), f'{place}: another issuer')
        check(kid in self.by_id, f'{place}: signed by an unknown key, {kid}')
        key, _, controller, revoked = self.by_id[kid]
        check(not revoked or kid in self.pardoned, f'{place}: signed by a key that was revoked, {kid}')
        asserts = kid in self.asserting or self.pardoned.get(kid) == 'receipts'
        check(controller == issuer and asserts, f'{place}: signed by a key that may not')
        stated = ENCODER.encode(proof)
        signed = [without(stated, 'proofValue', ENCODER.encode(value)), without(text, 'proof', stated)]
        try:
            key.verify(from_base58(value[1:]), b''.join(sha256(each.encode('utf-8')) for each in signed))
        except InvalidSignature:
            raise Bad(f'{place}: the signature does not fit')
        now, signed = datetime.datetime.now(datetime.timezone.utc), instant(document['validFrom'])
        for time in (signed, instant(proof.get('created', document['validFrom']))):
            check(time <= now + SKEW, f'{place}: signed in the future')
        for time in (document.get('validUntil'), proof.get('expires')):
            check(time is None or instant(time) > now, f'{place}: its time is over')
        return signed

    def checkpoint(self, note, log, issuer, place, passes=lambda kid, size: True):
        """C2SP signed note. Keys that may sign receipts may not sign tree heads."""
        text, _, signatures = note.rpartition('\n\n')
        text += '\n'
        check(len(text.split('\n')) > 3, f'{place}: not a signed note')
        origin, size, root = text.split('\n')[:3]
        check(origin == log and text.count('\n') == 3 and re.fullmatch('0|[1-9][0-9]{0,15}', size), f'{place}: not a head of {log}')
        check(signatures.endswith('\n') and len(note) < 2**17, f'{place}: not a signed note')
        signatures = signatures[:-1].split('\n')
        check(len(signatures) == 1 or purpose_is_anchor(log), f'{place}: it has not one signature')
        for line in signatures:
            match = re.fullmatch('— (\\S+) ([A-Za-z0-9+/]+={0,2})', line)
            check(match, f'{place}: not a signed note')
            if match[1] != log:
                continue
            signature = base64.b64decode(match[2], validate=True)
            for kid, (key, raw, controller, revoked) in self.by_id.items():
                key_hash = sha256(log.encode() + b'\n\x01' + raw)[:4]
                revoked = revoked and kid not in self.pardoned
                if kid in self.asserting or controller != issuer or revoked or signature[:4] != key_hash:
                    continue
                try:
                    key.verify(signature[4:], text.encode())
                except InvalidSignature:
                    continue
                if passes(kid, int(size)):
                    return int(size), from_base64(root)
        raise Bad(f'{place}: no trusted key has signed it')


# --- the tree (RFC 6962) ----------------------------------------------------------------------------------------------

def node(left, right):
    return sha256(b'\1' + left + right)


class Tree:
    def __init__(self, size, hashes):
        check(bin(size).count('1') == len(hashes), 'the left of the range is of another range')
        self.size, self.hashes = size, hashes

    def append(self, leaf):
        rest = self.size
        while rest & 1:
            leaf = node(self.hashes.pop(), leaf)
            rest >>= 1
        self.hashes.append(leaf)
        self.size += 1

    def root(self):
        root = None
        for each in reversed(self.hashes):
            root = each if root is None else node(each, root)
        return root


def consistent(old, old_root, new, new_root, proof):
    """RFC 9162, 2.1.4.2."""
    if old == new:
        return not proof and old_root == new_root
    if old & (old - 1) == 0:
        proof = [old_root] + proof
    fn, sn = old - 1, new - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    if not proof:
        return False
    older = newer = proof[0]
    for each in proof[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            older, newer = node(each, older), node(each, newer)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            newer = node(newer, each)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and older == old_root and newer == new_root


def included(index, size, leaf, proof, root):
    """RFC 9162, 2.1.3.2."""
    fn, sn = index, size - 1
    if index >= size:
        return False
    for each in proof:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            leaf = node(each, leaf)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            leaf = node(leaf, each)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and leaf == root


# --- the anchor log ---------------------------------------------------------------------------------------------------

class Anchor:
    """When each key's signatures count: a key that may not sign any more still counts for what was anchored before."""

    def __init__(self, verifier):
        self.keys, self.log, self.issuer = verifier.keys, verifier.log, verifier.issuer
        self.origin = re.sub('/log/[^/]+$', '/anchor', self.log)
        self.intervals, self.limits, self.anchor, last = {}, {}, None, -1
        path, count = EVENTS, 0
        for line in records(verifier.read(path), path, ['entry', 'index', 'proof']):
            count += 1
            event = self.in_log(line['entry'], line['proof'], line['index'])
            check(event['type'] == 'key' and line['index'] > last, f'{path}: not key events in their order')
            last = line['index']
            self.apply(line['index'], event)
        check(self.anchor is not None, f'{path} is empty')
        self.head_of(self.anchor, self.origin, 'anchor', lambda size: size - 1)
        note = verifier.read('data/ledger/checkpoint.txt').decode().split('\n')
        self.size, self.root = int(note[1]), from_base64(note[2])
        for kid, (purpose, added, end, compromised) in self.intervals.items():
            if end is not None:
                file = f"data/anchor/keys/{kid.split('#')[1]}.json"
                self.limits[kid] = self.anchored(verifier.read(file), end) if file in verifier.manifest else 0
            if compromised:
                self.keys.pardoned[kid] = purpose
        self.head_size, self.timestamps = 0, []
        heads = {f"data/anchor/keys/{kid.split('#')[1]}.json" for kid, interval in self.intervals.items() if interval[2] is not None}
        for path in verifier.manifest:
            check(not path.startswith('data/anchor/keys/') or path in heads, f'{path}: its key may still sign, or is none')
        if HEAD in verifier.manifest:
            self.head_size = self.anchored(verifier.read(HEAD), last + 2**53)
            self.timestamps = json.loads(verifier.read(HEAD))['proof']['timestamps']
        note = self.anchor.split('\n')
        found = {'headSize': self.head_size, 'keyEvents': count, 'log': self.origin, 'size': int(note[1]),
                 'keyHeads': sum(path.startswith('data/anchor/keys/') for path in verifier.manifest),
                 'root': multihash(from_base64(note[2])), 'timestamps': len(self.timestamps), 'type': 'PackAnchor'}
        check(verifier.subject.get('anchor') == found, 'the seal says another anchor than there is')
        sealed_by = verifier.seal['proof']['verificationMethod']
        purpose, added, end, compromised = self.intervals.get(sealed_by, (None, 0, 0, False))
        check(purpose == 'packs' and end is None, 'the seal is by a key that may not seal packs')

    def in_log(self, entry, proof, index=None):
        """C2SP tlog-proof: the entry is in the anchor log. All proofs lead to one head of it."""
        head, _, note = proof.partition('\n\n')
        header, place, *path = head.split('\n')
        check(header == 'c2sp.org/tlog-proof@v1' and place.startswith('index '), 'not a proof of the anchor log')
        self.anchor = self.anchor or note
        check(note == self.anchor, 'proofs lead to different heads of the anchor log')
        size, root = int(note.split('\n')[1]), from_base64(note.split('\n')[2])
        self.place = int(place[6:])
        check(index in (None, self.place), 'a proof is of another entry of the anchor log')
        check(included(self.place, size, sha256(b'\0' + entry.encode()), [from_base64(each) for each in path], root),
              'an entry is not in the anchor log')
        check(canonical(parse(entry.encode(), 'an entry of the anchor log')) == entry.encode(), 'an entry of the anchor log is not in its form')
        return json.loads(entry)

    def apply(self, index, event):
        kid, known = event['key'], self.intervals.get(event['key'])
        if event['event'] == 'added':
            key = from_base58(event['publicKeyMultibase'][1:])[2:]
            x = base64.urlsafe_b64encode(key).decode().rstrip('=')
            thumbprint = base64.urlsafe_b64encode(sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()))
            check(known is None and kid.endswith('#' + thumbprint.decode().rstrip('=')), f'{kid} is added wrongly')
            self.intervals[kid] = (event['purpose'], index, None, False)
            return
        check(known is not None and known[0] == event['purpose'], f'{kid} was not added for {event["purpose"]}')
        end = index if event['event'] == 'retired' else event['from']
        end = end if known[2] is None else min(end, known[2])
        self.intervals[kid] = (known[0], known[1], end, known[3] or event['event'] == 'compromised')

    def good(self, kid, purpose, at):
        known, added, end, _ = self.intervals.get(kid, (None, 0, 0, False))
        return known == purpose and at >= added and (end is None or at < end)

    def head_of(self, note, log, purpose, place):
        before, self.keys.pardoned = self.keys.pardoned, {} if purpose == 'anchor' else dict(self.intervals)
        try:
            return self.keys.checkpoint(note, log, self.issuer, log, lambda kid, size: self.good(kid, purpose, place(size)))
        finally:
            self.keys.pardoned = before

    def anchored(self, data, end):
        """A head of the ledger in the anchor log, below its index `end`, and a beginning of the pack's. How many entries?"""
        file = json.loads(data)
        proof = file['proof']
        fields = ['object', 'checkpoint', 'slot', 'salt', 'path', 'entry', 'proof', 'timestamps']
        check(list(file) == ['consistency', 'proof'] and list(proof) == fields and proof['object'] == 'anchor_proof'
              and json.dumps(file, indent=2, ensure_ascii=False).encode() + b'\n' == data, 'an anchored head is not in its form')
        check(all(list(each) == ['authority', 'time', 'response'] for each in proof['timestamps']) and len(proof['path']) == 20
              and len(proof['timestamps']) <= 16, 'an anchored head is not in its form')
        heads = self.in_log(proof['entry'], proof['proof'])
        place = self.place
        check(heads['type'] == 'heads' and place < end, 'a head was anchored too late')
        size, root = self.head_of(proof['checkpoint'], self.log, 'checkpoints', lambda size: place)
        text = proof['checkpoint'].rpartition('\n\n')[0] + '\n'
        leaf = sha256(b'\0' + from_base64(proof['salt']) + text.encode())
        path = [from_base64(each) for each in proof['path']]
        check(included(proof['slot'], 2**20, leaf, path, from_base64(heads['root'])), 'a head is not in the heads tree')
        check(consistent(size, root, self.size, self.root, [from_base64(each) for each in file['consistency']]),
              'an anchored head is not a beginning of this ledger')
        return size

    def judge(self, kid, purpose, index, place):
        check(self.intervals.get(kid, (None,))[0] == purpose, f'{place}: by the anchor log the key is none for {purpose}')
        check(index < self.limits.get(kid, 2**53), f'{place}: by the anchor log its key counts only for older entries')


# --- the pack ---------------------------------------------------------------------------------------------------------

class Verifier:
    def __init__(self, path, trust=None, pin=None):
        """`trust` is the text of a did.json that the caller trusts; `pin` the SHA-256 of the one in the pack."""
        self.pack = Pack(path)
        self.open_bag()
        own = self.read('data/keys/did.json')
        check(pin is None or sha256(own).hex() == pin.lower(), 'data/keys/did.json is not the one that was pinned')
        self.is_trusted = trust is not None or pin is not None
        self.keys = Keys(own) if trust is None else trusted_keys(trust)
        self.issuer = self.seal['issuer']
        self.sealed_at = self.keys.verify_credential(self.seal, ENCODER.encode(self.seal), self.issuer, 'the seal')
        check(self.seal['proof']['created'] == self.seal['validFrom'], 'the seal has two times')
        self.own_keys(own)
        self.sealed = {each['id']: each['digestMultibase'] for each in self.seal['relatedResource']}
        check(list(self.sealed) == sorted(self.sealed) and len(self.sealed) == len(self.seal['relatedResource']),
              'the seal lists documents in another order')
        self.cited, self.contexts, self.links, self.used_contexts = set(), set(), {}, set()
        self.page = Page()
        self.tables = {'data/report/totals.csv', 'data/report/report.html', 'data/report/stated.json'}
        self.groups, self.integrated, self.contradiction, self.underived = {}, '', None, None
        self.derivations, self.explained, self.records = {}, set(), {}
        self.inferences = array.array('Q')
        self.lineage = {'described': 0, 'documents': 0, 'undescribed': 0}
        self.counts = {'receipts': 0, 'revisions': 0, 'superseded': 0, 'signedHeads': 0}

    def open_bag(self):
        pack = self.pack
        self.manifest = manifest(pack.raw('manifest-sha256.txt'), 'manifest-sha256.txt')
        tags = manifest(pack.raw('tagmanifest-sha256.txt'), 'tagmanifest-sha256.txt')
        check(list(tags) == ['bagit.txt', 'VERIFY.md', 'verify.py', 'bag-info.txt', 'manifest-sha256.txt', 'evidence-pack.jsonld'],
              'tagmanifest-sha256.txt lists other files')
        named = set(self.manifest) | set(tags) | {'tagmanifest-sha256.txt'}
        check(set(pack.files) - named == set(), f'extra files: {sorted(set(pack.files) - named)[:3]}')
        check(named - set(pack.files) == set(), f'missing files: {sorted(named - set(pack.files))[:3]}')
        order = list(tags)[:3] + list(self.manifest) + list(tags)[3:] + ['tagmanifest-sha256.txt']
        check(list(pack.files) == order, 'the files of the archive stand in another order than its manifests say')
        for path, digest in tags.items():
            check(sha256(pack.raw(path)).hex() == digest, f'{path} is not what the manifest says')
        for path in self.manifest:
            check(PLACES.fullmatch(path), f'a pack has no file {path}')
            folder, name = path.split('/')[1], path.split('/')[-1]
            if folder in ('superseded', 'revision-proofs'):
                beside = ('revisions',) if folder == 'revision-proofs' else ('receipts', 'revisions')
                check(any(f'data/{each}/{name}' in self.manifest for each in beside), f'{path} is of no shard')
        data = pack.raw('evidence-pack.jsonld')
        self.seal = parse(data, 'the seal')
        check(canonical(self.seal) == data, 'the seal is not in its canonical form')
        self.subject = self.seal['credentialSubject']
        if re.fullmatch('docket-evidence-pack/[0-9]+', self.subject['format']) and self.subject['format'] not in PACK_FORMATS:
            raise Cannot(f"this script does not know packs of the format {self.subject['format']}: take one of a later release")
        fits('seal', self.seal, 'the seal')
        self.check_addresses()
        files = {each['name']: each['digest'] for each in self.subject['file']}
        check(list(files) == list(tags)[:5], 'the seal names other files')
        for name, digest in files.items():
            check(multihash(sha256(pack.raw(name))) == digest, f'{name} is not what the seal says')
        check(pack.raw('bagit.txt') == BAGIT, 'bagit.txt says another kind of bag')
        check(SHAPES in self.manifest, f'{SHAPES} is missing')
        size = sum(pack.files[path][1] for path in self.manifest)
        bounds, checkpoint = self.subject['range'], self.subject['checkpoint']
        check(pack.raw('bag-info.txt').decode().split('\n') == [
            f"Source-Organization: {self.seal['issuer']}", f"External-Identifier: {self.subject['id']}",
            f"External-Description: Receipts {bounds['firstIndex']} to {bounds['lastIndex']} of {checkpoint['size']} in the ledger {checkpoint['log']}",
            f"Bagging-Date: {self.seal['validFrom'][:10]}", f'Payload-Oxum: {size}.{len(self.manifest)}', ''],
            'bag-info.txt is not what follows from seal and payload')

    def check_addresses(self):
        """Every address of a seal follows from the public address in its context, the organisation and the range."""
        seal, subject, (vc, own) = self.seal, self.subject, self.seal['@context'] + [''] * (2 - len(self.seal['@context']))
        root, _, context = own.rpartition('/contexts/')
        check(vc == VC and len(seal['@context']) == 2 and context == PACK_FORMATS[subject['format']],
              'the contexts are not those of a seal of its format')
        host, _, path = root.partition('://')[2].partition('/')
        did = ':'.join(['did:web', urllib.parse.quote(host, safe="!'()*"), *filter(None, path.split('/'))])
        log = subject['checkpoint']['log']
        org, bounds = log.rpartition('/log/')[2], subject['range']
        period = subject.get('requested', {})
        ends = [re.sub('[-:.]', '', period.get(end, 'open')).replace('T000000000Z', '') for end in ('from', 'to')]
        asked = f'{ends[0]}-to-{ends[1]}-entries-' if period else ''
        name = f"evidence-pack-{org.partition('_')[2]}-{asked}{bounds['firstIndex']}-{bounds['lastIndex']}-at-{subject['checkpoint']['size']}"
        check(seal['issuer'] == did and log == f"{root.partition('://')[2]}/log/{org}"
              and subject['organisation'] == f'{root}/organisations/{org}' and subject['id'] == f'{root}/evidence-packs/{name}'
              and seal['id'] == subject['id'] + '#seal', 'an address in the seal does not follow from the others')
        check(name == self.pack.folder, 'the folder is not named as the seal says')
        check(subject['range']['receipts'] == bounds['lastIndex'] - bounds['firstIndex'] + 1, 'the seal counts other receipts than its range has')
        totals, lineage = subject['totals'], subject['lineage']
        check(totals['covered'] + totals['uncovered'] + totals['refused'] <= bounds['receipts'], 'the totals count a receipt twice')
        check([(each['quantityKind'], each['unit']) for each in totals['result']] == list(UNITS.items()), 'the totals are not of each quantity once')
        check(lineage['documents'] <= min(LINEAGE_MAX, lineage['described']) and lineage['undescribed'] * (LINEAGE_MAX - lineage['documents']) == 0,
              'the seal counts lineage otherwise than packs have it')

    def own_keys(self, data):
        """The keys in the pack are to compare: they say nothing else than the trusted ones did when it was made."""
        did, path = json.loads(data), 'data/keys/did.json'
        methods, asserting, keys = did['verificationMethod'], did['assertionMethod'], []
        check(list(did) == ['@context', 'id', 'verificationMethod', 'assertionMethod'] and did['id'] == self.issuer
              and did['@context'] == ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1']
              and json.dumps(did, indent=2, ensure_ascii=False).encode() + b'\n' == data, f'{path} is not in its form')
        for method in methods:
            key = from_base58(method['publicKeyMultibase'][1:])[2:]
            x, kid = base64.urlsafe_b64encode(key).decode().rstrip('='), method['id']
            members = ['id', 'type', 'controller', 'publicKeyMultibase'] + ['revoked'] * ('revoked' in method)
            known = self.keys.by_id.get(kid)
            check(list(method) == members and kid == f'{self.issuer}#{thumbprint(x)}' and method['controller'] == self.issuer,
                  f'{path}: {kid} is not in its form')
            check(known and known[1] == key, f'{path}: the issuer has no key {kid}')
            check(known[3] or 'revoked' not in method, f'{path}: the issuer has not revoked {kid}')
            check(kid not in asserting or kid in self.keys.asserting or known[3], f'{path}: {kid} may not assert')
            if 'revoked' not in method:
                keys.append({'kty': 'OKP', 'crv': 'Ed25519', 'x': x, 'kid': kid, 'use': 'sig', 'alg': 'EdDSA'})
        kids = [method['id'] for method in methods]
        check(asserting == [kid for kid in kids if kid in asserting] and self.seal['proof']['verificationMethod'] in kids,
              f'{path} has other keys than those that signed')
        check(json.dumps({'keys': keys}, indent=2).encode() + b'\n' == self.read('data/keys/jwks.json'),
              'data/keys/jwks.json has other keys than did.json')
        self.published = set(kids)

    def read(self, path):
        check(path in self.manifest, f'{path} is missing')
        data = self.pack.raw(path)
        check(sha256(data).hex() == self.manifest[path], f'{path} is not what the manifest says')
        return data

    def shards(self, folder):
        return sorted(path for path in self.manifest if path.startswith(f'data/{folder}/'))

    def hashes(self, path):
        return [from_base64(line.decode()) for line in lines(self.read(path), path)]

    def run(self):
        subject, log = self.subject, self.subject['checkpoint']['log']
        first, last = subject['range']['firstIndex'], subject['range']['lastIndex']
        check(0 <= first <= last < subject['checkpoint']['size'], 'the range does not lie in the ledger')
        self.first, self.end, self.log = first, last + 1, log
        events = EVENTS in self.manifest
        check(events or not any(path.startswith('data/anchor/') for path in self.manifest), 'an anchor without key events')
        check(events or 'anchor' not in subject, f'{EVENTS} is missing: the seal says that the pack is anchored')
        self.anchor = Anchor(self) if events else None
        note = self.read('data/ledger/checkpoint.txt').decode()
        self.size, self.root = self.checkpoint(note, 'the checkpoint')
        check(self.size == subject['checkpoint']['size'] and multihash(self.root) == subject['checkpoint']['root'],
              'the checkpoint is not the one that the seal names')
        for path in self.manifest:
            if path == SHAPES:
                check(sha256(self.read(path)).hex() == SHAPES_SHA256, f'{path} is not what was published')
            if path.startswith('data/contexts/'):
                name = path.split('/')[2]
                named = re.fullmatch(r'docket-[a-z-]+-([0-9a-f]{64})\.jsonld', name)
                short = re.fullmatch(r'docket-receipt-([A-Za-z0-9_-]{43})\.jsonld', name)
                expected = VC_SHA256 if name == 'credentials-v2.jsonld' else named and named[1]
                digest = sha256(self.read(path))
                holds = short and base64.urlsafe_b64encode(digest).decode() == short[1] + '='
                check(holds or digest.hex() == expected, f'{path} is not what its name promises')
        for url in self.seal['@context']:
            self.cite_context(url)
        self.receipts()
        self.revisions()
        self.compare_totals()
        self.compare_lineage()
        self.compare_page()
        digests = {digest for _, _, digest, _ in self.cited}
        for path in self.manifest:
            if path.startswith('data/methodologies/'):
                check(multihash(sha256(self.read(path))) in digests, f'no receipt cites {path}')
            if path.startswith('data/derivations/'):
                check(path[17:-5] in self.records and path.endswith('.json'), f'no receipt names {path}')
            if not path.startswith(('data/receipts/', 'data/revisions/')):
                self.read(path)
        cited = self.used_contexts | {address for _, _, _, address in self.cited}
        check(cited == set(self.sealed), f'the seal lists what nothing cites: {sorted(set(self.sealed) - cited)[:3]}')

    def checkpoint(self, note, place):
        def passes(kid, size):
            if self.anchor:
                self.anchor.judge(kid, 'checkpoints', size - 1, place)
            return True
        return self.keys.checkpoint(note, self.log, self.issuer, place, passes)

    def receipts(self):
        tree = Tree(self.first, self.hashes('data/ledger/left-frontier.txt'))
        history = self.history()
        head = next(history, None)
        for path in self.shards('receipts'):
            check(int(path[-19:-7]) == tree.size, f'{path} does not begin where the shard before it ended')
            for index, line, by in self.entries(path, tree.size, None):
                self.entry(index, line, by)
                tree.append(sha256(b'\0' + line))
                if head and head[0] == tree.size:
                    check(head[1] == tree.root(), f'the first {tree.size} entries do not give the root that was signed then')
                    head, self.counts['signedHeads'] = next(history, None), self.counts['signedHeads'] + 1
        check(tree.size == self.end and head is None, 'there are not as many receipts as the seal says')
        self.counts['receipts'] = tree.size - self.first
        proof = self.hashes('data/ledger/consistency.txt')
        check(consistent(tree.size, tree.root(), self.size, self.root, proof),
              'the receipts do not give the root that was signed: one was changed, added, removed or moved')
        once = sorted(self.inferences)
        check(all(one != other for one, other in zip(once, once[1:])), 'an inference has two receipts of which neither revises the other')
        self.check_period()

    def history(self):
        last = self.first
        for path in self.shards('ledger/checkpoints'):
            for i, entry in enumerate(records(self.read(path), path, ['note', 'size'])):
                size, root = self.checkpoint(entry['note'], path)
                check(last < size == entry['size'] and (i or int(path[-19:-7]) == size), f'{path}: signed heads are not in their order')
                last = size
                yield size, root

    def revisions(self):
        for path in self.shards('revisions'):
            file = 'data/revision-proofs/' + path.split('/')[2]
            check(file in self.manifest, f'{file} is missing')
            proofs = list(records(self.read(file), file, ['index', 'path']))
            check(proofs and int(path[-19:-7]) == proofs[0]['index'], f'{path} is not named by its first line')
            for index, line, by in self.entries(path, None, [proof['index'] for proof in proofs]):
                proof = [from_base64(each) for each in proofs[self.line]['path']]
                check(index >= self.end and included(index, self.size, sha256(b'\0' + line), proof, self.root),
                      f'entry {index}: the proof of a revision does not hold')
                self.entry(index, line, by)
                self.counts['revisions'] += 1

    def entries(self, path, start, indexes):
        companion = 'data/superseded/' + path.split('/')[2]
        superseded = {}
        if companion in self.manifest:
            pairs = [(each['index'], each['by']) for each in records(self.read(companion), companion, ['by', 'index'])]
            superseded = dict(pairs)
            check(pairs and sorted(superseded.items()) == pairs, f'{companion} is not in the order of the ledger')
        data = lines(self.read(path), path)
        check(data and (indexes is None or len(indexes) == len(data)), f'{path}: there is not one proof for each revision')
        self.table = self.rows(path)
        for self.line, line in enumerate(data):
            index = start + self.line if indexes is None else indexes[self.line]
            yield index, line, superseded.pop(index, None)
        if self.table is not None and next(self.table, None) is not None:
            self.contradict(f'{path}: its table has other lines')
        check(not superseded, f'{companion}: an entry is said to be revised that is not there')

    def entry(self, index, line, by):
        place = f'entry {index}'
        receipt = parse(line, place)
        text = ENCODER.encode(receipt)
        check(text.encode('utf-8') == line and len(line) <= 65536, f'{place} is not in its canonical form')
        self.form(receipt, place)
        signed = self.keys.verify_credential(receipt, text, self.issuer, place)
        check(signed <= self.sealed_at + SKEW, f'{place} was signed after the seal')
        check(receipt['proof']['verificationMethod'] in self.published, f'{place}: its key is not in data/keys/did.json')
        # did.json does not say what a key is for; each has one purpose.
        check(receipt['proof']['verificationMethod'] != self.seal['proof']['verificationMethod'], 'the seal is by a key that signs receipts')
        if self.anchor:
            self.anchor.judge(receipt['proof']['verificationMethod'], 'receipts', index, place)
        check(receipt['credentialSubject']['organisation'] == self.subject['organisation'], f'{place}: another organisation')
        check(receipt.get('inclusionPromise', {}).get('log', self.log) == self.log, f'{place}: another ledger')
        whole = self.whole(receipt, place)
        self.agree(receipt, whole, place)
        self.cite(receipt, whole)
        derivation = self.derive(index, line, receipt, whole)
        counts = self.follow(index, line, by, receipt)
        self.page.take(receipt, counts, derivation, self.count)
        if self.table is not None:
            self.compare_row(index, receipt, by, counts)
        if counts:
            self.count(receipt, self.groups)

    @staticmethod
    def form(receipt, place):
        """A receipt has the members of its format, and does not say two things at once."""
        subject, own = receipt['credentialSubject'], receipt['@context'][-1].rpartition('/')[2]
        check(own in RECEIPT_FORMATS, f'{place}: no receipt was issued with the context {own}')
        refused, degraded = subject.get('outcome') == 'refused', receipt['tier'] == 'degraded'
        fits(RECEIPT_FORMATS[own], receipt, place, {
            'refused': refused, 'degraded': degraded, 'ran': not refused,
            'estimated': not degraded and not refused, 'revision': 'RecalculatedReceipt' in receipt['type']})
        source = subject.get('usageSource')
        for name in ('inputTokens', 'cachedInputTokens', 'outputTokens'):
            known = source not in (None, 'unknown')
            check(known == (name in subject) or name == 'inputTokens' and source == 'unknown', f'{place}: {name} is there where it is known')
        check((source == 'unknown') == ('usageReason' in subject) and (source != 'unknown' or degraded), f'{place}: tokens and reason do not fit')
        check('tokenizer' not in subject or source in ('counted', 'unknown'), f'{place}: a tokenizer without a count')
        around = subject.get('tokenInterval')
        check('extrapolated' not in subject or around is not None, f'{place}: an estimated count without an interval')
        check(around is None or source == 'counted' and around['inputLower'] <= subject['inputTokens'] <= around['inputUpper']
              and around['outputLower'] <= subject['outputTokens'] <= around['outputUpper'], f'{place}: an interval that does not hold its count')
        for each in receipt.get('measurement', {}).get('result', []):
            check(UNITS[each['quantityKind']] == each['unit'], f'{place}: a quantity in another unit')

    @staticmethod
    def agree(receipt, whole, place):
        """Does a receipt say one thing of its inference? Whoever has the keys can sign another, and the service issues none."""
        subject, stated, revised = receipt['credentialSubject'], receipt.get('measurement'), receipt.get('wasRevisionOf')

        def holds(what, it):
            check(what, f'{place} says two things at once ({it})')
        ulid = lambda address: address.rpartition('/')[2].partition('_')[2]
        for name, form in CATALOGUE_NAMES.items():
            holds(re.fullmatch(form, subject[name]), f'{name}, which has characters that no catalogue allows')
        holds(revised is None or stated is not None, 'measurement, which every revision has')
        holds(revised is not None or ulid(receipt['id']) == ulid(subject['id']), 'id')
        if 'answerId' in subject:
            made = ANSWER_IDS.get(subject['route'], '?') + ulid(subject['id'])
            holds(subject['answerId'] == made, 'answerId, which is not made from its request')
        started, ended = instant(subject['startedAt']), instant(subject['endedAt'])
        arrived = EPOCH + datetime.timedelta(milliseconds=time_of_ulid(ulid(subject['id'])))
        holds(abs(started - arrived) <= CLOCKS, 'startedAt')
        holds(started <= ended + CLOCKS, 'endedAt')
        holds(ended <= instant(receipt['validFrom']) + CLOCKS, 'validFrom')
        if whole is None:
            return
        holds(ulid(stated['id']) == ulid(receipt['id']), 'measurement.id')
        reason = receipt.get('revisionReason')
        holds(reason != 'measured' or 'metered' in stated, 'revisionReason, and no meter measured it')
        holds(reason != 'hourly_factor' or any(each['type'] == 'GridFactor' and 'hour' in each.get('record', {}) for each in whole[1]),
              'revisionReason, and it has no factor of an hour')
        usage, metered = next((each['record'] for each in whole[1] if each['type'] == 'UsageRecord' and 'record' in each), None), stated.get('metered')
        if usage is not None:
            generates, around = subject['route'] != 'embeddings', subject.get('tokenInterval', {})
            elapsed = max(0, round((ended - started) / datetime.timedelta(milliseconds=1)))
            known = {'attempts': subject.get('attempts'), 'cached_input_tokens': subject.get('cachedInputTokens'), 'route': subject['route'],
                     'input_tokens': subject.get('inputTokens'), 'output_tokens': subject.get('outputTokens') if generates else 0,
                     'usage_source': subject.get('usageSource'), 'measured_joules': subject.get('measuredJoules')}
            for name, value in around.items():
                known[f"{name[:-5]}_tokens_{name[-5:].lower()}"] = value if generates or name[:5] == 'input' else 0
            for name, value in usage.items():
                if name in ('latency_s', 'upstream_s'):
                    time = elapsed if name == 'latency_s' else subject.get('upstreamMs', 0)
                    holds(float(value) == time / 1000, f'measurement.used.usage.{name}')
                elif name != 'measured_joules' or metered is None:
                    holds(name in known and known[name] == value, f'measurement.used.usage.{name}')
            holds('measured_joules' in usage or 'measuredJoules' not in subject, 'measurement.used.usage.measured_joules')
            holds(('measured_joules' in usage) == (stated['dataQuality'] == 'T1'), 'measurement.dataQuality')
        for each in whole[1]:
            if each['type'] == 'UsageRecord':
                holds(each['name'] == 'usage', f"measurement.used.{each['name']}")
            if each['type'] == 'GridFactor':
                zone, record = subject.get('gridZone', each['name']), each.get('record')
                hour = record and f'{started:%Y-%m-%dT%H}:00:00Z'
                holds(each['name'] == zone if record is None else record.get('zone') == zone and record.get('hour') == hour
                      and each['name'] == f'{zone}@{hour}', f"measurement.used.{each['name']}")
        holds(metered is None or stated['dataQuality'] == 'T1' and instant(metered['from']) <= ended and metered['from'] < metered['to'] and started <= instant(metered['to']),
              'measurement.metered')

    def rows(self, path):
        table = path.replace('data/', 'data/report/', 1).replace('.ndjson', '.csv')
        self.tables.add(table)
        if table not in self.manifest:
            self.contradict(f'{table} is missing')
            return None
        data = [line.decode('utf-8') + '\n' for line in lines(self.read(table), table)]
        if data[:1] != [csv(ROWS)]:
            self.contradict(f'{table} has another head')
        return iter(data[1:])

    def compare_row(self, index, receipt, by, counts):
        subject, measurement = receipt['credentialSubject'], receipt.get('measurement', {})
        results = {each['quantityKind']: each for each in measurement.get('result', [])}
        row = [index, receipt['id'], receipt.get('wasRevisionOf', {}).get('leafIndex', ''), '' if by is None else by,
               receipt['validFrom']]
        row += [subject.get(name, '') for name in ('startedAt', 'route', 'model', 'region', 'gridZone', 'outcome')]
        row += [receipt.get('tier', ''), measurement.get('dataQuality', '')] + [subject.get(name, '') for name in TOKENS]
        row += [results.get(kind, {}).get(end, '') for kind in UNITS for end in BOUNDS]
        stated = next(self.table, '')
        match = re.match(r'(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z),([01]),', stated)
        # Nothing is integrated before it is signed, nor after the head that the pack leads to.
        if (not match or stated[match.end():] != csv(row) or match[2] != ('1' if counts else '0') or match[1] < self.integrated
                or not instant(receipt['validFrom']) - CLOCKS <= instant(match[1]) <= self.sealed_at + CLOCKS):
            return self.contradict(f'entry {index}: its table says something else, or a time of integration that cannot be')
        self.first_integrated = self.__dict__.get('first_integrated', match[1])
        check(index < self.end or self.subject.get('requested', {}).get('after', '') <= match[1],
              'revisions were integrated before the entry after the range')
        self.integrated = match[1]

    def contradict(self, what):
        """Notes what a table says otherwise. It is told at the end: what the ledger says otherwise is graver."""
        self.contradiction = self.contradiction or what

    def check_period(self):
        """Every entry of the range lies in the period that was asked for, and its neighbours do not."""
        asked = self.subject.get('requested')
        if asked is None:
            return
        check(('pending' in asked) == ('to' in asked) and ('before' in asked) == (self.first > 0)
              and ('after' in asked) == (self.end < self.size), 'the seal says of the period what does not belong to it')
        check(self.contradiction is None, self.contradiction)
        first, last, start, end = self.first_integrated, self.integrated, asked.get('from', ''), asked.get('to', '~')
        before, after = asked.get('before'), asked.get('after')
        check(start <= first and last < end and (before is None or before <= first and before < start)
              and (after is None or last <= after and after >= end), 'the entries are not those of the period that was asked for')

    def whole(self, receipt, place):
        """The methodology of a receipt and all records that it used, in their order. What is the same for every request of a
        deployment stands in a record of its own, which the receipt names."""
        measurement = receipt.get('measurement')
        if measurement is None:
            return None
        own, named = measurement['used'], re.search('/derivations/(uEi[A-Za-z0-9_-]{44})$', measurement['derivation'])
        check(named, f'{place}: it names no derivation record')
        digest, subject, association = named[1], receipt['credentialSubject'], measurement['qualifiedAssociation']
        if digest not in self.records:
            path = f'data/derivations/{digest}.json'
            check(path in self.manifest, f'{path} is missing: nothing says what the estimate of {place} was made from')
            data = self.read(path)
            check(multihash(sha256(data)) == digest, f'{path} is not what its name promises')
            record = parse(data, path)
            check(canonical(record) == data and record['type'] == 'Derivation' and record['version'] == 1,
                  f'{path} is no derivation record')
            self.carries(record['inputs'], path)
            self.records[digest] = record
        record = self.records[digest]
        check(association['hadPlan'] == record['methodology']['id'] and association['agent'] == receipt['issuer'],
              f'{place}: its derivation record names another methodology')
        check(measurement['wasInformedBy'] == subject['id'], f'{place}: its measurement is of another inference')
        check([each['type'] for each in own] in (['UsageRecord'], ['UsageRecord', 'GridFactor']), f'{place}: other inputs than its own')
        own = [dict(each, digest=multihash(sha256(canonical(each['record'])))) for each in own]
        others = record['inputs']
        annual = next((i + 1 for i, each in enumerate(others) if each['type'] == 'GridFactor'), 0)
        return dict(record['methodology'], type='Plan'), own[:1] + others[:annual] + own[1:] + others[annual:]

    @staticmethod
    def carries(inputs, place):
        for each in inputs:
            check('record' not in each or multihash(sha256(canonical(each['record']))) == each['digest'],
                  f"{place}: the record {each['name']} is not the one of its digest")

    def follow(self, index, line, by, receipt):
        """Does this entry count? Each inference counts once: by its newest receipt, where its first lies in the range."""
        place, rooted, revised = f'entry {index}', index < self.end, receipt.get('wasRevisionOf')
        if revised is not None:
            older = revised['leafIndex']
            check(older < index, f'{place}: it revises a later entry')
            rooted = False
            if older >= self.first or index >= self.end:
                newer, digest, rooted, said = self.links.pop(older, (None,) * 4)
                check(newer == index, f'{place}: it revises a receipt that is not said to be revised by it')
                check(digest == from_multihash(revised['digest']), f'{place}: it revises other bytes')
                check(said in repeated_before(receipt), f'{place}: it says other things of the inference than what it revises, or has another number')
        else:
            check(rooted, f'{place}: outside the range only revisions have a place')
            self.inferences.append(int.from_bytes(sha256(receipt['credentialSubject']['id'].encode())[:8], 'big'))
        if by is None:
            return rooted
        check(index < by < self.size, f'{place}: a revision lies after what it revises')
        self.links[index] = (by, sha256(line), rooted, repeated_of(receipt))
        self.counts['superseded'] += 1
        return False

    @staticmethod
    def count(receipt, groups):
        measurement, subject = receipt.get('measurement'), receipt['credentialSubject']
        group = (subject['startedAt'][:7], subject['model'], subject['region'], (measurement or {}).get('dataQuality', ''))
        totals, sums = groups.setdefault(group, ({}, {}))
        kind = 'covered' if measurement else 'uncovered' if 'degradation' in receipt else 'refused'
        totals[kind] = totals.get(kind, 0) + 1
        for name, uncovered in zip(TOKENS, UNCOVERED) if kind != 'refused' else ():
            key = name if measurement else uncovered
            totals[key] = totals.get(key, 0) + subject.get(name, 0)
        for each in measurement['result'] if measurement else ():
            check(UNITS.get(each['quantityKind']) == each['unit'], 'a quantity in another unit')
            for end in BOUNDS:
                key = each['quantityKind'], end
                sums[key] = sums.get(key, 0) + decimal.Decimal(each[end])

    def added(self, wanted=lambda group: True):
        """Totals and sums of the groups that are wanted."""
        return self.added_of(self.groups, wanted)

    @staticmethod
    def added_of(groups, wanted=lambda group: True):
        totals = dict.fromkeys(('covered', 'uncovered', 'refused') + TOKENS + UNCOVERED, 0)
        sums = {(kind, end): decimal.Decimal(0) for kind in UNITS for end in BOUNDS}
        for group, (counts, amounts) in groups.items():
            if wanted(group):
                for name, value in counts.items():
                    totals[name] += value
                for key, value in amounts.items():
                    sums[key] += value
        return totals, sums

    def compare_report(self):
        """The tables are those of the receipts, and there is no other file for people than they and the page."""
        check(self.contradiction is None, self.contradiction)
        found = {path for path in self.manifest if path.startswith('data/report/')}
        check(found == self.tables, 'the report has other files')
        text = csv(TOTALS) + self.totals_row('total', '', self.added())
        for at, by in enumerate(('month', 'model', 'region', 'data_quality')):
            # In the order of UTF-16, as the issuer sorts.
            for name in sorted({group[at] for group in self.groups}, key=lambda name: name.encode('utf-16-be')):
                text += self.totals_row(by, name, self.added(lambda group: group[at] == name))
        page = self.read('data/report/report.html').decode('utf-8')
        check(not any(each.search(page) for each in ACTIVE), 'data/report/report.html runs, loads or leads to something')
        check(self.read('data/report/totals.csv') == text.encode(), 'the receipts do not add up to data/report/totals.csv')

    @staticmethod
    def totals_row(by, name, added):
        totals, sums = added
        row = [by, name, totals['covered'] + totals['uncovered'] + totals['refused']]
        row += [totals[kind] for kind in ('refused', 'covered', 'uncovered')]
        row += [totals[one] + totals[other] for one, other in zip(TOKENS, UNCOVERED)] + [totals[name] for name in UNCOVERED]
        return csv(row + [plain_decimal(sums[kind, end]) for kind in UNITS for end in BOUNDS])

    def derive(self, index, line, receipt, whole):
        """The first receipt of each derivation has a document that says where its numbers come from. Returns its key."""
        if whole is None:
            return None
        key = derivation(*whole)
        if key not in self.derivations:
            if len(self.derivations) == LINEAGE_MAX:
                self.lineage['undescribed'] += 1
                return key
            self.derivations[key], document = self.explain(f'data/lineage/{index:012}.jsonld', index, line, receipt, whole)
            if self.page:
                self.page.explain(key, document)
        else:
            self.compare_results(index, receipt, whole, self.derivations[key])
        self.lineage['described'] += 1
        return key

    def compare_results(self, index, receipt, whole, course):
        """Receipts of one derivation take the same records through the same steps, each with the figures of its request."""
        own = {}
        for each in whole[1]:
            if each['type'] == 'UsageRecord' or each['type'] == 'GridFactor' and 'record' in each:
                own.update((name, float(value)) for name, value in each['record'].items() if name in FIGURES_OF_REQUEST)
        measurement, found = receipt['measurement'], course(own)
        holds = measurement['dataQuality'] == course.quality and len(measurement['result']) == len(UNITS) and all(
            rounded(found[each['quantityKind'], end], each[end]) for each in measurement['result'] for end in BOUNDS)
        if not holds and self.underived is None:
            self.underived = f'entry {index}: its numbers do not follow from what it names'

    def explain(self, path, index, line, receipt, whole):
        check(path in self.manifest, f'{path} is missing: nothing says where the numbers of a receipt come from')
        data = self.read(path)
        document = json.loads(data.decode('utf-8'), parse_constant=refuse)
        check(jcs(document).encode('utf-8') == data, f'{path} is not in its canonical form')
        about, stated, measured = document['about'], receipt['measurement'], document['measurement']
        plan, used = whole
        subject, ledger = receipt['credentialSubject'], document['ledger']
        check(sorted(document) == ['@context', 'about', 'bibliography', 'id', 'inference', 'ledger', 'measurement', 'revisions', 'type']
              and document['type'] == ['Lineage', 'Entity'] and document['id'] == receipt['id'] + '/lineage',
              f'{path} is no lineage document of this receipt')
        digest, kinds = multihash(sha256(line)), [each for each in receipt['type'] if each != 'VerifiableCredential']
        check(about == {'id': receipt['id'], 'type': ['Entity', *kinds], 'digest': digest, 'issuer': receipt['issuer'],
                        'tier': receipt['tier'], 'generatedAt': receipt['validFrom']}, f'{path} is about another receipt')
        names = ('id', 'model', 'region', 'route', 'gridZone', 'outcome', 'organisation', 'startedAt', 'endedAt')
        check(document['inference'] == dict({name: subject[name] for name in names if name in subject}, type=['Activity', 'Inference']),
              f'{path} says other things of the inference than its receipt')
        check(ledger == {'type': 'LedgerPosition', 'log': self.log, 'leafIndex': index, 'leafHash': multihash(sha256(b'\0' + line))},
              f'{path} says another place in the ledger')
        own, revised = {'id': receipt['id'], 'type': ['Entity'], 'digest': digest, 'leafIndex': index}, receipt.get('wasRevisionOf')
        chain = [own] if revised is None else [{'id': revised['id'], 'type': ['Entity'], 'digest': revised['digest'],
                                                'leafIndex': revised['leafIndex']}, dict(own, wasRevisionOf=revised['id'])]
        check(document['revisions'] == chain, f'{path} tells other revisions')
        name, _, version = stated['software'].partition('/')
        check(measured['software'] == {'type': 'SoftwareApplication', 'name': name, 'version': version.partition('/')[0]}
              and measured['type'] == ['Activity', 'Measurement'] and measured['dataQuality'] == stated['dataQuality']
              and measured['wasInformedBy'] == subject['id'] and measured.get('metered') == stated.get('metered') and sorted(
                  measured.keys() - {'metered'}) == ['bounds', 'dataQuality', 'generated', 'hadPlan', 'id', 'software', 'steps',
                                                     'type', 'used', 'warnings', 'wasInformedBy'],
              f'{path} says other things of the measurement than its receipt')
        check({name: value for name, value in measured['hadPlan'].items() if name != 'constants'} == plan and measured['id'] == stated['id'],
              f'{path} names another methodology')
        check(len(measured['used']) == len(used), f'{path} names other records')
        for i, (node, each) in enumerate(zip(measured['used'], used)):
            check(node['name'] == each['name'] and node['digest'] == each['digest'] and node['type'] == ['Entity', each['type']]
                  and node['carried'] == ('record' in each) and node['id'] == f"{document['id']}#input-{i}"
                  and sorted(node) == ['carried', 'digest', 'figures', 'id', 'name', 'record', 'type', 'warnings']
                  and multihash(sha256(jcs(node['record']).encode('utf-8'))) == each['digest'],
                  f"{path}: the record {each['name']} is not the one that the receipt names")
        results = [dict(each, type=[each['type']]) for each in stated['result']]
        check(measured['generated'] == results, f'{path} comes to other results than the receipt')
        self.recompute(path, measured)
        self.sources(path, document, measured)
        self.cite_context(document['@context'])
        self.explained.add(path)
        return Course(measured), document

    def method(self, plan):
        path, known = f"data/methodologies/{plan['name']}/{plan['version']}.json", self.__dict__.setdefault('methods', {})
        if path not in known:
            known[path] = json.loads(self.read(path))
        return known[path]

    def sources(self, path, document, measured):
        """Where each figure comes from: name, unit, year, source and licence, as the methodology has them."""
        plan = measured['hadPlan']
        method = self.method(plan)
        content, cited = method['factor_set']['content'], set()
        written = {f"{plan['id']}#{each['id']}": {'id': f"{plan['id']}#{each['id']}", 'type': 'CreativeWork', 'name': each['id'],
                                                  'text': each['citation'], 'license': each['licence']}
                   for each in content['sources'] + method['sources']}
        fields, flags = ({each[key]: each for each in content[name]} for name, key in (('fields', 'name'), ('flags', 'code')))
        address = lambda names: [f"{plan['id']}#{each}" for each in names]
        for node in plan['constants']:
            known = method['constants'][node['symbol']]
            check(node == {'id': f"{plan['id']}#{node['symbol']}", 'type': ['QuantityValue', 'Constant'], 'symbol': node['symbol'],
                           'name': known['meaning'], 'value': node['value'], 'unit': known['unit'], 'sources': address(known['sources'])},
                  f"{path}: the constant {node['symbol']} is not described as in the methodology")
            cited.update(node['sources'])
        for record in measured['used']:
            data, lists, leaves = record['record'], [], []

            def gather(value):
                for key, each in value.items() if isinstance(value, dict) else enumerate(value):
                    if key == 'sources':
                        lists.append(address(each))
                    elif isinstance(each, (dict, list)):
                        gather(each)
                    elif not isinstance(each, bool) and re.fullmatch(r'-?[0-9.]+(e-?[0-9]+)?', str(each)):
                        leaves.append(float(each))
            gather(data)
            for node in record['figures']:
                stem, _, end = node['symbol'].rpartition('_')
                known = FIGURES.get(node['symbol']) or (FIGURES.get(stem) if end in ENDS else None)
                check(known and known[1] == node['unit'], f"{path}: nothing is known as {node['symbol']}")
                name = (known[0] or node['name']) + (ENDS[end] if node['symbol'] not in FIGURES else '')
                name += ' in this hour' if record['carried'] and record['type'][1] == 'GridFactor' else ''
                field = fields.get(known[2], {'sources': [], 'year': 'not stated'})
                year = 'of this request' if record['carried'] else data.get('year', field['year'])
                shared = [each for each in data.get('sources', []) if each in field['sources']] or data.get('sources', [])
                sources = [] if record['carried'] else address(shared)
                check(node['name'] == name and node['year'] == year and node['id'] == f"{record['id']}-{node['symbol']}"
                      and (node['sources'] == sources or not known[2] and not record['carried'] and node['sources'] in lists)
                      and node['type'] == ['QuantityValue'] and float(node['value']) in leaves
                      and sorted(node) == ['id', 'name', 'sources', 'symbol', 'type', 'unit', 'value', 'year'],
                      f"{path}: {node['symbol']} is not as its record and the methodology have it")
                cited.update(node['sources'])
            check(record['warnings'] == [{'type': 'Warning', 'code': code, 'message': flags[code]['meaning']}
                                         for code in ([] if record['carried'] else data.get('flags', []))],
                  f"{path}: the record {record['name']} comes with other warnings")
        own = [each for record in measured['used'] for each in record['warnings']]
        check(all(each in measured['warnings'] for each in own), f'{path} leaves out a warning')
        factors = {each['id']: each for each in content['uncertainty'] + method['bounds']['factors']}
        for record in (node['record'] for node in measured['used'] if 'size_factor' in node['record']):
            factors['size_of_class'] = dict(record, id='size_of_class', factor=record['size_factor'], sources=['S1'])
        for node in measured['bounds']:
            doubts = [math.log(float(each['value'])) ** 2 for each in node['factors']]
            check(sorted(node) == ['combined', 'factors', 'id', 'share', 'type'] and node['type'] == 'Bound'
                  and node['id'] == f"{document['id']}#bound-{node['share']}"
                  and format(decimal.Decimal(repr(float(node['combined']))).normalize(), 'f') == node['combined']
                  and close(math.exp(math.sqrt(math.fsum(doubts))), float(node['combined']), 1e-9), f'{path}: a bound is not as its doubts give it')
            for each in node['factors']:
                known = factors[each['name']]
                check(each == {'name': known['id'], 'value': each['value'], 'basis': known['basis'], 'sources': address(known['sources'])}
                      and float(each['value']) == known['factor'], f"{path}: the doubt {each['name']} is not as in the methodology")
        formulas = {(each['symbol'], each['formula']): each for each in method['formulas']}
        units = {(node['symbol'], node['unit']) for node in plan['constants'] + measured['steps']}
        units |= {(node['symbol'], node['unit']) for record in measured['used'] for node in record['figures']}
        units |= {('w', 'GB per 10^9 weights'), ('n', '1'), ('E_kv', 'J')} | {('f_' + node['share'], '1') for node in measured['bounds']}
        # Each number that a step reads leads to its last place, or to the record that gives it.
        nodes = plan['constants'] + [node for record in measured['used'] for node in record['figures']]
        last = {(node['symbol'], float(node['value'])): node['id'] for node in nodes}
        last.update({('f_' + node['share'], float(node['combined'])): node['id'] for node in measured['bounds']})
        givers = {'E_kv': 'ModelRecord', 'w': 'HardwareRecord', 'n': 'HardwareRecord'}

        def where(read):
            known = last.get((read['symbol'], float(read['value'])))
            return known or next((record['id'] for record in measured['used'] if record['type'][1] == givers.get(read['symbol'])
                                  and (record['name'] == 'replica' or read['symbol'] == 'E_kv')), None)
        for i, node in enumerate(measured['steps']):
            check(sorted(node) == ['formula', 'id', 'name', 'reads', 'symbol', 'type', 'unit', 'value', 'wasDerivedFrom'] and all(
                sorted(each) == ['symbol', 'unit', 'value'] and (each['symbol'], each['unit']) in units for each in node['reads']),
                f"{path}: the step {node['symbol']} is not in its form")
            known = formulas[node['symbol'], node['formula']]
            check(node['name'] == known['name'] and node['unit'] == known['unit'] and node['id'] == f"{document['id']}#step-{i}"
                  and node['type'] == ['QuantityValue', 'Step']
                  and node['wasDerivedFrom'] == list(dict.fromkeys(where(each) for each in node['reads']))
                  and len(set(node['wasDerivedFrom'])) == len(node['wasDerivedFrom']),
                  f"{path}: the step {node['symbol']} is not as in the methodology")
            last[node['symbol'], float(node['value'])] = node['id']
        check(document['bibliography'] == [written[each] for each in sorted(cited)], f'{path} has another bibliography')

    def recompute(self, path, measured):
        """Every step again, by a formula of the methodology, from what it reads; and what it reads from constants, records,
        bounds and the steps before. The record of the replica gives n and w; without a known cache E_kv is 0."""
        plan, known = measured['hadPlan'], {'E_kv': [0.0]}
        method = self.method(plan)
        formulas = {(each['symbol'], each['formula']) for each in method['formulas']}
        for each in plan['constants']:
            check(float(each['value']) == method['constants'][each['symbol']]['value'], f"{path}: {each['symbol']} is another constant")
        for node in plan['constants'] + [figure for record in measured['used'] for figure in record['figures']]:
            known.setdefault(node['symbol'], []).append(float(node['value']))
        for record in (node['record'] for node in measured['used'] if 'precision' in node['record']):
            known.update(n=[float(record['gpus'])], w=[method['assumptions']['bytes_per_weight'][record['precision']]])
        for bound in measured['bounds']:
            known.setdefault('f_' + bound['share'], []).append(float(bound['combined']))
        for step in measured['steps']:
            check((step['symbol'], step['formula']) in formulas, f"{path}: the methodology has no such formula of {step['symbol']}")
            reads = {each['symbol']: float(each['value']) for each in step['reads']}
            for symbol, value in reads.items():
                check(value in known.get(symbol, []), f'{path}: a step reads {symbol} that nothing gave')
            value = float(step['value'])
            check(close(compute(step['formula'], reads), value), f"{path}: {step['symbol']} is not what its formula gives")
            known.setdefault(step['symbol'], []).append(value)
        for each in measured['generated']:
            kind = each['quantityKind']
            for field, symbol in (('value', 'E' if kind == 'energy' else kind), ('lower', kind + '_lower'), ('upper', kind + '_upper')):
                check(rounded(known[symbol][-1], each[field]), f'{path}: its steps do not lead to the {kind} of the receipt')

    def compare_page(self):
        """The page says what the pack holds, to the last byte."""
        page = self.read('data/report/report.html').decode('utf-8')
        style = page.partition('<style>')[2].partition('</style>')[0]
        check(sha256(style.encode()).hex() == STYLE_SHA256 and self.page.make(self, style) == page,
              'data/report/report.html says otherwise than what is in the pack')

    def compare_lineage(self):
        check(self.underived is None, self.underived)
        extra = [path for path in self.manifest if path.startswith('data/lineage/') and path not in self.explained]
        check(not extra, f'no receipt of the pack has its lineage in {extra[:3]}')
        self.lineage['documents'] = len(self.derivations)
        for name, value in self.lineage.items():
            check(self.subject['lineage'][name] == value, f'{value} are {name} by lineage, the seal says otherwise')

    def cite(self, receipt, whole):
        self.cite_contexts(receipt)
        plan = whole and whole[0]
        if plan is None or (plan['name'], plan['version'], plan['digest'], plan['id']) in self.cited:
            return
        path = f"data/methodologies/{plan['name']}/{plan['version']}.json"
        check(multihash(sha256(self.read(path))) == plan['digest'] == self.sealed.get(plan['id']),
              f'{path} is not the document that receipts cite')
        self.cited.add((plan['name'], plan['version'], plan['digest'], plan['id']))

    def cite_contexts(self, document):
        contexts = tuple(document['@context'])
        if contexts in self.contexts:
            return
        check(len(contexts) == 2 and contexts[0] == VC, 'the contexts are not those of a receipt')
        for url in contexts:
            self.cite_context(url)
        self.contexts.add(contexts)

    def cite_context(self, url):
        self.used_contexts.add(url)
        name = 'credentials-v2.jsonld' if url == VC else url.rsplit('/', 1)[-1]
        check(multihash(sha256(self.read(f'data/contexts/{name}'))) == self.sealed.get(url), f'{url} is not what the seal says')

    def compare_totals(self):
        check(not self.links, f'{len(self.links)} revisions are missing')
        expected, (totals, sums) = self.subject['totals'], self.added()
        for name, value in totals.items():
            check(expected[name] == value, f'the receipts add up to {value} {name}, the seal says otherwise')
        stated = {(each['quantityKind'], end): (each['unit'], decimal.Decimal(each[end])) for each in expected['result'] for end in BOUNDS}
        check(stated == {(kind, end): (unit, sums[kind, end]) for kind, unit in UNITS.items() for end in BOUNDS},
              'the quantities of the receipts do not add up to what the seal says')
        self.compare_report()
        for name, value in self.counts.items():
            check(self.subject['range'][name] == value, f'there are {value} {name}, the seal says otherwise')


# --- timestamps (RFC 3161) ---------------------------------------------------------------------------------------------

def openssl(*arguments):
    try:
        return subprocess.run(['openssl', *arguments], capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        raise NoOpenssl('the program openssl is not there, and timestamps are checked with it')


def der(text):
    """One element in its shortest form and nothing behind it, in the base64 that there is of it."""
    data = base64.b64decode(text, validate=True)
    check(len(data) > 4 and data[0] == 0x30 and base64.b64encode(data).decode() == text, 'a timestamp is none')
    size = data[1] & 0x7F if data[1] & 0x80 else 0
    length = int.from_bytes(data[2:2 + size], 'big') if size else data[1]
    check(length + 2 + size == len(data), 'bytes follow the end of a timestamp')
    return data


def stamped(timestamp, text, trust):
    """Checks a timestamp of this text with OpenSSL: imprint, signature, and the chain to a certificate in `trust`, as it was at
    that time. Returns the time, or None when nothing leads to a certificate in there."""
    with tempfile.TemporaryDirectory() as folder:
        data, response, token, info = (os.path.join(folder, name) for name in ('data', 'response', 'token', 'info'))
        with open(data, 'wb') as file:
            file.write(text)
        with open(response, 'wb') as file:
            file.write(der(timestamp['response']))
        said = openssl('ts', '-reply', '-in', response, '-text').stdout
        found = re.search(r'^Time stamp: (\w+ +\d+ \d\d:\d\d:\d\d)(\.\d+)? (\d{4}) GMT$', said, re.M)
        check(found and re.search('^Status: Granted', said, re.M), 'a timestamp is none')
        time = datetime.datetime.strptime(f'{found[1]} {found[3]} +0000', '%b %d %H:%M:%S %Y %z')
        openssl('ts', '-reply', '-in', response, '-token_out', '-out', token)
        own = openssl('cms', '-verify', '-noverify', '-inform', 'DER', '-in', token, '-out', info)
        check(own.returncode == 0, 'a timestamp is not signed by the certificate in it')
        with open(info, 'rb') as file:
            check(b'\x04\x20' + sha256(text) in file.read(), 'a timestamp is of another text')
        stated = instant(timestamp['time'])
        check(stated.replace(microsecond=0) == time, 'a timestamp is of another time than is stated beside it')
        chain = openssl('ts', '-verify', '-in', response, '-data', data, '-CAfile', trust, '-attime', str(int(time.timestamp())))
        return timestamp['time'] if chain.returncode == 0 else None


# --- the verdict ------------------------------------------------------------------------------------------------------

def plain(text):
    """Text of others, without what could move the cursor, turn the direction, or look like a line of ours."""
    return ''.join(c if c.isprintable() else f'\\u{{{ord(c):x}}}' for c in str(text))


def thumbprint(x):
    """RFC 7638, of an Ed25519 key."""
    return base64.urlsafe_b64encode(sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode())).decode().rstrip('=')


def trusted_keys(data):
    try:
        return Keys(data)
    except (Bad, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise Cannot(f'the file named with --trust is no did.json: {problem}')


def judge(path, trust=None, pin=None, tsa_trust=None, require_anchor=False, require_timestamp=False):
    """What is shown of a pack. Raises Bad, or Cannot."""
    verifier = Verifier(path, trust, pin)
    verifier.run()
    anchor, times, verifier.lacks = verifier.anchor, [], 'name the authority with --tsa-trust'
    if anchor and tsa_trust:
        text = anchor.anchor.partition('\n\n')[0] + '\n'
        try:
            times = [(each['authority'], stamped(each, text.encode(), tsa_trust)) for each in anchor.timestamps]
        except NoOpenssl as problem:
            if require_timestamp:
                raise
            verifier.lacks = str(problem)
    verifier.anchored = anchor.head_size if anchor else 0
    verifier.times = [plain(f'{authority}: {time}') for authority, time in times if time]
    verifier.not_checked = len(anchor.timestamps) - len(verifier.times) if anchor else 0
    check(not require_anchor or verifier.anchored >= verifier.end, 'an anchor over the whole range was required, and there is none')
    check(not require_timestamp or verifier.times and verifier.anchored >= verifier.end,
          'a checked timestamp over the whole range was required, and there is none')
    return verifier


SHOWN = """This shows that these receipts are the entries {first} to {last} of the ledger as of its head of {size} entries, in their order,
signed by keys of {whose}, and that the totals are theirs.
It does not show that a model ran, or that an estimate is true."""


def words_of(bounds, totals):
    """The range and the totals, in the words and units of the page."""
    yield f"entries {bounds['firstIndex']} to {bounds['lastIndex']}, with {bounds['revisions']} revisions from after them"
    yield f"inferences: {totals['covered']} with an estimate, {totals['uncovered']} without, {totals['refused']} refused"
    yield f"tokens: {totals['inputTokens']} in, {totals['outputTokens']} out, of those with an estimate"
    for total in totals['result']:
        unit, text = scale_for(total['quantityKind'], total['value'])
        bounds = f"[{text(total['lower'])}–{text(total['upper'])}], which adds up 5–95 % intervals"
        yield re.sub(r'\s', ' ', f"{TITLES[total['quantityKind']]}: {text(total['value'])} {unit} {bounds}")


def report(verifier, trusted):
    subject, bounds = verifier.subject, verifier.subject['range']
    verdict = 'GOOD' if verifier.is_trusted else 'INTACT, ISSUER UNKNOWN'
    yield f"{verdict}  {bounds['receipts']} receipts of {subject['checkpoint']['log']}, sealed by {verifier.issuer}"
    if verifier.anchored == 0:
        yield 'not anchored: whoever has the keys could have made another ledger (--require-anchor refuses that)'
    elif verifier.anchored < verifier.end:
        yield f'anchored: only the first {verifier.anchored} entries of the ledger; the range ends with entry {bounds["lastIndex"]}'
    else:
        yield f'anchored: the head of {verifier.anchored} entries, in {verifier.anchor.origin}'
    for time in verifier.times:
        yield f'timestamp of the anchor, checked: {time}'
    if verifier.not_checked:
        yield f'{verifier.not_checked} timestamps were not checked: {verifier.lacks}'
    elif not verifier.times:
        yield 'no timestamp: when it was there is the word of the issuer alone'
    yield f'trusted: {trusted}'
    yield 'report.html was made again and is the same; names and contracts in it are the word of whoever sealed the pack'
    if sha256(verifier.pack.raw('verify.py')) != sha256(open(__file__, 'rb').read()):
        yield 'the script in the pack is not this one: what it would say is the word of whoever sealed the pack'
    yield from words_of(bounds, subject['totals'])
    whose = verifier.issuer if verifier.is_trusted else 'whoever made the pack, which may be anybody'
    yield SHOWN.format(first=bounds['firstIndex'], last=bounds['lastIndex'], size=subject['checkpoint']['size'], whose=whose)


MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError, struct.error,
             zipfile.BadZipFile, NotImplementedError, EOFError, OverflowError)


def verdict_of(options, trust=None):
    """The exit code and the lines of a verdict."""
    try:
        if options.trust and trust is None:
            with open(options.trust, 'rb') as file:
                trust = file.read(4 * 2**20)
        if options.tsa_trust:
            with open(options.tsa_trust, 'rb') as file:
                if b'-----BEGIN CERTIFICATE-----' not in file.read(4 * 2**20):
                    raise Cannot(f'{options.tsa_trust} holds no certificate (PEM)')
        if options.require_timestamp and not options.tsa_trust:
            raise Cannot('--require-timestamp needs --tsa-trust: a timestamp is worth what its authority is worth')
        verifier = judge(options.pack, trust, options.pin, options.tsa_trust, options.require_anchor, options.require_timestamp)
        trusted = options.trust or options.pin or 'the keys in the pack itself, which do not show whose it is; use --trust'
        return 0 if verifier.is_trusted else 3, list(report(verifier, trusted))
    except Cannot as problem:
        return 2, [f'CANNOT JUDGE  {problem}']
    except OSError as problem:
        return 2, [f'CANNOT JUDGE  {problem.filename or options.pack} cannot be read: {problem.strerror}']
    except Bad as problem:
        return 1, [f'BAD  {options.pack}: {problem}']
    except MALFORMED as problem:
        what = f'it lacks {problem}' if isinstance(problem, KeyError) else problem
        return 1, [f'BAD  {options.pack}: the pack is malformed: {what}']
    except (MemoryError, subprocess.SubprocessError) as problem:
        return 2, [f'CANNOT JUDGE  {options.pack}: {type(problem).__name__} {problem}']


def parser():
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument('pack', help='the ZIP archive')
    made.add_argument('--trust', metavar='did.json', help='the keys of the issuer, fetched by yourself')
    made.add_argument('--pin', metavar='sha256', help='SHA-256 of the did.json in the pack, as the issuer told you')
    made.add_argument('--tsa-trust', metavar='file', help='certificates (PEM) of the time-stamping authorities that you trust')
    made.add_argument('--require-anchor', action='store_true', help='refuse a pack of which not all is anchored')
    made.add_argument('--require-timestamp', action='store_true', help='refuse a pack without a timestamp that could be checked')
    return made


def main(arguments):
    options = parser().parse_args(arguments)
    if Ed25519PublicKey is None:
        say(["Python's package `cryptography` is not there: signatures are checked in Python itself, which takes several times as"
             ' long (Debian, Ubuntu: apt-get install python3-cryptography).'], sys.stderr)
    try:
        code, said = verdict_of(options)
    except KeyboardInterrupt:
        return 130
    # Only what we make ourselves has more than one line.
    say(('\n'.join(plain(part) for part in line.split('\n')) if code in (0, 3) else plain(line) for line in said), sys.stdout)
    return code


def say(said, output):
    """Prints lines for whoever still reads: one that has left does not change the verdict."""
    try:
        for line in said:
            print(line, file=output)
        output.flush()
    except BrokenPipeError:
        # Python would complain of it when it closes the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())


if __name__ == '__main__':
    for stream in (sys.stdout, sys.stderr):
        # Where the terminal lacks a letter, its number is shown.
        stream.reconfigure(errors='backslashreplace')
    sys.exit(main(sys.argv[1:]))
