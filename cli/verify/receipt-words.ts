import { encodeBytes, sha256Text } from '#primitives';
import { leafHash } from '#shared/ledger/hashing.ts';
import { counted, QUALITY_WORDS } from '#shared/methodology/readable.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { Row } from '#cli/print.ts';
import { plain } from '#shared/kernel/plain-text.ts';
import { dateTime } from '#shared/kernel/time.ts';
import { tokenWords } from '#shared/receipts/token-words.ts';
import type { JudgedReceipt } from './judge-receipt.ts';
import { exactAmounts, headline, readableAmounts, type Said, saidAlone } from './said.ts';

/** A verdict for programs. */
export function receiptReport(judged: JudgedReceipt): object {
  const { verdict, trust, found, derivation, figures, compared } = judged;
  const { document, canonical } = verdict;
  return {
    code: verdict.code,
    message: verdict.message,
    trusted: trust.source,
    kid: verdict.kid ?? null,
    leaf_hash: canonical === undefined ? null : encodeBytes(leafOf(canonical), 'hex'),
    sha256: canonical === undefined ? null : sha256Text(canonical, 'hex'),
    receipt: document ?? null,
    verdict: found,
    derivation,
    figures,
    answer: compared.answer.kind,
    request: compared.request.kind,
  };
}

/** A verdict for people. @param file what the receipt's file is called */
export function receiptSaid(judged: JudgedReceipt, file: string): Said {
  const { verdict, trust, found, derivation, figures, compared } = judged;
  const sentence = headline(found, verdict.message, { file });
  if (verdict.code === 'pending' || verdict.code === 'unknown_format')
    return saidAlone(found, sentence);
  const { document, canonical, kid } = verdict;
  const facts = {
    ...(verdict.good ? {} : { reason: verdict.code }),
    ...(document === undefined
      ? {}
      : { answer: compared.answer.words, request: compared.request.words }),
    ...(document === undefined || isHeld(judged) ? {} : { signature: NOT_HELD }),
    trusted: trust.source,
    ...(kid === undefined ? {} : { [verdict.good ? 'signed by' : 'says it is signed by']: kid }),
    ...(document === undefined ? {} : factsOf(document)),
    ...(derivation === null ? {} : { 'derivation record': derivation }),
    ...(figures === null ? {} : { figures }),
  };
  const details = {
    ...(document === undefined ? {} : detailsOf(document)),
    ...(canonical === undefined ? {} : { 'leaf hash': encodeBytes(leafOf(canonical), 'base64') }),
  };
  const closing = found === 'good' || found === 'intact' ? shown(found, document!) : [];
  return { verdict: found, headline: sentence, facts, details, closing };
}

const NOT_HELD = 'none that counts: what follows is what the file says';

/** Reasons for which a receipt is bad whose signature holds. */
const OF_HELD: readonly string[] = [
  'good',
  'answer_differs',
  'request_differs',
  'contradiction',
  'figures_mismatch',
  'derivation_mismatch',
  'in_the_future',
];

/** Whether what is said of the receipt is what was signed. */
function isHeld({ verdict, trust }: JudgedReceipt): boolean {
  return trust.keys.size > 0 && OF_HELD.includes(verdict.code);
}

function shown(found: 'good' | 'intact', { issuer }: ReceiptDocument): string[] {
  const whose = found === 'good' ? plain(issuer) : 'whoever has made these keys';
  return [
    `This shows that ${whose} signed it, and that nothing of it was changed since. It does not show that a model ran,`,
    'that the estimate is true, when it was signed, or that the ledger includes the receipt.',
  ];
}

/** What the page of a receipt says first, in its words and units. */
function factsOf(document: ReceiptDocument): Row {
  const { credentialSubject: subject, measurement, explanation } = document;
  const used = tokenWords(subject);
  return {
    receipt: document.id,
    issued: dateTime(Date.parse(document.validFrom)),
    tier: document.tier,
    ...(explanation === undefined ? {} : { explanation }),
    model: subject.model,
    region: subject.region,
    outcome: subject.outcome,
    ...(subject.failure === undefined
      ? {}
      : { 'failed with': `${subject.failure}, after ${counted(subject.attempts!, 'call')}` }),
    tokens: [used.tokens, used.counted].filter((text) => text !== '').join(', '),
    ...(measurement === undefined ? {} : readableAmounts(measurement.result)),
    ...(measurement === undefined ? {} : { 'quality of data': qualityOf(measurement) }),
    ...statedOf(document),
    ...(document.wasRevisionOf === undefined ? {} : { revises: document.wasRevisionOf.id }),
  };
}

/** Energy that cannot be, which the upstream states and the estimate leaves out. */
function statedOf({ credentialSubject: { statedJoules }, measurement }: ReceiptDocument): Row {
  const beyond = measurement?.used.find(({ type }) => type === 'UsageRecord')?.record[
    'stated_beyond'
  ];
  if (beyond === undefined || statedJoules === undefined) return {};
  return {
    'energy stated': `${statedJoules} J by the upstream, which cannot be (${plain(String(beyond))}) and was not used`,
  };
}

function qualityOf({ dataQuality }: NonNullable<ReceiptDocument['measurement']>): string {
  return `${dataQuality}, ${QUALITY_WORDS[dataQuality]}; brackets are 5–95 % intervals`;
}

function detailsOf(document: ReceiptDocument): Row {
  const { credentialSubject: subject, measurement } = document;
  return {
    issuer: document.issuer,
    'issued at': document.validFrom,
    request: subject.id,
    'request digest': subject.requestDigest,
    'answer digest': subject.responseDigest ?? null,
    ...(measurement === undefined ? {} : exactAmounts(measurement.result)),
  };
}

function leafOf(canonical: string): Uint8Array {
  return leafHash(new TextEncoder().encode(canonical));
}
