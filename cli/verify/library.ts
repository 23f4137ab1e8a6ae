/**
 * `docket/verify` in Node: judges receipts and packs as `docket verify` does, word for word, without printing or exiting.
 */
import { packScriptDigest } from '#shared/packs/files/verification-files.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { openArchive } from './archive-file.ts';
import { type ChosenFile, filesJudgement } from './chosen-files.ts';
import { inMemory, judgeInTurn } from './judge-in-turn.ts';
import type { PackTools } from './judge-pack.ts';
import {
  type Judgement,
  packJudgement,
  type PackJudgementOptions,
  receiptJudgement,
  type ReceiptOptions,
} from './judgement.ts';
import { judgeShards } from './shard-pool.ts';

export type { Judgement, PackJudgementOptions, ReceiptOptions } from './judgement.ts';
export type { ChosenFile } from './chosen-files.ts';
export type { Said } from './said.ts';

/** Judges a receipt, or an answer or stream that carries one. */
export async function verifyReceipt(
  source: Uint8Array | string,
  options: ReceiptOptions = {},
): Promise<Judgement> {
  return receiptJudgement(source, options, shippedMethodologies);
}

/** Judges files that belong together: a receipt, a signed head, or an audit log with its signed head and anchor. */
export async function verifyFiles(
  files: readonly ChosenFile[],
  options: Omit<ReceiptOptions, 'file'> = {},
): Promise<Judgement> {
  return filesJudgement(files, options, shippedMethodologies);
}

/** Judges a pack: a file by its path, in constant memory and on several threads, or bytes that are there already. */
export async function verifyPack(
  pack: string | Uint8Array | Blob,
  options: PackJudgementOptions = {},
): Promise<Judgement> {
  const script = packScriptDigest();
  if (typeof pack !== 'string') {
    const bytes = pack instanceof Uint8Array ? pack : new Uint8Array(await pack.arrayBuffer());
    const archive = inMemory(bytes);
    const judge = judgeInTurn({ archive, methodologies: shippedMethodologies });
    const tools = { archive, judgeShards: judge, released: shippedMethodologies };
    return packJudgement(tools, options, script);
  }
  const archive = openArchive(pack);
  try {
    const tools: PackTools = {
      archive,
      judgeShards: (...work) => judgeShards({ path: pack, archive }, ...work),
      released: shippedMethodologies,
    };
    return await packJudgement(tools, { file: pack, ...options }, script);
  } finally {
    archive.close();
  }
}
