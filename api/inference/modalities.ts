import type { Model } from '#shared/catalogue/catalogue.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { isObject, type JsonObject } from '#shared/kernel/json-object.ts';

/** The types of content parts that hold a medium, with what the catalogue calls it. */
const MODALITY_OF_PART: ReadonlyMap<unknown, string> = new Map([
  ['image_url', 'image'],
  ['input_audio', 'audio'],
  ['audio_url', 'audio'],
  ['video_url', 'video'],
  ['file', 'file'],
  ['input_image', 'image'],
  ['input_file', 'file'],
]);

/** Which URLs of media requests may have: any, or only those that bring their data. */
export type MediaUrls = 'any' | 'data';

/** A content part that holds a medium, and where it stands: `messages[2].content[1]`. */
export interface Medium {
  /** Absent for a part of another type that names an address all the same. */
  modality?: string | undefined;
  /** An upstream would have to fetch it. */
  isElsewhere: boolean;
  param: string;
}

/**
 * The first part of each kind of medium in validated messages or items, which stand in `field`, here and elsewhere;
 * undefined when there is none, as mostly.
 */
export function mediaIn(
  field: string,
  messages: readonly { type?: unknown; content?: unknown; output?: unknown }[],
): Medium[] | undefined {
  let media: Medium[] | undefined;
  for (const [index, message] of messages.entries()) {
    for (const member of ['content', 'output'] as const) {
      const content = message[member];
      if (typeof content !== 'object' || content === null) continue;
      // What a hosted tool put out may be one part.
      const parts = Array.isArray(content) ? content : [content];
      for (const [at, part] of (parts as unknown[]).entries()) {
        if (!isObject(part)) continue;
        const modality = MODALITY_OF_PART.get(part['type']);
        const isElsewhere = namesAddress(part) || namesStrangely(part);
        if (modality === undefined && !isElsewhere) continue;
        const isKnown = media?.some(
          (one) => one.modality === modality && one.isElsewhere === isElsewhere,
        );
        if (isKnown === true) continue;
        media ??= [];
        media.push({ modality, isElsewhere, param: `${field}[${index}].${member}[${at}]` });
      }
    }
  }
  return media;
}

/** Parts that are texts: what they cite may have an address. */
const TEXT_PARTS: ReadonlySet<unknown> = new Set([
  undefined,
  'text',
  'input_text',
  'output_text',
  'refusal',
]);

/** Whether a part that is no text names an address in a member that is not known. */
function namesStrangely(part: JsonObject): boolean {
  return !TEXT_PARTS.has(part['type']) && namesAddressInside(part);
}

const DATA_URL = /^data:/i;
/** Base64 has no colon. */
const ADDRESS = /^\s*[a-z][a-z\d+.-]*:/i;

/** Whether a part has a URL without data, in whichever member a server may look for one. */
function namesAddress(part: JsonObject): boolean {
  for (const name of ['image_url', 'audio_url', 'video_url', 'file_url']) {
    const member = part[name];
    const url = isObject(member) ? member['url'] : member;
    if (typeof url === 'string' && !DATA_URL.test(url)) return true;
  }
  for (const name of ['file', 'file_data', 'input_audio']) {
    const member = part[name];
    const { file_data, file_url, file_id, data, url } = isObject(member)
      ? member
      : { data: member };
    for (const value of [file_data, file_url, file_id, data, url])
      if (typeof value === 'string' && ADDRESS.test(value) && !DATA_URL.test(value)) return true;
  }
  return false;
}

/** Whether anything in a value whose meaning is not known is an address without data: by its name, or by how it looks. */
export function namesAddressInside(value: unknown, called = ''): boolean {
  if (typeof value === 'string') {
    if (WITH_HOST.test(value) || (MEDIUM_NAME.test(called) && BEGINS_WITH_HOST.test(value)))
      return true;
    // A server fetches what stands there, and adds a scheme that is missing.
    return URL_NAME.test(called) && /\S/.test(value) && !DATA_URL.test(value);
  }
  if (Array.isArray(value)) return value.some((one) => namesAddressInside(one, called));
  if (!isObject(value)) return false;
  return Object.entries(value).some(([name, member]) => namesAddressInside(member, name));
}

const URL_NAME = /ur[il]$/i;
/** Names under which servers look for a medium: clients fetch from an address with spaces too. */
const MEDIUM_NAME = /(?:image|audio|video|file|source|src)s?$/i;
const BEGINS_WITH_HOST = /^\s*[a-z][a-z\d+.-]*:\/\//i;
/** An address, also one without a scheme, and no text that begins with one. No base64 has a point or a colon. */
const WITH_HOST = /^\s*(?:[a-z][a-z\d+.-]*:\/\/\S*|\/\/[^\s/]*[.:]\S*)\s*$/i;

/**
 * Refuses media that an upstream would have to fetch, where only data are taken: it may reach what its caller cannot.
 * @throws Fault `invalid_messages` or `invalid_input`
 */
export function checkAddresses(
  taken: MediaUrls,
  field: string,
  media: readonly Medium[] | undefined,
): void {
  if (taken === 'any') return;
  const refused = media?.find(({ isElsewhere }) => isElsewhere);
  if (refused === undefined) return;
  throw invalidParam(
    field,
    'Media must be `data:` URLs: nothing is fetched from an address that a request names.',
    refused.param,
  );
}

/**
 * Refuses parts of a kind that the model does not take, where the catalogue says what it takes: servers answer such a
 * request with a fault of their own, and after a few of them look broken.
 * @throws Fault `unsupported_modality`
 */
export function checkModalities(
  { id, modalities }: Model,
  media: readonly Medium[] | undefined,
): void {
  const refused =
    modalities &&
    media?.find(({ modality }) => modality !== undefined && !modalities.includes(modality));
  if (refused === undefined) return;
  throw new Fault('unsupported_modality', {
    values: { model: id, modalities: modalities!.join(', ') },
    param: refused.param,
  });
}
