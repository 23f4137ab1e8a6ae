#!/usr/bin/env python3
"""Verifies an evidence pack: python3 verify.py pack.zip --trust did.json

What an auditor needs who has Python 3.9 or later and not our program; nothing is fetched. Signatures are checked by the
package `cryptography` where it is there, and in Python itself, which is slower, where it is not. Timestamps are checked with
the program openssl. Exit codes:

  0  GOOD                    what is checked is whole, and by the issuer whose keys you named
  1  BAD                     it is not what it says; the first problem is named
  2  CANNOT JUDGE            something is missing that judging takes
  3  INTACT, ISSUER UNKNOWN  what is checked agrees with itself; the keys are its own, so anyone may have made it

Checked are archive and checksums, the seal, the keys, the anchor log, the signature of each receipt, that it says one thing,
that its figures follow from its records by formulas of the published methodology, the ledger's root, the revisions, totals and
tables, and timestamps.

NOT CHECKED are two things, and the verdict says so: the page for people (data/report/report.html), and what the documents in
data/lineage tell, but for the records, formulas and doubts that figures are computed from.
Which of the published formulas apply to a request, and which doubts its interval counts, is the word of those documents. They
are the files that were sealed, and nothing shows that they say what the receipts do. `docket verify` makes both again.

Use --trust with a did.json that you fetched from the issuer yourself, or --pin with the SHA-256 that the issuer told you
of it. To read this file from the top: parts come before what uses them, and `Verifier.run` has the checks in their order.
"""
import argparse, array, ast, base64, datetime, decimal, functools, hashlib, io, json, math, os, re, struct, subprocess, sys
import tempfile, urllib.parse, zipfile, zlib
try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except Exception:
    # Not there, or not as it should be.
    Ed25519PublicKey = None

    class InvalidSignature(Exception):
        pass
try:
    from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey
except Exception:
    MLDSA44PublicKey = None

# How far the issuer's clock may be ahead of ours, and the clocks of two machines of a service apart.
SKEW = datetime.timedelta(minutes=5)
CLOCKS = datetime.timedelta(hours=1)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
UNITS = {'energy': 'kWh', 'gwp': 'kgCO2e', 'water': 'L', 'adpe': 'kgSbe', 'adpf': 'MJ'}
BOUNDS = ('value', 'lower', 'upper')
TOKENS = ('inputTokens', 'cachedInputTokens', 'outputTokens')
# Sums of receipts are exact.
decimal.getcontext().prec = 2000


class Bad(Exception):
    pass


class Cannot(Exception):
    """What is needed to judge is not there."""


def check(holds, what):
    if not holds:
        raise Bad(what)


# --- hashes, JSON, times, lines ---------------------------------------------------------------------------------------

def sha256(data):
    return hashlib.sha256(data).digest()


def multihash(digest):
    return 'u' + base64.urlsafe_b64encode(b'\x12\x20' + digest).decode().rstrip('=')


def from_base64(text):
    data = base64.b64decode(text, validate=True)
    check(base64.b64encode(data).decode() == text and len(data) == 32, 'not the base64 of a hash')
    return data


DIGITS = {digit: value for value, digit in enumerate('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz')}


def from_base58(text):
    number = 0
    try:
        for digit in text:
            number = number * 58 + DIGITS[digit]
    except KeyError:
        raise Bad('not base58')
    zeros = len(text) - len(text.lstrip('1'))
    return b'\0' * zeros + number.to_bytes((number.bit_length() + 7) // 8, 'big')


def milliseconds_of_ulid(text):
    """When an identifier was made, since 1970: some are of later times than a datetime has."""
    number = 0
    for digit in text[:10]:
        number = number * 32 + '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.index(digit)
    return number


def time_of_ulid(text):
    """When an identifier was made."""
    return EPOCH + datetime.timedelta(milliseconds=milliseconds_of_ulid(text))


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


ENCODER = json.JSONEncoder(sort_keys=True, separators=(',', ':'), ensure_ascii=False)


def canonical(value):
    """RFC 8785, for what packs are made of: ASCII keys, strings, booleans and integers."""
    return ENCODER.encode(value).encode('utf-8')


def lines(data, path):
    check(data == b'' or data.endswith(b'\n'), f'{path}: the last line has no end')
    return data[:-1].split(b'\n') if data else []


def records(data, path, members):
    """The lines of a file, one at least, each an object with these members, in its one form."""
    check(data, f'{path} has no line')
    for line in lines(data, path):
        value = parse(line, path)
        # To Python true is 1.
        check(canonical(value) == line and sorted(value) == members and not any(type(each) is bool for each in value.values()),
              f'{path}: a line is not in its form')
        yield value


TIME = re.compile(r'([1-9]\d{3})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)\.(\d{3})Z', re.ASCII)


@functools.lru_cache(maxsize=4096)
def instant(text):
    """UTC with its milliseconds, of a day that the calendar has: texts of one length, in the order of the times."""
    match = TIME.fullmatch(text) if isinstance(text, str) else None
    check(match, f'not a UTC time: {text!r}')
    *parts, fraction = map(int, match.groups())
    try:
        return datetime.datetime(*parts, fraction * 1000, datetime.timezone.utc)
    except ValueError:
        raise Bad(f'not a day of the calendar: {text!r}')


def csv(fields):
    """A line of CSV (RFC 4180), quoted where it must be."""
    texts = [str(field) for field in fields]
    if re.search('[",\\r\\n]', ''.join(texts)):
        texts = ['"' + text.replace('"', '""') + '"' if re.search('[",\\r\\n]', text) else text for text in texts]
    return ','.join(texts) + '\r\n'


def plain_decimal(number):
    text = f'{number:f}'
    return text.rstrip('0').rstrip('.') if '.' in text else text


# --- the forms of receipts and seals ----------------------------------------------------------------------------------

# What signed documents consist of, as dev/verifier-forms.ts writes it: each member, and the form of its value.
FORMS = json.loads(r'''
{"1":{"@context":["*","iri",1,4],"credentialSubject":{"answerId?":"","attempts?called":1,"cachedInputTokens?":0,
"endedAt":"time","extrapolated?":["=",true],"failure?failed":["=","upstream_error","upstream_timeout","worker_lost",
"internal_error"],"gridZone?":"^[A-Za-z0-9][A-Za-z0-9._:/@+~-]{0,255}$","id":"iri","inputTokens?":0,
"model":"^[A-Za-z0-9][A-Za-z0-9._:/@+~-]{0,255}$","modelVersion?":"","organisation":"iri","outcome":["=","complete",
"partial","truncated","failed","refused"],"outputTokens?":0,
"policy?refused":{"rule?":"^[A-Za-z0-9][A-Za-z0-9._:/@+~-]{0,255}$",
"version":"^[A-Za-z0-9][A-Za-z0-9._:/@+~-]{0,255}$"},"previous?":"iri","queuedMs?":0,
"region":"^[a-z0-9][a-z0-9._-]{0,63}$","relayedPayloads?":0,"relayedTokens?":0,"requestDigest":"digest",
"requestedModel?":"^[A-Za-z0-9][A-Za-z0-9._:/@+~-]{0,255}$","responseDigest?":"digest","route":["=",
"chat.completions","completions","embeddings","responses","messages"],"salt":"^u[A-Za-z0-9_-]{21}[AQgw]$",
"startedAt":"time","statedJoules?":"decimal","tokenInterval?":{"inputLower":0,"inputUpper":0,"outputLower":0,
"outputUpper":0},"tokenizer?":"^[A-Za-z0-9][A-Za-z0-9._:/@+~-]{0,255}$","type":["=",["Activity","Inference"]],
"upstreamAnswerId?":"^[A-Za-z0-9_][A-Za-z0-9._:/@+~=-]{0,255}$","upstreamMs?":0,"usageReason?":["=","caller_left",
"upstream_cut","worker_lost","not_counted","overruled"],"usageSource?ran":["=","upstream","counted","unknown"]},
"degradation?degraded":{"code":"^[a-z][a-z0-9_]{0,63}$","requestedTier":["=","audit","audit_plus","enterprise"],
"stage":["=","model","factors","computation","input","timeout"]},"explanation?degraded":"","id":"iri",
"inclusionPromise?":{"log":"","maximumMergeDelay":"^PT[1-9][0-9]{0,5}S$"},"issuer":"iri",
"measurement?estimated":{"dataQuality":["=","T1","TS","T2","T3","T4","T5"],"derivation":"iri","id":"iri",
"metered?":{"digest":"digest","from":"time","to":"time"},"qualifiedAssociation":{"agent":"iri","hadPlan":"iri",
"type":["=","Association"]},"result":["*",{"lower":"decimal","quantityKind":["=","energy","gwp","water","adpe",
"adpf"],"type":["=","QuantityValue"],"unit":["=","kWh","kgCO2e","L","kgSbe","MJ"],"upper":"decimal",
"value":"decimal"},5,5],"software":"^[A-Za-z0-9][A-Za-z0-9._:/@+~-]{0,255}$","type":["=",["Activity","Measurement"]],
"used":["*",{"name":"","record":"record","type":["=","UsageRecord","GridFactor"]},1,2],"wasInformedBy":"iri"},
"proof?":{"@context":["*","iri",1,4],"cryptosuite":"","proofPurpose":"","proofValue":"","type":"",
"verificationMethod":"iri"},"revisionNote?":"","revisionNumber?revision":1,"revisionReason?revision":["=",
"methodology_failed","new_methodology","hourly_factor","hours_incomplete","measured"],"tier":["=","audit",
"audit_plus","enterprise","degraded"],"type":["=",["VerifiableCredential","InferenceReceipt"],["VerifiableCredential",
"InferenceReceipt","RecalculatedReceipt"]],"validFrom":"time","wasRevisionOf?revision":{"digest":"digest","id":"iri",
"leafIndex":0}},"patterns":{"decimal":"^(?:0|[1-9][0-9]{0,47})(?:\\.[0-9]{0,47}[1-9])?$",
"digest":"^uEi[A-D][A-Za-z0-9_-]{42}[AQgw]$","iri":"^[A-Za-z][A-Za-z0-9+.-]*:[!#-;=?-\\[\\]_a-z~]+$"},
"seal":{"@context":["*","iri",1,4],"credentialSubject":{"anchor?":{"headSize":0,"keyEvents":1,"keyHeads":0,
"lacks?":["*","^a (?:timestamp|cosignature of [!-*,-~]{1,255})$",1,17],"log":"","root":"digest","size":0,
"timestamps":0,"type":["=","PackAnchor"]},"checkpoint":{"log":"","root":"digest","size":0,"type":["=","Checkpoint"]},
"file":["*",{"digest":"digest","name":["=","bagit.txt","VERIFY.md","verify.py","bag-info.txt","manifest-sha256.txt"],
"type":["=","PackFile"]},5,5],"format":["=","docket-evidence-pack/1"],"id":"iri","lineage":{"described":0,
"documents":0,"type":["=","PackLineage"],"undescribed":0},"organisation":"iri","pageVersion":1,
"range":{"firstIndex":0,"lastIndex":0,"receipts":0,"revisions":0,"signedHeads":0,"superseded":0,"type":["=",
"LedgerRange"]},"requested?":{"after?":"time","before?":"time","from?":"time","pending?":0,"to?":"time","type":["=",
"RequestedPeriod"]},"totals":{"covered":0,"coveredCachedInputTokens":0,"coveredInputTokens":0,"coveredOutputTokens":0,
"failed":0,"refused":0,"result":["*",{"lower":"decimal","quantityKind":["=","energy","gwp","water","adpe","adpf"],
"type":["=","QuantityValue"],"unit":["=","kWh","kgCO2e","L","kgSbe","MJ"],"upper":"decimal","value":"decimal"},5,5],
"type":["=","PackTotals"],"uncovered":0,"uncoveredCachedInputTokens":0,"uncoveredInputTokens":0,
"uncoveredOutputTokens":0},"type":["=","EvidencePack"]},"id":"iri","issuer":"iri","proof":{"@context":["*","iri",1,4],
"created":"time","cryptosuite":["=","eddsa-jcs-2022"],"proofPurpose":["=","assertionMethod"],
"proofValue":"^z[1-9A-HJ-NP-Za-km-z]{60,88}$","type":["=","DataIntegrityProof"],"verificationMethod":"iri"},
"relatedResource":["*",{"digestMultibase":"digest","id":"iri"},1,256],"type":["=",["VerifiableCredential",
"EvidencePackCredential"]],"validFrom":"time"},"derivation":{"inputs":["*",{"digest":"digest","name":"",
"record?":"record","type":["=","UsageRecord","ModelRecord","GridFactor","SiteFactor","HardwareRecord"]},1,64],
"methodology":{"digest":"digest","id":"iri","name":"","version":""},"type":["=","Derivation"],"version":["=",1]}}
''')

PATTERNS = FORMS.pop('patterns')

# What no text of a receipt or pack holds, and what shows nothing by itself: code points and ranges of them, as
# dev/verifier-forms.ts writes them. Unicode is not asked: a later version of it must not make a text bad that was good.
CHARACTERS = json.loads(r'''

{"unseen":"0-1f 7f-9f ad 600-605 61c 6dd 70f 890-891 8e2 115f-1160 17b4-17b5 180e 200b 200e-200f 2028-202e 2060-206f 3164 d800-dfff feff ffa0 fff0-fffb 110bd 110cd 13430-1343f 16fe4 1bca0-1bca3 1d159 1d173-1d17a e0000-e00ff e01f0-e0fff",
"blank":"20 a0 34f 1680 180b-180d 180f 2000-200a 200c-200d 202f 205f 2800 3000 fe00-fe0f e0100-e01ef"}
''')


def class_of(text):
    """The same, as what stands between the brackets of a regular expression."""
    return re.sub('[0-9a-f]+', lambda each: f'\\U{int(each[0], 16):08x}', text).replace(' ', '')


UNSEEN, BLANK = (class_of(CHARACTERS[name]) for name in ('unseen', 'blank'))
ANY_UNSEEN, ALL_BLANK = re.compile(f'[{UNSEEN}]'), re.compile(f'[{BLANK}]*')
NOT_IN_NAMES = re.compile(f'(?! )[{UNSEEN}{BLANK}]')


def seen(words):
    """Do words of persons show what they are? Nothing of them is unseen, and they are not all blank."""
    return not ANY_UNSEEN.search(words) and not ALL_BLANK.fullmatch(words)


def disguised(name):
    """Could a name that a program gives be shown as another than it is? Of what is blank it may have U+0020."""
    return bool(NOT_IN_NAMES.search(name) or ALL_BLANK.fullmatch(name))



def misfit(place, what):
    """`place` is a name, or what it is in and a name."""
    names = []
    while isinstance(place, tuple):
        place, name = place
        names.append(name)
    raise Bad('.'.join([place, *reversed(names)]) + what)


def checker_of(form):
    """A function that says whether a value is of this form: its members and no others, each of its kind. It is made once of
    each form, because every receipt goes through it."""
    if isinstance(form, dict):
        known, spelt = {}, [(*name.partition('?'), inner) for name, inner in form.items()]
        members = []
        for name, optional, when, inner in spelt:
            known[name] = checker_of(inner)
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
            # To Python 1 is true.
            if not any(type(value) is type(each) and value == each for each in allowed):
                misfit(place, ' is another value than it can have')
    elif isinstance(form, list):
        inner, least, most = checker_of(form[1]), form[2], form[3]

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
        matches = re.compile(PATTERNS.get(form, form)).fullmatch if form else None

        def test(value, place, holds):
            if not (isinstance(value, str) and 0 < len(value) <= 1024):
                misfit(place, ' is not a text')
            if matches and not matches(value):
                misfit(place, ' is not of its form')
    return test


# Each takes a document, what to call it, and which of the conditions of its form hold.
FITS = {name: checker_of(form) for name, form in FORMS.items()}


# --- the archive ------------------------------------------------------------------------------------------------------

FILE_MAX = 65 * 2**20
# A million files of the longest name that packs give one. The library reads what an archive states, and a sparse file may state any.
DIRECTORY_MAX = 128_000_000
SAFE = re.compile(r'[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+')


class Archive(io.BufferedReader):
    """A file of which no more is read at once than a directory may have."""

    def read(self, count=-1):
        check(count is None or count <= DIRECTORY_MAX, 'the archive lists more files than any pack')
        return super().read(count)


class Pack:
    """The files of an archive, stored one after the other, under safe names that occur once, and nothing else."""

    def __init__(self, path):
        self.file = Archive(io.FileIO(path))
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


# --- Ed25519 (RFC 8032), where there is no package for it -------------------------------------------------------------

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

def thumbprint(key):
    """RFC 7638, of an Ed25519 key."""
    x = base64.urlsafe_b64encode(key).decode().rstrip('=')
    return base64.urlsafe_b64encode(sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode())).decode().rstrip('=')


