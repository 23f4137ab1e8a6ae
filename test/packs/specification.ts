/**
 * The vectors of docs/spec: made of the corpus with its keys, and of the published key of RFC 8037, so that they are the same
 * whenever they are made.
 */
import { createPrivateKey, createPublicKey, hash } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { examplePrivateKeyPem, examplePublicKey } from '#dev/example-receipt.ts';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { type Cbor, type CborTag, decodeCbor, encodeCbor } from '#shared/kernel/cbor.ts';
import { formatCoseReceipt, signCoseRoot } from '#shared/ledger/cose-receipts.ts';
import { append, EMPTY_FRONTIER, frontierRoot } from '#shared/ledger/frontier.ts';
import { leafHash, nodeHash } from '#shared/ledger/hashing.ts';
import { COSIGNATURE_TYPE, encodeBase64, noteKeyHash } from '#shared/ledger/notes.ts';
import { cosignedMessage } from '#shared/ledger/cosignatures.ts';
import { formatVerifierKey } from '#shared/ledger/verifier-keys.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import {
  ANCHORED_HEAD,
  KEY_EVENTS,
  LOSSES,
  MANIFEST,
  REPORT_STATEMENT,
  SEAL,
  SHAPES,
} from '#shared/packs/layout.ts';
import { SEAL_FORMAT } from '#shared/packs/seal-format.ts';
import {
  derivationOf,
  type DerivationRecord,
  wholeMeasurement,
} from '#shared/receipts/derivation.ts';
import { FORMAT_1 } from '#shared/receipts/format-1.ts';
import { measurementDocument } from '#shared/receipts/measurement-document.ts';
import { statedInputs } from '#shared/receipts/reread.ts';
import { jwkThumbprint, publicKeyMultibase } from '#shared/receipts/signing/identifiers.ts';
import { rawPublicKey } from '#shared/receipts/signing/key-objects.ts';
import { createReceiptSigner, ed25519Signer } from '#shared/receipts/signing/signer.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import type { PackLab } from '#test/support/packs.ts';
import { Corpus, METHODOLOGIES } from './corpus.ts';
import { atEntry } from './ledger-edits.ts';
import { dropAnchor, rewriteLedger, signedHead } from './tamper-lab.ts';
import { ForgedPack, type Loose, multihash } from './tampering.ts';
import { cosigned } from './witness-rows.ts';

export const VECTORS = join(import.meta.dirname, '../../docs/spec/vectors');

type Found = { verdict: 'good' } | { verdict: 'bad' | 'intact' | 'cannot_judge'; reason?: string };

/** A case, with what both verifiers say and why. */
interface Case {
  name: string;
  why: string;
}

export interface JsonCase extends Case {
  /** Base64. */
  source: string;
  canonical?: string;
  reason?: string;
}

type ReceiptCase = Case & Found & { receipt: string };
type HeadCase = Case & Found & { log: string; note: string };
/** Base64. */
type CoseCase = Case & Found & { cose: string };
type CosignatureCase = Case &
  Found & { key: string; text: string; signature: string; time: number };

/** What stands in the place of some of the bytes that were there; of a file that was not, in the place of none. */
interface Splice {
  at: number;
  removed: number;
  inserted: string;
}

export type PackCase = Case &
  Found & {
    base: 'range' | 'whole';
    /** Of files of the pack. Those that are null are gone; the order is that of the manifest. */
    files: Readonly<Record<string, Splice | null>>;
    /** Of the archive, after that; `inserted` is base64. */
    archive?: Splice;
    sha256: string;
    /** What the reader asks for beside the verdict. */
    asks?:
      | 'no trust'
      | 'the did of receipts.json'
      | '--require-anchor'
      | '--require-released-methodology'
      | '--require-timestamp';
    /** A witness policy that is asked for. */
    policy?: string;
    /** PEM of the time-stamping authorities that are trusted. */
    authorities?: string;
  };

const corpus = new Corpus('format-1');
const issuer = receiptIssuer('https://gateway.example');
const LOG = `gateway.example/log/${corpus.expected.organisation}`;
const base64 = (bytes: Uint8Array | string): string => Buffer.from(bytes).toString('base64');

type Purpose = 'receipts' | 'packs' | 'checkpoints' | 'anchor';
const pemOf = (purpose: Purpose): string => corpus.read('keys', purpose, 'active.pem').toString();
const signerBy = (privateKeyPem: string) => createReceiptSigner({ privateKeyPem, did: issuer.did });
const foreign = signerBy(examplePrivateKeyPem);
const foreignMethod = {
  id: `${issuer.did}#${jwkThumbprint(examplePublicKey)}`,
  type: 'Multikey',
  controller: issuer.did,
  publicKeyMultibase: publicKeyMultibase(examplePublicKey),
};

/** The issuer's keys, and one that it has revoked. */
function didOfVectors(): string {
  const did = JSON.parse(corpus.didJson) as { verificationMethod: object[] };
  const revoked = { ...foreignMethod, revoked: '2026-11-20T12:00:00.000Z' };
  return `${JSON.stringify({ ...did, verificationMethod: [...did.verificationMethod, revoked] }, null, 2)}\n`;
}

function jsonVectors(): { cases: JsonCase[] } {
  const sources: [name: string, source: string | Buffer, why: string][] = [
    ['names in order', '{"b":1,"a":[true,"x"]}', 'Names stand by their UTF-16 code units.'],
    ['white space', ' {\n "a" : 1 }\r\n', 'White space is no part of a document.'],
    [
      'escapes',
      String.raw`{"a":"\u0041\/\u00e9\u20ac\ud83d\ude00\u001f\u007f\b\t\n\f\r\"\\"}`,
      'Strings have the shortest escapes, in lower case.',
    ],
    [
      'the largest numbers',
      '{"a":9007199254740991,"b":-9007199254740991}',
      'They are exact in binary64.',
    ],
    ['one number more', '{"a":9007199254740992}', 'Readers would round it to other numbers.'],
    ['a fraction', '{"a":1.0}', 'Writers differ in how they write it.'],
    ['an exponent', '{"a":1e3}', 'Writers differ in how they write it.'],
    ['a negative zero', '{"a":-0}', 'Its canonical form is another.'],
    ['null', '{"a":null}', 'What is not known is absent.'],
    ['a name twice', '{"a":1,"a":1}', 'Readers would take the first or the last.'],
    ['sixteen levels', `{"a":${'['.repeat(16)}${']'.repeat(16)}}`, 'A receipt has five.'],
    ['a level more', `{"a":${'['.repeat(17)}${']'.repeat(17)}}`, 'Readers have stacks.'],
    ['the name of a prototype', '{"__proto__":1}', 'Some readers set that of the object.'],
    ['a name beyond ASCII', '{"é":1}', 'Orders of names differ between encodings.'],
    ['half of a pair', String.raw`{"a":"\ud83d"}`, 'It has no UTF-8.'],
    ['a byte order mark', '\uFEFF{"a":1}', 'It is no white space.'],
    ['Latin-1', Buffer.from('{"a":"\u00E9"}', 'latin1'), 'It is not UTF-8.'],
    ['something behind it', '{"a":1}{}', 'A text is one value.'],
    ['a comma too many', '{"a":1,}', 'It is no JSON.'],
  ];
  return {
    cases: sources.map(([name, source, why]) => ({
      name,
      why,
      source: base64(source),
      ...readAs(source),
    })),
  };
}

function readAs(source: string | Buffer): Pick<JsonCase, 'canonical' | 'reason'> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Buffer.from(source),
    );
    return { canonical: canonicalJson(parseStrictJson(text)) };
  } catch (error) {
    return { reason: error instanceof MalformedData ? error.code : 'not_utf8' };
  }
}

/** A receipt of the corpus with something else in it. */
function edited(base: string, edit: (receipt: Loose) => void): Loose {
  const receipt: Loose = JSON.parse(corpus.bytesOf(base).toString());
  edit(receipt);
  return receipt;
}

/** By someone without a key: the signature stays. */
const unsigned = (base: string, edit: (receipt: Loose) => void): string =>
  canonicalJson(edited(base, edit));

/** By a holder of the key. */
function signed(
  base: string,
  edit: (receipt: Loose) => void,
  signer = signerBy(pemOf('receipts')),
): string {
  const { proof: _, ...receipt } = edited(base, edit);
  return signer.sign(JSON.parse(canonicalJson(receipt)) as never);
}

type Row = readonly [name: string, base: string, edit: (receipt: Loose) => void, why: string];

const ofSubject =
  (members: Loose): ((receipt: Loose) => void) =>
  (receipt) =>
    void Object.assign(receipt.credentialSubject, members);
const ofHour =
  (members: Loose): ((receipt: Loose) => void) =>
  (receipt) =>
    void Object.assign(receipt.measurement.used[1].record, members);
const ofUsage =
  (members: Loose): ((receipt: Loose) => void) =>
  (receipt) =>
    void Object.assign(receipt.measurement.used[0].record, members);
/** Every address of this root, under another. */
const moved =
  (root: string): ((receipt: Loose) => void) =>
  (receipt) => {
    const text = JSON.stringify(receipt).replaceAll('https://gateway.example/', `${root}/`);
    Object.assign(receipt, JSON.parse(text), { issuer: receipt.issuer });
    if (receipt.measurement) receipt.measurement.qualifiedAssociation.agent = receipt.issuer;
  };
