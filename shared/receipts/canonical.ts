import { canonicalJson, type Json } from '#shared/methodology/canonical-json.ts';
import { ReceiptRefusal } from './refusal.ts';

/** How `JSON.stringify` starts the escape of a lone surrogate: `\ud800`. It writes no other escape like it. */
const SURROGATE_ESCAPE = '\\ud';

/**
 * The canonical form (RFC 8785) of a document whose fields already stand in canonical order, at the price of
 * `JSON.stringify`.
 * @throws ReceiptRefusal `lone_surrogate`: the one thing that `JSON.stringify` writes and RFC 8785 forbids.
 */
export function orderedJson(document: object): string {
  const text = JSON.stringify(document);
  // Also found in an escaped backslash before `ud`; only then is every text looked at.
  return text.includes(SURROGATE_ESCAPE) ? sortedJson(document) : text;
}

/**
 * The canonical form of any document that JSON can say.
 * @throws ReceiptRefusal `lone_surrogate`
 */
export function sortedJson(document: object): string {
  try {
    return canonicalJson(document as Json);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new ReceiptRefusal('lone_surrogate', '', cause.message);
  }
}
