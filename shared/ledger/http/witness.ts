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
 * type 0x04.
 * @throws MalformedLedgerText, TypeError for what is neither
 */
export function createWitness(setting: string, verify: CosignatureCheck) {
  const [, prefix = ''] = setting.trim().split(/\s+/);
  const witness = witnessOf(setting);
  const url = `${new URL(prefix).href.replace(/\/+$/, '')}/add-checkpoint`;
  return {
    name: witness.name,
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
  if (answer.status !== 409 || answer.contentType !== 'text/x.tlog.size') return null;
  const size = parseTreeSize(Buffer.from(answer.body).toString());
  if (size === null || size === oldSize) return null;
  if (size > checkpoint.size) {
    // It remembers more than we have: we were put back to an older state, or another has our key.
    throw new Error(`the witness has seen ${size} entries, we have ${checkpoint.size}`);
  }
  return size;
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
