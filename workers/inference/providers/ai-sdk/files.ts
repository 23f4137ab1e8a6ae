import type { LanguageModelV4FilePart } from '@ai-sdk/provider';
import { isObject, type Json, textOf } from '#shared/kernel/json-object.ts';
import { Untranslatable } from './untranslatable.ts';

/** Whether the provider itself fetches a url of this media type; the gateway never fetches what a caller names. */
export type TakesUrl = (mediaType: string, url: string) => boolean;

/** The kinds of part that carry media, with where their data is and what it is taken for. */
const URL_PARTS: Readonly<Record<string, string>> = {
  image_url: 'image/*',
  audio_url: 'audio/*',
  video_url: 'video/*',
};

/** OpenAI names formats, IANA media types. */
const AUDIO_TYPES: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', wav: 'audio/wav' };

/** What stands before the comma of a data URL. */
const HEAD_CHARS_MAX = 1_024;
const HEAD = /^data:([^;,]*)(?:;[^;,]*)*;base64$/;
const BASE64 = /^[A-Za-z0-9+/_\s-]*={0,2}\s*$/;

/** A media part of a message, or null when the part is none. @throws Untranslatable */
export function filePart(
  part: Json,
  at: string,
  takesUrl: TakesUrl,
): LanguageModelV4FilePart | null {
  const type = textOf(part['type']) ?? '';
  const inside = part[type];
  const member = isObject(inside) ? inside : {};
  const mediaType = URL_PARTS[type];
  if (mediaType !== undefined) {
    return fromUrl(textOf(member['url']) ?? '', mediaType, `${at}.${type}.url`, takesUrl);
  }
  if (type === 'input_audio') {
    const format = textOf(member['format']) ?? 'wav';
    const data = textOf(member['data']) ?? '';
    return {
      type: 'file',
      mediaType: AUDIO_TYPES[format] ?? `audio/${format}`,
      data: { type: 'data', data: base64(data, `${at}.input_audio.data`) },
    };
  }
  return type === 'file' ? fromFile(member, `${at}.file`) : null;
}

function fromUrl(
  url: string,
  mediaType: string,
  at: string,
  takesUrl: TakesUrl,
): LanguageModelV4FilePart {
  const inline = fromDataUrl(url, at);
  if (inline !== null) return inline;
  if (!URL.canParse(url) || !takesUrl(mediaType, url)) {
    throw new Untranslatable(at, 'This model takes media as base64 data URLs only.');
  }
  return { type: 'file', mediaType, data: { type: 'url', url: new URL(url) } };
}

function fromFile(member: Json, at: string): LanguageModelV4FilePart {
  const data = textOf(member['file_data']);
  if (data === undefined) {
    throw new Untranslatable(`${at}.file_id`, 'This model takes files as `file_data` only.');
  }
  const part = fromDataUrl(data, `${at}.file_data`);
  if (part === null) {
    throw new Untranslatable(`${at}.file_data`, 'File data must be a base64 data URL.');
  }
  const filename = textOf(member['filename']);
  return filename === undefined ? part : { ...part, filename };
}

function fromDataUrl(url: string, at: string): LanguageModelV4FilePart | null {
  const comma = url.slice(0, HEAD_CHARS_MAX).indexOf(',');
  const found = comma === -1 ? null : HEAD.exec(url.slice(0, comma));
  if (found === null) return null;
  const mediaType = found[1] === '' ? 'application/octet-stream' : found[1]!;
  return {
    type: 'file',
    mediaType,
    data: { type: 'data', data: base64(url.slice(comma + 1), at) },
  };
}

/** Libraries take other text apart in their own ways, some by an error. @throws Untranslatable */
function base64(data: string, at: string): string {
  if (BASE64.test(data)) return data;
  throw new Untranslatable(at, 'The data are not base64.');
}
