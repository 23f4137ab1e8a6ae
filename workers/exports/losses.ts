import { encodeBase64 } from '#shared/ledger/notes.ts';
import type { PackLoss } from '#shared/packs/postgres/pack-source.ts';

/** A pack’s file of losses: each statement, and the way from what it says was kept to the head that all leads to. */
export function lossesFile(losses: readonly PackLoss[]): Uint8Array {
  const lines = losses.map(({ note, consistency }) => {
    return JSON.stringify({ consistency: consistency.map(encodeBase64), note });
  });
  return Buffer.from(lines.map((line) => `${line}\n`).join(''));
}