/** What is issued where the upstream states these joules: with all that follows from them, but for the bound that is named. */
const withJoules =
  (joules: string, beyond?: string) =>
  (receipt: Loose): void => {
    receipt.credentialSubject.statedJoules = joules;
    receipt.measurement.used[0].record.stated_joules = joules;
    const inputs = statedInputs(wholeMeasurement(receipt.measurement, corpus.derivation));
    receipt.measurement = measurementDocument(
      issuer,
      receipt.id.slice(-26),
      METHODOLOGIES.current.estimate(rebuildInput(inputs)),
      receipt.credentialSubject.id,
    );
    if (beyond !== undefined) receipt.measurement.used[0].record.stated_beyond = beyond;
  };
/** What is issued where the catalogue says that the model is served so, with the record that it names. */
function served(members: Loose): { edit: (receipt: Loose) => void; derivation: DerivationRecord } {
  const of: Loose = JSON.parse(corpus.bytesOf('complete').toString());
  const inputs = statedInputs(wholeMeasurement(of.measurement, corpus.derivation)).map((each) =>
    each.id === 'replica' ? { ...each, record: { ...each.record!, ...members } } : each,
  );
  const measurement = METHODOLOGIES.current.estimate(rebuildInput(inputs));
  const id = of.id.slice(-26);
  const document = measurementDocument(issuer, id, measurement, of.credentialSubject.id);
  return {
    derivation: derivationOf(issuer, measurement),
    edit: (receipt) => void (receipt.measurement = structuredClone(document)),
  };
}
/** The record of another deployment, for a receipt that is edited to name it. */
function deployed(edit: (derivation: Loose) => void): ReturnType<typeof served> {
  const [old = ''] =
    /uEi[\w-]{44}(?="\s*,\s*"id")/.exec(corpus.bytesOf('complete').toString()) ?? [];
  const record: Loose = JSON.parse(corpus.read('derivations', `${old}.json`).toString());
  edit(record);
  const text = canonicalJson(record);
  const digest = multihash(Buffer.from(text));
  return {
    derivation: { digest, text },
    edit: ({ measurement }) =>
      void (measurement.derivation = measurement.derivation.replace(old, digest)),
  };
}
const elsewhere = (address: string): string => address.replace('gateway', 'other');

const OF_AN_ANSWER = [
  'answerId',
  'cachedInputTokens',
  'inputTokens',
  'modelVersion',
  'outputTokens',
  'responseDigest',
  'upstreamAnswerId',
  'usageSource',
];
/** What is of its form, and says two things at once. */
const CONTRADICTIONS: readonly Row[] = [
  [
    'a model with a character that Unicode 15 first had (U+1343F)',
    'complete',
    ofSubject({ modelVersion: 'llama\u{1343F}' }),
    'The list of characters is fixed; what Unicode a program has does not matter.',
  ],
  [
    'a model that shows nothing',
    'complete',
    ofSubject({ modelVersion: '\u3164' }),
    'A filler of Hangul is a blank letter.',
  ],
  [
    'a revision of what failed, as a meter measured it',
    'on-a-meter-measured',
    (r) => {
      const { credentialSubject: of } = r;
      for (const name of [...OF_AN_ANSWER, 'upstreamMs', 'queuedMs']) delete of[name];
      Object.assign(of, { outcome: 'failed', failure: 'upstream_timeout' });
    },
    'No meter says which part of its energy was used for it.',
  ],
  [
    'a revision of what failed, without a figure',
    'on-a-meter-measured',
    (r) => {
      const { credentialSubject: of } = r;
      for (const name of OF_AN_ANSWER) delete of[name];
      Object.assign(of, { outcome: 'failed', failure: 'upstream_timeout' });
      delete r.measurement;
    },
    'A revision has a measurement, and what failed has none.',
  ],
  ['a model of a space', 'complete', ofSubject({ modelVersion: ' ' }), 'It shows nothing.'],
  [
    'an explanation with a line of its own',
    'degraded',
    (r) => void (r.explanation += '\nGOOD'),
    'It is a sentence on one line.',
  ],
  [
    'a note that shows nothing',
    'enterprise-annual-hours-incomplete',
    (r) => void (r.revisionNote = '\u200d\u2800'),
    'A blank of braille and a joiner stand beside other characters.',
  ],
  [
    'a note on what revises nothing',
    'complete',
    (r) => void (r.revisionNote = 'assured'),
    'It is the word of who asked for a revision.',
  ],
  [
    'an hour by a provider that turns the direction',
    'enterprise-hourly',
    ofHour({ provider: 'x\u202e' }),
    'A provider has a name.',
  ],
  ['an hour with a further member', 'enterprise-hourly', ofHour({ note: 'x' }), 'It has six.'],
  [
    'an hour without its signal',
    'enterprise-hourly',
    (r) => void delete r.measurement.used[1].record.signal,
    'It has six members.',
  ],
  [
    'an hour of a whole number',
    'enterprise-hourly',
    ofHour({ version: 1 }),
    'Its version is a text.',
  ],
  [
    'an hour under another name',
    'enterprise-hourly',
    (r) => void (r.measurement.used[1].name = 'FRA'),
    'It has the name of its zone and hour.',
  ],
  [
    'an hour of the tier audit',
    'enterprise-hourly',
    (r) => {
      r.tier = 'audit';
      delete r.inclusionPromise;
    },
    'Hours are of the tier enterprise.',
  ],
  [
    'a promise of the tier audit',
    'complete',
    (r) => void (r.tier = 'audit'),
    'The tiers above it promise.',
  ],
  [
    'a tier that promises, and no promise',
    'degraded',
    (r) => void delete r.inclusionPromise,
    'It is the tier that was asked for.',
  ],
  [
    'usage without its source',
    'complete',
    (r) => void delete r.measurement.used[0].record.usage_source,
    'The record has all that follows from the receipt.',
  ],
  [
    'usage without its route',
    'complete',
    (r) => void delete r.measurement.used[0].record.route,
    'The record has all that follows from the receipt.',
  ],
  [
    'usage with words under a name of seconds',
    'complete',
    ofUsage({ foo_s: 'assured' }),
    'The record has nothing but what follows from the receipt.',
  ],
  [
    'usage that is of the whole time where that of the call is known',
    'complete',
    (r) => {
      const { record } = r.measurement.used[0];
      record.latency_s = record.upstream_s;
      delete record.upstream_s;
    },
    'The time of the call is taken where it is known.',
  ],
  [
    'usage under another name',
    'complete',
    (r) => void (r.measurement.used[0].name = 'assured'),
    'Its name is usage.',
  ],
  [
    'a median above its upper bound',
    'complete',
    (r) => void (r.measurement.result[0].value = '1'),
    'It lies between the bounds.',
  ],
  [
    'bounds the wrong way round',
    'complete',
    (r) => void (r.measurement.result[1].lower = '1'),
    'It lies between the bounds.',
  ],
  [
    'an estimate of no grid',
    'complete',
    (r) => void delete r.credentialSubject.gridZone,
    'Every estimate is of one.',
  ],
  [
    'complete, with the payloads of a part',
    'complete',
    ofSubject({ relayedPayloads: 1, relayedTokens: 1 }),
    'They are of a stream that did not come to its end.',
  ],
  [
    'payloads without their tokens',
    'truncated-stream',
    (r) => void delete r.credentialSubject.relayedTokens,
    'They are counted together.',
  ],
  [
    'complete, without the digest of its answer',
    'complete',
    (r) => void delete r.credentialSubject.responseDigest,
    'Every answer has one.',
  ],
  [
    'complete, without the id of its answer',
    'complete',
    (r) => void delete r.credentialSubject.answerId,
    'Every answer but embeddings has one.',
  ],
  [
    'counted without a vocabulary',
    'counted-extrapolated',
    (r) => void delete r.credentialSubject.tokenizer,
    'Tokens are of one.',
  ],
  [
    'extrapolated, without an interval',
    'counted-extrapolated',
    (r) => {
      delete r.credentialSubject.tokenInterval;
      const { record } = r.measurement.used[0];
      for (const name of Object.keys(record)) if (/_(?:low|upp)er$/.test(name)) delete record[name];
    },
    'What is estimated of a count lies within one.',
  ],
  [
    'extrapolated, and the upstream counted',
    'complete',
    ofSubject({ extrapolated: true }),
    'Then nothing was estimated.',
  ],
  [
    'stated energy beyond a bound that there is not',
    'stated-by-upstream',
    withJoules('0.001', 'peak_power'),
    'There are three.',
  ],
  [
    'stated energy beyond a bound, and used',
    'stated-by-upstream',
    ofUsage({ stated_beyond: 'full_power' }),
    'Then it is no TS.',
  ],
  [
    'beyond a bound, where no energy was stated',
    'complete',
    ofUsage({ stated_beyond: 'full_power' }),
    'It is what stated energy breaks.',
  ],
  [
    'overruled, and the upstream counted',
    'complete',
    ofSubject({ usageReason: 'overruled' }),
    'Then the service counted.',
  ],
  [
    'that goes on from itself',
    'responses',
    (r) => void (r.credentialSubject.previous = r.id),
    'It goes on from what was there before.',
  ],
  [
    'of a request at another host',
    'failed',
    (r) => void (r.credentialSubject.id = elsewhere(r.credentialSubject.id)),
    'All addresses are under one public address.',
  ],
  [
    'of a request that is no address',
    'failed',
    (r) => void (r.credentialSubject.id = `urn:x:${r.credentialSubject.id.slice(-30)}`),
    'All addresses are under one public address.',
  ],
  [
    'an id of another kind',
    'failed',
    (r) => void (r.id = r.id.replace('rcpt_', 'aud_')),
    'A receipt is one.',
  ],
  [
    'a measurement at another host',
    'complete',
    (r) => void (r.measurement.id = elsewhere(r.measurement.id)),
    'All addresses are under one public address.',
  ],
  [
    'a derivation at another host',
    'complete',
    (r) => void (r.measurement.derivation = elsewhere(r.measurement.derivation)),
    'All addresses are under one public address.',
  ],
  [
    'a ledger of another organisation',
    'failed',
    (r) => void (r.inclusionPromise.log = r.inclusionPromise.log.replace('org_0', 'org_1')),
    'The log is named by the organisation.',
  ],
  [
    'under an address in capital letters',
    'failed',
    moved('https://GATEWAY.example'),
    'A public address has one spelling.',
  ],
  [
    'under an address that its issuer has not',
    'failed',
    moved('https://gateway.example/path'),
    'The issuer is named by the public address.',
  ],
];

/** What is not of its form. */
const ODD_VALUES: readonly Row[] = [
  [
    'a time without milliseconds',
    'failed',
    ofSubject({ endedAt: '2026-11-22T11:18:47Z' }),
    'Times have one length, so their texts stand in their order.',
  ],
  [
    'a time with microseconds',
    'failed',
    ofSubject({ endedAt: '2026-11-22T11:18:47.000001Z' }),
    'Times have one length, so their texts stand in their order.',
  ],
  [
    'the hour 24',
    'failed',
    ofSubject({ endedAt: '2026-11-22T24:00:00.000Z' }),
    'A time has one spelling.',
  ],
  [
    'a promise of no time',
    'failed',
    (r) => void (r.inclusionPromise.maximumMergeDelay = 'PT0S'),
    'It is a second at least.',
  ],
  [
    'an address beyond ASCII',
    'failed',
    (r) => void (r.credentialSubject.id += '\u202e'),
    'Addresses are ASCII.',
  ],
  [
    'extrapolated by a number',
    'counted-extrapolated',
    ofSubject({ extrapolated: 1 }),
    'It is true, or absent.',
  ],
  [
    'a rule with a line of its own',
    'refused',
    (r) => void (r.credentialSubject.policy.rule = '\u202e\n=1+1'),
    'It is a name.',
  ],
  [
    'a code that is markup',
    'degraded',
    (r) => void (r.degradation.code = '<script>'),
    'It is a code.',
  ],
  [
    'an upstream’s id that is a formula',
    'complete',
    ofSubject({ upstreamAnswerId: '=HYPERLINK(1)' }),
    'It is an id.',
  ],
];

const recarried = (at: Loose, members: Loose): void => {
  at.record = { ...at.record, ...members };
  at.digest = multihash(Buffer.from(canonicalJson(at.record)));
};

/** Derivation records that are well formed, and of no deployment. */
const DEPLOYMENTS: readonly (readonly [
  name: string,
  edit: (derivation: Loose) => void,
  why: string,
])[] = [
  [
    'a derivation record whose inputs stand in another order',
    (d) => void (d.inputs = d.inputs.toReversed()),
    'They stand in one order.',
  ],
  [
    'a derivation record that carries words beside figures',
    (d) => recarried(d.inputs[3], { note: 'assured' }),
    'What is carried has its members and no others.',
  ],
  [
    'a derivation record of a site that uses less than its machines',
    (d) => recarried(d.inputs[3], { pue: '0.5' }),
    'Its PUE is 1 at least.',
  ],
  [
    'a derivation record whose methodology has another address',
    (d) => void (d.methodology.version = '2.0.0'),
    'The address ends in name and version.',
  ],
];

function receiptVectors() {
  const good = (name: string, receipt: string, why: string): ReceiptCase => ({
    name,
    why,
    verdict: 'good',
    receipt,
  });
  const bad = (name: string, reason: string, receipt: string, why: string): ReceiptCase => ({
    name,
    why,
    verdict: 'bad',
    reason,
    receipt,
  });
  const subject =
    (edit: (subject: Loose) => void) =>
    (receipt: Loose): void =>
      edit(receipt.credentialSubject);
  const proof =
    (edit: (proof: Loose) => void) =>
    (receipt: Loose): void =>
      edit(receipt.proof);
  const contradiction = (
    name: string,
    base: string,
    edit: (receipt: Loose) => void,
    why: string,
  ): ReceiptCase => bad(name, 'contradiction', signed(base, edit), why);
  const misdeployed = DEPLOYMENTS.map(([, edit]) => deployed(edit));
  const cases: ReceiptCase[] = [
    good('with an estimate', corpus.bytesOf('complete').toString(), 'As it was issued.'),
    good('failed', corpus.bytesOf('failed').toString(), 'As it was issued.'),
    good(
      'printed for people',
      JSON.stringify(JSON.parse(corpus.bytesOf('failed').toString()), null, 2),
      'White space is no part of the canonical form.',
    ),
    bad(
      'another number',
      'signature_invalid',
      unsigned(
        'failed',
        subject((s) => void (s.attempts += 1)),
      ),
      'The signature is over the document.',
    ),
    bad(
      'another key named',
      'unknown_key',
      unsigned(
        'failed',
        proof((p) => void (p.verificationMethod = `${issuer.did}#${'A'.repeat(43)}`)),
      ),
      'No key of that name is trusted.',
    ),
    bad(
      'a key of another issuer',
      'issuer_mismatch',
      unsigned(
        'failed',
        proof((p) => void (p.verificationMethod = `did:web:other.example#${'A'.repeat(43)}`)),
      ),
      'A receipt is signed by its issuer.',
    ),
    bad(
      'without a proof',
      'not_signed',
      unsigned('failed', (r) => void delete r.proof),
      'It proves nothing.',
    ),
    bad(
      'another kind of proof',
      'wrong_proof_type',
      unsigned(
        'failed',
        proof((p) => void (p.type = 'Ed25519Signature2020')),
      ),
      'There is one kind.',
    ),
    bad(
      'another cryptosuite',
      'wrong_cryptosuite',
      unsigned(
        'failed',
        proof((p) => void (p.cryptosuite = 'eddsa-rdfc-2022')),
      ),
      'There is one cryptosuite.',
    ),
    bad(
      'another purpose',
      'wrong_proof_purpose',
      unsigned(
        'failed',
        proof((p) => void (p.proofPurpose = 'authentication')),
      ),
      'A receipt asserts something.',
    ),
    bad(
      'other contexts in the proof',
      'context_mismatch',
      unsigned(
        'failed',
        proof((p) => void p['@context'].pop()),
      ),
      'The proof is over the contexts of its document.',
    ),
    bad(
      'a signature that is none',
      'malformed_signature',
      unsigned(
        'failed',
        proof((p) => void (p.proofValue = `${p.proofValue}1`)),
      ),
      'It is not 64 bytes.',
    ),
    bad(
      'a context that no receipt has',
      'unknown_context',
      signed(
        'failed',
        (r) => void (r['@context'][1] = 'https://gateway.example/contexts/receipt.jsonld'),
      ),
      'The second context says which format it is.',
    ),
    {
      name: 'of a later format',
      why: 'Its context is named as those of receipts are: a later program may know it.',
      verdict: 'cannot_judge',
      reason: 'unknown_format',
      receipt: signed('failed', (r) => {
        const later = `https://gateway.example/contexts/docket-receipt-${'A'.repeat(43)}.jsonld`;
        Object.assign(r, { later: (r['@context'][1] = later) });
      }),
    },
    ...DEPLOYMENTS.map(([name, , why], i) =>
      bad(name, 'derivation_mismatch', signed('complete', misdeployed[i]!.edit), why),
    ),
    bad(
      'by a key for heads',
      'key_not_authorised',
      signed('failed', () => {}, signerBy(pemOf('checkpoints'))),
      'It is not under assertionMethod.',
    ),
    bad(
      'by a key that was revoked',
      'key_revoked',
      signed('failed', () => {}, foreign),
      'Who stole it can write any date.',
    ),
    bad(
      'of a time to come',
      'in_the_future',
      signed('failed', (r) => void (r.validFrom = '9999-11-20T09:38:06.007Z')),
      'It lies more than five minutes ahead.',
    ),
    bad(
      'that is to end one day',
      'unknown_field',
      signed('failed', (r) => void (r.validUntil = '9999-11-20T13:00:00.000Z')),
      'What was issued stands for ever.',
    ),
    bad(
      'a field that is not known',
      'unknown_field',
      signed(
        'failed',
        subject((s) => void (s.note = 'x')),
      ),
      'What no reader knows could mean anything.',
    ),
    bad(
      'a field less',
      'missing_field',
      signed(
        'failed',
        subject((s) => void delete s.salt),
      ),
      'It is always there.',
    ),
    bad(
      'a number as text',
      'wrong_value',
      signed(
        'failed',
        subject((s) => void (s.attempts = '1')),
      ),
      'Each field has one form.',
    ),
    bad(
      'a decimal with an exponent',
      'wrong_value',
      signed('complete', (r) => void (r.measurement.result[0].value = '1e-6')),
      'Quantities are plain decimals.',
    ),
    bad(
      'a day that the calendar has not',
      'wrong_value',
      signed(
        'failed',
        subject((s) => void (s.endedAt = '2026-11-31T09:38:06.007Z')),
      ),
      'Times are of days that there are.',
    ),
    contradiction(
      'tokens of what failed',
      'failed',
      subject((s) => Object.assign(s, { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1 })),
      'What it used is not known.',
    ),
    bad(
      'a failure without a call',
      'wrong_value',
      signed(
        'failed',
        subject((s) => void (s.attempts = 0)),
      ),
      'Then nothing has failed.',
    ),
    bad(
      'an answer without a call, which took nothing',
      'wrong_value',
      signed('complete', (r) => {
        r.credentialSubject.attempts = 0;
        r.measurement.used[0].record.attempts = 0;
        for (const each of r.measurement.result)
          Object.assign(each, { lower: '0', upper: '0', value: '0' });
      }),
      'Every figure is a multiple of the calls.',
    ),
    contradiction(
      'more calls than there can be',
      'complete',
      (r) => {
        r.credentialSubject.attempts = 1_001;
        r.measurement.used[0].record.attempts = 1_001;
      },
      'Nothing is tried so often.',
    ),
    contradiction(
      'more of the prompt from a cache than there was',
      'degraded',
      subject((s) => void (s.cachedInputTokens = s.inputTokens + 1)),
      'It is a part of the prompt.',
    ),
    contradiction(
      'figures in another order',
      'complete',
      (r) => void (r.measurement.result = r.measurement.result.toReversed()),
      'They stand in one order.',
    ),
    bad(
      'a figure less',
      'wrong_value',
      signed('complete', (r) => void r.measurement.result.pop()),
      'Sums would lack it.',
    ),
    bad(
      'a decimal that ends in a zero',
      'wrong_value',
      signed(
        'complete',
        (r) => void (r.measurement.result[0].upper = `${r.measurement.result[0].upper}0`),
      ),
      'A number has one spelling.',
    ),
    contradiction(
      'metered joules in another spelling',
      'on-a-meter-measured',
      (r) => void (r.measurement.used[0].record.measured_joules += '0'),
      'A number has one spelling.',
    ),
    contradiction(
      'a degraded receipt with another tier',
      'degraded',
      (r) => void (r.tier = 'audit'),
      'An estimate goes with every other tier.',
    ),
    contradiction(
      'unknown tokens that are stated',
      'usage-unknown',
      subject((s) => Object.assign(s, { outputTokens: 1 })),
      'What is not known is absent.',
    ),
    contradiction(
      'a count outside of its interval',
      'counted-with-interval',
      subject((s) => void (s.tokenInterval.inputUpper = s.inputTokens - 1)),
      'The interval holds the count.',
    ),
    contradiction(
      'a unit of another kind',
      'complete',
      (r) => void (r.measurement.result[0].unit = 'MJ'),
      'Each kind has one unit.',
    ),
    contradiction(
      'other tokens than were used',
      'complete',
      subject((s) => void (s.outputTokens += 1)),
      'The usage record says otherwise.',
    ),
    contradiction(
      'an answer of another request',
      'complete',
      subject((s) => void (s.answerId = 'chatcmpl-01M84F9WD460R30C1G60R30C00')),
      'It has the ULID of the request.',
    ),
    contradiction(
      'an id of another request',
      'failed',
      (r) => void (r.id = 'https://gateway.example/receipts/rcpt_01M84F9WD460R30C1G60R30C00'),
      'It has the ULID of the request.',
    ),
    contradiction(
      'begun a day before its id',
      'failed',
      subject(
        (s) =>
          void (s.startedAt = s.startedAt.replace(
            /-(\d\d)T/,
            (_: string, day: string) => `-${String(Number(day) - 1).padStart(2, '0')}T`,
          )),
      ),
      'A ULID holds the time at which it was made.',
    ),
    contradiction(
      'ended before it began',
      'failed',
      subject((s) => void (s.endedAt = s.startedAt.replace(/^\d{4}/, '2025'))),
      'Nothing takes less than no time.',
    ),
    contradiction(
      'a model that shows as another',
      'complete',
      subject((s) => void (s.modelVersion = `${s.modelVersion}\u200B`)),
      'The character shows nothing.',
    ),
    contradiction(
      'metered without a meter',
      'complete',
      (r) => void (r.measurement.dataQuality = 'T1'),
      'T1 is the word of a meter.',
    ),
    contradiction(
      'an hour of another zone',
      'enterprise-hourly',
      (r) => void (r.measurement.used[1].record.zone = 'DEU'),
      'The factor is that of the grid on which it ran.',
    ),
    contradiction(
      'a revision for a meter that has none',
      'enterprise-annual-hours-incomplete',
      (r) => void (r.revisionReason = 'measured'),
      'A revision has what it came for.',
    ),
    ...CONTRADICTIONS.map(([name, base, edit, why]) => contradiction(name, base, edit, why)),
    ...ODD_VALUES.map(([name, base, edit, why]) =>
      bad(name, 'wrong_value', signed(base, edit), why),
    ),
    good(
      'counted where the upstream stated what cannot be, a part of it estimated',
      corpus.bytesOf('counted-extrapolated').toString(),
      'As it was issued.',
    ),
    good(
      'energy that the upstream states',
      corpus.bytesOf('stated-by-upstream').toString(),
      'As it was issued.',
    ),
    ...(
      [
        ['0', 'token_energy', 'J_idle is broken too; the first of the three is named.'],
        ['0.05', 'idle_power', 'It is above J_tokens and below J_idle.'],
        ['1000000', 'full_power', 'It is above J_full.'],
      ] as const
    ).map(([joules, bound, why]) =>
      good(
        `energy that the upstream states, beyond ${bound}`,
        signed('stated-by-upstream', withJoules(joules, bound)),
        why,
      ),
    ),
    good(
      'failed, with what is known of its calls',
      signed(
        'failed',
        subject((s) =>
          Object.assign(s, {
            inputTokens: 21,
            queuedMs: 1,
            statedJoules: '12.5',
            tokenizer: 'o200k_base',
            upstreamMs: 2,
          }),
        ),
      ),
      'No service writes it yet; it contradicts nothing.',
    ),
    good(
      'a note with joiners and a space that does not break',
      signed(
        'enterprise-annual-hours-incomplete',
        (r) => void (r.revisionNote = 'n\u00ba\u00a01, \u0646\u200c\u0645'),
      ),
      'Words of persons may have them beside others.',
    ),
  ];
  const [fitting, crowded] = [
    served({ gpus: 2, gpus_basis: 'catalogue' }),
    served({ batch: '100000', batch_basis: 'catalogue', gpus: 2, gpus_basis: 'catalogue' }),
  ];
  const calledT2 = (receipt: Loose): void => void (receipt.measurement.dataQuality = 'T2');
  const mismatch = (name: string, base: string, edit: (receipt: Loose) => void, why: string) =>
    bad(name, 'figures_mismatch', signed(base, edit), why);
  /** Judged beside their records by docket verify alone: verify.py computes figures of packs. */
  const figures: ReceiptCase[] = [
    good('of the corpus', corpus.bytesOf('complete').toString(), 'As it was issued.'),
    good('T2', signed('complete', fitting.edit), 'The GPUs that are stated hold the weights.'),
    good(
      'T3 of a batch that is stated',
      signed('complete', crowded.edit),
      'Memory does not hold what so many requests are answered from.',
    ),
    mismatch(
      'T2 of a batch that memory does not hold',
      'complete',
      (receipt) => {
        crowded.edit(receipt);
        calledT2(receipt);
      },
      'B · context_held · b_kv is more than memory has free.',
    ),
    mismatch(
      'T2 where nothing says on how many GPUs',
      'complete',
      calledT2,
      'The basis of the GPUs is computed.',
    ),
    mismatch(
      'another figure',
      'complete',
      (r) => void (r.measurement.result[0].value = r.measurement.result[0].lower),
      'It does not follow from the records.',
    ),
    mismatch(
      'energy that the upstream states, beyond another bound than the first that it breaks',
      'stated-by-upstream',
      withJoules('0', 'idle_power'),
      'J_tokens is looked at first.',
    ),
  ];
  const made = [fitting, crowded, ...misdeployed].map(({ derivation }) => derivation);
  const derivations = Object.fromEntries(
    [...cases, ...figures].flatMap(({ receipt }) => {
      const digest = /\/derivations\/([\w-]+)"/.exec(receipt)?.[1];
      const text = made.find((each) => each.digest === digest)?.text;
      return digest === undefined
        ? []
        : [[digest, text ?? corpus.read('derivations', `${digest}.json`).toString()]];
    }),
  ) as Record<string, string>;
  return { did: didOfVectors(), derivations, cases, figures };
}

function headVectors() {
  const directory = keysDirectory();
  const range = new ForgedPack(corpus.path('range.zip'));
  const note = range.text('data/ledger/checkpoint.txt');
  const head = (
    name: string,
    verdict: 'good' | 'bad',
    text: string,
    why: string,
    log = LOG,
  ): HeadCase => ({ name, why, verdict, log, note: text });
  const lab = labOf(directory);
  const { size, root } = range.seal().credentialSubject.checkpoint as {
    size: number;
    root: string;
  };
  const rootBytes = Buffer.from(root.slice(1), 'base64url').subarray(2);
  const [text = '', line = ''] = note.split('\n\n');
  const heads: HeadCase[] = [
    head('of the corpus', 'good', note, 'As it was signed.'),
    head(
      'another size',
      'bad',
      note.replace(`\n${size}\n`, `\n${size + 1}\n`),
      'The signature is over the text.',
    ),
    head(
      'a size with a zero before it',
      'bad',
      note.replace(`\n${size}\n`, `\n0${size}\n`),
      'A number has one spelling.',
    ),
    head(
      'another root',
      'bad',
      note.replace(/\n(\d+)\n...../, '\n$1\nAAAAA'),
      'The signature is over the text.',
    ),
    head(
      'by the key of receipts',
      'bad',
      signedHead(lab, size, rootBytes, 'receipts'),
      'Keys under assertionMethod sign no heads.',
    ),
    head(
      'under the name of another log',
      'bad',
      `${text}\n\n${line.replace('/log/', '/audit/')}`,
      'A line counts under the name of its log.',
    ),
    head(
      'another key hash',
      'bad',
      `${text}\n\n${line.replace(/ [^ ]{6}(?=[^ ]*$)/, ' AAAAAA')}`,
      'The hash says which key a line is by.',
    ),
    head(
      'a fourth line',
      'bad',
      signedHead(lab, size, rootBytes, 'checkpoints', ['more']),
      'A head has three.',
    ),
    head('without the end of its last line', 'bad', note.slice(0, -1), 'Each line of a note ends.'),
    head('without a signature', 'bad', `${text}\n\n`, 'It is no signed note.'),
  ];
  const anchor = anchorText(range);
  const lineOf = (time: number): Buffer => cosignature(anchor, time);
  const name = 'witness.example/vectors';
  const key = formatVerifierKey(name, COSIGNATURE_TYPE, examplePublicKey);
  const by = (
    what: string,
    verdict: 'good' | 'bad',
    signature: Buffer,
    why: string,
    altered = anchor,
  ): CosignatureCase => ({
    name: what,
    why,
    verdict,
    key,
    text: altered,
    signature: base64(signature),
    time: 1_795_000_000,
  });
  const good = lineOf(1_795_000_000);
  const later = Buffer.from(good);
  later[4 + 7]! ^= 1;
  const cosignatures = [
    by('of the anchor log', 'good', good, 'By the key of RFC 8037.'),
    by('another time', 'bad', later, 'The signature is over the time.'),
    by(
      'another text',
      'bad',
      good,
      'The signature is over the text.',
      anchor.replace(/\n\d+\n/, '\n9\n'),
    ),
    by('a byte less', 'bad', good.subarray(0, -1), 'It has 4, 8 and 64 bytes.'),
    ...mlDsaCosignatures(),
  ];
  const leaves = corpus.expected.receipts.map((receipt) => leafHash(corpus.bytesOf(receipt.name)));
  return {
    did: corpus.didJson,
    heads,
    cosignatures,
    tree: corpus.expected.receipts.map(({ name: receipt }, i) => ({
      receipt,
      leaf: encodeBase64(leaves[i]!),
      root: encodeBase64(frontierRoot(append(EMPTY_FRONTIER, leaves.slice(0, i + 1)).frontier)),
    })),
  };
}

/** COSE receipts of a receipt of the corpus, in a log of three. */
function coseVectors() {
  const receipt = corpus.bytesOf('failed');
  const [before, own, after] = ['complete', 'failed', 'refused'].map((name) =>
    leafHash(corpus.bytesOf(name)),
  ) as [Uint8Array, Uint8Array, Uint8Array];
  const by = (pem: string, { did = issuer.did, origin = LOG, size = 3 } = {}): Uint8Array => {
    const publicKey = rawPublicKey(createPublicKey(pem));
    const root = nodeHash(nodeHash(before, own), after);
    const kid = `${did}#${jwkThumbprint(publicKey)}`;
    const sign = ed25519Signer(createPrivateKey(pem));
    const signedRoot = signCoseRoot(
      { origin, size, root },
      { issuer: did, kid },
      { publicKey, sign },
    );
    return formatCoseReceipt({ ...signedRoot, size, index: 1, hashes: [before, after] });
  };
  const good = by(pemOf('checkpoints'));
  const parts = (decodeCbor(good) as CborTag).value as readonly Cbor[];
  const header = decodeCbor(parts[0] as Uint8Array) as ReadonlyMap<number, Cbor>;
  const part = (at: number, value: Cbor): Uint8Array =>
    encodeCbor({ tag: 18, value: parts.with(at, value) });
  const path = (size: number, index: number, hashes: Uint8Array[]): Uint8Array =>
    part(1, new Map([[396, new Map([[-1, [encodeCbor([size, index, hashes])]]])]]));
  const protectedBy = (label: number, value: Cbor): Uint8Array =>
    part(0, encodeCbor(new Map([...header, [label, value]])));
  const broken = Buffer.from(parts[3] as Uint8Array);
  broken[0]! ^= 1;
  const rows: [name: string, reason: string, cose: Uint8Array, why: string][] = [
    ['a byte behind it', 'cose_malformed', Buffer.concat([good, Buffer.of(0)]), 'It is one item.'],
    ['without its tag', 'cose_malformed', encodeCbor(parts), 'It has tag 18.'],
    ['with its payload', 'cose_malformed', part(2, before), 'The root is computed.'],
    ['by another algorithm', 'cose_malformed', protectedBy(1, -7), 'There is one.'],
    ['of another kind of tree', 'cose_malformed', protectedBy(395, 2), 'There is one.'],
    ['a further header', 'cose_malformed', protectedBy(2, [15]), 'It has these and no others.'],
    ['a signature cut short', 'cose_malformed', part(3, broken.subarray(1)), 'It is 64 bytes.'],
    [
      'another size than is signed',
      'cose_malformed',
      path(4, 1, [before, after]),
      'The header says it.',
    ],
    ['no hashes', 'cose_malformed', path(3, 1, []), 'A tree of one entry has no such receipt.'],
    [
      'another index',
      'inclusion_invalid',
      path(3, 0, [before, after]),
      'The path leads elsewhere.',
    ],
    ['another path', 'inclusion_invalid', path(3, 1, [after, before]), 'The path leads elsewhere.'],
    ['another signature', 'inclusion_invalid', part(3, broken), 'It is over another root.'],
    [
      'of another log',
      'log_mismatch',
      by(pemOf('checkpoints'), { origin: LOG.replace('org_0', 'org_1') }),
      'The receipt names its log.',
    ],
    [
      'by another issuer',
      'issuer_mismatch',
      by(pemOf('checkpoints'), { did: 'did:web:other.example' }),
      'It is that of the receipt.',
    ],
    ['by the key of receipts', 'key_not_authorised', by(pemOf('receipts')), 'It signs no heads.'],
    ['by a key that was revoked', 'key_revoked', by(examplePrivateKeyPem), 'A thief may have it.'],
  ];
  const cases: CoseCase[] = [
    { name: 'of its receipt', why: 'As it is written.', verdict: 'good', cose: base64(good) },
    ...rows.map(([name, reason, cose, why]) => ({
      name,
      why,
      ...bad(reason),
      cose: base64(cose),
    })),
  ];
  return { did: didOfVectors(), receipt: receipt.toString(), cases };
}

/** What torchwood signed, and altered: of a key made here each signature would be another. */
function mlDsaCosignatures(): CosignatureCase[] {
  const { key, text, signature } = JSON.parse(readFileSync(TORCHWOOD, 'utf8')) as CosignatureCase;
  const of = (name: string, why: string, altered: Partial<CosignatureCase> = {}) => ({
    name: `ML-DSA-44: ${name}`,
    why,
    verdict: Object.keys(altered).length === 0 ? ('good' as const) : ('bad' as const),
    key,
    text,
    signature,
    time: 0,
    ...altered,
  });
  const bytes = Buffer.from(signature, 'base64');
  const later = Buffer.from(bytes);
  later[4 + 7]! ^= 1;
  return [
    of('by torchwood', 'Of no time: the witness says of none that it knew no larger tree then.'),
    of('another time', 'The signature is over the time.', { signature: base64(later) }),
    of('another size', 'The signature is over the size.', { text: text.replace('\n1\n', '\n2\n') }),
    of('a further line', 'The signature is over three lines alone.', { text: `${text}more\n` }),
    of('a byte less', 'It has 4, 8 and 2,420 bytes.', {
      signature: base64(bytes.subarray(0, -1)),
    }),
  ];
}

const TORCHWOOD = join(import.meta.dirname, '../vectors/tlog-cosignature/ml-dsa-44.json');

/** The text of the head of the anchor log that a pack leads to. */
function anchorText(pack: ForgedPack): string {
  const { proof } = JSON.parse(pack.text(ANCHORED_HEAD)) as { proof: { proof: string } };
  const [, note = ''] = /^[^]*?\n\n([^]*)$/.exec(proof.proof)!;
  return `${note.split('\n\n')[0]}\n`;
}

/** By the key of RFC 8037, as a witness: what stands in its line. */
function cosignature(text: string, time: number): Buffer {
  const sign = ed25519Signer(createPrivateKey(examplePrivateKeyPem));
  const stamp = Buffer.alloc(8);
  stamp.writeBigUInt64BE(BigInt(time));
  const name = 'witness.example/vectors';
  return Buffer.concat([
    noteKeyHash(name, examplePublicKey, COSIGNATURE_TYPE),
    stamp,
    sign(cosignedMessage(text, time)),
  ]);
}

function keysDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'docket-specification-'));
  corpus.takeKeys(directory);
  return directory;
}

