import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { isBlockSaid } from '#shared/dialects/chat-of-message.ts';
import { type Medium, namesAddressInside } from '#api/inference/modalities.ts';

const DATA_URL = /^data:/i;

/**
 * The first block of each kind of medium in the validated messages and system of a request for a message, here and elsewhere,
 * with those inside what a tool returned and inside documents; undefined when there is none.
 */
export function mediaInBlocks(messages: unknown, system?: unknown): Medium[] | undefined {
  const media: Medium[] = [];
  addMedia(system, 'system', media);
  for (const [at, message] of listOf(messages).entries())
    if (isObject(message)) addMedia(message['content'], `messages[${at}].content`, media);
  return media.length === 0 ? undefined : media;
}

/** @param isServers it is in what a tool of a server gave, which tells of addresses that nothing is fetched from */
function addMedia(content: unknown, path: string, media: Medium[], isServers = false): void {
  for (const [at, block] of listOf(content).entries()) {
    if (!isObject(block)) continue;
    const here = `${path}[${at}]`;
    const source = isObject(block['source']) ? block['source'] : {};
    const modality = modalityOf(block, source);
    const isElsewhere =
      isServers || isBlockSaid(block, true)
        ? source['type'] === 'url' && !DATA_URL.test(String(source['url']))
        : namesAddressInside(block);
    if (modality !== undefined || isElsewhere) {
      const isKnown = media.some(
        (one) => one.modality === modality && one.isElsewhere === isElsewhere,
      );
      if (!isKnown) media.push({ modality, isElsewhere, param: here });
    }
    const isInside = isServers || (isBlockSaid(block, true) && !isBlockSaid(block, false));
    addMedia(block['content'], `${here}.content`, media, isInside);
    addMedia(source['content'], `${here}.source.content`, media);
  }
}

/** The sources of documents that are texts. */
const TEXTS: ReadonlySet<unknown> = new Set(['text', 'content']);

/** As the catalogue calls it. A document that is a text is none. */
function modalityOf({ type }: JsonObject, source: JsonObject): string | undefined {
  if (type === 'image') return 'image';
  return type === 'document' && !TEXTS.has(source['type']) ? 'file' : undefined;
}
