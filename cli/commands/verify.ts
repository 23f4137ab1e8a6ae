import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { hash } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { loadSigningKeys, SigningKeyProblem } from '#shared/receipts/signing/files/key-files.ts';
import { trustedKeysOf, trustedSigningKeys } from '#shared/receipts/signing/trust.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import { leafHash } from '#shared/ledger/hashing.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { locateReceipt } from '#shared/receipts/locate.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { isPendingReceipt } from '#shared/receipts/pending.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { type ReceiptVerdict, type TrustedKeys, verifyReceipt } from '#shared/receipts/verify.ts';
import { plain, printFields, printJson, type Row } from '#cli/print.ts';
import { readAnswer, readInput, utf8 } from '#cli/input.ts';
import { type TrustFile, verifyPackFile } from '#cli/verify/pack-command.ts';

/** A did.json of thousands of keys. */
const DID_BYTES_MAX = 4 * 1_048_576;

interface VerifyOptions {
  trust?: string;
  json?: boolean;
}

/** Exit codes. */
const BAD = 1;
const CANNOT_JUDGE = 2;

/** Whose keys a verdict rests on. */
interface Trust {
  keys: TrustedKeys;
  /** For people: where the keys came from, and what that is worth. */
  source: string;
}

const NO_TRUST: Trust = { keys: new Map(), source: 'nothing: it did not come to that' };

/**
 * `docket verify`: offline, nothing is fetched. Exits with 1 when the receipt is not good, and with 2 when there is none
 * yet to be judged.
 */
export function register(program: Command): void {
  program
    .command('verify')
    .description('check a receipt or an evidence pack offline: nothing is fetched')
    .argument(
      '<file>',
      'a receipt, an API answer or stream that carries one, - for standard input, or a pack (.zip)',
    )
    .option('--trust <did.json>', 'the issuer’s did.json, fetched by you from its host')
    .option('--json', 'for programs')
    .action(async (file: string, options: VerifyOptions) => {
      const named = await findTrustFile(file, options.trust);
      if (file !== '-' && isZip(file)) return verifyPackFile(file, options, named);
      const { verdict, trust } = judge(await readAnswer(file), named);
      if (options.json === true) printJson(report(verdict, trust));
      else print(verdict, trust);
      if (!verdict.good) process.exitCode = verdict.code === 'pending' ? CANNOT_JUDGE : BAD;
    });
}

function judge(
  source: Buffer,
  named: TrustFile | undefined,
): { verdict: ReceiptVerdict; trust: Trust } {
  try {
    const receipt = locateReceipt(utf8(source));
    if (isPendingReceipt(receipt)) {
      return { verdict: verifyReceipt(receipt, new Map(), Date.now()), trust: NO_TRUST };
    }
    const trust = findTrust(named, () => parseReceipt(receipt).document.issuer);
    return { verdict: verifyReceipt(receipt, trust.keys, Date.now()), trust };
  } catch (error) {
    if (!(error instanceof MalformedData)) throw error;
    const verdict = { good: false, code: error.code, message: error.message };
    return { verdict, trust: NO_TRUST };
  }
}

/** A verdict is worth what the keys under it are worth, so each source says what that is. */
function findTrust(named: TrustFile | undefined, issuer: () => string): Trust {
  if (named !== undefined) return { keys: trustedKeysOf(named.didJson), source: named.source };
  return localTrust(issuer) ?? { keys: new Map(), source: NO_KEYS };
}

/** The did.json that was named, or that lies beside what is to be verified. */
async function findTrustFile(
  file: string,
  trustFile: string | undefined,
): Promise<TrustFile | undefined> {
  if (trustFile !== undefined) {
    const didJson = utf8(await readInput(trustFile, DID_BYTES_MAX));
    return { didJson, source: `${trustFile}, which you named` };
  }
  const beside = file === '-' ? 'did.json' : join(dirname(file), 'did.json');
  if (!existsSync(beside)) return undefined;
  const source = `${beside}, which lay beside it; if both came from one hand, fetch it from the issuer and use --trust`;
  return { didJson: utf8(await readInput(beside, DID_BYTES_MAX)), source };
}

/** Packs are told by how a ZIP archive begins; they are too large to be read for that. */
function isZip(path: string): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
  const fd = openSync(path, 'r');
  try {
    const start = Buffer.alloc(2);
    return readSync(fd, start, 0, 2, 0) === 2 && start.toString('latin1') === 'PK';
  } finally {
    closeSync(fd);
  }
}

const NO_KEYS = 'no key: fetch did.json from the issuer and name it with --trust';

/** The keys of the deployment on this machine, if there is one whose keys can be read. */
function localTrust(issuer: () => string): Trust | undefined {
  const { signingKeysDir } = loadToolConfig();
  if (!existsSync(signingKeysDir)) return undefined;
  try {
    const keys = trustedSigningKeys(loadSigningKeys(signingKeysDir), issuer());
    return { keys, source: `this deployment’s own keys in ${signingKeysDir}` };
  } catch (error) {
    if (error instanceof SigningKeyProblem) return undefined;
    throw error;
  }
}

function report(verdict: ReceiptVerdict, trust: Trust): object {
  const { document, canonical } = verdict;
  return {
    verdict: verdict.good ? 'good' : verdict.code === 'pending' ? 'pending' : 'bad',
    code: verdict.code,
    message: verdict.message,
    trusted: trust.source,
    kid: verdict.kid ?? null,
    leaf_hash: canonical === undefined ? null : leafOf(canonical).toString('hex'),
    sha256: canonical === undefined ? null : hash('sha256', canonical, 'hex'),
    receipt: document ?? null,
  };
}

function print(verdict: ReceiptVerdict, trust: Trust): void {
  if (verdict.code === 'pending') {
    process.stdout.write(`PENDING  ${verdict.message}\n`);
    return;
  }
  process.stdout.write(`${verdict.good ? 'GOOD' : 'BAD'}  ${plain(verdict.message)}\n\n`);
  const { document, canonical, kid } = verdict;
  printFields({
    ...(verdict.good ? {} : { reason: verdict.code }),
    trusted: trust.source,
    ...(kid === undefined ? {} : { [verdict.good ? 'signed by' : 'says it is signed by']: kid }),
    ...(document === undefined ? {} : facts(document)),
    ...(canonical === undefined ? {} : { 'leaf hash': leafOf(canonical).toString('base64') }),
  });
  if (!verdict.good) return;
  process.stdout.write(
    '\nThis shows who said what and when, and that nothing of it was changed since. It does not show that a model ran,\n' +
      'that the estimate is true, or that the ledger includes the receipt.\n',
  );
}

function facts(document: ReceiptDocument): Row {
  const { credentialSubject: subject, measurement, explanation } = document;
  const results = measurement?.result.map(
    ({ quantityKind, value, unit, lower, upper }) =>
      [quantityKind, `${value} ${unit} (${lower} to ${upper})`] as const,
  );
  return {
    receipt: document.id,
    issuer: document.issuer,
    issued: document.validFrom,
    tier: document.tier,
    ...(explanation === undefined ? {} : { explanation }),
    model: subject.model,
    region: subject.region,
    outcome: subject.outcome ?? null,
    tokens:
      subject.inputTokens === undefined
        ? null
        : `${subject.inputTokens} in, ${subject.outputTokens ?? 0} out`,
    ...Object.fromEntries(results ?? []),
    ...(document.wasRevisionOf === undefined ? {} : { revises: document.wasRevisionOf.id }),
  };
}

function leafOf(canonical: string): Buffer {
  return Buffer.from(leafHash(Buffer.from(canonical)));
}