/** As much of a deployment as forging takes: its keys. */
function labOf(directory: string): PackLab {
  const signer = (purpose: 'receipts' | 'packs' = 'receipts') => signerBy(pemOf(purpose));
  return { issuer, keysDir: join(directory, 'keys'), signer } as unknown as PackLab;
}

/** How a case of a pack is made. */
interface PackRow {
  name: string;
  why: string;
  base?: 'whole';
  found: Found;
  /** Who seals what was edited: no one unless it is said, and then manifests are as far as `repaired` says. */
  sealedBy?: typeof foreign;
  repaired?: 'nothing' | 'manifests';
  edit?: (pack: ForgedPack) => void | ((seal: Loose) => void);
  bytes?: (archive: Buffer) => Buffer;
  asks?: PackCase['asks'];
  policy?: string;
  authorities?: string;
}

/** An authority that stamps nothing: by the key of RFC 8037. */
const AUTHORITY = `-----BEGIN CERTIFICATE-----
MIIBLzCB4qADAgECAgEBMAUGAytlcDAWMRQwEgYDVQQDDAt0c2EuZXhhbXBsZTAg
Fw0yNjExMzAxODE1MDlaGA8yMTI2MTEwNjE4MTUwOVowFjEUMBIGA1UEAwwLdHNh
LmV4YW1wbGUwKjAFBgMrZXADIQDXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo
9wdRGqNTMFEwHQYDVR0OBBYEFFsnqlWJF5dw5HV1sWKh3tl7i/xtMB8GA1UdIwQY
MBaAFFsnqlWJF5dw5HV1sWKh3tl7i/xtMA8GA1UdEwEB/wQFMAMBAf8wBQYDK2Vw
A0EAsveXANJWDgdT1J90Fdq9NvyWbePcEdV+OjwZcA23uNttYBuZhypTAJ+/X+b4
W0M0fCYrZ/HICCsA3Qna6FmRBQ==
-----END CERTIFICATE-----
`;