def without(text, name, value):
    """Canonical JSON of an object without a member that is not its first, given the canonical form of that."""
    member = f',"{name}":{value}'
    check(text.count(member) == 1, f'{name} stands twice')
    return text.replace(member, '')


# Kinds of keys that sign notes: logs by Ed25519, witnesses by Ed25519, witnesses by ML-DSA-44.
NOTE_KEY, WITNESS_KEY, ML_DSA_44_KEY = 1, 4, 6


def key_hash(name, kind, key):
    return sha256(name.encode() + b'\n' + bytes([kind]) + key)[:4]


def bytes_of(text):
    """What this is the base64 of, in its one form; None for anything else."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return data if base64.b64encode(data).decode() == text else None


NOTE_BYTES_MAX = 131072


def signed_note(note, place):
    """C2SP signed note: the text that is signed, and by whom with what."""
    text, _, lines = note.rpartition('\n\n')
    check(lines.endswith('\n') and len(note.encode('utf-8')) <= NOTE_BYTES_MAX, f'{place}: not a signed note')
    lines = lines[:-1].split('\n')
    matches = [re.fullmatch('— ([^\\s+\\0-\\x1f]+) ([A-Za-z0-9+/]+={0,2})', line) for line in lines]
    check(all(matches) and len(lines) <= 64, f'{place}: not a signed note')
    signatures = [(match[1], bytes_of(match[2])) for match in matches]
    check(all(data and len(data) > 4 for _, data in signatures), f'{place}: not a signed note')
    return text + '\n', signatures


class Keys:
    """The keys of a did.json that somebody has decided to trust."""

    def __init__(self, data):
        did = json.loads(data)
        self.id, self.by_id, self.pardoned = did['id'], {}, {}
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
        check(signed <= now + SKEW, f'{place}: signed in the future')
        return signed

    def checkpoint(self, note, log, issuer, place, passes=lambda kid, size: True):
        """C2SP signed note of a tree with this name, or with the one that `log` says for its size. Keys that may sign receipts
        may not sign tree heads. Beside the key of the anchor log witnesses sign; a ledger's head has one signature."""
        text, signatures = signed_note(note, place)
        check(len(text.split('\n')) > 3, f'{place}: not a signed note')
        origin, size, root = text.split('\n')[:3]
        fits = text.count('\n') == 3 and re.fullmatch('0|[1-9][0-9]{0,15}', size)
        log = log(int(size)) if fits and callable(log) else log
        check(fits and origin == log, f'{place}: not a head of {log if isinstance(log, str) else "this log"}')
        check(len(signatures) == 1 or log_of_tree(log)[0].endswith('/anchor'), f'{place}: it has not one signature')
        self.signed(text, signatures, log, issuer, place, lambda kid: passes(kid, int(size)))
        return int(size), from_base64(root)

    def signed(self, text, signatures, signer, issuer, place, passes):
        """A trusted key of the issuer that passes has signed the note under this name."""
        for name, signature in signatures:
            if name != signer:
                continue
            for kid, (key, raw, controller, revoked) in self.by_id.items():
                revoked = revoked and kid not in self.pardoned
                if kid in self.asserting or controller != issuer or revoked or signature[:4] != key_hash(signer, NOTE_KEY, raw):
                    continue
                try:
                    key.verify(signature[4:], text.encode())
                except InvalidSignature:
                    continue
                if passes(kid):
                    return
        raise Bad(f'{place}: no trusted key has signed it')


