import { createPublicKey } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { didWeb } from '#shared/receipts/issuer.ts';
import { loadSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { SigningKeyProblem } from '#shared/receipts/signing/problem.ts';
import { rawPublicKey } from '#shared/receipts/signing/key-objects.ts';
import { trustedSigningKeys } from '#shared/receipts/signing/trust.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { isCoseSign1 } from '#shared/ledger/cose-receipts.ts';
import { POLICY_BYTES_MAX } from '#shared/ledger/witness-policy.ts';
import { printJson } from '#cli/print.ts';
import { reasonOf } from '#shared/kernel/plain-text.ts';
import { findDerivation } from '#cli/derivation-file.ts';
import { readAnswer, readInput } from '#cli/input.ts';
import { DID_BYTES_MAX, readText } from '#cli/verify/text-file.ts';
import { utf8 } from '#cli/utf8.ts';
import { createProgressBar } from '#cli/progress-bar.ts';
import { openArchive } from '#cli/verify/archive-file.ts';
import { CannotJudge } from '#cli/verify/cannot-judge.ts';
import { checkpointJudgement, isNote } from '#cli/verify/checkpoint-judgement.ts';
import { judgeEntriesAlone } from '#cli/audit/fetched-log.ts';
import { auditPagesIn } from '#cli/verify/chosen-files.ts';
import { contentsIn } from '#cli/verify/compared.ts';
import { coseJudgement } from '#cli/verify/cose-judgement.ts';
import {
  checkIsAnswer,
  heldAgainstAll,
  judgeReceipt,
  NO_KEYS,
  pinnedTrust,
  type Trust,
  type TrustFile,
  trustIn,
} from '#cli/verify/judge-receipt.ts';
import { type Judgement, judgementOf, unjudged } from '#cli/verify/judgement.ts';
import { digestOfFile } from '#cli/file-digest.ts';
import type { GivenEvidence } from '#cli/verify/judge-pack.ts';
import { judgePackFile } from '#cli/verify/pack-command.ts';
import { type GivenStatement, STATEMENT_BYTES_MAX } from '#cli/verify/pack-statement.ts';
import { isArchive } from '#cli/verify/pack-file.ts';
import { receiptReport, receiptSaid } from '#cli/verify/receipt-words.ts';
import { written } from '#cli/verify/said.ts';

/** Certificates of every authority there is. */
const PEM_BYTES_MAX = 4 * 1_048_576;

interface VerifyOptions {
  trust?: string;
  pin?: string;
  tsaTrust?: string;
  requireAnchor?: boolean;
  requireTimestamp?: boolean;
  witnessPolicy?: string;
  requireWitness?: string;
  requireReleasedMethodology?: boolean;
  evidence?: string[];
  statement?: string;
  statementKey?: string;
  derivation?: string;
  answer?: string;
  request?: string;
  receipt?: string;
  details?: boolean;
  json?: boolean;
}

/**
 * `docket verify`: offline, nothing is fetched. Exits with 0 when it is good by keys that were named or pinned, 3 when it
 * is whole by keys that came with it, 1 when it is not, and 2 when that cannot be judged.
 */
export function register(program: Command): void {
  program
    .command('verify')
    .description('check a receipt, an evidence pack or a checkpoint offline: nothing is fetched')
    .argument(
      '<file>',
      'a receipt, an API answer or stream that carries one, a checkpoint, a COSE receipt of inclusion, - for standard input, or a pack (.zip)',
    )
    .option('--trust <did.json>', 'the issuer’s did.json, fetched by you from its host')
    .option(
      '--derivation <file>',
      'the derivation record that a receipt names; without it the file <digest>.json beside the receipt is taken',
    )
    .option('--request <file>', 'the body of the request as it was sent, to be compared')
    .option('--answer <file>', 'the answer or the saved stream, for a receipt that came without it')
    .option('--receipt <file>', 'the receipt that a COSE receipt of inclusion is of')
    .option(
      '--pin <sha256>',
      'SHA-256 of the did.json beside it or in the pack, as the issuer told you',
    )
    .option(
      '--tsa-trust <file>',
      'certificates (PEM) of the time-stamping authorities that you trust',
    )
    .option('--require-anchor', 'refuse a pack of which not all is anchored')
    .option('--require-timestamp', 'refuse a pack without a timestamp that could be checked')
    .option(
      '--witness-policy <file>',
      'whose cosignatures of the anchor log you ask for (C2SP tlog-policy)',
    )
    .option('--require-witness <n>', 'refuse a pack that fewer witnesses of the policy cosigned')
    .option(
      '--require-released-methodology',
      'refuse a pack whose methodology or factors are the operator’s own',
    )
    .option(
      '--evidence <file>',
      'a file that the operator gave you as evidence of what it declares; may be repeated',
      alsoFile,
    )
    .option('--statement <file>', 'what a person states of the pack (docket statement)', onlyFile)
    .option(
      '--statement-key <file>',
      'the public key (PEM) of that person, from themselves; without it the key in the statement is taken',
    )
    .option('--details', 'also what documents state to the last digit')
    .option('--json', 'for programs')
    .action(async (file: string, options: VerifyOptions) => {
      const { exitCode, report, said } = await judge(file, options).catch((error: unknown) =>
        unjudged(reasonOf(error), file),
      );
      if (options.json === true) printJson(report);
      else process.stdout.write(written(said, options.details));
      process.exitCode = exitCode;
    });
}

async function judge(file: string, options: VerifyOptions): Promise<Judgement> {
  return file !== '-' && isZip(file) ? judgePackAt(file, options) : judgeReceiptAt(file, options);
}

const OF_RECEIPTS = ['answer', 'request', 'derivation'] as const;
const OF_COSE = ['receipt'] as const;
const NOT_COSE = 'for a COSE receipt of inclusion, and this is none';
const OF_PACKS = [
  'evidence',
  'statement',
  'statementKey',
  'requireAnchor',
  'requireTimestamp',
  'requireWitness',
  'requireReleasedMethodology',
  'tsaTrust',
  'witnessPolicy',
] as const;

/** What is asked for and not looked at is not passed over: a verdict would seem to be about it. @throws CannotJudge */
function demandNone(
  names: typeof OF_RECEIPTS | typeof OF_COSE | typeof OF_PACKS,
  options: VerifyOptions,
  why: string,
): void {
  const asked = names.find((name) => options[name] !== undefined);
  if (asked === undefined) return;
  const flag = asked.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new CannotJudge(`--${flag} is ${why}.`);
}

async function judgePackAt(file: string, options: VerifyOptions): Promise<Judgement> {
  demandNone(OF_RECEIPTS, options, 'for one receipt, and this is a pack');
  demandNone(OF_COSE, options, NOT_COSE);
  const { trust, pin, tsaTrust, requireAnchor, requireTimestamp, witnessPolicy, requireWitness } =
    options;
  if (requireTimestamp === true && tsaTrust === undefined) {
    throw new CannotJudge(
      '--require-timestamp needs --tsa-trust: a timestamp is worth what its authority is worth.',
    );
  }
  return judgePackFile(file, {
    ...(trust === undefined
      ? {}
      : { didJson: await readText(trust, DID_BYTES_MAX), source: trust }),
    ...(pin === undefined ? {} : { pin }),
    ...(tsaTrust === undefined ? {} : { tsaTrust: await readText(tsaTrust, PEM_BYTES_MAX) }),
    requireAnchor: requireAnchor === true,
    requireTimestamp: requireTimestamp === true,
    ...(witnessPolicy === undefined
      ? {}
      : {
          witnessPolicy: {
            content: await readInput(witnessPolicy, POLICY_BYTES_MAX),
            source: witnessPolicy,
          },
        }),
    ...(requireWitness === undefined ? {} : { requireWitness: wholeNumber(requireWitness) }),
    requireReleasedMethodology: options.requireReleasedMethodology === true,
    evidence: await Promise.all((options.evidence ?? []).map(evidenceAt)),
    ...(await statementIn(options)),
  });
}

/** Of two statements one would be passed over. */
function onlyFile(file: string, before: string | undefined): string {
  if (before === undefined) return file;
  throw new InvalidArgumentError('One statement is looked at at a time.');
}

function alsoFile(file: string, files: string[] | undefined): string[] {
  return [...(files ?? []), file];
}

async function statementIn({
  statement: source,
  statementKey: key,
}: VerifyOptions): Promise<{ statement?: GivenStatement }> {
  if (source === undefined) {
    if (key === undefined) return {};
    throw new CannotJudge('--statement-key needs --statement: it is the key of who states it.');
  }
  const content = await readInput(source, STATEMENT_BYTES_MAX);
  const named = key === undefined ? {} : { key: { raw: await publicKeyAt(key), source: key } };
  return { statement: { content, source, ...named } };
}

async function publicKeyAt(path: string): Promise<Uint8Array> {
  const pem = await readText(path, DID_BYTES_MAX);
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return rawPublicKey(key);
  } catch {
    // Said below.
  }
  throw new CannotJudge(`${path} holds no public key of Ed25519 (PEM).`);
}

