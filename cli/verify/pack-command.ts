import type { SealDocument } from '#shared/packs/seal-format.ts';
import { plain, printFields, printJson, type Row } from '#cli/print.ts';
import { createProgressBar } from '#cli/progress-bar.ts';
import { type PackVerdict, verifyPack } from './verify-pack.ts';

/** Whose keys the verdict rests on, when they are not the pack's own. */
export interface TrustFile {
  didJson: string;
  source: string;
}

const OWN_KEYS =
  'the keys in the pack itself: this shows that it is whole, not whose it is. Fetch did.json from the issuer and use --trust';

/** `docket verify <pack.zip>`. Exits with 1 when the pack is not good. */
export async function verifyPackFile(
  path: string,
  { json }: { json?: boolean },
  trust?: TrustFile,
): Promise<void> {
  const bar = createProgressBar('Verifying');
  const verdict = await verifyPack(path, {
    ...(trust === undefined ? {} : { didJson: trust.didJson }),
    now: Date.now(),
    onProgress: (done, total) => bar.show(done, total),
  });
  bar.clear();
  const trusted = trust?.source ?? OWN_KEYS;
  if (json === true) printJson(report(verdict, trusted));
  else print(verdict, trusted);
  if (!verdict.good) process.exitCode = 1;
}

function report(verdict: PackVerdict, trusted: string): object {
  const { code, message, place, seal, signers, heads } = verdict;
  return {
    verdict: verdict.good ? 'good' : 'bad',
    code,
    message,
    place: place ?? null,
    trusted,
    own_keys: verdict.ownKeys,
    signed_heads: heads,
    anchored: verdict.anchored,
    lineage: verdict.lineage,
    signers,
    pack: seal ?? null,
  };
}

function print(verdict: PackVerdict, trusted: string): void {
  const { good, code, message, place, seal, signers, heads } = verdict;
  process.stdout.write(`${good ? 'GOOD' : 'BAD'}  ${plain(message)}\n\n`);
  printFields({
    ...(good ? {} : { reason: code, where: place ?? null }),
    trusted,
    ...(seal === undefined ? {} : facts(seal, good)),
    ...(good
      ? { 'signed heads': heads, anchored: anchoredText(verdict), lineage: lineageText(verdict) }
      : {}),
  });
  for (const [kid, receipts] of Object.entries(signers)) {
    process.stdout.write(`\n${receipts} receipts signed by ${plain(kid)}`);
  }
  process.stdout.write('\n');
  if (!good) return;
  process.stdout.write(
    '\nThis shows who said what and when, that nothing of it was changed, and that no receipt of the range was removed.\n' +
      'It does not show that a model ran, or that an estimate is true.\n',
  );
}

function anchoredText({ anchored }: PackVerdict): string {
  if (anchored === null) return 'no';
  const { size, index, anchorSize, timestamps } = anchored;
  const times = timestamps.map(({ authority, time }) => `, ${authority} says ${time}`);
  return `the head of ${size} entries, entry ${index} of ${anchorSize} in the anchor log${times.join('')}`;
}

/** Documents of methodologies that this release cannot compute are counted apart, not called right. */
function lineageText({ lineage, seal }: PackVerdict): string {
  if (lineage === null || seal === undefined) return 'no';
  const { documents, remade } = lineage;
  const { described, undescribed } = seal.credentialSubject.lineage;
  const beyond = undescribed === 0 ? '' : `; ${undescribed} receipts of further ways have none`;
  const others =
    documents === remade
      ? 'each computed again and found the same'
      : `${remade} computed again and found the same, of ${documents - remade} only records and results were compared: this release cannot compute them`;
  const made = documents === 1 ? '1 document' : `${documents} documents`;
  return `${made} on how ${described} receipts got their numbers, ${others}${beyond}`;
}

function facts(seal: SealDocument, good: boolean): Row {
  const { range, totals, checkpoint, id } = seal.credentialSubject;
  const claimed: Row = {
    [good ? 'pack' : 'says it is']: id,
    issuer: seal.issuer,
    ledger: `${checkpoint.log}, ${checkpoint.size} entries`,
    'as of': seal.validFrom,
    receipts: `${range.receipts}, entries ${range.firstIndex} to ${range.lastIndex}`,
    revisions: `${range.revisions} from after the range; ${range.superseded} receipts were revised`,
  };
  if (!good) return claimed;
  const quantities = totals.result.map(({ quantityKind, value, unit }) => [
    quantityKind,
    `${value} ${unit}`,
  ]);
  return {
    ...claimed,
    inferences: `${totals.covered} with an estimate, ${totals.uncovered} without, ${totals.refused} refused`,
    tokens: `${totals.inputTokens} in, ${totals.outputTokens} out`,
    ...Object.fromEntries(quantities),
  };
}