def trusted_keys(data):
    try:
        return Keys(data)
    except (Bad, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise Cannot(f'the file named with --trust is no did.json: {problem}')


# --- the tree of a ledger (RFC 6962) ----------------------------------------------------------------------------------

def node(left, right):
    return sha256(b'\1' + left + right)


class Tree:
    """A tree that grows, as the roots of its perfect subtrees, largest first."""

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


# --- losses that were declared ---------------------------------------------------------------------------------------

LOSSES, ANCHOR_LOSSES = 'data/ledger/losses.ndjson', 'data/anchor/losses.ndjson'
LOSS = re.compile(r'([^\n]+)/loss\nopens ([1-9][0-9]{0,5}) after ([1-9][0-9]{0,5})\n'
                  r'published (0|[1-9][0-9]{0,15}) (-|[A-Za-z0-9+/]{43}=) in ([1-9][0-9]{0,5})\n'
                  r'kept (0|[1-9][0-9]{0,15}) ([A-Za-z0-9+/]{43}=)\ndeclared ([0-9TZ:.-]+) by ([^\n]+)\n([^\n]+)\n', re.ASCII)


def log_of_tree(origin):
    """The log that a tree is one of, and its number: the first has the name of the log itself."""
    found = re.fullmatch('(.+)/([1-9][0-9]{0,5})', origin)
    return (found[1], int(found[2])) if found and found[2] != '1' else (origin, 1)


class Losses:
    """What the issuer says was published of a log and is gone. Statements lead from its first tree to the one that is named."""

    def __init__(self, verifier, path, origin):
        self.path, self.said, self.trees = path, [], [(0, 1)]
        self.log, tree = log_of_tree(origin)
        for line in records(verifier.read(path), path, ['consistency', 'note']) if path in verifier.manifest else ():
            check(len(self.said) < 1000, f'{path}: no log has so many losses')
            text, signatures = signed_note(line['note'], path)
            found = LOSS.fullmatch(text)
            check(found and len(signatures) == 1 and found[1] == self.log, f'{path}: not a declared loss of {self.log}')
            instant(found[9])
            check(all(len(each.encode('utf-16-le')) <= 2 * most for each, most in ((found[10], 300), (found[11], 500))),
                  f'{path}: who or why is too long')
            check(seen(found[10]) and seen(found[11]),
                  f'{path}: who and why do not stand on one line each')
            opens, after, published, of, kept = (int(found[i]) for i in (2, 3, 4, 6, 7))
            check(max(published, kept) < 2**53 and (found[5] == '-' or from_base64(found[5])), f'{path}: a head in it is none')
            check(after < opens and of < opens and (of != after or kept < published) and after == self.trees[-1][1]
                  and kept >= self.trees[-1][0], f'{path}: declared losses do not follow each other')
            self.trees.append((kept, opens))
            self.said.append((text, signatures, kept, from_base64(found[8]), [from_base64(each) for each in line['consistency']],
                              (published, of, after, found[9], found[10], found[11])))
        check(self.trees[-1][1] == tree, f'{path}: no statement opens the tree {tree} of {self.log}')

    def origin(self, size):
        """The name of the tree that a head of so many entries is of."""
        tree = [tree for kept, tree in self.trees if kept < size or tree == 1][-1]
        return self.log if tree == 1 else f'{self.log}/{tree}'

    def check(self, keys, issuer, size, root, passes):
        """Each is signed, and what was kept is a beginning of the tree that all leads to."""
        for text, signatures, kept, kept_root, proof, _ in self.said:
            holds = kept < size and consistent(kept, kept_root, size, root, proof) if kept else \
                not proof and kept_root == sha256(b'')
            check(holds, f'{self.path}: the successor does not begin with the entries that were kept')
            keys.signed(text, signatures, self.log + '/loss', issuer, self.path, lambda kid: passes(kid, kept))

    def words(self, of):
        for _, _, kept, _, _, (published, tree, after, time, who, why) in self.said:
            lost = f'of {published} entries published, those after the first {kept} are lost' if tree == after else \
                f'{published} entries published as tree {tree}, which the database does not have: it goes on after the first {kept}'
            yield f'SAID{of}: {lost}: declared on {time} by {who} ({why})'


# --- the anchor log ---------------------------------------------------------------------------------------------------

EVENTS = 'data/keys/events.ndjson'
HEAD = 'data/anchor/head.json'
PURPOSES = ('receipts', 'checkpoints', 'anchor', 'packs')


class Anchor:
    """When each key's signatures count: a key that may not sign any more still counts for what was anchored before."""

    def __init__(self, verifier):
        self.keys, self.ledger, self.issuer = verifier.keys, verifier.losses, verifier.issuer
        own = re.sub('/log/[^/]+$', '/anchor', verifier.log)
        # Which tree of the anchor log it is, the seal says; statements in the pack must lead there.
        tree = log_of_tree(verifier.subject.get('anchor', {}).get('log', own))[1]
        self.origin = own if tree == 1 else f'{own}/{tree}'
        self.losses = Losses(verifier, ANCHOR_LOSSES, self.origin)
        self.intervals, self.retired, self.limits, self.anchor, last = {}, set(), {}, None, -1
        path, count = EVENTS, 0
        for line in records(verifier.read(path), path, ['entry', 'index', 'proof']):
            count += 1
            event = self.in_log(line['entry'], line['proof'], line['index'])
            check(event['type'] == 'key' and line['index'] > last, f'{path}: not key events in their order')
            last = line['index']
            self.apply(line['index'], event)
        check(self.anchor is not None, f'{path} is empty')
        self.head_of(self.anchor, self.origin, 'anchor', lambda size: size - 1)
        note = self.anchor.split('\n')
        # What was lost of the history of keys is written again behind the statement.
        later = lambda kid, kept: self.good(kid, 'anchor', max(kept, self.intervals.get(kid, (0, 0))[1]))
        self.losses.check(self.keys, self.issuer, int(note[1]), from_base64(note[2]), later)
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
        # What it lacks is the word of who sealed; what it has is found here.
        stated = {name: value for name, value in verifier.subject.get('anchor', {}).items() if name != 'lacks'}
        check(stated == found, 'the seal says another anchor than there is')
        sealed_by = verifier.seal['proof']['verificationMethod']
        purpose, added, end, compromised = self.intervals.get(sealed_by, (None, 0, 0, False))
        check(purpose == 'packs' and end is None, 'the seal is by a key that may not seal packs')

    def in_log(self, entry, proof, index=None):
        """C2SP tlog-proof: the entry is in the anchor log. All proofs lead to one head of it."""
        head, _, note = proof.partition('\n\n')
        header, place, *path = head.split('\n')
        check(header == 'c2sp.org/tlog-proof@v1' and re.fullmatch('index (0|[1-9][0-9]{0,15})', place, re.ASCII)
              and len(proof.encode('utf-8')) <= NOTE_BYTES_MAX, 'not a proof of the anchor log')
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
        further = {'added': {'publicKeyMultibase'}, 'retired': set(), 'compromised': {'from'}}[event['event']]
        check(set(event) == {'at', 'event', 'key', 'purpose', 'type'} | further and event['purpose'] in PURPOSES
              and re.fullmatch('did:web:[!-~]{1,500}#[A-Za-z0-9_-]{43}', kid)
              and type(event.get('from', 0)) is int and event.get('from', 0) >= 0, f'{EVENTS}: a key event is not in its form')
        instant(event['at'])
        if event['event'] == 'added':
            key = from_base58(event['publicKeyMultibase'][1:])
            own = thumbprint(key[2:])
            check(event['publicKeyMultibase'][0] == 'z' and key[:2] == b'\xed\x01' and len(key) == 34, f'{kid} is no Ed25519 key')
            check(known is None and kid.endswith('#' + own), f'{kid} is added wrongly')
            self.intervals[kid] = (event['purpose'], index, None, False)
            return
        check(known is not None and known[0] == event['purpose'], f'{kid} was not added for {event["purpose"]}')
        check(event['event'] != 'retired' or kid not in self.retired, f'{kid} is retired twice')
        self.retired.update([kid] if event['event'] == 'retired' else [])
        end = index if event['event'] == 'retired' else event['from']
        end = end if known[2] is None else min(end, known[2])
        self.intervals[kid] = (known[0], known[1], end, known[3] or event['event'] == 'compromised')

    def good(self, kid, purpose, at):
        known, added, end, _ = self.intervals.get(kid, (None, 0, 0, False))
        return known == purpose and at >= added and (end is None or at < end)

    def head_of(self, note, log, purpose, place):
        before, self.keys.pardoned = self.keys.pardoned, {} if purpose == 'anchor' else dict(self.intervals)
        try:
            return self.keys.checkpoint(note, log, self.issuer, 'a head of the anchor', lambda kid, size: self.good(kid, purpose, place(size)))
        finally:
            self.keys.pardoned = before

    def anchored(self, data, end):
        """A head of the ledger in the anchor log, below its index `end`, and a beginning of the pack's. How many entries?"""
        file = json.loads(data)
        proof = file['proof']
        fields = ['object', 'checkpoint', 'slot', 'salt', 'path', 'entry', 'proof', 'timestamps']
        check(list(file) == ['consistency', 'proof'] and list(proof) == fields and proof['object'] == 'anchor_proof'
              and json.dumps(file, indent=2, ensure_ascii=False).encode() + b'\n' == data, 'an anchored head is not in its form')
        stamps = proof['timestamps']
        check(type(proof['slot']) is int and type(proof['path']) is type(stamps) is type(file['consistency']) is list
              and len(proof['path']) == 20 and len(stamps) <= 16, 'an anchored head is not in its form')
        for each in stamps:
            check(list(each) == ['authority', 'time', 'response'] and re.fullmatch('[!-~]{1,1024}', each['authority'])
                  and bytes_of(each['response']), 'a timestamp of an anchored head is not in its form')
            instant(each['time'])
        check(all(len({each[name] for each in stamps}) == len(stamps) for name in ('authority', 'response')),
              'an anchored head has a timestamp, or an authority, twice')
        heads = self.in_log(proof['entry'], proof['proof'])
        place = self.place
        check(heads['type'] == 'heads' and sorted(heads) == ['at', 'root', 'slots', 'type'] and type(heads['slots']) is int
              and heads['slots'] == 2**20, 'an entry of heads is not in its form')
        instant(heads['at'])
        check(place < end, 'a head was anchored too late')
        size, root = self.head_of(proof['checkpoint'], self.ledger.origin, 'checkpoints', lambda size: place)
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


# --- a receipt by itself ----------------------------------------------------------------------------------------------

# The forms of receipts, by the context that tells them apart.
RECEIPT_FORMATS = {'docket-receipt-beHpfCSsduxZnFTcBQNsB8ElKJgXUC8_kqV7jLFcOIg.jsonld': '1'}
ANSWER_IDS = {'chat.completions': 'chatcmpl-', 'completions': 'cmpl-', 'responses': 'resp_',
              'messages': 'msg_'}
NOTE_MAX = 500
# Calls of a request, seconds and joules: beyond is a wrong unit.
ATTEMPTS_MAX, TIME_MAX, JOULES_MAX = 1000, 2678400, 10**15
# Words of others that are shown, and characters of each; what a released service promises at most until a head has a receipt.
SHOWN_MAX, CHARS_MAX, MERGE_DELAY = 4, 120, 10
# What is known of an answer, or of what was used for one, and of nothing else.
OF_ANSWERS = ['answerId', 'modelVersion', 'queuedMs', 'relayedPayloads', 'relayedTokens', 'responseDigest', 'statedJoules',
              'upstreamAnswerId', 'upstreamMs']
# What may be known of calls of which nothing came.
OF_CALLS = ('queuedMs', 'statedJoules', 'upstreamMs')
# What follows the public address, by the fields that have it.
ULID = '[0-7][0-9A-HJKMNP-TV-Z]{25}'
ROOT = re.compile(r'https?://((?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[1-9][0-9]{0,4})?)((?:/[^/]+)*)')
ADDRESSES = {name: re.compile(form) for name, form in {
    'id': f'receipts/rcpt_{ULID}', 'credentialSubject.id': f'requests/req_{ULID}',
    'credentialSubject.organisation': f'organisations/org_{ULID}', 'credentialSubject.previous': f'receipts/rcpt_{ULID}',
    'measurement.id': f'measurements/msr_{ULID}', 'measurement.derivation': 'derivations/uEi[A-Za-z0-9_-]{44}',
    'measurement.qualifiedAssociation.hadPlan': 'methodologies/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+',
    'wasRevisionOf.id': f'receipts/rcpt_{ULID}'}.items()}
FACTOR_MEMBERS = ['gwp_kgco2e_per_kwh', 'hour', 'provider', 'signal', 'version', 'zone']


def later_context(receipt):
    """The context of a receipt of a format that is not known here; None of any other."""
    contexts = receipt.get('@context') if isinstance(receipt, dict) else None
    second = contexts[1] if isinstance(contexts, list) and len(contexts) > 1 else None
    named = isinstance(second, str) and re.search(r'/contexts/(docket-receipt-[A-Za-z0-9_-]{43}\.jsonld)\Z', second)
    return second if named and named[1] not in RECEIPT_FORMATS else None


def check_form(receipt, place):
    """A receipt has the members of its format, and does not say two things at once."""
    subject, own = receipt['credentialSubject'], receipt['@context'][-1].rpartition('/')[2]
    check(own in RECEIPT_FORMATS, f'{place}: no receipt was issued with the context {own}')
    check(len(receipt['@context']) == 2 and receipt['@context'][0] == VC, f'{place}: the contexts are not those of a receipt')
    outcome, degraded = subject.get('outcome'), receipt['tier'] == 'degraded'
    ran = outcome not in ('failed', 'refused')
    FITS[RECEIPT_FORMATS[own]](receipt, place, {
        'refused': outcome == 'refused', 'failed': outcome == 'failed', 'degraded': degraded, 'called': outcome != 'refused',
        'ran': ran, 'estimated': not degraded and ran, 'revision': 'RecalculatedReceipt' in receipt['type']})
    if not ran:
        stated = next((name for name in OF_ANSWERS if name in subject and not (outcome == 'failed' and name in OF_CALLS)),
                      'degradation' if degraded else None)
        check(stated is None, f'{place}: {stated} of a request that came to no answer')
    check(subject.get('attempts', 1) <= ATTEMPTS_MAX, f'{place}: more calls than there can be')
    source, reason = subject.get('usageSource'), subject.get('usageReason')
    # Of the prompt alone they may be known without an answer.
    prompt = source == 'unknown' or outcome == 'failed'
    for name in ('inputTokens', 'cachedInputTokens', 'outputTokens'):
        known = source not in (None, 'unknown')
        check(known == (name in subject) or name == 'inputTokens' and prompt, f'{place}: {name} is there where it is known')
    check(subject.get('cachedInputTokens', 0) <= subject.get('inputTokens', 0), f'{place}: more of the prompt was cached than there was')
    check(source != 'unknown' or degraded, f'{place}: unknown tokens with an estimate')
    check(reason not in (None, 'overruled') if source == 'unknown' else reason is None or reason == 'overruled' and source == 'counted',
          f'{place}: tokens and reason do not fit')
    check(('tokenizer' in subject) == (source == 'counted' or prompt and 'inputTokens' in subject), f'{place}: a tokenizer goes with a count')
    around = subject.get('tokenInterval')
    check('extrapolated' not in subject or around is not None, f'{place}: an estimated count without an interval')
    check(around is None or source == 'counted' and around['inputLower'] <= subject['inputTokens'] <= around['inputUpper']
          and around['outputLower'] <= subject['outputTokens'] <= around['outputUpper'], f'{place}: an interval that does not hold its count')
    if 'measurement' in receipt:
        stated = [(each['quantityKind'], each['unit']) for each in receipt['measurement']['result']]
        check(stated == list(UNITS.items()), f'{place}: not one figure of each kind, in order, in its unit')
        for each in receipt['measurement']['result']:
            check(decimal.Decimal(each['lower']) <= decimal.Decimal(each['value']) <= decimal.Decimal(each['upper']),
                  f"{place}: {each['quantityKind']} does not lie between its bounds")


def is_decimal(value):
    return isinstance(value, str) and re.fullmatch(PATTERNS['decimal'], value) is not None


def texts_of(value):
    """All texts of a document, but for names of members."""
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts_of(each)


def odd_words(receipt):
    """Words of a receipt that are not what they show; None where each is. Names have their characters by their forms."""
    for name, text in (('modelVersion', receipt['credentialSubject'].get('modelVersion')), ('explanation', receipt.get('explanation'))):
        if text is not None and disguised(text):
            return name
    note = receipt.get('revisionNote')
    return 'revisionNote' if note is not None and (len(note.encode('utf-16-le')) > 2 * NOTE_MAX or not seen(note)) else None


def misaddressed(receipt):
    """The first field whose address does not follow from the public address that stands in the context; None where all do.
    Inferences are told apart by the whole address of the request, so it has one spelling."""
    root = receipt['@context'][1].rpartition('/contexts/')[0]
    match = ROOT.fullmatch(root)
    if match is None:
        return '@context'
    host, path = match.groups()
    if receipt['issuer'] != f"did:web:{urllib.parse.quote(host, safe='')}{path.replace('/', ':')}":
        return 'issuer'
    for name, form in ADDRESSES.items():
        address = receipt
        for part in name.split('.'):
            address = address.get(part) if address is not None else None
        if address is not None and not (address.startswith(root + '/') and form.fullmatch(address[len(root) + 1:])):
            return name
    log = f"{host}{path}/log/{receipt['credentialSubject']['organisation'].rpartition('/')[2]}"
    return None if receipt.get('inclusionPromise', {}).get('log', log) == log else 'inclusionPromise.log'


def odd_usage(subject, usage, elapsed, metered):
    """The first member of a usage record that says otherwise than its receipt. It has what follows from that, and no other."""
    generates, around, upstream = subject['route'] != 'embeddings', subject.get('tokenInterval', {}), subject.get('upstreamMs')
    known = {'attempts': subject.get('attempts'), 'cached_input_tokens': subject.get('cachedInputTokens'), 'route': subject['route'],
             'input_tokens': subject.get('inputTokens'), 'output_tokens': subject.get('outputTokens') if generates else 0,
             'usage_source': subject.get('usageSource')}
    # The time of the call, and where that is not known the whole.
    known['latency_s' if upstream is None else 'upstream_s'] = \
        plain_decimal(decimal.Decimal(elapsed if upstream is None else upstream) / 1000)
    for name, value in around.items():
        known[f"{name[:-5]}_tokens_{name[-5:].lower()}"] = value if generates or name[:5] == 'input' else 0
    # What is stated and was not used would be as good as never stated.
    stated = 'statedJoules' in subject and not metered
    if stated:
        known['stated_joules'] = subject['statedJoules']
    others = {name: value for name, value in usage.items() if name not in ('measured_joules', 'stated_beyond')}
    for name in {**known, **others}:
        if name not in others or name not in known or others[name] != known[name]:
            return name
    measured, beyond = usage.get('measured_joules'), usage.get('stated_beyond')
    if not (is_decimal(measured) and float(measured) <= JOULES_MAX) if metered else measured is not None:
        return 'measured_joules'
    return None if beyond is None or stated and beyond in STATED_BOUNDS else 'stated_beyond'


def check_agreement(receipt, whole, place):
    """Does a receipt say one thing of its inference? Whoever has the keys can sign another, and the service issues none."""
    subject, stated, revised = receipt['credentialSubject'], receipt.get('measurement'), receipt.get('wasRevisionOf')

    def holds(what, it):
        check(what, f'{place} says two things at once ({it})')
    ulid = lambda address: address.rpartition('/')[2].partition('_')[2]
    elsewhere = misaddressed(receipt)
    holds(elsewhere is None, f'{elsewhere}, which is no address under the public address of its context')
    odd = odd_words(receipt)
    holds(odd is None, f'{odd}, which has characters that no service writes')
    holds(revised is not None or 'revisionNote' not in receipt, 'revisionNote, which revisions have alone')
    holds(revised is None or stated is not None, 'measurement, which every revision has')
    holds(revised is not None or ulid(receipt['id']) == ulid(subject['id']), 'id')
    outcome, route = subject['outcome'], subject['route']
    ran = outcome not in ('failed', 'refused')
    made = ANSWER_IDS[route] + ulid(subject['id']) if ran and route in ANSWER_IDS else None
    holds(subject.get('answerId') == made, 'answerId, which is not made from its request')
    holds(not ran or 'responseDigest' in subject, 'responseDigest, which every answer has')
    holds(outcome != 'complete' or 'relayedPayloads' not in subject, 'relayedPayloads, and it came to its end')
    holds(('relayedPayloads' in subject) == ('relayedTokens' in subject), 'relayedTokens')
    promised = receipt.get('degradation', {}).get('requestedTier', receipt['tier']) != 'audit'
    holds(promised == ('inclusionPromise' in receipt), 'inclusionPromise, which goes with the tiers above audit')
    holds(subject.get('requestedModel') != subject['model'], 'requestedModel, which is no other name')
    if 'previous' in subject:
        before, own = ulid(subject['previous']), ulid(subject['id'])
        latest = milliseconds_of_ulid(own) + CLOCKS // datetime.timedelta(milliseconds=1)
        holds(route == 'responses' and before != own and milliseconds_of_ulid(before) <= latest,
              'previous, which is no receipt of a response before it')
    started, ended = instant(subject['startedAt']), instant(subject['endedAt'])
    holds(abs(started - time_of_ulid(ulid(subject['id']))) <= CLOCKS, 'startedAt')
    elapsed = round((ended - started) / datetime.timedelta(milliseconds=1))
    holds(0 <= elapsed <= TIME_MAX * 1000, 'endedAt')
    queued, upstream = subject.get('queuedMs', 0), subject.get('upstreamMs', 0)
    holds(queued <= elapsed, 'queuedMs, which is longer than the request took')
    holds(queued + upstream <= elapsed, 'upstreamMs, which is longer than the request took')
    holds(ended <= instant(receipt['validFrom']) + CLOCKS, 'validFrom')
    if whole is None:
        return
    holds('gridZone' in subject, 'gridZone, which every estimate has')
    holds(ulid(stated['id']) == ulid(receipt['id']), 'measurement.id')
    reason = receipt.get('revisionReason')
    holds(reason != 'measured' or 'metered' in stated, 'revisionReason, and no meter measured it')
    holds(reason != 'hourly_factor' or any(each['type'] == 'GridFactor' and 'hour' in each.get('record', {}) for each in whole[1]),
          'revisionReason, and it has no factor of an hour')
    holds(reason != 'hours_incomplete' or not any('hour' in each.get('record', {}) for each in whole[1]),
          'revisionReason, and it has a factor of an hour')
    usage, metered = next((each['record'] for each in whole[1] if each['type'] == 'UsageRecord' and 'record' in each), None), stated.get('metered')
    if usage is not None:
        odd = odd_usage(subject, usage, elapsed, metered is not None)
        holds(odd is None, f'measurement.used.usage.{odd}')
        energy = 'T1' if 'measured_joules' in usage else 'TS' if 'stated_joules' in usage and 'stated_beyond' not in usage else None
        holds(energy == (stated['dataQuality'] if stated['dataQuality'] in ('T1', 'TS') else None), 'measurement.dataQuality')
    zone, hour, hours = subject['gridZone'], f'{started:%Y-%m-%dT%H}:00:00Z', 0
    for each in whole[1]:
        record = each.get('record')
        if each['type'] == 'UsageRecord':
            holds(each['name'] == 'usage', f"measurement.used.{each['name']}")
        elif each['type'] == 'GridFactor' and record is None:
            holds(each['name'] == zone, f"measurement.used.{each['name']}")
        elif each['type'] == 'GridFactor':
            hours += 1
            fits = sorted(record) == FACTOR_MEMBERS and record['zone'] == zone and record['hour'] == hour and each['name'] == f'{zone}@{hour}'
            fits = fits and is_decimal(record['gwp_kgco2e_per_kwh'])
            fits = fits and all(isinstance(record[name], str) and not disguised(record[name]) for name in ('provider', 'signal', 'version'))
            holds(fits, f"measurement.used.{each['name']}")
    holds(hours == 0 or hours == 1 and receipt['tier'] == 'enterprise' and len(stated['used']) == 2,
          'measurement.used, and the factor of an hour goes with the tier enterprise, once')
    # A meter's record or none: what an upstream says of itself is no measurement.
    holds((metered is None) == (stated['dataQuality'] != 'T1'), 'measurement.metered')
    holds(metered is None or metered['from'] <= subject['endedAt'] and metered['from'] < metered['to'] and subject['startedAt'] <= metered['to']
          and instant(metered['to']) <= instant(receipt['validFrom']) + CLOCKS,
          'measurement.metered')


def metered_on(receipt):
    return receipt.get('measurement', {}).get('metered', {}).get('digest', '')


def repeated_of(receipt):
    """What the revision of this receipt has to repeat of it, in short."""
    hour = any('hour' in each['record'] for each in receipt.get('measurement', {}).get('used', []))
    level = 'estimated' + metered_on(receipt) + ('@' if hour else '') if 'measurement' in receipt else 'degraded'
    return repeated(receipt, level, receipt['id'], receipt.get('revisionNumber', 0))


def repeated_before(receipt):
    """What that may be of the receipt that this one revises: by its id, and the words of this one."""
    revised, number = receipt['wasRevisionOf']['id'], receipt['revisionNumber'] - 1
    # A meter measures what no meter had; what comes for another reason keeps what was metered, and meters nothing. Hours are
    # missing only where the factor of one was taken.
    reason, metered = receipt['revisionReason'], metered_on(receipt)
    before = 'estimated' if reason == 'measured' else 'estimated' + metered
    levels = ('degraded', before, before + '@') if before == 'estimated' else (before, before + '@')
    if reason == 'methodology_failed':
        levels = ('degraded',)
    if reason == 'hours_incomplete':
        levels = (before + '@',)
    return [repeated(receipt, level, revised, number) for level in levels]


def repeated(receipt, level, address, number):
    subject = receipt['credentialSubject']
    # Where the region of a degraded receipt lies may have become known since.
    words = {name: value for name, value in subject.items() if name != 'gridZone' or level != 'degraded'}
    # What was asked for stays: a tier that was chosen afterwards could choose factors by what they come to.
    asked = receipt.get('degradation', {}).get('requestedTier', receipt['tier'])
    return sha256(canonical([address, number, level, words, asked]))[:16]


# --- the figures of a receipt, by formulas of the published methodology ----------------------------------------------

LONG_CONTEXT = 2048
# Bounds of physics that energy which an upstream states has to keep.
STATED_BOUNDS = ('token_energy', 'idle_power', 'full_power')
# The figures of a request: members of its records, and their symbols in formulas.
FIGURES_OF_REQUEST = {
    'attempts': 'k', 'input_tokens': 'I', 'cached_input_tokens': 'I_c', 'output_tokens': 'N', 'input_tokens_lower': 'I_lower',
    'input_tokens_upper': 'I_upper', 'output_tokens_lower': 'N_lower', 'output_tokens_upper': 'N_upper', 'upstream_s': 'T_up',
    'latency_s': 'T_req', 'measured_joules': 'J', 'stated_joules': 'J', 'gwp_kgco2e_per_kwh': 'F_gwp',
}
# Symbols of what stands in the other records, by their types, and where it stands there.
FIGURES_OF_DEPLOYMENT = {
    'GridFactor': {'F_adpe': 'adpe_kgsbe_per_kwh', 'F_adpf': 'adpf_mj_per_kwh', 'F_gwp': 'gwp_kgco2e_per_kwh', 'F_water': 'water_l_per_kwh'},
    'HardwareRecord': {
        'B': 'batch', 'lifetime': 'lifetime_s', 'memory': 'gpu_memory_gb', 'slots': 'gpus_per_server', 'tdp': 'gpu_tdp_w',
        'gpu_adpe': 'gpu_embodied.adpe_kgsbe', 'gpu_gwp': 'gpu_embodied.gwp_kgco2e', 'gpu_pe': 'gpu_embodied.pe_mj',
        'server_adpe': 'server_embodied.adpe_kgsbe', 'server_gwp': 'server_embodied.gwp_kgco2e', 'server_pe': 'server_embodied.pe_mj',
    },
    # One count stands for both where a catalogue states one.
    'ModelRecord': {'P_a': 'active_b', 'P_a_max': 'active_b.max', 'P_a_min': 'active_b.min', 'P_t': 'total_b', 'P_t_max': 'total_b.max',
                    'P_t_min': 'total_b.min', 'b_kv': 'kv.bytes_per_token', 'o_att': 'kv.operations_per_pair'},
    'SiteFactor': {'PUE': 'pue', 'PUE_max': 'pue.max', 'PUE_min': 'pue.min', 'WUE': 'wue_l_per_kwh', 'WUE_max': 'wue_l_per_kwh.max',
                   'WUE_min': 'wue_l_per_kwh.min'},
}
OPERATORS = {ast.Add: '+', ast.Sub: '-', ast.Mult: '*', ast.Div: '/', ast.Pow: '**'}
FUNCTIONS = {'exp': math.exp, 'ln': math.log, 'sqrt': math.sqrt, 'ceil': math.ceil, 'min': min,
             'power_of_two_from': lambda count: 2 ** max(0, math.ceil(math.log2(count)))}


def derivation(plan, used):
    """A key of how a measurement came about, apart from the figures of its request. Receipts that have one in common go the same
    way to their figures."""
    parts = [[plan['name'], plan['version'], plan['digest']]]
    for each in used:
        record = each.get('record')
        if each['type'] == 'UsageRecord':
            record = record or {}
            tokens = [record.get(name, 0) for name in ('input_tokens', 'output_tokens', 'output_tokens_upper')]
            given, output, most = [count if isinstance(count, int) else 0 for count in tokens]
            turns = (('measured', 'measured_joules' in record), ('stated', 'stated_joules' in record),
                     ('beyond', 'stated_beyond' in record), ('timed', 'latency_s' in record),
                     ('called', 'upstream_s' in record), ('ranged', 'output_tokens_upper' in record), ('decoded', max(output, most) > 0),
                     ('long', given + output > LONG_CONTEXT))
            parts.append(['UsageRecord'] + [turn for turn, taken in turns if taken])
        elif each['type'] == 'GridFactor' and record is not None:
            parts.append(['GridFactor'] + [record.get(name, '') for name in ('provider', 'signal', 'zone')])
        else:
            parts.append([each['type'], each['name'], each['digest']])
    return sha256(json.dumps(parts, separators=(',', ':'), ensure_ascii=False).encode('utf-8'))


def inputs_of_request(used):
    """The records that a request has for itself: its usage, and the factor of its hour."""
    return [each for each in used if each['type'] == 'UsageRecord' or each['type'] == 'GridFactor' and 'record' in each]


class Number(str):
    """A number of JSON that is no integer, as it is written there: Python would write it otherwise."""


def fractional(text):
    """A number that is no integer. Another program reads the same of no other spelling than the shortest (RFC 8785)."""
    value = decimal.Decimal(repr(float(text)))
    check(value.is_finite(), 'a number is larger than any')
    sign, digits, exponent = value.normalize().as_tuple()
    digits, point = ''.join(map(str, digits)), len(digits) + exponent
    if 0 < point <= 21:
        shortest = digits[:point].ljust(point, '0') + '.' * (len(digits) > point) + digits[point:]
    elif -6 < point <= 0:
        shortest = '0.' + '0' * -point + digits
    else:
        shortest = digits[0] + '.' * (len(digits) > 1) + digits[1:] + f'e{point - 1:+d}'
    check(text == '-' * sign + shortest, f'a number is not in its shortest spelling: {text[:40]}')
    return Number(text)


def as_written(value):
    """RFC 8785, for JSON with ASCII keys whose numbers stand in that form already."""
    if isinstance(value, dict):
        return '{' + ','.join(f'{json.dumps(key)}:{as_written(value[key])}' for key in sorted(value)) + '}'
    if isinstance(value, list):
        return '[' + ','.join(map(as_written, value)) + ']'
    return value if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)


