#!/usr/bin/env python3
"""Verifies an evidence pack: python3 verify.py pack.zip [--trust did.json]

Needs Python 3.9 or later and the package `cryptography`; nothing is fetched. It does what `docket verify` does, written
apart from it in another language. Exit code 0: the pack is whole; 1: it is not, and the first problem is named; 2: it
could not be looked at.

Use --trust with a did.json that you fetched from the issuer yourself. Without it the keys in the pack are used, which
shows that the pack is whole, but not whose it is.
"""
import argparse, ast, base64, datetime, decimal, hashlib, json, math, operator, os, re, struct, sys, zipfile, zlib
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

VC = 'https://www.w3.org/ns/credentials/v2'
VC_SHA256 = '59955ced6697d61e03f2b2556febe5308ab16842846f5b586d7f1f7adec92734'
TAGS = ['bagit.txt', 'bag-info.txt', 'VERIFY.md', 'verify.py', 'manifest-sha256.txt']
FOLDERS = ('receipts', 'superseded', 'revisions', 'revision-proofs', 'ledger', 'keys', 'contexts', 'shapes',
           'methodologies', 'lineage', 'anchor')
FILE_MAX = 65 * 2**20
SAFE = re.compile(r'[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+')
DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
UNITS = {'energy': 'kWh', 'gwp': 'kgCO2e', 'water': 'L', 'adpe': 'kgSbe', 'adpf': 'MJ'}
LINEAGE_MAX = 1000
LONG_CONTEXT = 2048
decimal.getcontext().prec = 2000


class Bad(Exception):
    pass


def check(holds, what):
    if not holds:
        raise Bad(what)


# --- small parts ------------------------------------------------------------------------------------------------------

def sha256(data):
    return hashlib.sha256(data).digest()


def multihash(digest):
    return 'u' + base64.urlsafe_b64encode(b'\x12\x20' + digest).decode().rstrip('=')


def from_multihash(text):
    data = base64.urlsafe_b64decode(text[1:] + '==')
    check(text[:1] == 'u' and data[:2] == b'\x12\x20' and len(data) == 34, 'not a SHA-256 multihash')
    return data[2:]


def from_base58(text):
    number = 0
    for digit in text:
        check(digit in DIGITS, 'not base58')
        number = number * 58 + DIGITS.index(digit)
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
    check(all(value is not None for value in members.values()), 'a value is null')
    check(all(key.isascii() for key in members), 'a key is not ASCII')
    return members


def parse(data):
    try:
        text = data.decode('utf-8')
        value = json.loads(text, object_pairs_hook=unique, parse_float=refuse, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Bad(f'not JSON: {error}')
    check(isinstance(value, dict), 'not a JSON object')
    return value


def canonical(value):
    """RFC 8785, for what packs are made of: ASCII keys, strings, booleans and integers."""
    return json.dumps(value, sort_keys=True, separators=(',', ':'), ensure_ascii=False).encode('utf-8')


def lines(data, path):
    check(data == b'' or data.endswith(b'\n'), f'{path}: the last line has no end')
    return data[:-1].split(b'\n') if data else []


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


def derivation(measurement):
    """How a measurement came about, apart from the figures of its request: receipts with one key share a document."""
    plan = measurement['hadPlan']
    parts = [[plan['name'], plan['version'], plan['digest']]]
    for each in measurement['used']:
        record = each.get('record')
        if each['type'] == 'UsageRecord':
            record = record or {}
            tokens = [record.get(name, 0) for name in ('input_tokens', 'output_tokens')]
            given, output = [count if isinstance(count, int) else 0 for count in tokens]
            turns = (('measured', 'measured_joules' in record), ('timed', 'latency_s' in record), ('decoded', output > 0),
                     ('long', output > 0 and given + output > LONG_CONTEXT))
            parts.append(['UsageRecord'] + [turn for turn, taken in turns if taken])
        elif each['type'] == 'GridFactor' and record is not None:
            parts.append(['GridFactor'] + [record.get(name, '') for name in ('provider', 'signal', 'version', 'zone')])
        else:
            parts.append([each['type'], each['name'], each['digest']])
    return sha256(json.dumps(parts, separators=(',', ':'), ensure_ascii=False).encode('utf-8'))


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow}
FUNCTIONS = {'exp': math.exp, 'ln': math.log, 'sqrt': math.sqrt, 'ceil': math.ceil, 'min': min,
             'power_of_two_from': lambda count: 2 ** max(0, math.ceil(math.log2(count)))}


