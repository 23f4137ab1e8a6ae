import { foreignForm } from '#cli/foreign-form.ts';
import { readInput } from '#cli/input.ts';
import { utf8 } from '#cli/utf8.ts';
import { CannotJudge } from './cannot-judge.ts';

/** A did.json of thousands of keys. */
export const DID_BYTES_MAX = 4 * 1_048_576;

/** @throws CannotJudge with its name when it is no text */
export async function readText(path: string, bytesMax: number): Promise<string> {
  const bytes = await readInput(path, bytesMax);
  try {
    return utf8(bytes);
  } catch (error) {
    throw new CannotJudge(`${path} ${foreignForm(bytes) ?? 'is not UTF-8'}.`, error);
  }
}
