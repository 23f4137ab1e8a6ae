import type { AttestableCheckpoint } from '../checkpoints.ts';
import {
  type Cosignature,
  type CosignatureCheck,
  formatAddCheckpoint,
  parseTreeSize,
  parseWitnessKey,
  readCosignature,
  type Witness,
} from '../cosignatures.ts';
import type { Hash } from '../hashing.ts';
import { type Answer, post } from './http.ts';

/** Whose key a line of WITNESSES names. @throws MalformedLedgerText */
export function witnessOf(setting: string): Witness {
  return parseWitnessKey(setting.trim().split(/\s+/)[0] ?? '');
}

export type WitnessClient = ReturnType<typeof createWitness>;

/**
 * A C2SP tlog-witness as WITNESSES names it: `<verifier key> <submission prefix>`, the key being a C2SP vkey of
 * type 0x04 or 0x06.
 * @throws MalformedLedgerText, TypeError for what is neither
 */
export function createWitness(setting: string, verify: CosignatureCheck) {
  const [, prefix = ''] = setting.trim().split(/\s+/);
  const witness = witnessOf(setting);
  const url = `${new URL(prefix).href.replace(/\/+$/, '')}/add-checkpoint`;
  return {
    name: witness.name,
    /**
     * Asks how many entries the witness has seen, by handing it a checkpoint that it may have seen already: it signs that
     * one again, or says what it has seen instead. What it remembers does not change.
     * @returns `isOther` when it has seen as many entries with another root
     * @throws Error for people when it cannot be reached, refuses, or answers nonsense
     */
    async look(checkpoint: AttestableCheckpoint): Promise<{ size: number; isOther: boolean }> {
      const request = formatAddCheckpoint(checkpoint.size, [], checkpoint.note);
      const answer = await post(url, 'text/plain', request);
      // A witness that has seen another size says which; without one it is the root that differs.
      const size = sizeOf(answer) ?? checkpoint.size;
      if (answer.status === 409) return { size, isOther: size === checkpoint.size };
      read(answer, checkpoint, witness, verify);
      return { size: checkpoint.size, isOther: false };
    },
    /**
     * Asks for a cosignature.
     * @param oldSize what the witness has seen, as far as is known
     * @param prove the consistency proof from a size that it has seen
     * @throws Error for people when it cannot be reached, refuses, or answers nonsense
     */
    async cosign(
      checkpoint: AttestableCheckpoint,
      oldSize: number,
      prove: (oldSize: number) => Promise<readonly Hash[]>,
    ): Promise<Cosignature> {
      const submit = async (size: number): Promise<Answer> => {
        const proof: readonly Hash[] = size === 0 ? [] : await prove(size);
        return post(url, 'text/plain', formatAddCheckpoint(size, proof, checkpoint.note));
      };
      const answer = await submit(oldSize);
      const seen = sizeSeen(answer, oldSize, checkpoint);
      const last = seen === null ? answer : await submit(seen);
      return read(last, checkpoint, witness, verify);
    },
  };
}

/** The size from which the witness wants the proof, if it said that it has seen another than we thought. */
function sizeSeen(
  answer: Answer,
  oldSize: number,
  checkpoint: AttestableCheckpoint,
): number | null {
  const size = sizeOf(answer);
  if (size === null || size === oldSize) return null;
  if (size > checkpoint.size) {
    // It remembers more than we have: we were put back to an older state, or another has our key.
    throw new Error(`the witness has seen ${size} entries, we have ${checkpoint.size}`);
  }
  return size;
}

/** The size that a witness names with 409; null when its answer is another. */
function sizeOf({ status, contentType, body }: Answer): number | null {
  if (status !== 409 || contentType !== 'text/x.tlog.size') return null;
  return parseTreeSize(Buffer.from(body).toString());
}

function read(
  answer: Answer,
  { text }: AttestableCheckpoint,
  witness: Witness,
  verify: CosignatureCheck,
): Cosignature {
  if (answer.status !== 200) throw new Error(`the witness answered ${answer.status}`);
  return readCosignature(answer.body, text, witness, verify);
}