def compute(formula, values):
    """A formula of a methodology, which is arithmetic over symbols and nothing else."""
    def walk(at):
        if isinstance(at, ast.BinOp):
            return OPERATORS[type(at.op)](walk(at.left), walk(at.right))
        if isinstance(at, ast.Call):
            return FUNCTIONS[at.func.id](*map(walk, at.args))
        return values[at.id] if isinstance(at, ast.Name) else float(at.value)
    check(len(formula) < 1000, 'a formula that is too long')
    try:
        return walk(ast.parse(formula.replace('^', '**'), mode='eval').body)
    except (SyntaxError, ArithmeticError, RecursionError, AttributeError) as error:
        raise Bad(f'{formula} cannot be computed: {error}')


def close(one, other, tolerance=1e-12):
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=1e-300)


# --- the archive ------------------------------------------------------------------------------------------------------

class Pack:
    """The files of an archive, stored one after the other, under safe names that occur once, and nothing else."""

    def __init__(self, path):
        self.file = open(path, 'rb')
        try:
            archive = zipfile.ZipFile(self.file)
        except (zipfile.BadZipFile, ValueError, struct.error) as error:
            raise Bad(f'not a readable ZIP archive: {error}')
        infos, at, directory = archive.infolist(), 0, 0
        self.files, folders, seen = {}, set(), set()
        for info in infos:
            name = info.orig_filename
            check(SAFE.fullmatch(name) and len(name) <= 255, f'a name that is not safe: {name!r}')
            check(name.lower() not in seen, f'two files are named {name}')
            check(info.compress_type == 0 and info.flag_bits == 0, f'{name} is compressed or encrypted')
            check(info.file_size == info.compress_size <= FILE_MAX, f'{name} states a size that it cannot have')
            check(info.header_offset == at and not info.comment, 'files overlap, or something lies between them')
            far = struct.pack('<2HQ', 1, 8, at) if at >= 0xFFFFFFFF else b''
            check(info.extra == far, f'{name}: the directory says what no pack says')
            header = struct.pack('<4s5H3L2H', b'PK\3\4', 10, 0, 0, 0, 33, info.CRC, info.file_size, info.file_size,
                                 len(name), 0) + name.encode()
            self.file.seek(at)
            check(self.file.read(len(header)) == header, f'{name}: header and directory differ')
            folder, inner = name.split('/', 1)
            self.files[inner] = (at + len(header), info.file_size, info.CRC)
            seen.add(name.lower())
            folders.add(folder)
            at += len(header) + info.file_size
            directory += 46 + len(name) + len(info.extra)
        end = at + directory + 56 + 20 + 22
        check(archive.start_dir == at and os.path.getsize(path) == end and not archive.comment,
              'the archive holds something that its directory does not list')
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


# --- keys and signatures ----------------------------------------------------------------------------------------------

