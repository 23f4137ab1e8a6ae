import { canonicalJson, type Json } from '#shared/kernel/canonical-json.ts';
import { checkJson } from '#shared/receipts/bounds.ts';

/**
 * The value of a text from anyone; undefined for what is not canonical JSON, or more of it than can be looked at. The text
 * holds nothing else: no member twice, no white space.
 */
export function canonicalValue(text: string): Json | undefined {
  try {
    checkJson(text);
    const value = JSON.parse(text) as Json;
    return canonicalJson(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}
