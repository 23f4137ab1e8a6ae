export type JsonObject = Record<string, unknown>;

/** The parsed body of a request. The api has validated it; what it does not name passes through and is untrusted here. */
export type Json = Readonly<JsonObject>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** A place in a list, which some servers write as text. */
export function placeOf(value: unknown): number | undefined {
  const place = typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(place) && (place as number) >= 0 ? (place as number) : undefined;
}

/** Whether a text is an object in JSON. */
export function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}