async function evidenceAt(name: string): Promise<GivenEvidence> {
  return { name, sha256: await digestOfFile(name) };
}

/** NaN, which no demand is, for anything but a plain number. */
function wholeNumber(text: string): number {
  return /^[0-9]{1,3}$/.test(text) ? Number(text) : Number.NaN;
}

async function judgeReceiptAt(file: string, options: VerifyOptions): Promise<Judgement> {
  const named = await findTrustFile(file, options);
  const source = await readAnswer(file);
  const trustFor = (issuer: () => string): Trust =>
    named === undefined ? (localTrust(issuer) ?? NO_KEYS) : trustIn(named);
  if (isCoseSign1(source)) return judgeCose(source, { file, options, trustFor });
  demandNone(OF_COSE, options, NOT_COSE);
  const text = source.toString();
  const pages = auditPagesIn(text);
  if (pages !== undefined) judgeEntriesAlone(pages.join('\n'));
  if (isNote(text)) {
    demandNone(OF_RECEIPTS, options, 'for one receipt, and this is a signed head');
    demandNone(OF_PACKS, options, 'for packs, and this is none');
    const trust = named === undefined ? NO_KEYS : trustIn(named);
    return checkpointJudgement(utf8(source), trust, file);
  }
  checkIsAnswer(source, file === '-' ? 'standard input' : file);
  demandNone(OF_PACKS, options, 'for packs, and this is none');
  const judged = judgeReceipt(() => utf8(source), trustFor, Date.now());
  const bar = createProgressBar('Comparing');
  const whole = await heldAgainstAll(
    judged,
    {
      ...contentsIn(await contents(options)),
      onProgress: (done, total) => bar.show(done, total),
    },
    ({ digest }) => findDerivation(digest, file, options.derivation),
    shippedMethodologies,
  );
  bar.clear();
  if (options.derivation !== undefined && whole.derivation === null && whole.verdict.good) {
    throw new CannotJudge('--derivation names a record, and the receipt names none.');
  }
  return judgementOf(receiptSaid(whole, file), receiptReport(whole));
}