class Keys:
    def __init__(self, data):
        did = json.loads(data)
        self.by_id = {}
        for method in did['verificationMethod']:
            key = from_base58(method['publicKeyMultibase'][1:])
            if key[:2] == b'\xed\x01' and len(key) == 34:
                self.by_id[method['id']] = (Ed25519PublicKey.from_public_bytes(key[2:]), key[2:],
                                            method['controller'], 'revoked' in method)
        self.asserting = set(did['assertionMethod'])
        self.pardoned = {}

    def verify_credential(self, document, issuer, place):
        """Data Integrity, eddsa-jcs-2022."""
        unsigned = dict(document)
        proof = dict(unsigned.pop('proof', {}))
        kid, value = proof.get('verificationMethod', ''), proof.pop('proofValue', '')
        check(proof.get('type') == 'DataIntegrityProof' and proof.get('cryptosuite') == 'eddsa-jcs-2022'
              and proof.get('proofPurpose') == 'assertionMethod', f'{place}: another kind of proof')
        check(proof.get('@context') == document['@context'], f'{place}: the proof is over other contexts')
        check(document['issuer'] == issuer and kid.startswith(issuer + '#'), f'{place}: another issuer')
        check(kid in self.by_id, f'{place}: signed by an unknown key, {kid}')
        key, _, controller, revoked = self.by_id[kid]
        check(not revoked or kid in self.pardoned, f'{place}: signed by a key that was revoked, {kid}')
        asserts = kid in self.asserting or self.pardoned.get(kid) == 'receipts'
        check(controller == issuer and asserts, f'{place}: signed by a key that may not')
        try:
            key.verify(from_base58(value[1:]), sha256(canonical(proof)) + sha256(canonical(unsigned)))
        except InvalidSignature:
            raise Bad(f'{place}: the signature does not fit')
        now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=5)
        for time in (document['validFrom'], proof['created']):
            check(time <= now.strftime('%Y-%m-%dT%H:%M:%S.999Z'), f'{place}: signed in the future')

    def checkpoint(self, note, log, issuer, place, passes=lambda kid, size: True):
        """C2SP signed note. Keys that may sign receipts may not sign tree heads."""
        text, _, signatures = note.rpartition('\n\n')
        text += '\n'
        origin, size, root = text.split('\n')[:3]
        check(origin == log and text.count('\n') == 3 and re.fullmatch('0|[1-9][0-9]{0,15}', size), f'{place}: not a head of {log}')
        for line in signatures.rstrip('\n').split('\n'):
            match = re.fullmatch('— (\\S+) ([A-Za-z0-9+/=]+)', line)
            if not match or match[1] != log:
                continue
            signature = base64.b64decode(match[2])
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
        path = 'data/keys/events.ndjson'
        for line in map(parse, lines(verifier.read(path), path)):
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
        if 'data/anchor/head.json' in verifier.manifest:
            self.anchored(verifier.read('data/anchor/head.json'), last + 2**53)
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
        return parse(entry.encode())

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
    def __init__(self, path, trust):
        self.pack = Pack(path)
        self.open_bag()
        self.keys = Keys(open(trust, 'rb').read() if trust else self.read('data/keys/did.json'))
        self.issuer = self.seal['issuer']
        self.keys.verify_credential(self.seal, self.issuer, 'the seal')
        self.sealed = {each['id']: each['digestMultibase'] for each in self.seal['relatedResource']}
        self.cited, self.contexts, self.links = set(), set(), {}
        self.totals = dict.fromkeys(('covered', 'uncovered', 'refused', 'inputTokens', 'cachedInputTokens', 'outputTokens'), 0)
        self.sums = dict.fromkeys(UNITS, decimal.Decimal(0))
        self.derivations, self.explained = set(), set()
        self.lineage = {'described': 0, 'documents': 0, 'undescribed': 0}
        self.counts = {'receipts': 0, 'revisions': 0, 'superseded': 0}

    def open_bag(self):
        pack = self.pack
        self.manifest = manifest(pack.raw('manifest-sha256.txt'), 'manifest-sha256.txt')
        tags = manifest(pack.raw('tagmanifest-sha256.txt'), 'tagmanifest-sha256.txt')
        check(sorted(tags) == sorted(TAGS + ['evidence-pack.jsonld']), 'tagmanifest-sha256.txt lists other files')
        for path, digest in tags.items():
            check(sha256(pack.raw(path)).hex() == digest, f'{path} is not what the manifest says')
        named = set(self.manifest) | set(tags) | {'tagmanifest-sha256.txt'}
        check(set(pack.files) - named == set(), f'extra files: {sorted(set(pack.files) - named)[:3]}')
        check(named - set(pack.files) == set(), f'missing files: {sorted(named - set(pack.files))[:3]}')
        for path in self.manifest:
            parts = path.split('/')
            check(parts[0] == 'data' and len(parts) > 2 and parts[1] in FOLDERS, f'a pack has no file {path}')
        data = pack.raw('evidence-pack.jsonld')
        self.seal = parse(data)
        check(canonical(self.seal) == data, 'the seal is not in its canonical form')
        self.subject = self.seal['credentialSubject']
        files = {each['name']: each['digest'] for each in self.subject['file']}
        check(sorted(files) == sorted(TAGS), 'the seal names other files')
        for name, digest in files.items():
            check(multihash(sha256(pack.raw(name))) == digest, f'{name} is not what the seal says')
        check(self.subject['id'].endswith('/' + pack.folder), 'the folder is not named as the seal says')
        size = sum(pack.files[path][1] for path in self.manifest)
        check(f'Payload-Oxum: {size}.{len(self.manifest)}'.encode() in pack.raw('bag-info.txt').split(b'\n'),
              'the payload has another size')

    def read(self, path):
        check(path in self.manifest, f'{path} is missing')
        data = self.pack.raw(path)
        check(sha256(data).hex() == self.manifest[path], f'{path} is not what the manifest says')
        return data

    def shards(self, folder):
        paths = sorted(path for path in self.manifest if path.startswith(f'data/{folder}/'))
        for path in paths:
            check(re.fullmatch(r'\d{12}\.ndjson', path.split('/')[2]), f'{path} is not named as a shard is')
        return paths

    def hashes(self, path):
        return [from_base64(line.decode()) for line in lines(self.read(path), path)]

    def run(self):
        subject, log = self.subject, self.subject['checkpoint']['log']
        first, last = subject['range']['firstIndex'], subject['range']['lastIndex']
        check(0 <= first <= last < subject['checkpoint']['size'], 'the range does not lie in the ledger')
        self.first, self.end, self.log = first, last + 1, log
        events = 'data/keys/events.ndjson' in self.manifest
        check(events or not any(path.startswith('data/anchor/') for path in self.manifest), 'an anchor without key events')
        self.anchor = Anchor(self) if events else None
        note = self.read('data/ledger/checkpoint.txt').decode()
        self.size, self.root = self.checkpoint(note, 'the checkpoint')
        check(self.size == subject['checkpoint']['size'] and multihash(self.root) == subject['checkpoint']['root'],
              'the checkpoint is not the one that the seal names')
        for path in self.manifest:
            if path.startswith('data/contexts/'):
                name = path.split('/')[2]
                named = re.fullmatch(r'docket-[a-z-]+-([0-9a-f]{64})\.jsonld', name)
                expected = VC_SHA256 if name == 'credentials-v2.jsonld' else named and named[1]
                check(sha256(self.read(path)).hex() == expected, f'{path} is not what its name promises')
        self.cite_contexts(self.seal)
        self.receipts()
        self.revisions()
        self.compare_totals()
        self.compare_lineage()
        digests = {digest for _, _, digest in self.cited}
        for path in self.manifest:
            if path.startswith('data/methodologies/'):
                check(multihash(sha256(self.read(path))) in digests, f'no receipt cites {path}')
            if not path.startswith(('data/receipts/', 'data/revisions/')):
                self.read(path)

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
                    head = next(history, None)
        check(tree.size == self.end and head is None, 'there are not as many receipts as the seal says')
        self.counts['receipts'] = tree.size - self.first
        proof = self.hashes('data/ledger/consistency.txt')
        check(consistent(tree.size, tree.root(), self.size, self.root, proof),
              'the receipts do not give the root that was signed: one was changed, added, removed or moved')

    def history(self):
        last = self.first
        for path in sorted(path for path in self.manifest if path.startswith('data/ledger/checkpoints/')):
            for line in lines(self.read(path), path):
                entry = parse(line)
                size, root = self.checkpoint(entry['note'], path)
                check(last < size == entry['size'], f'{path}: signed heads are not in their order')
                last = size
                yield size, root

    def revisions(self):
        for path in self.shards('revisions'):
            file = 'data/revision-proofs/' + path.split('/')[2]
            proofs = [parse(line) for line in lines(self.read(file), file)]
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
            superseded = {each['index']: each['by'] for each in map(parse, lines(self.read(companion), companion))}
        data = lines(self.read(path), path)
        check(indexes is None or len(indexes) == len(data), f'{path}: there is not one proof for each revision')
        for self.line, line in enumerate(data):
            index = start + self.line if indexes is None else indexes[self.line]
            yield index, line, superseded.pop(index, None)
        check(not superseded, f'{companion}: an entry is said to be revised that is not there')

    def entry(self, index, line, by):
        place = f'entry {index}'
        receipt = parse(line)
        check(canonical(receipt) == line, f'{place} is not in its canonical form')
        self.keys.verify_credential(receipt, self.issuer, place)
        if self.anchor:
            self.anchor.judge(receipt['proof']['verificationMethod'], 'receipts', index, place)
        check(receipt['credentialSubject']['organisation'] == self.subject['organisation'], f'{place}: another organisation')
        check(receipt.get('inclusionPromise', {}).get('log', self.log) == self.log, f'{place}: another ledger')
        self.cite(receipt)
        self.derive(index, line, receipt)
        counts = self.follow(index, line, by, receipt.get('wasRevisionOf'))
        if counts:
            self.count(receipt)

    def follow(self, index, line, by, revised):
        """Does this entry count? Each inference counts once: by its newest receipt, where its first lies in the range."""
        place, rooted = f'entry {index}', index < self.end
        if revised is not None:
            older = revised['leafIndex']
            check(older < index, f'{place}: it revises a later entry')
            rooted = False
            if older >= self.first or index >= self.end:
                newer, digest, rooted = self.links.pop(older, (None, None, None))
                check(newer == index, f'{place}: it revises a receipt that is not said to be revised by it')
                check(digest == from_multihash(revised['digest']), f'{place}: it revises other bytes')
        else:
            check(rooted, f'{place}: outside the range only revisions have a place')
        if by is None:
            return rooted
        check(index < by < self.size, f'{place}: a revision lies after what it revises')
        self.links[index] = (by, sha256(line), rooted)
        self.counts['superseded'] += 1
        return False

    def count(self, receipt):
        measurement, subject = receipt.get('measurement'), receipt['credentialSubject']
        if measurement is None:
            self.totals['uncovered' if 'degradation' in receipt else 'refused'] += 1
            return
        self.totals['covered'] += 1
        for name in ('inputTokens', 'cachedInputTokens', 'outputTokens'):
            self.totals[name] += subject[name]
        for each in measurement['result']:
            check(UNITS.get(each['quantityKind']) == each['unit'], 'a quantity in another unit')
            self.sums[each['quantityKind']] += decimal.Decimal(each['value'])

    def derive(self, index, line, receipt):
        """The first receipt of each derivation has a document that says where its numbers come from."""
        measurement = receipt.get('measurement')
        if measurement is None:
            return
        key = derivation(measurement)
        if key not in self.derivations:
            if len(self.derivations) == LINEAGE_MAX:
                self.lineage['undescribed'] += 1
                return
            self.derivations.add(key)
            self.explain(f'data/lineage/{index:012}.jsonld', line, receipt)
        self.lineage['described'] += 1

    def explain(self, path, line, receipt):
        check(path in self.manifest, f'{path} is missing: nothing says where the numbers of a receipt come from')
        data = self.read(path)
        document = json.loads(data.decode('utf-8'), parse_constant=refuse)
        check(jcs(document).encode('utf-8') == data, f'{path} is not in its canonical form')
        about, stated, measured = document['about'], receipt['measurement'], document['measurement']
        check(document['id'] == receipt['id'] + '/lineage' and about['id'] == receipt['id'] and about['digest'] == multihash(sha256(line)),
              f'{path} is about another receipt')
        check(all(measured['hadPlan'][name] == value for name, value in stated['hadPlan'].items()) and measured['id'] == stated['id'],
              f'{path} names another methodology')
        check(len(measured['used']) == len(stated['used']), f'{path} names other records')
        for node, each in zip(measured['used'], stated['used']):
            check(node['name'] == each['name'] and node['digest'] == each['digest'] and each['type'] in node['type']
                  and multihash(sha256(jcs(node['record']).encode('utf-8'))) == each['digest'],
                  f"{path}: the record {each['name']} is not the one that the receipt names")
        results = [{name: value for name, value in each.items() if name != 'type'} for each in measured['generated']]
        check(results == [{name: value for name, value in each.items() if name != 'type'} for each in stated['result']],
              f'{path} comes to other results than the receipt')
        self.recompute(path, measured)
        self.cite_context(document['@context'])
        self.explained.add(path)

    def recompute(self, path, measured):
        """Every step again, by a formula of the methodology, from what it reads; and what it reads from constants, records,
        bounds and the steps before. The record of the replica gives n and w; without a known cache E_kv is 0."""
        plan, known = measured['hadPlan'], {'E_kv': [0.0]}
        source = f"data/methodologies/{plan['name']}/{plan['version']}.json"
        method = json.loads(self.read(source))
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
                check(close(known[symbol][-1], float(each[field]), 1e-11), f'{path}: its steps do not lead to the {kind} of the receipt')

    def compare_lineage(self):
        extra = [path for path in self.manifest if path.startswith('data/lineage/') and path not in self.explained]
        check(not extra, f'no receipt of the pack has its lineage in {extra[:3]}')
        self.lineage['documents'] = len(self.derivations)
        for name, value in self.lineage.items():
            check(self.subject['lineage'][name] == value, f'{value} are {name} by lineage, the seal says otherwise')

    def cite(self, receipt):
        self.cite_contexts(receipt)
        plan = receipt.get('measurement', {}).get('hadPlan')
        if plan is None or (plan['name'], plan['version'], plan['digest']) in self.cited:
            return
        path = f"data/methodologies/{plan['name']}/{plan['version']}.json"
        check(multihash(sha256(self.read(path))) == plan['digest'] == self.sealed.get(plan['id']),
              f'{path} is not the document that receipts cite')
        self.cited.add((plan['name'], plan['version'], plan['digest']))

    def cite_contexts(self, document):
        contexts = tuple(document['@context'])
        if contexts in self.contexts:
            return
        check(len(contexts) == 2 and contexts[0] == VC, 'the contexts are not those of a receipt')
        for url in contexts:
            self.cite_context(url)
        self.contexts.add(contexts)

    def cite_context(self, url):
        name = 'credentials-v2.jsonld' if url == VC else url.rsplit('/', 1)[-1]
        check(multihash(sha256(self.read(f'data/contexts/{name}'))) == self.sealed.get(url), f'{url} is not what the seal says')

    def compare_totals(self):
        check(not self.links, f'{len(self.links)} revisions are missing')
        expected = self.subject['totals']
        for name, value in self.totals.items():
            check(expected[name] == value, f'the receipts add up to {value} {name}, the seal says {expected[name]}')
        stated = {each['quantityKind']: (each['unit'], decimal.Decimal(each['value'])) for each in expected['result']}
        check(stated == {name: (unit, self.sums[name]) for name, unit in UNITS.items()},
              'the quantities of the receipts do not add up to what the seal says')
        for name, value in self.counts.items():
            check(self.subject['range'][name] == value, f'there are {value} {name}, the seal says otherwise')


def plain(text):
    """Text of others, without what could move the cursor, turn the direction, or look like a line of ours."""
    return ''.join(c if c.isprintable() else f'\\u{{{ord(c):x}}}' for c in str(text))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('pack', help='the ZIP archive')
    parser.add_argument('--trust', metavar='did.json', help='the keys of the issuer, fetched by yourself')
    given = parser.parse_args(arguments)
    trust = given.trust
    try:
        verifier = Verifier(given.pack, trust)
        verifier.run()
    except OSError as problem:
        print(plain(f'{problem.filename or given.pack} cannot be read: {problem.strerror}'), file=sys.stderr)
        return 2
    except Bad as problem:
        print(plain(f'BAD  {problem}'))
        return 1
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError) as problem:
        print(plain(f'BAD  the pack is malformed: {type(problem).__name__} {problem}'))
        return 1
    subject = verifier.subject
    print(plain(f"GOOD  {subject['range']['receipts']} receipts of {subject['checkpoint']['log']}, sealed by {verifier.issuer}"))
    print('trusted:', plain(trust) if trust else 'the keys in the pack itself, which do not show whose it is; use --trust')
    print(json.dumps({'range': subject['range'], 'totals': subject['totals']}, indent=2))
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