const ORG_OF_OTHERS = 'org_11JD0A8N5K3M7Q2T9VXB4C6DEF';

const bad = (reason: string): Found => ({ verdict: 'bad', reason });

function packRows(lab: PackLab): PackRow[] {
  const packs = lab.signer('packs');
  const own = { sealedBy: packs };
  const flip =
    (at: number) =>
    (archive: Buffer): Buffer => {
      const bytes = Buffer.from(archive);
      bytes[at]! ^= 1;
      return bytes;
    };
  const lines =
    (folder: string, edit: (all: string[]) => string[]) =>
    (pack: ForgedPack): void =>
      pack.lines(pack.shard(folder), edit);
  const replaced =
    (path: string, from: RegExp | string, to: string) =>
    (pack: ForgedPack): void =>
      pack.set(path, pack.text(path).replace(from, to));
  const stating =
    (members: object) =>
    (pack: ForgedPack): void => {
      const stated = JSON.parse(pack.text(REPORT_STATEMENT)) as object;
      pack.set(REPORT_STATEMENT, canonicalJson({ ...stated, ...members }));
    };
  /** A byte of what the directory says of the last file. */
  const listed =
    (at: number, value: number) =>
    (archive: Buffer): Buffer => {
      const bytes = Buffer.from(archive);
      bytes[archive.lastIndexOf('PK\u0001\u0002') + at] = value;
      return bytes;
    };
  const stamped =
    (timestamps: object[]) =>
    (pack: ForgedPack): ((seal: Loose) => void) => {
      const head = JSON.parse(pack.text(ANCHORED_HEAD));
      head.proof.timestamps = timestamps;
      pack.set(ANCHORED_HEAD, `${JSON.stringify(head, null, 2)}\n`);
      return (seal) => void (seal.credentialSubject.anchor.timestamps = timestamps.length);
    };
  const [authority, response] = ['https://tsa.example/', 'AAAA'];
  const cosignedBy =
    (flipped: 0 | 1) =>
    (pack: ForgedPack): void => {
      const bytes = cosignature(anchorText(pack), 1_795_000_000);
      bytes[20]! ^= flipped;
      const line = `— witness.example/vectors ${base64(bytes)}`;
      cosigned((others) => [...others, line], 'everywhere')(pack);
    };
  /** The whole ledger, signed anew without the anchor. */
  const another = (index: number, edit: (receipt: Loose) => void) => ({
    base: 'whole' as const,
    ...own,
    edit: (pack: ForgedPack) => {
      const ofLedger = rewriteLedger(lab, pack, atEntry(index, edit));
      const ofAnchor = dropAnchor(pack);
      return (seal: Loose): void => {
        ofLedger(seal);
        ofAnchor(seal);
      };
    },
  });
  const key = formatVerifierKey('witness.example/vectors', COSIGNATURE_TYPE, examplePublicKey);
  const policy = `witness w ${key}\nquorum w\n`;
  const methodology = 'data/methodologies/docket-1/1.0.0.json';
  return [
    { name: 'a range', found: { verdict: 'good' }, why: 'As it was exported.' },
    {
      name: 'a whole ledger',
      base: 'whole',
      found: { verdict: 'good' },
      why: 'As it was exported.',
    },
    {
      name: 'by the keys in it',
      found: { verdict: 'intact' },
      asks: 'no trust',
      why: 'Anyone may have made it.',
    },
    {
      name: 'an anchor is asked for',
      found: { verdict: 'good' },
      asks: '--require-anchor',
      why: 'The range is anchored to its end.',
    },
    {
      name: 'released methodologies are asked for',
      found: { verdict: 'good' },
      asks: '--require-released-methodology',
      why: 'docket-1 1.0.0 was released.',
    },
    {
      name: 'a witness is asked for',
      found: bad('witness_missing'),
      policy,
      why: 'None has cosigned.',
    },
    {
      name: 'a number of the format that is not known',
      ...own,
      found: { verdict: 'cannot_judge', reason: 'unknown_format' },
      why: 'A later program may know it.',
      edit: () => (seal) => void (seal.credentialSubject.format = 'docket-evidence-pack/2'),
    },
    {
      name: 'a context of receipts of a format that is not known, and no such receipt',
      ...own,
      found: bad('seal_contradiction'),
      why: 'Who seals cannot hide behind a later format.',
      edit: () => (seal) => {
        const id = `https://gateway.example/contexts/docket-receipt-${'A'.repeat(43)}.jsonld`;
        const digestMultibase = seal.relatedResource[0].digestMultibase;
        seal.relatedResource.splice(1, 0, { digestMultibase, id });
      },
    },
    {
      name: 'archive: a byte behind it',
      found: bad('not_a_zip'),
      why: 'Nothing stands behind the end.',
      bytes: (archive) => Buffer.concat([archive, Buffer.from('x')]),
    },
    {
      name: 'archive: a time',
      found: bad('malformed_zip'),
      why: 'Headers follow from names and contents.',
      bytes: flip(10),
    },
    {
      name: 'archive: a byte of a file',
      found: bad('checksum_mismatch'),
      why: 'Its CRC-32 is another.',
      bytes: (archive) =>
        flip(archive.indexOf('"outputTokens":', archive.indexOf('data/receipts/')) + 16)(archive),
    },
    {
      name: 'a file that the manifest does not have',
      repaired: 'nothing',
      found: bad('extra_file'),
      why: 'Every file is in a manifest.',
      edit: (pack) => pack.set('README.txt', 'x'),
    },
    {
      name: 'a file that is missing',
      repaired: 'nothing',
      found: bad('missing_file'),
      why: 'Every file of a manifest is there.',
      edit: (pack) => void pack.files.delete('data/report/totals.csv'),
    },
    {
      name: 'another file',
      repaired: 'nothing',
      found: bad('checksum_mismatch'),
      why: 'The manifest has its digest.',
      edit: replaced('data/report/totals.csv', '0.', '1.'),
    },
    {
      name: 'another file, and manifests to match',
      repaired: 'manifests',
      found: bad('checksum_mismatch'),
      why: 'The seal has the digest of the manifest.',
      edit: replaced('data/report/totals.csv', '0.', '1.'),
    },
    {
      name: 'a payload file of a kind that packs have not',
      ...own,
      found: bad('extra_file'),
      why: 'Each has its place.',
      edit: (pack) => pack.set('data/notes.txt', 'x'),
    },
    {
      name: 'seal: another number',
      repaired: 'manifests',
      found: bad('seal_invalid'),
      why: 'The signature is over the seal.',
      edit: replaced(SEAL, /"covered":(\d+)/, '"covered":1'),
    },
    {
      name: 'seal: by a key that is not the issuer’s',
      sealedBy: foreign,
      found: bad('unknown_key'),
      why: 'No such key is trusted.',
    },
    {
      name: 'seal: by the key of receipts',
      sealedBy: lab.signer('receipts'),
      found: bad('key_outside_interval'),
      why: 'By the anchor log it is none for packs.',
    },
    {
      name: 'seal: other totals',
      ...own,
      found: bad('totals_mismatch'),
      why: 'The receipts add up to others.',
      edit: () => (seal) => void (seal.credentialSubject.totals.coveredInputTokens += 1),
    },
    {
      name: 'seal: another size of the head',
      ...own,
      found: bad('seal_contradiction'),
      why: 'Its name says another.',
      edit: () => (seal) => void (seal.credentialSubject.checkpoint.size += 1),
    },
    {
      name: 'seal: fewer signed heads',
      ...own,
      found: bad('wrong_count'),
      why: 'There are more in the range.',
      edit: () => (seal) => void (seal.credentialSubject.range.signedHeads -= 1),
    },
    {
      name: 'another context',
      ...own,
      found: bad('context_mismatch'),
      why: 'Its name holds its digest.',
      edit: (pack) => {
        const path = [...pack.files.keys()].find((file) =>
          file.startsWith('data/contexts/docket-receipt-'),
        )!;
        pack.set(path, pack.text(path).replace('"', ' "'));
      },
    },
    {
      name: 'another methodology',
      ...own,
      found: bad('methodology_mismatch'),
      why: 'Derivation records have its digest.',
      edit: replaced(methodology, '"version"', '"Version"'),
    },
    {
      name: 'a derivation record less',
      ...own,
      found: bad('derivation_missing'),
      why: 'A receipt names it.',
      edit: (pack) =>
        void pack.files.delete(
          [...pack.files.keys()].find((file) => file.startsWith('data/derivations/'))!,
        ),
    },
    {
      name: 'a receipt with another number',
      ...own,
      found: bad('receipt_invalid'),
      why: 'Its signature is over what it said.',
      edit: lines('receipts', (all) => all.with(7, all[7]!.replace('"attempts":', '"attempts":1'))),
    },
    {
      name: 'a receipt with white space',
      ...own,
      found: bad('receipt_invalid'),
      why: 'A line is the canonical form.',
      edit: lines('receipts', (all) => all.with(7, all[7]!.replace('{', '{ '))),
    },
    {
      name: 'two receipts swapped',
      ...own,
      found: bad('root_mismatch'),
      why: 'The tree has them in another order.',
      edit: (pack) => {
        const swapped = ([a, b, c, ...rest]: string[]): string[] => [a!, c!, b!, ...rest];
        lines('receipts', swapped)(pack);
      },
    },
    {
      name: 'the last receipt dropped',
      ...own,
      found: bad('revision_mismatch'),
      why: 'It is said to be revised, and is not there.',
      edit: lines('receipts', (all) => all.slice(0, -1)),
    },
    {
      name: 'another head',
      ...own,
      found: bad('checkpoint_invalid'),
      why: 'Its signature is over another root.',
      edit: (pack) => {
        replaced('data/ledger/checkpoint.txt', /\n(\d+)\n...../, '\n$1\nAAAAA')(pack);
        return dropAnchor(pack);
      },
    },
    {
      name: 'a hash less on the way to the head',
      ...own,
      found: bad('root_mismatch'),
      why: 'The range does not lead to it.',
      edit: (pack) => pack.lines('data/ledger/consistency.txt', (all) => all.slice(1)),
    },
    {
      name: 'a revision that is hidden',
      ...own,
      found: bad('revision_mismatch'),
      why: 'It revises a receipt that is said to be current.',
      edit: (pack) => pack.lines('data/superseded/000000000005.ndjson', (all) => all.slice(1)),
    },
    {
      name: 'a revision with a proof of another place',
      ...own,
      found: bad('root_mismatch'),
      why: 'The path does not lead from there.',
      edit: lines('revision-proofs', (all) =>
        all.with(
          1,
          all[1]!.replace(/"index":(\d+)/, (_, index) => `"index":${Number(index) + 1}`),
        ),
      ),
    },
    {
      name: 'other totals in the table',
      ...own,
      found: bad('report_mismatch'),
      why: 'It follows from the receipts.',
      edit: replaced('data/report/totals.csv', /total,,(\d+)/, 'total,,1$1'),
    },
    {
      name: 'stated: a name of 1,024 characters that are two units of UTF-16 each',
      ...own,
      found: { verdict: 'good' },
      why: 'A character is a code point.',
      edit: stating({ operator: { name: '\u{1f343}'.repeat(1_024) } }),
    },
    {
      name: 'stated: a name of a character more',
      ...own,
      found: bad('report_mismatch'),
      why: 'A text has 1,024 at most.',
      edit: stating({ operator: { name: '\u{1f343}'.repeat(1_025) } }),
    },
    {
      name: 'stated: contracts that are no list',
      ...own,
      found: bad('report_mismatch'),
      why: 'An empty object is not an empty list.',
      edit: stating({ contracts: {} }),
    },
    {
      name: 'stated: an inventory',
      ...own,
      found: { verdict: 'good' },
      why: 'It is the word of the operator.',
      edit: stating({ inventory: { gwpSet: 'AR6' } }),
    },
    {
      name: 'stated: an inventory of nothing',
      ...own,
      found: bad('report_mismatch'),
      why: 'What is not stated is absent.',
      edit: stating({ inventory: {} }),
    },
    {
      name: 'stated: a threshold of 100 per cent',
      ...own,
      found: bad('report_mismatch'),
      why: 'It is a decimal below 100.',
      edit: stating({ inventory: { restatementThresholdPercent: '100' } }),
    },
    {
      name: 'stated: evidence of a building that was bought',
      ...own,
      found: bad('report_mismatch'),
      why: 'Certificate, vintage and volume are of a contract.',
      edit: (pack) => {
        const { evidence } = JSON.parse(pack.text(REPORT_STATEMENT)) as { evidence: object[] };
        stating({ evidence: [{ ...evidence[0], volumeKwh: '7' }] })(pack);
      },
    },
    {
      name: 'stated: a policy of witnesses that is not met',
      ...own,
      found: { verdict: 'good' },
      why: 'The verdict says so; who asks for witnesses gives a policy.',
      edit: stating({ witnessPolicy: policy }),
    },
    {
      name: 'stated: a policy of witnesses without a quorum',
      ...own,
      found: bad('report_mismatch'),
      why: 'It is no policy.',
      edit: stating({ witnessPolicy: policy.replace('quorum w\n', '') }),
    },
    {
      name: 'seal: a time to the second',
      ...own,
      found: bad('malformed_seal'),
      why: 'Times have three decimals.',
      edit: () => (seal) => void (seal.validFrom = seal.validFrom.replace(/\.\d{3}Z$/, 'Z')),
    },
    {
      name: 'seal: an anchor that lacks what no service asks for',
      ...own,
      found: bad('malformed_seal'),
      why: 'It lacks a timestamp, or cosignatures.',
      edit: () => (seal) => void (seal.credentialSubject.anchor.lacks = ['nothing at all']),
    },
    {
      name: 'seal: a period with neither begin nor end',
      ...own,
      found: bad('seal_contradiction'),
      why: 'Nothing was asked for.',
      edit: () => (seal) => {
        const before = seal.validFrom;
        seal.credentialSubject.requested = { before, type: 'RequestedPeriod' };
        seal.credentialSubject.id = seal.credentialSubject.id.replace(
          /-(\d+-\d+-at-)/,
          '-open-to-open-entries-$1',
        );
      },
    },
    {
      name: 'a list of losses without a loss',
      ...own,
      found: bad('malformed_line'),
      why: 'It is there where there is any.',
      edit: (pack) => pack.set('data/ledger/losses.ndjson', ''),
    },
    {
      name: 'an anchored head whose timestamp has another form',
      ...own,
      found: bad('anchor_invalid'),
      why: 'Its time has three decimals.',
      edit: stamped([{ authority, time: '2026-11-20T09:38:04Z', response }]),
    },
    {
      name: 'a page of a version that is not known',
      ...own,
      found: { verdict: 'good' },
      why: 'The verdict says that it is not checked.',
      edit: (pack) => {
        pack.set('data/report/report.html', '<!doctype html><a href="x">later</a>\n');
        return (seal) => void (seal.credentialSubject.pageVersion = 2);
      },
    },
    {
      name: 'a page that loads something',
      ...own,
      found: bad('report_mismatch'),
      why: 'It could show anything.',
      edit: replaced('data/report/report.html', '<body', '<img src="x"><body'),
    },
    {
      name: 'a document of lineage less',
      ...own,
      found: bad('lineage_missing'),
      why: 'The first receipt of a derivation has one.',
      edit: (pack) => void pack.files.delete('data/lineage/000000000005.jsonld'),
    },
    {
      name: 'another formula in lineage',
      ...own,
      found: bad('lineage_mismatch'),
      why: 'The methodology has no such formula.',
      edit: replaced('data/lineage/000000000005.jsonld', 'N * e_dec', 'N * e_pre'),
    },
    {
      name: 'a key more in did.json',
      ...own,
      found: bad('keys_mismatch'),
      why: 'The issuer has published no such key.',
      edit: (pack) => {
        const did = JSON.parse(pack.text('data/keys/did.json')) as { verificationMethod: object[] };
        did.verificationMethod.push(foreignMethod);
        pack.set('data/keys/did.json', `${JSON.stringify(did, null, 2)}\n`);
      },
    },
    {
      name: 'a key event less',
      ...own,
      found: bad('key_outside_interval'),
      why: 'Its key was never added.',
      edit: (pack) => pack.lines(KEY_EVENTS, (all) => all.slice(1)),
    },
    {
      name: 'an anchored head in another slot',
      ...own,
      found: bad('anchor_invalid'),
      why: 'The path does not lead from there.',
      edit: replaced(ANCHORED_HEAD, /"slot": (\d+)/, '"slot": 7'),
    },
    {
      name: 'without an anchor, where one is asked for',
      ...own,
      found: bad('anchor_missing'),
      asks: '--require-anchor',
      why: 'Nothing holds it in place from outside.',
      edit: dropAnchor,
    },
    {
      name: 'another ledger under the anchor, by a holder of its keys',
      base: 'whole',
      ...own,
      found: bad('anchor_invalid'),
      why: 'The anchored head is no beginning of it.',
      edit: (pack) =>
        rewriteLedger(
          lab,
          pack,
          atEntry(1, (receipt) => void (receipt.credentialSubject.modelVersion = 'another')),
        ),
    },
    {
      name: 'another ledger without the anchor: figures that follow from nothing',
      ...another(1, ({ measurement: { result } }) => void (result[0].value = result[0].lower)),
      found: bad('lineage_mismatch'),
      why: 'Records and formulas lead to others.',
    },
    {
      name: 'another ledger without the anchor: T2 where nothing says on how many GPUs',
      ...another(1, ({ measurement }) => void (measurement.dataQuality = 'T2')),
      found: bad('lineage_mismatch'),
      why: 'T2 takes what can be seen to fit in memory.',
    },
    {
      name: 'another ledger without the anchor: a receipt of a format that is not known',
      base: 'whole',
      ...own,
      found: { verdict: 'cannot_judge', reason: 'unknown_format' },
      why: 'A later program may know it: its context is in the pack and in the seal, and all else holds up to the end of the ledger.',
      edit: (pack) => {
        const text = '{"@context":{}}';
        const name = `docket-receipt-${hash('sha256', text, 'base64url')}.jsonld`;
        const id = `https://gateway.example/contexts/${name}`;
        pack.set(`data/contexts/${name}`, text);
        const later = (receipt: Loose): void =>
          void (receipt['@context'] = [receipt['@context'][0], id]);
        const edits = [rewriteLedger(lab, pack, atEntry(31, later)), dropAnchor(pack)];
        return (seal) => {
          for (const each of edits) each(seal);
          seal.relatedResource.push({ digestMultibase: multihash(Buffer.from(text)), id });
          seal.relatedResource.sort((a: Loose, b: Loose) => (a.id < b.id ? -1 : 1));
        };
      },
    },
    {
      name: 'another ledger without the anchor: a receipt of another organisation',
      ...another(31, (receipt) => {
        const { organisation } = corpus.expected;
        const text = JSON.stringify(receipt).replaceAll(organisation, ORG_OF_OTHERS);
        Object.assign(receipt, JSON.parse(text));
      }),
      found: bad('wrong_log'),
      why: 'A pack is of one log.',
    },
    {
      name: 'archive: a name that begins with a point',
      found: bad('unsafe_path'),
      why: 'Names lead nowhere else, and are the same on every system.',
      bytes: (archive) =>
        listed(
          archive.lastIndexOf('tagmanifest') - archive.lastIndexOf('PK\u0001\u0002'),
          0x2e,
        )(archive),
    },
    {
      name: 'archive: two names that differ in case alone',
      repaired: 'nothing',
      found: bad('duplicate_name'),
      why: 'Some systems have one file of both.',
      edit: (pack) => pack.set('DATA/keys/jwks.json', 'x'),
    },
    {
      name: 'archive: a file that is compressed',
      found: bad('compressed_entry'),
      why: 'Every file is stored.',
      bytes: listed(10, 8),
    },
    {
      name: 'archive: a size of four gigabytes',
      found: bad('absurd_size'),
      why: 'A file has at most 65 MiB.',
      bytes: listed(27, 0xff),
    },
    {
      name: 'a manifest with a path that leads elsewhere',
      repaired: 'nothing',
      found: bad('malformed_manifest'),
      why: 'Its lines are names of files in the pack.',
      edit: (pack) =>
        pack.lines(MANIFEST, (all) => [...all, `${'0'.repeat(64)}  ../../etc/passwd`]),
    },
    {
      name: 'other shapes',
      ...own,
      found: bad('shapes_mismatch'),
      why: 'Their digest is published.',
      edit: (pack) => pack.set(SHAPES, `${pack.text(SHAPES)} `),
    },
    {
      name: 'another derivation record',
      ...own,
      found: bad('derivation_mismatch'),
      why: 'Its name is its digest.',
      edit: (pack) => {
        const path = [...pack.files.keys()].find((file) => file.startsWith('data/derivations/'))!;
        pack.set(path, `${pack.text(path)} `);
      },
    },
    {
      name: 'revisions left out',
      ...own,
      found: bad('revision_missing'),
      why: 'Receipts are said to be revised by them.',
      edit: (pack) => {
        for (const each of ['revisions', 'revision-proofs'])
          lines(each, (all) => all.slice(0, -1))(pack);
        return (seal) => void (seal.credentialSubject.range.revisions -= 1);
      },
    },
    {
      name: 'a loss that no statement declares',
      ...own,
      found: bad('loss_invalid'),
      why: 'A head is none.',
      edit: (pack) => {
        const note = pack.text('data/ledger/checkpoint.txt');
        pack.set(LOSSES, `${canonicalJson({ consistency: [], note })}\n`);
      },
    },
    {
      name: 'seal: by the key of receipts, without an anchor',
      sealedBy: lab.signer('receipts'),
      found: bad('key_not_authorised'),
      why: 'Receipts of the pack are by it.',
      edit: dropAnchor,
    },
    {
      name: 'seal: by a key that was revoked',
      sealedBy: foreign,
      found: bad('key_revoked'),
      asks: 'the did of receipts.json',
      why: 'Who stole it can write any date.',
    },
    {
      name: 'a timestamp is asked for',
      found: bad('timestamp_missing'),
      asks: '--require-timestamp',
      authorities: AUTHORITY,
      why: 'There is none.',
    },
    {
      name: 'a timestamp that is none',
      ...own,
      found: bad('timestamp_invalid'),
      authorities: AUTHORITY,
      why: 'It is no response of RFC 3161.',
      edit: stamped([{ authority, time: '2026-11-20T09:38:04.000Z', response }]),
    },
    {
      name: 'a witness is asked for, and has cosigned',
      ...own,
      found: { verdict: 'good' },
      policy,
      why: 'The quorum is met.',
      edit: cosignedBy(0),
    },
    {
      name: 'a witness is asked for, and its line does not verify',
      ...own,
      found: bad('cosignature_invalid'),
      policy,
      why: 'The policy has its key.',
      edit: cosignedBy(1),
    },
  ];
}