interface CoseAsked {
  file: string;
  options: VerifyOptions;
  trustFor: (issuer: () => string) => Trust;
}

/** @throws CannotJudge when the receipt that it is of was not named */
async function judgeCose(
  source: Uint8Array,
  { file, options, trustFor }: CoseAsked,
): Promise<Judgement> {
  demandNone(OF_RECEIPTS, options, 'for one receipt, and this is a COSE receipt of inclusion');
  demandNone(OF_PACKS, options, 'for packs, and this is none');
  const receiptFile = options.receipt;
  if (receiptFile === undefined) {
    throw new CannotJudge(
      'A COSE receipt says nothing without the receipt that it is of: --receipt.',
    );
  }
  const saved = await readAnswer(receiptFile);
  checkIsAnswer(saved, receiptFile);
  const receipt = judgeReceipt(() => utf8(saved), trustFor, Date.now());
  return coseJudgement(source, { receipt, trust: receipt.trust, file, receiptFile });
}

/** What is to be compared with the digests of a receipt. */
async function contents({
  answer,
  request,
}: VerifyOptions): Promise<Parameters<typeof contentsIn>[0]> {
  return {
    answer: answer === undefined ? undefined : await readAnswer(answer),
    request: request === undefined ? undefined : await readAnswer(request),
  };
}

/** The did.json that was named, or that lies beside what is to be verified. */
async function findTrustFile(
  file: string,
  { trust: trustFile, pin }: VerifyOptions,
): Promise<TrustFile | undefined> {
  if (trustFile !== undefined) {
    const didJson = await readText(trustFile, DID_BYTES_MAX);
    if (pin !== undefined) return pinnedTrust(didJson, pin, trustFile);
    return { didJson, source: `${trustFile}, which you named`, isChosen: true };
  }
  const beside = file === '-' ? 'did.json' : join(dirname(file), 'did.json');
  if (!existsSync(beside)) {
    if (pin === undefined) return undefined;
    throw new CannotJudge(`There is no ${beside} to compare with --pin.`);
  }
  const didJson = await readText(beside, DID_BYTES_MAX);
  if (pin === undefined) {
    const source = `${beside}, which lay beside it and does not show whose it is; fetch it from the issuer and use --trust`;
    return { didJson, source, isChosen: false };
  }
  return pinnedTrust(didJson, pin, beside);
}

/** Packs are told by how a ZIP archive begins and ends; they are too large to be read for that. */
function isZip(path: string): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
  const archive = openArchive(path);
  try {
    return isArchive(archive);
  } finally {
    archive.close();
  }
}

/** Issuers that are this machine, at any port. */
const THIS_MACHINE = /^did:web:(?:localhost|127\.0\.0\.1)(?:%3A\d+)?(?::|$)/;

/**
 * The keys of the deployment on this machine, if there is one whose keys can be read. They are of what it issues itself:
 * a directory of keys can lie beside a receipt as a did.json can, and that of another issuer shows nothing of whose it is.
 */
function localTrust(issuer: () => string): Trust | undefined {
  const { signingKeysDir, publicUrl } = loadToolConfig();
  if (!existsSync(signingKeysDir)) return undefined;
  try {
    const did = issuer();
    const keys = trustedSigningKeys(loadSigningKeys(signingKeysDir), did);
    const isChosen = did === didWeb(publicUrl) || THIS_MACHINE.test(did);
    const source = isChosen
      ? `this deployment’s own keys in ${signingKeysDir}`
      : `keys in ${signingKeysDir}, which do not show whose it is: this deployment is ${publicUrl} (PUBLIC_URL)`;
    return { keys, source, isChosen };
  } catch (error) {
    if (error instanceof SigningKeyProblem) return undefined;
    throw error;
  }
}
