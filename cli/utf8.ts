import { foreignForm } from './foreign-form.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';

/** @throws MalformedData `not_utf8` */
export function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new MalformedData('not_utf8', '', `The input ${foreignForm(bytes) ?? 'is not UTF-8'}.`);
  }
}

/** A text, without the byte order mark that may stand before it. @throws MalformedData `not_utf8` */
export function textIn(source: Uint8Array | string): string {
  return typeof source === 'string' ? source.replace(/^\uFEFF/, '') : utf8(source);
}