async function packVectors() {
  const directory = keysDirectory();
  const lab = labOf(directory);
  const cases: PackCase[] = [];
  for (const {
    name,
    why,
    base = 'range',
    found,
    sealedBy,
    repaired,
    edit,
    bytes,
    asks,
    policy,
    authorities,
  } of packRows(lab)) {
    const before = new ForgedPack(corpus.path(`${base}.zip`));
    const pack = new ForgedPack(corpus.path(`${base}.zip`));
    const editSeal = edit?.(pack) ?? (() => {});
    if (sealedBy !== undefined) pack.repair(sealedBy, editSeal);
    else if (repaired === 'manifests') pack.repair();
    const path = join(directory, 'case.zip');
    await pack.write(path);
    const written = readFileSync(path);
    const archive = bytes?.(written) ?? written;
    cases.push({
      name,
      why,
      base,
      ...found,
      ...(asks === undefined ? {} : { asks }),
      ...(policy === undefined ? {} : { policy }),
      ...(authorities === undefined ? {} : { authorities }),
      files: changesOf(before, pack),
      ...(bytes === undefined ? {} : { archive: splice(written, archive, 'base64') }),
      sha256: hash('sha256', archive),
    });
  }
  const bases = Object.fromEntries(
    ['range', 'whole'].map((base) => [base, hash('sha256', corpus.read(`${base}.zip`))]),
  );
  return { bases, cases };
}

