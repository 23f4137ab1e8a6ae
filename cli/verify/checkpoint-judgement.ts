import { parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { encodeBase64, MalformedLedgerText } from '#shared/ledger/notes.ts';
import { count } from '#shared/methodology/readable.ts';
import { CannotJudge } from './cannot-judge.ts';
import { headSigner } from './head-signer.ts';
import type { Trust } from './judge-receipt.ts';
import { type Judgement, judgementOf } from './judgement.ts';
import { headline } from './said.ts';

/** Whether a text is a signed note, as checkpoints are: an empty line, then signatures. JSON may hold these in a text. */
export function isNote(text: string): boolean {
  return !text.trimStart().startsWith('{') && /\n\n— \S/.test(text);
}

/**
 * Judges a signed head of a ledger, of the audit log or of the anchor.
 * @param file what it is called
 * @throws CannotJudge when it is none, or there are no keys
 */
export function checkpointJudgement(
  text: string,
  { keys, source, isChosen }: Trust,
  file: string,
): Judgement {
  const { note, checkpoint } = read(text, file);
  const { origin, size, root } = checkpoint;
  if (keys.size === 0)
    throw new CannotJudge(`A signed head needs the keys of its issuer: ${source}.`);
  // A head of ours has three lines.
  const kid = checkpoint.extensions.length > 0 ? undefined : headSigner(note, keys)?.[0];
  const verdict = kid === undefined ? 'bad' : isChosen ? 'good' : 'intact';
  const message =
    kid === undefined
      ? 'No key of the issuer that signs heads has signed this one.'
      : 'The signed head is what its issuer signed.';
  const facts = {
    ...(kid === undefined ? { reason: 'checkpoint_invalid' } : { 'signed by': kid }),
    trusted: source,
    log: origin,
    entries: count(size),
  };
  const shows = [
    `This shows that the log had these ${count(size)} entries when it was signed: keep it, and no entry before it can be changed unseen.`,
    'It does not show which entries those are, nor when it was signed.',
  ];
  return judgementOf(
    {
      verdict,
      headline: headline(verdict, message, { file }),
      facts,
      details: { root: encodeBase64(root) },
      closing: kid === undefined ? [] : shows,
    },
    {
      verdict,
      code: kid === undefined ? 'checkpoint_invalid' : 'good',
      message,
      trusted: source,
      kid: kid ?? null,
      log: origin,
      size,
      root: encodeBase64(root),
    },
  );
}

function read(text: string, file: string): ReturnType<typeof parseCheckpoint> {
  try {
    return parseCheckpoint(text);
  } catch (error) {
    if (!(error instanceof MalformedLedgerText)) throw error;
    throw new CannotJudge(`${file} is no signed head: ${error.message}`, error);
  }
}
