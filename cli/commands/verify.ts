import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
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
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { type ReceiptVerdict, type TrustedKeys, verifyReceipt } from '#shared/receipts/verify.ts';
import { printFields, printJson, type Row } from '#cli/print.ts';
import { verifyPackFile } from '#cli/verify/pack-command.ts';

/** A saved answer holds its receipt: large answers (embeddings, images) are tens of megabytes. */
const FILE_BYTES_MAX = 256 * 1_048_576;

interface VerifyOptions {
  trust?: string;
  json?: boolean;
}

/** Whose keys a verdict rests on. */
interface Trust {
  keys: TrustedKeys;
  /** For people: where the keys came from, and what that is worth. */
  source: string;
}

/** `docket verify`: offline, nothing is fetched. Exits with 1 when the receipt is not good. */
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
      if (file !== '-' && isZip(file))
        return verifyPackFile(file, options, findTrustFile(file, options.trust));
      const source = file === '-' ? await readInput() : readBounded(file);
      const { verdict, trust } = judge(source, file, options.trust);
      if (options.json === true) printJson(report(verdict, trust));
      else print(verdict, trust);
      if (!verdict.good) process.exitCode = 1;
    });
}

function judge(
  source: Buffer,
  file: string,
  trustFile?: string,
): { verdict: ReceiptVerdict; trust: Trust } {
  try {
    const receipt = locateReceipt(utf8(source));
    const trust = findTrust(file, trustFile, () => parseReceipt(receipt).document.issuer);
    return { verdict: verifyReceipt(receipt, trust.keys, Date.now()), trust };
  } catch (error) {
    if (!(error instanceof MalformedData)) throw error;
    const verdict = { good: false, code: error.code, message: error.message };
    return { verdict, trust: { keys: new Map(), source: 'nothing: it did not come to that' } };
  }
}

/** A verdict is worth what the keys under it are worth, so each source says what that is. */
function findTrust(file: string, trustFile: string | undefined, issuer: () => string): Trust {
  const found = findTrustFile(file, trustFile);
  if (found !== undefined) return { keys: trustedKeysOf(found.didJson), source: found.source };
  return localTrust(issuer) ?? { keys: new Map(), source: NO_KEYS };
}

/** The did.json that was named, or that lies beside what is to be verified. */
function findTrustFile(
  file: string,
  trustFile: string | undefined,
): { didJson: string; source: string } | undefined {
  if (trustFile !== undefined) {
    return {
      didJson: readBounded(trustFile).toString(),
      source: `${trustFile}, which you named`,
    };
  }
  const beside = file === '-' ? 'did.json' : join(dirname(file), 'did.json');
  if (!existsSync(beside)) return undefined;
  const source = `${beside}, which lay beside it; if both came from one hand, fetch it from the issuer and use --trust`;
  return { didJson: readBounded(beside).toString(), source };
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
    verdict: verdict.good ? 'good' : 'bad',
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
  process.stdout.write(`${verdict.good ? 'GOOD' : 'BAD'}  ${verdict.message}\n\n`);
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

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new MalformedData('not_utf8', '', 'is not UTF-8');
  }
}

function readBounded(path: string): Buffer {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error(`There is no file ${path}.`);
  if (!stat.isFile()) throw new Error(`${path} is not a file.`);
  if (stat.size > FILE_BYTES_MAX) throw new Error(`${path} is too large to be an answer.`);
  return readFileSync(path);
}

async function readInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > FILE_BYTES_MAX) throw new Error('Standard input is too large to be an answer.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