function changesOf(before: ForgedPack, after: ForgedPack): PackCase['files'] {
  const names = [...new Set([...before.files.keys(), ...after.files.keys()])];
  return Object.fromEntries(
    names.flatMap((name): [string, Splice | null][] => {
      const [was = Buffer.alloc(0), is] = [before.files.get(name), after.files.get(name)];
      if (is === undefined) return [[name, null]];
      return before.files.has(name) && was.equals(is) ? [] : [[name, splice(was, is, 'utf8')]];
    }),
  );
}

/** What differs between two texts: one stretch. Borders lie between characters where it is told as text. */
function splice(was: Buffer, is: Buffer, as: 'utf8' | 'base64'): Splice {
  const inside = (bytes: Buffer, at: number): boolean =>
    as === 'utf8' && at < bytes.length && (bytes[at]! & 0xc0) === 0x80;
  const shorter = Math.min(was.length, is.length);
  let at = 0;
  while (at < shorter && was[at] === is[at]) at += 1;
  while (inside(was, at) || inside(is, at)) at -= 1;
  let behind = 0;
  while (behind < shorter - at && was[was.length - 1 - behind] === is[is.length - 1 - behind])
    behind += 1;
  while (inside(was, was.length - behind) || inside(is, is.length - behind)) behind -= 1;
  const inserted = is.subarray(at, is.length - behind).toString(as);
  return { at, removed: was.length - behind - at, inserted };
}

