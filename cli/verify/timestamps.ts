import type { X509Certificate } from 'node:crypto';
import { certificatesOf, leadsTo } from '#shared/ledger/http/timestamp-chain.ts';
import { readKeptTimestamp } from '#shared/ledger/http/timestamp-tokens.ts';
import { ANCHORED_HEAD } from '#shared/packs/layout.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import { CannotJudge } from './cannot-judge.ts';
import type { JudgedTimestamp } from './judge-pack.ts';
import type { Anchored } from './key-standing.ts';

/** @throws CannotJudge when the file holds no certificates */
export function timestampTrust(pem: string): X509Certificate[] {
  try {
    return certificatesOf(pem);
  } catch (error) {
    throw new CannotJudge(
      `The file named with --tsa-trust cannot be read: ${(error as Error).message}.`,
    );
  }
}

/**
 * Checks timestamps by the authorities that are trusted: without any it could not be said what a time is worth.
 * @throws PackProblem `timestamp_invalid` for one that is not signed, or of another text or time than is said
 */
export async function judgeTimestamps(
  { timestamps, note }: Pick<Anchored, 'timestamps' | 'note'>,
  trusted: readonly X509Certificate[],
): Promise<JudgedTimestamp[]> {
  const judged: JudgedTimestamp[] = [];
  for (const { authority, time, response } of timestamps) {
    const at = await readKeptTimestamp(response, Buffer.from(note.text)).catch((error: Error) => {
      throw invalid(`A timestamp does not hold: ${error.message}.`);
    });
    if (Date.parse(time) !== at) throw invalid('A timestamp is of another time than is stated.');
    judged.push({ authority, time: leadsTo(response, trusted, at) ? time : null });
  }
  return judged;
}

function invalid(message: string): PackProblem {
  return new PackProblem('timestamp_invalid', ANCHORED_HEAD, message);
}