def number_at(record, place):
    """A number of a record, also one that is written as text; None where there is none."""
    for name in place.split('.'):
        record = record.get(name) if isinstance(record, dict) else None
    return None if record is None or isinstance(record, (bool, dict, list)) else float(record)


def program(formula):
    """A formula of a methodology, which is arithmetic over symbols and nothing else, as a text of Python; `of` has their values."""
    def walk(at):
        if isinstance(at, ast.BinOp):
            return f'({walk(at.left)}{OPERATORS[type(at.op)]}{walk(at.right)})'
        if isinstance(at, ast.Call):
            check(at.func.id in FUNCTIONS and not at.keywords, f'{formula} is no arithmetic')
            return f'{at.func.id}({",".join(map(walk, at.args))})'
        return f'of[{at.id!r}]' if isinstance(at, ast.Name) else repr(float(at.value))
    check(len(formula) < 1000, 'a formula that is too long')
    try:
        return walk(ast.parse(formula.replace('^', '**'), mode='eval').body)
    except (SyntaxError, ValueError, TypeError, LookupError, RecursionError, AttributeError) as error:
        raise Bad(f'{formula} is no arithmetic: {error}')


def course_of(path, measured, used, method, quality):
    """The way to the figures of all receipts of one derivation: a function of what their requests have for themselves. Constants,
    formulas and causes of doubt are those of the methodology, records those that receipts name by digest. Of the lineage document
    (`measured`) stays which of the formulas were taken, in which order, which doubts bear on what, and what each record was read
    for; what it says that they come to is not looked at."""
    values = {symbol: float(each['value']) for symbol, each in method['constants'].items()}
    # Where the layout of attention is not known, it is not counted.
    values['E_att'] = values['E_kv'] = 0.0
    doubts = {each['id']: each['factor'] for each in method['factor_set']['content']['uncertainty'] + method['bounds']['factors']}
    formulas = {(each['symbol'], each['formula']) for each in method['formulas']}
    own, taken = inputs_of_request(used), []
    check(len(measured['used']) == len(used), f'{path} names other records')
    for node, each in zip(measured['used'], used):
        record = node['record']
        check(multihash(sha256(as_written(record).encode('utf-8'))) == each['digest'],
              f"{path}: the record {each['name']} is not the one that the receipt names")
        for figure in node['figures'] if each not in own else ():
            symbol, value = figure['symbol'], float(figure['value'])
            place = FIGURES_OF_DEPLOYMENT[each['type']].get(symbol)
            if record.get('declared_by') and place in ('active_b', 'total_b') and place not in record:
                place = 'total_b' if place == 'active_b' else 'active_b'
            check(place is not None and value == number_at(record, place), f"{path}: {symbol} does not stand in the record {each['name']}")
            values[symbol] = value
        if 'precision' in record:
            values.update(n=float(record['gpus']), w=method['assumptions']['bytes_per_weight'][record['precision']])
        if 'size_factor' in record:
            doubts['size_of_class'] = float(record['size_factor'])
    for bound in measured['bounds']:
        names = [each['name'] for each in bound['factors']]
        check(set(names) <= set(doubts), f'{path}: the methodology has no doubt {names}')
        values['f_' + bound['share']] = math.exp(math.sqrt(math.fsum(math.log(doubts[name]) ** 2 for name in names)))
    for step in measured['steps']:
        check((step['symbol'], step['formula']) in formulas, f"{path}: the methodology has no such formula of {step['symbol']}")
        taken.append(f"of[{step['symbol']!r}]={program(step['formula'])}")
    check(quality != 'T2' or memory_holds(values, measured['used']), f'{path}: memory does not hold what T2 says is served')
    steps = compile('\n'.join(taken), 'steps', 'exec')

    def figures(used):
        of = dict(values)
        for each in inputs_of_request(used):
            of.update((symbol, float(each['record'][name])) for name, symbol in FIGURES_OF_REQUEST.items()
                      if name in each['record'] and (symbol == 'F_gwp') == (each['type'] == 'GridFactor'))
        try:
            # Nothing but what `program` wrote.
            exec(steps, dict(FUNCTIONS, __builtins__={}), {'of': of})
            check_stated(path, used, of)
            return {(kind, end): of['E' if kind + end == 'energyvalue' else kind if end == 'value' else f'{kind}_{end}']
                    for kind in UNITS for end in BOUNDS}
        except (ArithmeticError, LookupError, NameError, RecursionError, TypeError, ValueError) as error:
            raise Bad(f'{path}: its steps do not lead to the figures of a receipt: {error}')
    return figures


def memory_holds(values, used):
    """The GPUs that a catalogue states have the memory for weights, and for the batch where it states one."""
    replica = next(each['record'] for each in used if 'gpus_basis' in each['record'])
    total = values['P_t'] if 'P_t' in values else math.sqrt(values['P_t_min'] * values['P_t_max'])
    free = values['n'] * values['memory'] - values['w'] * total
    if replica['gpus_basis'] != 'catalogue' or free < 0:
        return False
    if replica['batch_basis'] != 'catalogue':
        return True
    return 'b_kv' in values and values['B'] * values['context_held'] * values['b_kv'] <= free * 1e9


def check_stated(path, used, of):
    """Energy that an upstream states is used where it keeps the bounds of physics, and the first that it breaks is named."""
    usage = next(each['record'] for each in used if each['type'] == 'UsageRecord')
    if 'stated_joules' not in usage:
        return
    joules = of['k'] * of['J']
    # Sums in another order may differ in the sixteenth digit: then either is right.
    near = 1e-12
    least, full = [('idle_power', of['J_idle'])], of['J_full']
    if 'e_dec' in of:
        least.insert(0, ('token_energy', of['J_tokens']))
    for ease in (1 - near, 1, 1 + near):
        broken = next((name for name, bound in least if not (joules > 0 and joules >= bound * ease)), None)
        if (broken or ('full_power' if joules > full * ease else None)) == usage.get('stated_beyond'):
            return
    raise Bad(f'{path}: energy that its upstream states is used, or not used, otherwise than the bounds of physics have it')


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


def follows(measurement, figures):
    """Does a measurement state these figures, each once?"""
    return all(rounded(figures[each['quantityKind'], end], each[end]) for each in measurement['result'] for end in BOUNDS)


# --- totals and tables ------------------------------------------------------------------------------------------------

COVERED, UNCOVERED = ([f'{of}{name[0].upper()}{name[1:]}' for name in TOKENS] for of in ('covered', 'uncovered'))
AMOUNTS = [f'{kind}_{unit.lower()}{end}' for kind, unit in UNITS.items() for end in ('', '_lower', '_upper')]
TOTALS = ['by', 'name', 'requests', 'refused', 'failed', 'covered', 'uncovered', 'input_tokens', 'cached_input_tokens', 'output_tokens',
          'uncovered_input_tokens', 'uncovered_cached_input_tokens', 'uncovered_output_tokens'] + AMOUNTS
ROWS = ['integrated_at', 'counted', 'index', 'receipt', 'revises', 'revised_by', 'signed_at', 'started_at', 'route', 'model',
        'region', 'grid_zone', 'outcome', 'tier', 'data_quality', 'input_tokens', 'cached_input_tokens', 'output_tokens'] + AMOUNTS

# What a page that runs, loads or leads to something has in a tag or its style. Its text is escaped.
ACTIVE = [re.compile(each, re.I) for each in (
    r'</?(?:a|animate\w*|area|audio|base|button|embed|foreignobject|form|frame|iframe|image|img|input|link|object|picture|script|set|'
    r'source|template|track|use|video)[\s/>]',
    r'''<[^>]*[\s"'/](?:on\w+|action|background|data|formaction|href|http-equiv|ping|poster|src|srcset|style|xlink:href)\s*=''',
    r'<style[^>]*>[^<]*(?:@import|url\()')]


def count(receipt, groups):
    """Adds a receipt to its group."""
    measurement, subject = receipt.get('measurement'), receipt['credentialSubject']
    group = (subject['startedAt'][:7], subject['model'], subject['region'], (measurement or {}).get('dataQuality', ''))
    totals, sums = groups.setdefault(group, ({}, {}))
    kind = 'covered' if measurement else 'uncovered' if 'degradation' in receipt else subject['outcome']
    totals[kind] = totals.get(kind, 0) + 1
    for name, key in zip(TOKENS, COVERED if measurement else UNCOVERED) if kind in ('covered', 'uncovered') else ():
        totals[key] = totals.get(key, 0) + subject.get(name, 0)
    for each in measurement['result'] if measurement else ():
        for end in BOUNDS:
            key = each['quantityKind'], end
            sums[key] = sums.get(key, 0) + decimal.Decimal(each[end])


def declared_in(inputs):
    """What a derivation record takes from the catalogue, the operator's word: which input, and of which operator or model."""
    model = next((each['name'] for each in inputs if each['type'] == 'ModelRecord'), '')
    for each in inputs:
        record = each.get('record', {})
        if each['type'] == 'SiteFactor':
            yield from ((name, record['operator']) for name, field in (('pue', 'pue'), ('wue', 'wue_l_per_kwh')) if field in record)
        elif each['type'] == 'ModelRecord' and {'active_b', 'total_b'} & set(record):
            yield 'size', model
        elif each['type'] == 'HardwareRecord':
            yield from ((name, model) for name in ('batch', 'gpus', 'precision') if record.get(f'{name}_basis') == 'catalogue')


BASES = {'batch_basis': ('catalogue', 'assumed'), 'gpus_basis': ('catalogue', 'computed'),
         'precision_basis': ('catalogue', 'model_record', 'assumed')}
CARRIED = re.compile(r'(?:0|[1-9][0-9]*)(?:\.[0-9]*[1-9])?')


