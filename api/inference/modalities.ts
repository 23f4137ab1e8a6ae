import type { Model } from '#shared/catalogue/catalogue.ts';
import { Fault } from '#shared/kernel/errors.ts';

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

/** A content part that holds a medium, and where it stands: `messages[2].content[1]`. */
export interface Medium {
  modality: string;
  param: string;
}

/**
 * The first part of each kind of medium in validated messages or items, which stand in `field`; undefined when there is
 * none, as mostly.
 */
export function mediaIn(
  field: string,
  messages: readonly { type?: unknown; content?: unknown; output?: unknown }[],
): Medium[] | undefined {
  let media: Medium[] | undefined;
  for (const [index, message] of messages.entries()) {
    for (const member of ['content', 'output'] as const) {
      const content = message[member];
      if (!Array.isArray(content)) continue;
      for (const [at, part] of (content as { type: unknown }[]).entries()) {
        const modality = MODALITY_OF_PART.get(part.type);
        if (modality === undefined || media?.some((one) => one.modality === modality)) continue;
        media ??= [];
        media.push({ modality, param: `${field}[${index}].${member}[${at}]` });
      }
    }
  }
  return media;
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
  const refused = modalities && media?.find(({ modality }) => !modalities.includes(modality));
  if (refused === undefined) return;
  throw new Fault('unsupported_modality', {
    values: { model: id, modalities: modalities!.join(', ') },
    param: refused.param,
  });
}