/** The archive of a case, made from the pack that it differs from, as another program would. */
export async function archiveOf({ base, files, archive }: PackCase, path: string): Promise<void> {
  const pack = new ForgedPack(corpus.path(`${base}.zip`));
  const spliced = (was: Buffer, { at, removed, inserted }: Splice, as: 'utf8' | 'base64'): Buffer =>
    Buffer.concat([was.subarray(0, at), Buffer.from(inserted, as), was.subarray(at + removed)]);
  for (const [name, change] of Object.entries(files)) {
    if (change === null) pack.files.delete(name);
    else pack.set(name, spliced(pack.files.get(name) ?? Buffer.alloc(0), change, 'utf8'));
  }
  const { id } = pack.seal().credentialSubject as { id: string };
  pack.folder = id.slice(id.lastIndexOf('/') + 1);
  await pack.write(path);
  if (archive !== undefined) writeFileSync(path, spliced(readFileSync(path), archive, 'base64'));
}

/** The description of a format as JSON Schema: without what it says of linked data and conditions. */
function schemaOf(format: object): object {
  const text = JSON.stringify(format, (name, value: unknown) =>
    name.startsWith('x-') || (name === 'format' && typeof value === 'string') ? undefined : value,
  );
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...(JSON.parse(text) as object),
  };
}

/** Every file of vectors, by its name. */
export async function makeVectors() {
  return {
    'receipt.schema.json': schemaOf(FORMAT_1),
    'seal.schema.json': schemaOf(SEAL_FORMAT),
    'json.json': jsonVectors(),
    'receipts.json': receiptVectors(),
    'heads.json': headVectors(),
    'cose.json': coseVectors(),
    'packs.json': await packVectors(),
  };
}
export type Vectors = Awaited<ReturnType<typeof makeVectors>>;

export const vectorText = (vectors: object): string => `${JSON.stringify(vectors, null, 1)}\n`;