def check_deployment(derivation, path):
    """What a derivation record lists, and what it carries of it, which is the operator's word, has its form and nothing else in it."""
    inputs, plan = derivation['inputs'], derivation['methodology']
    check(plan['id'].endswith(f"/methodologies/{plan['name']}/{plan['version']}"), f'{path}: its methodology has another address')
    types = ' '.join(each['type'] for each in inputs)
    check(re.fullmatch('HardwareRecord ModelRecord GridFactor (?:SiteFactor ){1,3}HardwareRecord', types), f'{path}: its inputs stand in another order')
    for i, each in enumerate(inputs):
        name, record, last = each['name'], each.get('record'), i == len(inputs) - 1
        check(last == (name == 'replica') and (record is not None or not last), f'{path}: {name} is not in its place')
        if record is None:
            continue
        texts = {member: value for member, value in record.items() if member != 'gpus'}
        fits = all(type(value) is str for value in texts.values())
        if last:
            fits = fits and set(record) == {'batch', 'gpus', 'precision', *BASES} and type(record['gpus']) is int and record['gpus'] >= 1 \
                and CARRIED.fullmatch(record['batch']) and all(record[basis] in known for basis, known in BASES.items())
        elif i in (1, 3):
            own, figures = [('id', {'active_b', 'total_b'}), ('operator', {'pue', 'wue_l_per_kwh'})][i == 3]
            fits = fits and {own, 'declared_by'} <= set(record) <= {own, 'declared_by'} | figures and record['declared_by'] == 'catalogue' \
                and record[own] == name and all(CARRIED.fullmatch(record[figure]) for figure in figures & set(record)) \
                and (i == 1 or figures & set(record) and float(record.get('pue', '1')) >= 1)
        check(fits and (last or i in (1, 3)), f'{path}: what it carries of {name} is not in its form')


def count_hours(receipt, zones):
    """Adds a receipt to those of its zone that have the factor of their hour, or could have one."""
    measurement, subject = receipt.get('measurement', {}), receipt['credentialSubject']
    record = next((each['record'] for each in measurement.get('used', []) if 'hour' in each['record']), None)
    zone = record['zone'] if record else subject.get('gridZone')
    if not measurement or zone is None or not (record or receipt['tier'] == 'enterprise'):
        return
    of = zones.setdefault(zone, {'hourly': 0, 'annual': 0, 'energy': 0, 'gas': 0, 'factors': {}, 'days': {}, 'providers': set()})
    of['days'].setdefault(subject['startedAt'][:10], set()).add(record is not None)
    of['hourly' if record else 'annual'] += 1
    if record:
        kwh = next(decimal.Decimal(each['value']) for each in measurement['result'] if each['quantityKind'] == 'energy')
        factor = record['gwp_kgco2e_per_kwh']
        of['energy'] += kwh
        of['gas'] += kwh * decimal.Decimal(factor)
        of['factors'][factor] = of['factors'].get(factor, 0) + 1
        of['providers'].add(record['provider'])


def requests_in(totals):
    return totals['covered'] + totals['uncovered'] + totals['failed'] + totals['refused']


def added(groups, wanted=lambda group: True):
    """Totals and sums of the groups that are wanted."""
    totals = dict.fromkeys(['covered', 'uncovered', 'failed', 'refused'] + COVERED + UNCOVERED, 0)
    sums = {(kind, end): decimal.Decimal(0) for kind in UNITS for end in BOUNDS}
    for group, (counts, amounts) in groups.items():
        if wanted(group):
            for name, value in counts.items():
                totals[name] += value
            for key, value in amounts.items():
                sums[key] += value
    return totals, sums


def totals_row(by, name, added):
    totals, sums = added
    row = [by, name, requests_in(totals)]
    row += [totals[kind] for kind in ('refused', 'failed', 'covered', 'uncovered')]
    row += [totals[one] + totals[other] for one, other in zip(COVERED, UNCOVERED)] + [totals[name] for name in UNCOVERED]
    return csv(row + [plain_decimal(sums[kind, end]) for kind in UNITS for end in BOUNDS])


# --- the pack ---------------------------------------------------------------------------------------------------------

VC = 'https://www.w3.org/ns/credentials/v2'
VC_SHA256 = '59955ced6697d61e03f2b2556febe5308ab16842846f5b586d7f1f7adec92734'
TAGS = ['bagit.txt', 'VERIFY.md', 'verify.py', 'bag-info.txt', 'manifest-sha256.txt', 'evidence-pack.jsonld']
BAGIT = b'BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n'
# Versions of the page for people of which it is known that they only show.
PAGES = (1,)
# Formats of packs, each with the context that its seals cite.
PACK_FORMATS = {'docket-evidence-pack/1': 'docket-evidence-pack-2eb3871f68c2ba82ff6a99d0c3dba20bb7f9b5cb0dc2410cada5d4aafb29de39.jsonld'}
SHAPES = 'data/shapes/docket-receipt-shapes.jsonld'
SHAPES_SHA256 = '9320b5f3b312ac4350cfd8bd7e1c82673c394488f25b511e8d9bd1822558a0c3'
LINEAGE_MAX, SEAL_BYTES_MAX = 1000, 262144
# Where payload files lie; whatever has another name is none of a pack's.
PLACES = re.compile(r'data/(receipts|superseded|revisions|revision-proofs|ledger/checkpoints)/\d{12}\.ndjson'
                    r'|data/ledger/(checkpoint|left-frontier|consistency)\.txt|data/(ledger|anchor)/losses\.ndjson|data/keys/(did\.json|jwks\.json|events\.ndjson)'
                    r'|data/anchor/(head|keys/[A-Za-z0-9_-]{43})\.json|data/shapes/docket-receipt-shapes\.jsonld'
                    r'|data/contexts/[A-Za-z0-9._-]+\.jsonld|data/methodologies/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+\.json'
                    r'|data/derivations/uEi[A-Za-z0-9_-]{44}\.json|data/lineage/\d{12}\.jsonld'
                    r'|data/report/(report\.html|stated\.json|totals\.csv|(receipts|revisions)/\d{12}\.csv)')


# What was released with the product, by multihash, as dev/verifier-forms.ts writes it. The values of a release are not in this
# script, so it says of a methodology that none has it, and not where it differs.
RELEASED = json.loads(r'''
{"factorSets":{"uEiAKtT99N_eAsjb4kw4Cmb9Ykca2bXzWY6dJuPG6SIOUgw":"2026-11"},
"methodologies":{"uEiByizbxZtulwjtO9Yqt4Strzu9kUSHsVAewXOaZ29SrXg":"docket-1 1.0.0",
"uEiC-rbgqSq8VXRKjo-zuU-1cdkg_O96dk0QbC5RGOjSlag":"ecologits-0.11.2 1.0.0"}}
''')


def format_in(data):
    """The format that a seal names; None where it cannot be read."""
    try:
        return parse(data, 'the seal')['credentialSubject']['format']
    except (Bad, *MALFORMED):
        return None


