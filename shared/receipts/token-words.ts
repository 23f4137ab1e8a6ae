import { count } from '#shared/methodology/readable.ts';
import type { ReceiptDocument } from './document.ts';

type Subject = ReceiptDocument['credentialSubject'];

/** The tokens that a receipt states, in words: how many, who counted them, and between what they lie. */
export function tokenWords(subject: Subject): { tokens: string; counted: string } {
  const { inputTokens, outputTokens } = subject;
  if (inputTokens === undefined && outputTokens === undefined)
    return { tokens: 'not known', counted: '' };
  const tokens = `${known(inputTokens)} in, ${known(outputTokens)} out`;
  return { tokens, counted: countedBy(subject) };
}

function known(tokens: number | undefined): string {
  return tokens === undefined ? 'not known' : count(tokens);
}

function countedBy(subject: Subject): string {
  const { usageSource } = subject;
  if (usageSource === 'upstream') return 'as the upstream counted';
  if (usageSource !== 'counted') return '';
  const { tokenInterval: between } = subject;
  const how = subject.extrapolated
    ? 'as we counted a part and estimated the rest'
    : 'as we counted';
  if (between === undefined) return how;
  const { inputLower, inputUpper, outputLower, outputUpper } = between;
  return `${how}: ${spanOf(inputLower, inputUpper)} in, ${spanOf(outputLower, outputUpper)} out`;
}

function spanOf(lower: number, upper: number): string {
  return lower === upper ? count(lower) : `${count(lower)}–${count(upper)}`;
}
