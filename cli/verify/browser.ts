/**
 * `docket/verify` in browsers: judges receipts and packs as `docket verify` does, word for word, and sends nothing of them
 * anywhere. Beside this module, as the api serves it under `/verify/`, lie the worker and what the release ships.
 */
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { canCheckSignatures, withSignatures } from '#shared/kernel/primitives/signature-checks.ts';
import type { DrawnPack } from '#cli/auditing/drawn-pack.ts';
import { type ChosenFile, filesJudgement } from './chosen-files.ts';
import type { LineageMethodologies } from './figures.ts';
import {
  type FindDerivationText,
  type Judgement,
  type PackJudgementOptions,
  receiptJudgement,
  type ReceiptOptions,
  unjudged,
} from './judgement.ts';
import { type ProofFiles, type ProofStep, proofSteps } from './proof-steps.ts';
import type { FromPackWorker, ToPackWorker } from './pack-worker.ts';

/** A worker of a browser, as far as it is used here. */
interface PackWorker {
  addEventListener(type: 'message', listen: (event: { data: FromPackWorker }) => void): void;
  addEventListener(type: 'error', listen: (event: { message?: string }) => void): void;
  postMessage(message: ToPackWorker): void;
  terminate(): void;
}
declare const Worker: new (url: URL, options: { type: 'module' }) => PackWorker;

const CANNOT_CHECK =
  'This page cannot check signatures: that takes HTTPS (or localhost) and a browser with Ed25519 in WebCrypto.';

/** Judges a receipt, or an answer or stream that carries one. */
export async function verifyReceipt(
  source: Uint8Array | string,
  options: ReceiptOptions = {},
): Promise<Judgement> {
  if (!(await canCheckSignatures())) return unjudged(CANNOT_CHECK, options.file ?? 'receipt');
  return withSignatures(() => receiptJudgement(source, options, methodologies));
}

/** Judges files that belong together: a receipt, a signed head, or an audit log with its signed head and anchor. */
export async function verifyFiles(
  files: readonly ChosenFile[],
  options: Omit<ReceiptOptions, 'file'> = {},
): Promise<Judgement> {
  if (!(await canCheckSignatures())) return unjudged(CANNOT_CHECK, files[0]?.name ?? 'receipt');
  return withSignatures(() => filesJudgement(files, options, methodologies));
}

/**
 * Follows the proof of a receipt, each step computed here.
 * @param didJson of the issuer
 * @throws Error where this page cannot check signatures
 */
export async function followProof(files: ProofFiles, didJson: string): Promise<ProofStep[]> {
  if (!(await canCheckSignatures())) throw new Error(CANNOT_CHECK);
  return withSignatures(() => proofSteps(files, trustedKeysOf(didJson), Date.now()));
}

/** With the factor sets and methodologies, which most receipts that are looked at do not need. */
async function methodologies(): Promise<LineageMethodologies> {
  return (await (await import('./release-files.ts')).fetchRelease()).methodologies;
}

/**
 * Gets derivation records from the gateway that serves this module, by their digest and nothing else, for receipts of its
 * own issuer: one that others have issued is none of its business.
 * @param didJson what this gateway publishes of itself
 */
export function publishedDerivations(didJson: string): FindDerivationText {
  return async ({ digest, issuer, address }) => {
    const ownWay = `fetch ${address} and use docket verify with --derivation`;
    const own = issuerIn(didJson);
    if (issuer !== own) {
      const whose = own ?? 'not known here';
      return { missing: `this page asks its own gateway alone, and that is ${whose}; ${ownWay}` };
    }
    const { host, href } = new URL(`/derivations/${encodeURIComponent(digest)}`, import.meta.url);
    const file = `${host}/derivations/${digest}`;
    const failed = (why: string) => ({
      missing: `${file} could not be fetched (${why}); ${ownWay}`,
    });
    try {
      const reply = await fetch(href, { credentials: 'omit' });
      return reply.ok ? { file, text: await reply.text() } : failed(String(reply.status));
    } catch (error) {
      return failed((error as Error).message);
    }
  };
}

/** Undefined where that is no did.json: the gateway could not be asked. */
function issuerIn(didJson: string): string | undefined {
  try {
    return (JSON.parse(didJson) as { id?: string } | null)?.id;
  } catch {
    return undefined;
  }
}

/** Judges a pack as it was dropped into the page: in a worker, in constant memory. */
export async function verifyPack(
  pack: Blob,
  options: PackJudgementOptions = {},
): Promise<Judgement> {
  return (await inWorker(pack, options)).judgement;
}

/**
 * Judges a pack, and draws of one that is good or intact what `docket sample` draws of it.
 * @throws Error where such a sample cannot be drawn
 */
export async function samplePack(
  pack: Blob,
  draw: { seed: string; size: number },
  options: PackJudgementOptions = {},
): Promise<{ judgement: Judgement; drawn?: DrawnPack }> {
  return inWorker(pack, options, draw);
}

async function inWorker(
  pack: Blob,
  { onProgress, ...options }: PackJudgementOptions,
  draw?: { seed: string; size: number },
): Promise<{ judgement: Judgement; drawn?: DrawnPack }> {
  if (!(await canCheckSignatures())) {
    return { judgement: unjudged(CANNOT_CHECK, options.file ?? 'pack') };
  }
  const worker = new Worker(new URL('pack-worker.js', import.meta.url), { type: 'module' });
  try {
    return await new Promise((resolve, reject) => {
      worker.addEventListener('message', ({ data }) => {
        if (data.type === 'progress') onProgress?.(data.done, data.total);
        else if (data.type === 'judgement') resolve(data);
        else reject(new Error(data.message));
      });
      worker.addEventListener('error', ({ message }) =>
        reject(new Error(message || 'The worker could not be started.')),
      );
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- workers have no origin
      worker.postMessage({ pack, options, ...(draw === undefined ? {} : { draw }) });
    });
  } finally {
    worker.terminate();
  }
}
