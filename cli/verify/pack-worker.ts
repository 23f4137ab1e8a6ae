/** Judges a pack in a worker of a browser, where a file can be read piece by piece. */
import { settleSignatures, withSignatures } from '#shared/kernel/primitives/signature-checks.ts';
import { judgeInTurn } from './judge-in-turn.ts';
import { type Judgement, packJudgement, type PackJudgementOptions } from './judgement.ts';
import type { PackBytes } from './pack-file.ts';
import type { DrawnPack } from '#cli/auditing/drawn-pack.ts';
import { sourceOfKeys } from './pack-words.ts';
import { fetchRelease } from './release-files.ts';
import { WORDS } from './verdicts.ts';

/** What the worker is started with. */
export interface ToPackWorker {
  pack: Blob;
  options: Omit<PackJudgementOptions, 'onProgress'>;
  /** The sample that is drawn of it if it is good or intact. */
  draw?: { seed: string; size: number };
}

export type FromPackWorker =
  | { type: 'progress'; done: number; total: number }
  | { type: 'judgement'; judgement: Judgement; drawn?: DrawnPack }
  | { type: 'error'; message: string };

/** What a worker of a browser has, as far as it is used here. */
declare const self: {
  addEventListener(type: 'message', listen: (event: { data: ToPackWorker }) => void): void;
  postMessage(message: FromPackWorker): void;
};
declare const FileReaderSync: new () => { readAsArrayBuffer(blob: Blob): ArrayBuffer };

const say = (message: FromPackWorker): void => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- workers have no origin
  self.postMessage(message);
};

self.addEventListener('message', ({ data }) => {
  judge(data).then(
    (judged) => say({ type: 'judgement', ...judged }),
    (error: unknown) =>
      say({ type: 'error', message: error instanceof Error ? error.message : String(error) }),
  );
});

async function judge({
  pack,
  options,
  draw,
}: ToPackWorker): Promise<{ judgement: Judgement; drawn?: DrawnPack }> {
  const { methodologies, script } = await fetchRelease();
  const archive = bytesOfBlob(pack);
  const tools = {
    archive,
    judgeShards: judgeInTurn({ archive, methodologies: () => methodologies }, settleSignatures),
    released: () => methodologies,
  };
  const onProgress = (done: number, total: number): void => say({ type: 'progress', done, total });
  const judgement = await withSignatures(() =>
    packJudgement(tools, { ...options, onProgress }, script),
  );
  const { verdict } = judgement;
  if (draw === undefined || (verdict !== 'good' && verdict !== 'intact')) return { judgement };
  const { drawPack } = await import('#cli/auditing/drawn-pack.ts');
  const said = {
    path: options.file ?? 'pack',
    verdict: WORDS[verdict],
    trusted: sourceOfKeys(options.trust?.source, undefined),
  };
  return { judgement, drawn: drawPack(archive, draw, said) };
}

/** Only workers may read a file without waiting, and only so is no more of it in memory than is being judged. */
function bytesOfBlob(pack: Blob): PackBytes {
  const reader = new FileReaderSync();
  return {
    size: pack.size,
    read(offset, into) {
      const part = pack.slice(offset, offset + into.length);
      const bytes = new Uint8Array(reader.readAsArrayBuffer(part));
      into.set(bytes);
      return bytes.length;
    },
  };
}