class Verifier:
    """A pack, and what is known of it so far. `read` is the one way to its files."""

    def __init__(self, path, trust=None, pin=None):
        """`trust` is the text of a did.json that the caller trusts; `pin` the SHA-256 of the one in the pack."""
        self.pack, self.trust, self.pin = Pack(path), trust, pin
        self.is_trusted = trust is not None or pin is not None
        # Documents by their addresses, as far as they were cited.
        self.cited, self.used_contexts = set(), set()
        # Receipts by methodology: its name, version and digest.
        self.plans = {}
        # Factor sets of releases with which methodologies compute, by the digests of these.
        self.factors = {}
        # Records and methodologies by digest and path; how derivations come to their figures, and the documents that say it.
        self.records, self.methods, self.courses, self.explained = {}, {}, {}, set()
        # What is revised and its revision has to fit; inferences whose first receipt was seen.
        self.links, self.inferences, self.once, self.groups = {}, array.array('Q'), array.array('Q'), {}
        self.tables = {'data/report/totals.csv', 'data/report/report.html', 'data/report/stated.json'}
        self.first_integrated, self.integrated, self.contradiction, self.underived = None, '', None, None
        # What receipts say that nothing confirms, and what whoever sealed says of names and contracts.
        self.claims = {'stated': 0, 'beyond': 0, 'counted': 0, 'late': 0, 'delay': 0, 'notes': 0}
        # By zone: what receipts with factors of hours add up to; annual factors, each with how far hours may be from it.
        self.hours, self.annual, self.declared = {}, {}, set()
        # The first receipt of a format that is not known, and its context.
        self.unknown = None
        self.software, self.first_notes, self.statement, self.own_policy = {}, [], {}, None
        self.lineage = {'described': 0, 'documents': 0, 'undescribed': 0}
        self.counts = {'receipts': 0, 'revisions': 0, 'superseded': 0, 'signedHeads': 0}

    def run(self):
        """The checks in their order. Each raises Bad at the first thing that is not as it should be."""
        self.open_bag()
        self.open_seal()
        self.trust_keys()
        self.check_head()
        self.check_documents()
        self.receipts()
        self.revisions()
        self.compare_totals()
        self.compare_report()
        self.compare_counts()
        self.check_nothing_more()
        self.check_records()

    def read(self, path):
        check(path in self.manifest, f'{path} is missing')
        data = self.pack.raw(path)
        check(sha256(data).hex() == self.manifest[path], f'{path} is not what the manifest says')
        return data

    def shards(self, folder):
        return sorted(path for path in self.manifest if path.startswith(f'data/{folder}/'))

    def hashes(self, path):
        return [from_base64(line.decode()) for line in lines(self.read(path), path)]

    # The bag and its seal.

    def open_bag(self):
        """Every file is in a manifest, in its place, and what the manifest says; `read` checks those of the payload."""
        pack = self.pack
        # What else there is, and in which order, is the format's to say.
        if pack.files.get('evidence-pack.jsonld', (0, SEAL_BYTES_MAX + 1))[1] <= SEAL_BYTES_MAX:
            named = format_in(pack.raw('evidence-pack.jsonld'))
            if isinstance(named, str) and re.fullmatch('docket-evidence-pack/[1-9][0-9]{0,8}', named, re.ASCII) and named not in PACK_FORMATS:
                raise Cannot(f'it says that it is of the format {named}, which this script does not know: nothing of it was checked, and anyone '
                             'can write that. Take a later script, from its makers and not from where this came from.')
        self.manifest = manifest(pack.raw('manifest-sha256.txt'), 'manifest-sha256.txt')
        tags = manifest(pack.raw('tagmanifest-sha256.txt'), 'tagmanifest-sha256.txt')
        check(list(tags) == TAGS, 'tagmanifest-sha256.txt lists other files')
        named = set(self.manifest) | set(tags) | {'tagmanifest-sha256.txt'}
        check(set(pack.files) - named == set(), f'extra files: {sorted(set(pack.files) - named)[:3]}')
        check(named - set(pack.files) == set(), f'missing files: {sorted(named - set(pack.files))[:3]}')
        order = TAGS[:3] + list(self.manifest) + TAGS[3:] + ['tagmanifest-sha256.txt']
        check(list(pack.files) == order, 'the files of the archive stand in another order than its manifests say')
        for path, digest in tags.items():
            check(sha256(pack.raw(path)).hex() == digest, f'{path} is not what the manifest says')
        for path in self.manifest:
            check(PLACES.fullmatch(path), f'a pack has no file {path}')
            folder, name = path.split('/')[1], path.split('/')[-1]
            if folder in ('superseded', 'revision-proofs'):
                beside = ('revisions',) if folder == 'revision-proofs' else ('receipts', 'revisions')
                check(any(f'data/{each}/{name}' in self.manifest for each in beside), f'{path} is of no shard')

    def open_seal(self):
        """The seal has its form, names the bag's own files by digest, and says where everything is."""
        pack, data = self.pack, self.pack.raw('evidence-pack.jsonld')
        check(len(data) <= SEAL_BYTES_MAX, 'the seal is larger than any')
        self.seal = parse(data, 'the seal')
        self.subject = self.seal['credentialSubject']
        FITS['seal'](self.seal, 'the seal', None)
        self.issuer = self.seal['issuer']
        check(canonical(self.seal) == data, 'the seal is not in its canonical form')
        self.check_addresses()
        files = {each['name']: each['digest'] for each in self.subject['file']}
        check(list(files) == TAGS[:5], 'the seal names other files')
        for name, digest in files.items():
            check(multihash(sha256(pack.raw(name))) == digest, f'{name} is not what the seal says')
        check(pack.raw('bagit.txt') == BAGIT, 'bagit.txt says another kind of bag')
        size = sum(pack.files[path][1] for path in self.manifest)
        bounds, checkpoint = self.subject['range'], self.subject['checkpoint']
        self.log = log_of_tree(checkpoint['log'])[0]
        self.losses = Losses(self, LOSSES, checkpoint['log'])
        self.first, self.end = bounds['firstIndex'], bounds['lastIndex'] + 1
        check(0 <= self.first < self.end <= checkpoint['size'], 'the range does not lie in the ledger')
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
        log, tree = log_of_tree(subject['checkpoint']['log'])
        org, bounds = log.rpartition('/log/')[2], subject['range']
        period = subject.get('requested', {})
        ends = [re.sub('[-:.]', '', period.get(end, 'open')).replace('T000000000Z', '') for end in ('from', 'to')]
        asked = f'{ends[0]}-to-{ends[1]}-entries-' if period else ''
        name = f"evidence-pack-{org.partition('_')[2]}-{asked}{bounds['firstIndex']}-{bounds['lastIndex']}-at-{subject['checkpoint']['size']}"
        name += f'-of-tree-{tree}' if tree > 1 else ''
        check(seal['issuer'] == did and log == f"{root.partition('://')[2]}/log/{org}"
              and subject['organisation'] == f'{root}/organisations/{org}' and subject['id'] == f'{root}/evidence-packs/{name}'
              and seal['id'] == subject['id'] + '#seal', 'an address in the seal does not follow from the others')
        check(name == self.pack.folder, 'the folder is not named as the seal says')
        check(subject['range']['receipts'] == bounds['lastIndex'] - bounds['firstIndex'] + 1, 'the seal counts other receipts than its range has')
        lacks = subject.get('anchor', {}).get('lacks', [])
        check(len(set(lacks)) == len(lacks) and not ('a timestamp' in lacks and subject['anchor']['timestamps']),
              'the seal says twice what its anchor lacks, or lacks a timestamp that it has')
        totals, lineage = subject['totals'], subject['lineage']
        check(requests_in(totals) <= bounds['receipts'], 'the totals count a receipt twice')
        check([(each['quantityKind'], each['unit']) for each in totals['result']] == list(UNITS.items()), 'the totals are not of each quantity once')
        check(lineage['documents'] <= min(LINEAGE_MAX, lineage['described']) and lineage['undescribed'] * (LINEAGE_MAX - lineage['documents']) == 0,
              'the seal counts lineage otherwise than packs have it')

    # Keys, anchor and head.

    def trust_keys(self):
        """The seal is signed by a key that is trusted, and the anchor log says what each key may sign."""
        own = self.read('data/keys/did.json')
        check(self.pin is None or sha256(own).hex() == self.pin.lower(), 'data/keys/did.json is not the one that was pinned')
        self.keys = Keys(own) if self.trust is None else trusted_keys(self.trust)
        self.sealed_at = self.keys.verify_credential(self.seal, ENCODER.encode(self.seal), self.issuer, 'the seal')
        check(self.seal['proof']['created'] == self.seal['validFrom'], 'the seal has two times')
        self.own_keys(own)
        self.sealed = {each['id']: each['digestMultibase'] for each in self.seal['relatedResource']}
        check(list(self.sealed) == sorted(self.sealed) and len(self.sealed) == len(self.seal['relatedResource']),
              'the seal lists documents in another order')
        events = EVENTS in self.manifest
        check(events or not any(path.startswith('data/anchor/') for path in self.manifest), 'an anchor without key events')
        check(events or 'anchor' not in self.subject, f'{EVENTS} is missing: the seal says that the pack is anchored')
        self.anchor = Anchor(self) if events else None

    def own_keys(self, data):
        """The keys in the pack are to compare: they say nothing else than the trusted ones did when it was made."""
        did, path = json.loads(data), 'data/keys/did.json'
        methods, asserting, keys = did['verificationMethod'], did['assertionMethod'], []
        check(list(did) == ['@context', 'id', 'verificationMethod', 'assertionMethod'] and did['id'] == self.issuer
              and did['@context'] == ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1']
              and json.dumps(did, indent=2, ensure_ascii=False).encode() + b'\n' == data, f'{path} is not in its form')
        for method in methods:
            text = method['publicKeyMultibase']
            code, key = from_base58(text[1:])[:2], from_base58(text[1:])[2:]
            x, kid = base64.urlsafe_b64encode(key).decode().rstrip('='), method['id']
            check(method['type'] == 'Multikey' and text[0] == 'z' and code == b'\xed\x01', f'{path}: {kid} is no Ed25519 Multikey')
            members = ['id', 'type', 'controller', 'publicKeyMultibase'] + ['revoked'] * ('revoked' in method)
            known = self.keys.by_id.get(kid)
            check(list(method) == members and kid == f'{self.issuer}#{thumbprint(key)}' and method['controller'] == self.issuer,
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

    def check_head(self):
        note = self.read('data/ledger/checkpoint.txt').decode()
        self.size, self.root = self.checkpoint(note, 'the checkpoint')
        named = self.subject['checkpoint']
        check(self.size == named['size'] and multihash(self.root) == named['root'], 'the checkpoint is not the one that the seal names')
        self.losses.check(self.keys, self.issuer, self.size, self.root, lambda kid, kept: self.counts_for(kid, kept, LOSSES))

    def checkpoint(self, note, place):
        return self.keys.checkpoint(note, self.losses.origin, self.issuer, place, lambda kid, size: self.counts_for(kid, size - 1, place))

    def counts_for(self, kid, index, place):
        if self.anchor:
            self.anchor.judge(kid, 'checkpoints', index, place)
        return True

    # Documents that receipts cite.

    def check_documents(self):
        """Contexts have their digest in their names; shapes are those that were published."""
        check(sha256(self.read(SHAPES)).hex() == SHAPES_SHA256, f'{SHAPES} is not what was published')
        for path in self.shards('contexts'):
            name = path.split('/')[2]
            named = re.fullmatch(r'docket-[a-z-]+-([0-9a-f]{64})\.jsonld', name)
            short = re.fullmatch(r'docket-receipt-([A-Za-z0-9_-]{43})\.jsonld', name)
            expected = VC_SHA256 if name == 'credentials-v2.jsonld' else named and named[1]
            digest = sha256(self.read(path))
            holds = short and base64.urlsafe_b64encode(digest).decode() == short[1] + '='
            check(holds or digest.hex() == expected, f'{path} is not what its name promises')
        for url in self.seal['@context']:
            self.cite_context(url)

    def cite(self, receipt, whole):
        contexts = receipt['@context']
        check(len(contexts) == 2 and contexts[0] == VC, 'the contexts are not those of a receipt')
        for url in contexts:
            self.cite_context(url)
        plan = whole and whole[0]
        if plan is not None:
            cited = plan['name'], plan['version'], plan['digest']
            self.plans[cited] = self.plans.get(cited, 0) + 1
        if plan is None or (plan['name'], plan['version'], plan['digest'], plan['id']) in self.cited:
            return
        path = f"data/methodologies/{plan['name']}/{plan['version']}.json"
        check(multihash(sha256(self.read(path))) == plan['digest'] == self.sealed.get(plan['id']),
              f'{path} is not the document that receipts cite')
        named = f"{plan['name']} {plan['version']}"
        check(plan['digest'] in RELEASED['methodologies'] or named not in RELEASED['methodologies'].values(),
              f'{named} is the name of a release, and {path} is another document')
        self.cited.add((plan['name'], plan['version'], plan['digest'], plan['id']))

    def cite_context(self, url):
        if url in self.used_contexts:
            return
        self.used_contexts.add(url)
        name = 'credentials-v2.jsonld' if url == VC else url.rsplit('/', 1)[-1]
        check(multihash(sha256(self.read(f'data/contexts/{name}'))) == self.sealed.get(url), f'{url} is not what the seal says')

    # Receipts, one after the other.

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
        for all, what in ((self.inferences, 'an inference has two receipts of which neither revises the other'),
                          (self.once, 'two inferences have one salt or digest, which are of one request each')):
            once = sorted(all)
            check(not any(one == other for one, other in zip(once, once[1:])), what)
        self.refuse_unknown()
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
        self.refuse_unknown()

    def refuse_unknown(self):
        """A pack with receipts of a later format is not a bad one. It is told once all else holds up to the end of the ledger, so
        that who has not the keys of receipts and heads cannot hide behind it."""
        if self.unknown:
            place, context = self.unknown
            check(self.counts['signedHeads'] == self.subject['range']['signedHeads'], 'there are other signed heads than the seal counts')
            raise Cannot(f'{place} is a receipt with the context {context}, which this script does not know. Seal, keys, heads and the places of '
                         'all entries hold; totals, tables and figures were not judged. Take a later script, from its makers and not from '
                         'where this came from.')

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
        context = later_context(receipt)
        if context:
            self.cite_context(context)
            self.unknown = self.unknown or (place, context)
            return
        text = ENCODER.encode(receipt)
        check(text.encode('utf-8') == line and len(line) <= 65535, f'{place} is not in its canonical form')
        check_form(receipt, place)
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
        check_agreement(receipt, whole, place)
        self.claim(receipt)
        self.cite(receipt, whole)
        if whole is not None:
            self.derive(index, line, receipt, whole)
        counts = self.follow(index, line, by, receipt)
        if self.table is not None:
            self.compare_row(index, receipt, by, counts)
        if counts:
            count(receipt, self.groups)
            count_hours(receipt, self.hours)
            if 'measurement' in receipt and 'gridZone' in receipt['credentialSubject']:
                self.declared.add(('zone', receipt['credentialSubject']['region']))

    def claim(self, receipt):
        measurement, note, claims = receipt.get('measurement', {}), receipt.get('revisionNote'), self.claims
        claims['stated'] += measurement.get('dataQuality') == 'TS'
        claims['beyond'] += any('stated_beyond' in each['record'] for each in measurement.get('used', []))
        claims['counted'] += receipt['credentialSubject'].get('usageSource') == 'counted'
        ended = instant(receipt['credentialSubject']['endedAt'])
        claims['late'] += 'wasRevisionOf' not in receipt and instant(receipt['validFrom']) > ended + datetime.timedelta(days=1)
        claims['delay'] = max(claims['delay'], int(receipt.get('inclusionPromise', {}).get('maximumMergeDelay', 'PT0S')[2:-1]))
        claims['notes'] += note is not None
        if 'software' in measurement and len(self.software) <= SHOWN_MAX:
            self.software[measurement['software']] = True
        if note is not None and len(self.first_notes) <= SHOWN_MAX and note not in self.first_notes:
            self.first_notes.append(note)

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
            FITS['derivation'](record, path, None)
            check(canonical(record) == data and len(data) <= 65535, f'{path} is no derivation record')
            check(all(map(seen, texts_of(record))), f'{path}: a text is not what it shows')
            for each in record['inputs']:
                check('record' not in each or multihash(sha256(canonical(each['record']))) == each['digest'],
                      f"{path}: the record {each['name']} is not the one of its digest")
            check_deployment(record, path)
            self.records[digest] = record
            self.declared.update(declared_in(record['inputs']))
        record = self.records[digest]
        check(association['hadPlan'] == record['methodology']['id'] and association['agent'] == receipt['issuer'],
              f'{place}: its derivation record names another methodology')
        check(measurement['wasInformedBy'] == subject['id'], f'{place}: its measurement is of another inference')
        check([each['type'] for each in own] in (['UsageRecord'], ['UsageRecord', 'GridFactor']), f'{place}: other inputs than its own')
        own = [dict(each, digest=multihash(sha256(canonical(each['record'])))) for each in own]
        others = record['inputs']
        annual = next((i + 1 for i, each in enumerate(others) if each['type'] == 'GridFactor'), 0)
        return dict(record['methodology'], type='Plan'), own[:1] + others[:annual] + own[1:] + others[annual:]

    def derive(self, index, line, receipt, whole):
        """The figures of a receipt follow from what it names. The first of each derivation has a document that says by which steps."""
        key, measurement = derivation(*whole), receipt['measurement']
        if key not in self.courses:
            if len(self.courses) == LINEAGE_MAX:
                self.lineage['undescribed'] += 1
                return
            self.courses[key] = measurement['dataQuality'], self.course(f'data/lineage/{index:012}.jsonld', line, measurement, whole)
        self.lineage['described'] += 1
        quality, figures = self.courses[key]
        holds = measurement['dataQuality'] == quality and follows(measurement, figures(whole[1]))
        if not holds and self.underived is None:
            self.underived = f'entry {index}: its numbers do not follow from what it names'

    def course(self, path, line, measurement, whole):
        check(path in self.manifest, f'{path} is missing: nothing says where the numbers of a receipt come from')
        data = self.read(path)
        document = json.loads(data.decode('utf-8'), parse_float=fractional, parse_int=DECODER.parse_int, parse_constant=refuse)
        check(as_written(document).encode('utf-8') == data, f'{path} is not in its canonical form')
        check(document['about']['digest'] == multihash(sha256(line))
              and document['measurement']['dataQuality'] == measurement['dataQuality'], f'{path} is about another receipt')
        self.cite_context(document['@context'])
        self.explained.add(path)
        plan, used = whole
        method = f"data/methodologies/{plan['name']}/{plan['version']}.json"
        if method not in self.methods:
            self.methods[method] = json.loads(self.read(method))
        return course_of(path, document['measurement'], used, self.methods[method], measurement['dataQuality'])

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
                check(digest == revised['digest'], f'{place}: it revises other bytes')
                check(said in repeated_before(receipt), f'{place}: it says other things of the inference than what it revises, or has another number')
        else:
            check(rooted, f'{place}: outside the range only revisions have a place')
            self.inferences.append(int.from_bytes(sha256(receipt['credentialSubject']['id'].encode())[:8], 'big'))
            for name in ('salt', 'requestDigest', 'responseDigest'):
                if name in receipt['credentialSubject']:
                    self.once.append(int.from_bytes(sha256(receipt['credentialSubject'][name].encode())[:8], 'big'))
        if by is None:
            return rooted
        check(index < by < self.size, f'{place}: a revision lies after what it revises')
        self.links[index] = (by, multihash(sha256(line)), rooted, repeated_of(receipt))
        self.counts['superseded'] += 1
        return False

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
        self.first_integrated = self.first_integrated or match[1]
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
        check({'from', 'to'} & set(asked), 'the seal says of a period neither where it begins nor where it ends')
        check(('pending' in asked) == ('to' in asked) and ('before' in asked) == (self.first > 0)
              and ('after' in asked) == (self.end < self.size), 'the seal says of the period what does not belong to it')
        check(self.contradiction is None, self.contradiction)
        first, last, start, end = self.first_integrated, self.integrated, asked.get('from', ''), asked.get('to', '~')
        before, after = asked.get('before'), asked.get('after')
        check(start <= first and last < end and (before is None or before <= first and before < start)
              and (after is None or last <= after and after >= end), 'the entries are not those of the period that was asked for')

    # What the receipts add up to.

    def compare_totals(self):
        check(not self.links, f'{len(self.links)} revisions are missing')
        expected, (totals, sums) = self.subject['totals'], added(self.groups)
        for name, value in totals.items():
            check(expected[name] == value, f'the receipts add up to {value} {name}, the seal says otherwise')
        stated = {(each['quantityKind'], end): (each['unit'], decimal.Decimal(each[end])) for each in expected['result'] for end in BOUNDS}
        check(stated == {(kind, end): (unit, sums[kind, end]) for kind, unit in UNITS.items() for end in BOUNDS},
              'the quantities of the receipts do not add up to what the seal says')

    def compare_report(self):
        """The tables are those of the receipts, and there is no other file for people than they and the page, which does no more
        than show."""
        check(self.contradiction is None, self.contradiction)
        found = {path for path in self.manifest if path.startswith('data/report/')}
        check(found == self.tables, 'the report has other files')
        text = csv(TOTALS) + totals_row('total', '', added(self.groups))
        for at, by in enumerate(('month', 'model', 'region', 'data_quality')):
            # In the order of UTF-16, as the issuer sorts.
            for name in sorted({group[at] for group in self.groups}, key=lambda name: name.encode('utf-16-be')):
                text += totals_row(by, name, added(self.groups, lambda group: group[at] == name))
        self.read_statement()
        zones = {of for name, of in self.declared if name == 'zone'}
        declared = self.declared | {('contract', each['region']) for each in self.statement['contracts'] if each['region'] in zones}
        check(all((each['input'], each['of']) in declared for each in self.statement['evidence']),
              'data/report/stated.json names evidence for what no receipt takes')
        page = self.read('data/report/report.html').decode('utf-8', 'strict' if self.subject['pageVersion'] in PAGES else 'replace')
        check(self.subject['pageVersion'] not in PAGES or not any(each.search(page) for each in ACTIVE),
              'data/report/report.html runs, loads or leads to something')
        check(self.read('data/report/totals.csv') == text.encode(), 'the receipts do not add up to data/report/totals.csv')

    def read_statement(self):
        """Names, contracts and evidence are on no receipt: what they say is not checked, but that they are what they show."""
        path = 'data/report/stated.json'
        data = self.read(path)
        self.statement = stated = parse(data, path)
        check(canonical(stated) == data and set(STATED) <= set(stated) <= {*STATED, 'inventory', 'witnessPolicy'}
              and all(type(stated[name]) is list for name in ('contracts', 'earlier', 'evidence')), f'{path} is not in its form')
        words, regions = [], []
        for party in (stated['operator'], stated['organisation']):
            check(set(party) <= {'identifier', 'name'}, f'{path} is not in its form')
            words += party.values()
        for each in stated['contracts']:
            check(sorted(each) == ['kgCo2ePerKwh', 'name', 'region']
                  and re.fullmatch(r'(?:0|[1-9][0-9]{0,2})(?:\.[0-9]{0,8}[1-9])?', each['kgCo2ePerKwh'], re.ASCII), f'{path} is not in its form')
            words += [each['name'], each['region']]
            regions.append(each['region'])
        for each in stated['evidence']:
            check(EVIDENCE <= set(each) <= EVIDENCE | {'certificate', 'vintage', 'volumeKwh'} and each['input'] in DECLARED
                  and re.fullmatch('[0-9a-f]{64}', each['sha256'], re.ASCII)
                  and re.fullmatch('0|[1-9][0-9]{0,14}', each.get('volumeKwh', '0'), re.ASCII), f'{path} is not in its form')
            check(each['input'] == 'contract' or set(each) == EVIDENCE, f'{path}: evidence of no contract says what was bought')
            words += each.values()
        inventory = stated.get('inventory', {'gwpSet': 'none is stated'})
        check(inventory and set(inventory) <= INVENTORY
              and re.fullmatch(r'(?:0|[1-9][0-9]?)(?:\.[0-9]{0,3}[1-9])?', inventory.get('restatementThresholdPercent', '0'), re.ASCII),
              f'{path} is not in its form')
        words += inventory.values()
        if 'witnessPolicy' in stated:
            check(len(stated['witnessPolicy']) <= POLICY_BYTES_MAX and re.fullmatch('[\\t\\n -~]+', stated['witnessPolicy']),
                  f'{path} is not in its form')
            try:
                self.own_policy = Policy(stated['witnessPolicy'].encode())
            except Cannot as problem:
                raise Bad(f'{path}: no witness policy: {problem}')
        after = self.first
        for each in stated['earlier']:
            counts = [each[name] for name in EARLIER if name not in ('amounts', 'name', 'seal')]
            amounts = [amount for kind in each['amounts'].values() for amount in kind.values()]
            check(sorted(each) == EARLIER and set(each['amounts']) == set(UNITS) and len(stated['earlier']) <= 4
                  and all(set(kind) == set(BOUNDS) for kind in each['amounts'].values()) and all(type(one) is int and one >= 0 for one in counts)
                  and all(map(is_decimal, amounts))
                  and re.fullmatch('uEi[A-D][A-Za-z0-9_-]{42}[AQgw]', each['seal'], re.ASCII), f'{path} is not in its form')
            check(each['firstIndex'] <= each['lastIndex'] < min(after, each['checkpointSize']), f'{path}: an earlier pack is none of before')
            after = each['firstIndex']
            words.append(each['name'])
        check(all(isinstance(each, str) and 0 < len(each) <= 1024 for each in words)
              and max(len(regions), len(stated['evidence'])) <= 256 and type(stated['keptDays']) is int
              and 1 <= stated['keptDays'] <= 3650, f'{path} is not in its form')
        check(all(map(seen, words)), f'{path}: a name is not what it shows')
        check(len(set(regions)) == len(regions), f'{path}: a region has two contracts')

    def compare_counts(self):
        for name, value in self.counts.items():
            check(self.subject['range'][name] == value, f'there are {value} {name}, the seal says otherwise')
        check(self.underived is None, self.underived)
        extra = [path for path in self.shards('lineage') if path not in self.explained]
        check(not extra, f'no receipt of the pack has its lineage in {extra[:3]}')
        self.lineage['documents'] = len(self.courses)
        for name, value in self.lineage.items():
            check(self.subject['lineage'][name] == value, f'{value} are {name} by lineage, the seal says otherwise')

    def check_nothing_more(self):
        """Every file is what the manifest says, and a receipt leads to it."""
        documents = {f'data/methodologies/{name}/{version}.json' for name, version, _, _ in self.cited}
        documents |= {f"data/contexts/{'credentials-v2.jsonld' if url == VC else url.rsplit('/', 1)[-1]}" for url in self.used_contexts}
        for path in self.manifest:
            if path.startswith(('data/contexts/', 'data/methodologies/')):
                check(path in documents, f'nothing cites {path}')
            if path.startswith('data/derivations/'):
                check(path[17:-5] in self.records and path.endswith('.json'), f'no receipt names {path}')
            if not path.startswith(('data/receipts/', 'data/revisions/')):
                self.read(path)
        cited = self.used_contexts | {address for _, _, _, address in self.cited}
        check(cited == set(self.sealed), f'the seal lists what nothing cites: {sorted(set(self.sealed) - cited)[:3]}')


    def check_records(self):
        """What derivation records name and do not carry is in the factor set of their methodology, under that name."""
        records, years = {}, []
        for name, version, digest in self.plans:
            path = f'data/methodologies/{name}/{version}.json'
            data = self.read(path)
            document = json.loads(data.decode('utf-8'), parse_float=fractional, parse_int=DECODER.parse_int, parse_constant=refuse)
            check(as_written(document).encode('utf-8') == data, f'{path} is not canonical JSON')
            content = document.get('factor_set', {}).get('content')
            if content is not None:
                lists = [content[each] for each in ('grid', 'sites', 'models', 'model_classes', 'hardware')]
                found = [each for some in lists for each in some] + [content['unknown_site']]
                spread = next((float(each['factor']) for each in content['uncertainty'] if each['id'] == 'gwp_of_world'), None)
                years.append((path, {each['id']: (decimal.Decimal(each['gwp_kgco2e_per_kwh']), spread) for each in content['grid']}))
                records[digest] = {multihash(sha256(as_written(each).encode('utf-8'))): each['id'] for each in found}
                self.factors[digest] = RELEASED['factorSets'].get(multihash(sha256(as_written(content).encode('utf-8'))))
        for _, zones in sorted(years, key=lambda each: each[0]):
            self.annual.update(zones)
        for digest, record in self.records.items():
            plan = record['methodology']
            known = records.get(plan['digest'])
            for each in record['inputs']:
                check(known is None or 'record' in each or known.get(each['digest']) == each['name'],
                      f"data/derivations/{digest}.json: the factor set of {plan['name']} {plan['version']} has no such record of {each['name']}")


# --- witnesses (C2SP tlog-policy) -------------------------------------------------------------------------------------

POLICY_BYTES_MAX, LINES_OF_A_KIND_MAX = 2**18, 64
KEY_BYTES = {NOTE_KEY: 32, WITNESS_KEY: 32, ML_DSA_44_KEY: 1312}
# Eight of them are the time.
COSIGNATURE_BYTES = {WITNESS_KEY: 72, ML_DSA_44_KEY: 2428}


def need(holds, what):
    if not holds:
        raise Cannot(what)


def verifier_key(data):
    """The name, kind, key and hash of a C2SP verifier key."""
    try:
        text = data.decode('utf-8')
    except UnicodeDecodeError:
        raise Cannot('The name of a key is not UTF-8.')
    name, _, rest = text.partition('+')
    identifier, _, encoded = rest.partition('+')
    key = bytes_of(encoded)
    need(re.fullmatch(r'[^\s+]+', name) and re.fullmatch('[0-9a-f]{8}', identifier) and key,
         'It is no verifier key, <name>+<id>+<base64 of type and key>.')
    kind, key = key[0], key[1:]
    if kind in KEY_BYTES:
        need(len(key) == KEY_BYTES[kind], f'A key of its type has {KEY_BYTES[kind]} bytes.')
        need(key_hash(name, kind, key).hex() == identifier, 'The id of the verifier key is not that of the key.')
    return name, kind, key, bytes.fromhex(identifier)


class Policy:
    """Whose signatures a checkpoint must have: known logs, known witnesses, and which of these have to have cosigned. Names are
    octets, as the format compares them."""

    def __init__(self, data):
        """Reads a policy, strictly. Raises Cannot, which begins with the line."""
        need(len(data) <= POLICY_BYTES_MAX, f'It is larger than {POLICY_BYTES_MAX} bytes.')
        self.logs, self.witnesses, self.groups, self.quorum = [], {}, {}, None
        # Names of witnesses and groups, and whether one is a member of a group already.
        self.named = {}
        *lines, rest = data.split(b'\n')
        for number, line in enumerate(lines + [rest] * (rest != b''), 1):
            try:
                need(number <= len(lines), 'It has no newline at its end.')
                self.take(line)
            except Cannot as problem:
                raise Cannot(f'line {number}: {problem}')
        need(self.quorum is not None, f'line {len(lines) + 1}: The quorum is missing.')

    def take(self, line):
        for byte in line:
            need(byte == 9 or byte >= 32 and byte != 127, f'It holds a control character (0x{byte:02x}).')
        keyword, *items = re.split(b'[ \t]+', line.strip(b' \t'))
        if keyword == b'' or keyword.startswith(b'#'):
            return
        lines = {b'log': self.take_log, b'witness': self.take_witness, b'group': self.take_group, b'quorum': self.take_quorum}
        need(keyword in lines, 'It begins with none of log, witness, group and quorum.')
        lines[keyword](items)

    def take_log(self, items):
        need(0 < len(items) < 3, 'It is not log <key> [<url>].')
        key = verifier_key(items[0])
        need(key[1] != WITNESS_KEY, 'The key is one of a witness.')
        self.admit(key, self.logs, 'logs')
        self.logs.append(key)

    def take_witness(self, items):
        need(1 < len(items) < 4, 'It is not witness <name> <key> [<url>].')
        self.define(items[0])
        key = verifier_key(items[1])
        need(key[1] != NOTE_KEY, 'The key is one of a log.')
        self.admit(key, self.witnesses.values(), 'witnesses')
        self.witnesses[items[0]] = key

    def take_group(self, items):
        need(len(items) > 2, 'It is not group <name> <all, any or a number> <name>….')
        name, number, *members = items
        for member in members:
            need(member in self.named, 'A member is not defined above it.')
            need(not self.named[member], 'A member is one of a group already.')
            self.named[member] = True
        self.define(name)
        number = {b'all': b'%d' % len(members), b'any': b'1'}.get(number, number)
        need(re.fullmatch(b'[1-9][0-9]{0,2}', number) and int(number) <= len(members),
             'The number is not one from 1 to that of its members.')
        need(len(self.groups) < LINES_OF_A_KIND_MAX, f'There are more than {LINES_OF_A_KIND_MAX} groups.')
        self.groups[name] = int(number), members

    def take_quorum(self, items):
        need(len(items) == 1, 'It is not quorum <name>.')
        need(self.quorum is None, 'It is a second quorum.')
        need(items[0] == b'none' or items[0] in self.named, 'The quorum is not defined above it.')
        self.quorum = items[0]

    def define(self, name):
        need(name != b'none' and name not in self.named, 'The name is taken.')
        self.named[name] = False

    def admit(self, key, others, what):
        need(len(others) < LINES_OF_A_KIND_MAX, f'There are more than {LINES_OF_A_KIND_MAX} {what}.')
        # One key under two names would count twice.
        need(all(key[2] != other[2] for other in others), 'The key stands in a line above it.')

    def judge(self, note, origin):
        """What the witnesses have said of a signed note; of None, nothing."""
        text, signatures = signed_note(note, 'the anchor') if note else ('', [])
        present, unverified, said = set(), set(), {'cosigned': [], 'missing': [], 'unverifiable': []}
        for name, (key_name, kind, key, identifier) in self.witnesses.items():
            times = [cosigned(data[4:], text, (key_name, kind, key), shown(name)) for by, data in signatures
                     if by == key_name and data[:4] == identifier]
            known = [time for time in times if time is not None]
            if known:
                present.add(name)
                said['cosigned'].append((shown(name), max(known)))
            else:
                unverified.update([name] * len(times))
                said['unverifiable' if times else 'missing'].append(shown(name))
        said['quorum'], said['may be'] = self.is_met(present), self.is_met(present | unverified)
        said['log'] = not self.logs or any(self.is_of(log, origin, text, signatures) for log in self.logs)
        keys = [(name, identifier) for name, _, _, identifier in [*self.logs, *self.witnesses.values()]]
        said['others'] = sum(by != origin and (by, data[:4]) not in keys for by, data in signatures)
        return said

    def is_met(self, present):
        for name, (number, members) in self.groups.items():
            if sum(member in present for member in members) >= number:
                present = present | {name}
        return self.quorum == b'none' or self.quorum in present

    def is_of(self, log, origin, text, signatures):
        """Has this log signed the note?"""
        name, kind, key, identifier = log
        return kind == NOTE_KEY and name == origin and any(
            by == name and data[:4] == identifier and is_signed(key, data[4:], text.encode()) for by, data in signatures)


def is_signed(key, signature, data):
    try:
        PublicKey.from_public_bytes(key).verify(signature, data)
        return True
    except (InvalidSignature, ValueError):
        return False


def cosigned(signature, text, witness, name):
    """The time of a cosignature (C2SP tlog-cosignature) by a witness, its name, kind and key, in seconds since 1970. None where
    keys of that kind cannot be verified here."""
    key_name, kind, key = witness
    if kind not in COSIGNATURE_BYTES:
        return None
    time = int.from_bytes(signature[:8], 'big')
    holds = len(signature) == COSIGNATURE_BYTES[kind] and time < 2**53
    if holds and kind == WITNESS_KEY:
        holds = is_signed(key, signature[8:], f'cosignature/v1\ntime {time}\n{text}'.encode())
    elif holds:
        holds = is_signed_by_ml_dsa(key, signature[8:], cosigned_tree(key_name, text, time))
    check(holds is not False, f'a line says that it is by the witness {name}, whose key the policy has, and is not')
    return holds and time


def cosigned_tree(name, text, time):
    """What is signed by ML-DSA-44: the tree and not the text. None where the text says more than a tree, or a name is too long."""
    origin, size, root, *more = text.split('\n')
    names = [name.encode(), origin.encode()]
    if more != [''] or max(map(len, names)) > 255:
        return None
    name, origin = (bytes([len(each)]) + each for each in names)
    return b'subtree/v1\n\0' + name + struct.pack('>Q', time) + origin + struct.pack('>QQ', 0, int(size)) + from_base64(root)


def is_signed_by_ml_dsa(key, signature, data):
    """None where that cannot be checked."""
    if data is None:
        return False
    try:
        key = MLDSA44PublicKey.from_public_bytes(key)
    except Exception:
        # The package is not there, or the library below it knows no such keys.
        return None
    try:
        key.verify(signature, data)
        return True
    except InvalidSignature:
        return False


def shown(name):
    return name.decode('utf-8', 'replace')


def time_shown(seconds):
    try:
        return (EPOCH + datetime.timedelta(seconds=seconds)).strftime('%Y-%m-%dT%H:%M:%S.000Z')
    except OverflowError:
        return str(seconds)


def absence(said):
    """Which witnesses are missing."""
    listed = lambda names: ', '.join(names[:16]) + (f' and {len(names) - 16} more' if len(names) > 16 else '')
    parts = [f"no cosignature of {listed(said['missing'])}"] if said['missing'] else []
    if said['unverifiable']:
        parts.append(f"of {listed(said['unverifiable'])} the kind of key is not verified here and counts as none")
    return '; '.join(parts) or 'the policy names no others'


def judge_witnesses(verifier, policy, least):
    """What witnesses have said of the anchor log's checkpoint. Raises Bad when it is less than the policy or the caller asks for."""
    said = said_of(verifier, policy)
    unmet = why_unmet(verifier, policy, least, said)
    # One who can verify what is not verified here may find it enough.
    short = not said['quorum'] or len(said['cosigned']) < least
    may_be = said['log'] and short and said['may be'] and len(said['cosigned']) + len(said['unverifiable']) >= least
    (need if may_be else check)(unmet is None, unmet)
    return said


def judge_own_policy(verifier, policy):
    """The same by the policy that the pack has, by the word of whoever sealed. That it is not met is told, and no reason to
    refuse a pack: a witness may have been away when it was made."""
    said = said_of(verifier, policy)
    # Names of another's policy stand in quotes, and not at any length.
    said['cosigned'] = [(quoted([name]), time) for name, time in said['cosigned']]
    said.update((kind, [quoted([name]) for name in said[kind]]) for kind in ('missing', 'unverifiable'))
    return dict(said, own=True, unmet=why_unmet(verifier, policy, 0, said))


def said_of(verifier, policy):
    anchor = verifier.anchor if verifier.anchored else None
    return policy.judge(anchor and anchor.anchor, anchor and anchor.origin)


def why_unmet(verifier, policy, least, said):
    """Why less was said than is asked for; None when it was said."""
    if not said['log']:
        return f'no log of the policy is {verifier.anchor.origin}, or its key is another' if verifier.anchored \
            else 'nothing is anchored, and the policy names the logs that it is to be in'
    if not said['quorum']:
        return f'the quorum of the policy is not met: {absence(said)}'
    if len(said['cosigned']) < least:
        return f"{least} witnesses were required, and {len(said['cosigned'])} have cosigned: {absence(said)}"
    if (policy.quorum != b'none' or least) and verifier.anchored < verifier.end:
        return f'witnesses have cosigned only the first {verifier.anchored} entries of the ledger, and the range ends with entry {verifier.end - 1}'
    return None


# --- timestamps (RFC 3161) --------------------------------------------------------------------------------------------

def openssl(*arguments):
    try:
        return subprocess.run(['openssl', *arguments], capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        raise Cannot('the program openssl is not there, and timestamps are checked with it')


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
        fraction = (found[2] or '.')[1:4].ljust(3, '0')
        check(stated == time.replace(microsecond=int(fraction) * 1000), 'a timestamp is of another time than is stated beside it')
        chain = openssl('ts', '-verify', '-in', response, '-data', data, '-CAfile', trust, '-attime', str(int(time.timestamp())))
        return timestamp['time'] if chain.returncode == 0 else None


# --- the verdict ------------------------------------------------------------------------------------------------------

def plain(text):
    """Text of others, without what could move the cursor, turn the direction, or look like a line of ours."""
    return ''.join(c if c.isprintable() else f'\\u{{{ord(c):x}}}' for c in str(text))


def judge(path, trust=None, pin=None, tsa_trust=None, require_anchor=False, require_timestamp=False, policy=None, require_witness=0,
          require_released=False):
    """What is shown of a pack. Raises Bad, or Cannot."""
    verifier = Verifier(path, trust, pin)
    verifier.run()
    verifier.unreleased = [plan for plan in verifier.plans if plan[2] not in RELEASED['methodologies']]
    anchor, times, verifier.lacks = verifier.anchor, [], 'name the authority with --tsa-trust'
    if anchor and tsa_trust:
        text = anchor.anchor.partition('\n\n')[0] + '\n'
        try:
            times = [(each['authority'], stamped(each, text.encode(), tsa_trust)) for each in anchor.timestamps]
        except Cannot as problem:
            if require_timestamp:
                raise
            verifier.lacks = str(problem)
    verifier.anchored = anchor.head_size if anchor else 0
    verifier.times = [plain(f'{authority}: {time}') for authority, time in times if time]
    verifier.not_checked = len(anchor.timestamps) - len(verifier.times) if anchor else 0
    verifier.witnesses = judge_witnesses(verifier, policy, require_witness) if policy else \
        judge_own_policy(verifier, verifier.own_policy) if verifier.own_policy else None
    for name, version, digest in verifier.unreleased:
        check(not require_released, f'a released methodology was required, and {name} {version} ({digest}) is of no release that is known here')
    check(not require_anchor or verifier.anchored >= verifier.end, 'an anchor over the whole range was required, and there is none')
    check(not require_timestamp or verifier.times and verifier.anchored >= verifier.end,
          'a checked timestamp over the whole range was required, and there is none')
    return verifier


SHOWN = """This shows that these receipts are the entries {first} to {last} of the ledger as of its head of {size} entries, in their order,
signed by keys of {whose}, and that the totals are theirs.
It does not show that a model ran, or that an estimate is true."""


def words_of(bounds, totals):
    """The range and the totals, to the last digit."""
    yield f"entries {bounds['firstIndex']} to {bounds['lastIndex']}, with {bounds['revisions']} revisions from after them"
    yield f"inferences: {totals['covered']} with an estimate, {totals['uncovered']} without, {totals['failed']} failed, {totals['refused']} refused"
    yield f"tokens: {totals['coveredInputTokens']} in, {totals['coveredOutputTokens']} out, of those with an estimate"
    for each in totals['result']:
        bounds = f"[{each['lower']}–{each['upper']}], which adds up 5–95 % intervals"
        yield f"{each['quantityKind']}: {each['value']} {each['unit']} {bounds}"


def words_of_witnesses(verifier, policy):
    """Without a policy nothing says who a witness is, and another ledger of the same size could be shown to others."""
    said = verifier.witnesses
    if said is None:
        lines = sum(name != verifier.anchor.origin for name, _ in signed_note(verifier.anchor.anchor, 'the anchor')[1])
        return (f'NOT CHECKED: {lines} signatures of others; name your witnesses with --witness-policy' if lines else
                'NONE: others may be shown another ledger of the same size (--witness-policy asks for witnesses)')
    by, own, unmet = [f'{name} at {time_shown(time)}' for name, time in said['cosigned']], 'own' in said, said.get('unmet')
    policy = 'the operator’s own policy in the pack' if own else policy
    parts = [f'NOT MET is {policy}: {unmet}'] if unmet else []
    parts += [', '.join(by)] if by else []
    parts += [] if unmet else [f'the quorum of {policy} is met' if by else f'none has cosigned, and {policy} asks for none']
    parts += [absence(said)] if said['missing'] or said['unverifiable'] else []
    parts += [f"{said['others']} further signatures are of none of them"] if said['others'] else []
    parts += ['name witnesses that you know with --witness-policy'] if own else []
    return '; '.join(parts)


# Marks that look like the end of a quotation.
QUOTES = dict.fromkeys(map(ord, '"“”„‟″〝〞〟＂'), "'")


def quoted(words):
    """Words of others, the first of them, in quotes that they cannot close."""
    first = [f'“{plain(each[:CHARS_MAX]).translate(QUOTES)}{"…" if len(each) > CHARS_MAX else ""}”' for each in words[:SHOWN_MAX]]
    return ', '.join(first) + (' and more' if len(words) > SHOWN_MAX else '')


def twelve(number):
    """A sum to twelve digits, as `docket verify` has it."""
    return plain_decimal(decimal.Decimal(f'{float(number):.11e}'))


def words_of_hours(verifier):
    """Hours are imported by the operator, who may leave out days that are dirty."""
    said, odd = [], []
    for zone, of in sorted(verifier.hours.items()):
        if not of['hourly']:
            continue
        mixed = sum(len(kinds) == 2 for kinds in of['days'].values())
        gwp, spread = verifier.annual.get(zone, (None, None))
        year = 'no annual factor is known' if gwp is None else f'{twelve(of["energy"] * gwp)} by year'
        said.append(f"{zone}, {of['hourly']} of {of['hourly'] + of['annual']} receipts of the tier enterprise" + (f', {mixed} days in part' if mixed else '')
                    + f": {twelve(of['gas'])} kgCO2e of electricity by hour, {year}; hours by {quoted(sorted(of['providers']))}")
        out = sum(number for factor, number in of['factors'].items()
                  if spread and not float(gwp) / spread <= float(factor) <= float(gwp) * spread)
        if out:
            odd.append(f'{zone}, {out} receipts')
    if said:
        yield 'factors of hours: ' + '; '.join(said) + '. Which days are imported is the word of the operator'
    if odd:
        yield 'hours out of range: ' + '; '.join(odd) + ': further from the annual factor of their zone than zones are from the world'


def words_of_declared(declared, stated):
    """What the operator declares, and for which of it there are papers, by its word."""
    inputs = list(dict.fromkeys(f'{name} of {of}' for name, of in [
        *sorted(declared, key=lambda each: [part.encode('utf-16-be') for part in each]),
        *(('contract', each['region']) for each in stated['contracts'] if ('zone', each['region']) in declared)]))
    files = {name: [each['file'] for each in stated['evidence'] if f"{each['input']} of {each['of']}" == name] for name in inputs}
    none = [name for name in inputs if not files[name]]
    named = [f'{name}: {file}' for name in inputs for file in files[name]]
    if inputs:
        yield (f"declared inputs: {len(inputs)} {'input' if len(inputs) == 1 else 'inputs'} by the word of the operator; evidence is named for "
               + (f'{len(inputs) - len(none)}: {quoted(named)}' if named else 'none')
               + (f'; for {len(none)} there is none: {quoted(none)}' if none else ''))
    if named:
        yield 'evidence: NOT CHECKED: ask for the files; `docket verify --evidence` compares them'


def words_of_claims(verifier):
    """What receipts say that nothing confirms, and what whoever sealed says of names and contracts."""
    claims, stated = verifier.claims, verifier.statement
    if claims['stated']:
        yield f"energy stated: of {claims['stated']} receipts by their upstream of itself; no meter confirms it"
    if claims['beyond']:
        yield f"energy stated: of {claims['beyond']} receipts it cannot be, and was not used (stated_beyond)"
    if claims['counted']:
        yield f"tokens counted: by the service for {claims['counted']} receipts: their upstream stated none, or what cannot be"
    yield from words_of_hours(verifier)
    if verifier.software:
        yield f'software: {quoted(list(verifier.software))}, by its own word'
    if claims['late']:
        yield f"signed late: {claims['late']} receipts, more than a day after the request ended: in which month it counts is the word of the issuer"
    if claims['delay'] > MERGE_DELAY:
        yield (f"merge delay: up to {claims['delay']} s until a signed head has a receipt, by its promise; "
               f'the service as released promises {MERGE_DELAY} s')
    if claims['notes']:
        yield (f"notes on revisions: {claims['notes']}, the word of those who asked, which nothing confirms: "
               + quoted(verifier.first_notes))
    yield from words_of_declared(verifier.declared, stated)
    names = [party[name] for party in (stated['organisation'], stated['operator']) for name in ('name', 'identifier') if name in party]
    if names:
        yield f'names: {quoted(names)}, the word of whoever sealed'
    if stated['earlier']:
        nearest = stated['earlier'][0]
        yield (f"earlier packs: {len(stated['earlier'])} named, NOT CHECKED; the nearest has the entries {nearest['firstIndex']} to "
               f"{nearest['lastIndex']} and the seal {nearest['seal']}: docket reconcile lays it beside this one")
    accounts = [f'{name}: {value}' for name, value in sorted(stated.get('inventory', {}).items())]
    if accounts:
        yield f'inventory: {quoted(accounts)}, the word of whoever sealed; no figure rests on it'
    bought = [f"{each['region']} at {each['kgCo2ePerKwh']} kgCO2e/kWh: {each['name']}" for each in stated['contracts']]
    if bought:
        yield f'contracts: {quoted(bought)}, the word of whoever sealed; no total has them'


def report(verifier, trusted, policy=None):
    subject, bounds = verifier.subject, verifier.subject['range']
    verdict = 'GOOD' if verifier.is_trusted else 'INTACT, ISSUER UNKNOWN'
    yield f"{verdict}, except NOT CHECKED: page, lineage  {bounds['receipts']} receipts of {subject['checkpoint']['log']}, sealed by {verifier.issuer}"
    yield from verifier.losses.words('')
    yield from verifier.anchor.losses.words(' of the anchor log') if verifier.anchor else ()
    yield 'NOT CHECKED: whether report.html and data/lineage say what the receipts do, and choose the formulas and doubts that apply;'
    yield '  they are the files that were sealed; `docket verify` makes them again, and refuses any that differ'
    version = subject['pageVersion']
    if version not in PAGES:
        yield f'page: NOT CHECKED: report.html is of version {version}, which this script does not know: it may run, load or lead to something'
    if verifier.lineage['undescribed']:
        yield f"  nor the figures of {verifier.lineage['undescribed']} receipts, which came about in more ways than the pack describes"
    for name, version, digest in verifier.unreleased:
        over = verifier.factors.get(digest)
        own = f'the methodology is the operator\'s, not released; its factors are those of {over}' if over \
            else 'factors are the operator\'s, not released'
        yield f"{own}: {name} {version}, {digest}, of {verifier.plans[name, version, digest]} receipts (--require-released-methodology refuses it);"
        yield '  a later release may have it; the values of releases are not in this script: `docket verify` lists which differ'
    if verifier.anchored == 0:
        yield 'not anchored: whoever has the keys could have made another ledger (--require-anchor refuses that)'
    elif verifier.anchored < verifier.end:
        yield f'anchored: only the first {verifier.anchored} entries of the ledger; the range ends with entry {bounds["lastIndex"]}'
    else:
        yield f'anchored: the head of {verifier.anchored} entries, in {verifier.anchor.origin}'
    for time in verifier.times:
        yield f'timestamp of the anchor, checked: {time} (the authority as the issuer names it)'
    if verifier.not_checked:
        yield f'{verifier.not_checked} timestamps were not checked: {verifier.lacks}'
    elif not verifier.times:
        yield 'no timestamp: when it was there is the word of the issuer alone'
    if verifier.anchored or verifier.witnesses:
        yield 'witnesses: ' + words_of_witnesses(verifier, policy)
    if 'lacks' in subject.get('anchor', {}):
        lacks = ', '.join(plain(each) for each in subject['anchor']['lacks'])
        yield f'anchor lacks: {lacks}: the service asks for it, and had not got it when the pack was made'
    yield from words_of_claims(verifier)
    yield f'trusted: {trusted}'
    if sha256(verifier.pack.raw('verify.py')) != sha256(open(__file__, 'rb').read()):
        yield 'the script in the pack is not this one: what it would say is the word of whoever sealed the pack'
    yield from words_of(bounds, subject['totals'])
    whose = verifier.issuer if verifier.is_trusted else 'whoever made the pack, which may be anyone'
    yield SHOWN.format(first=bounds['firstIndex'], last=bounds['lastIndex'], size=subject['checkpoint']['size'], whose=whose)


STATED = ['contracts', 'earlier', 'evidence', 'keptDays', 'operator', 'organisation']
EARLIER = ['amounts', 'checkpointSize', 'covered', 'failed', 'firstIndex', 'lastIndex', 'name', 'refused', 'seal', 'uncovered']
INVENTORY = {'baseYear', 'consolidationApproach', 'gwpSet', 'restatementPolicy', 'restatementThresholdPercent'}
EVIDENCE = {'file', 'input', 'of', 'says', 'sha256'}
DECLARED = ['batch', 'contract', 'gpus', 'precision', 'pue', 'size', 'wue', 'zone']

MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError, struct.error,
             zipfile.BadZipFile, NotImplementedError, EOFError, OverflowError)


def witnesses_asked(options):
    """The policy, and how many of its witnesses there must be at least."""
    asked, path = options.require_witness, options.witness_policy
    need(asked is None or re.fullmatch('[0-9]{1,3}', asked) and 1 <= int(asked) <= LINES_OF_A_KIND_MAX,
         f'--require-witness is a whole number from 1 to {LINES_OF_A_KIND_MAX}')
    need(asked is None or path,
         '--require-witness needs --witness-policy: a cosignature is worth what the key is that you know its witness by')
    if not path:
        return None, 0
    with open(path, 'rb') as file:
        data = file.read(POLICY_BYTES_MAX + 1)
    try:
        policy = Policy(data)
    except Cannot as problem:
        raise Cannot(f'{path} is no witness policy: {problem}')
    need(asked is None or policy.witnesses, f'--require-witness needs witnesses, and {path} names none')
    return policy, int(asked or 0)


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
        policy, least = witnesses_asked(options)
        verifier = judge(options.pack, trust, options.pin, options.tsa_trust, options.require_anchor, options.require_timestamp,
                         policy, least, options.require_released_methodology)
        trusted = options.trust or options.pin or 'the keys in the pack itself, which do not show whose it is; use --trust'
        return 0 if verifier.is_trusted else 3, list(report(verifier, trusted, options.witness_policy))
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
    made.add_argument('--witness-policy', metavar='file', help='whose cosignatures of the anchor log you ask for (C2SP tlog-policy)')
    made.add_argument('--require-witness', metavar='n', help='refuse a pack that fewer witnesses of the policy cosigned')
    made.add_argument('--require-released-methodology', action='store_true',
                      help="refuse a pack whose methodology or factors are the operator's own")
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
