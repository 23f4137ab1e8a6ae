import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import type { Medium } from '#api/inference/modalities.ts';

const DATA_URL = /^data:/i;

/**
 * The first block of each kind of medium in the validated messages of a request for a message, here and elsewhere, with
 * those inside what a tool returned and inside documents; undefined when there is none.
 */
export function mediaInBlocks(messages: unknown): Medium[] | undefined {
  const media: Medium[] = [];
  for (const [at, message] of listOf(messages).entries())
    if (isObject(message)) addMedia(message['content'], `messages[${at}].content`, media);
  return media.length === 0 ? undefined : media;
}

function addMedia(content: unknown, path: string, media: Medium[]): void {
  for (const [at, block] of listOf(content).entries()) {
    if (!isObject(block)) continue;
    const here = `${path}[${at}]`;
    const source = isObject(block['source']) ? block['source'] : {};
    const modality = modalityOf(block, source);
    if (modality !== undefined) {
      const isElsewhere = source['type'] === 'url' && !DATA_URL.test(String(source['url']));
      const isKnown = media.some(
        (one) => one.modality === modality && one.isElsewhere === isElsewhere,
      );
      if (!isKnown) media.push({ modality, isElsewhere, param: here });
    }
    addMedia(block['content'], `${here}.content`, media);
    addMedia(source['content'], `${here}.source.content`, media);
  }
}

/** As the catalogue calls it. A document that is a text is none. */
function modalityOf({ type }: JsonObject, source: JsonObject): string | undefined {
  if (type === 'image') return 'image';
  const isFile = source['type'] === 'base64' || source['type'] === 'url';
  return type === 'document' && isFile ? 'file' : undefined;
}
