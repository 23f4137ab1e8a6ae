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

const DATA_URL = /^data:([^;,]*)(?:;[^;,]*)*;base64,/;

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
      data: { type: 'data', data },
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
  const inline = fromDataUrl(url);
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
  const part = fromDataUrl(data);
  if (part === null) {
    throw new Untranslatable(`${at}.file_data`, 'File data must be a base64 data URL.');
  }
  const filename = textOf(member['filename']);
  return filename === undefined ? part : { ...part, filename };
}

function fromDataUrl(url: string): LanguageModelV4FilePart | null {
  const found = DATA_URL.exec(url);
  if (found === null) return null;
  return {
    type: 'file',
    mediaType: found[1] === '' ? 'application/octet-stream' : found[1]!,
    data: { type: 'data', data: url.slice(found[0].length) },
  };
}
