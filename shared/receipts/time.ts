import { ReceiptRefusal } from './refusal.ts';

/** 9999-12-31T23:59:59.999Z: later years have five digits, which `xsd:dateTime` writers and readers disagree on. */
const TIME_MAX = 253_402_300_799_999;

let cachedSecond = -1;
let cachedText = '';

/**
 * Epoch milliseconds as `2026-11-20T09:38:04.123Z`, always 24 characters. The second's text is remembered: the
 * times of receipts cluster, and formatting one costs more than all else in building a document.
 */
export function timeText(ms: number, path: string): string {
  if (!Number.isSafeInteger(ms) || ms < 0 || ms > TIME_MAX) {
    throw new ReceiptRefusal('wrong_value', path, 'a time must be whole milliseconds since 1970');
  }
  const second = Math.floor(ms / 1_000);
  if (second !== cachedSecond) {
    cachedText = new Date(second * 1_000).toISOString().slice(0, 20);
    cachedSecond = second;
  }
  const rest = ms - second * 1_000;
  return `${cachedText}${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}Z`;
}
