import { invalidParam } from '#shared/kernel/errors.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { likenessOf } from '#api/openai/letter-case.ts';
import { type MediaUrls, namesAddressInside } from './modalities.ts';

/** Something beside the media of a request by which a server would fetch what the request names, and where it stands. */
export interface Fetched {
  field: string;
  place: string;
}

/** Tools that a server runs, and that reach nothing but what it keeps itself. Of any other it is not known what they reach. */
const REACHES_NOTHING =
  /^(?:apply_patch|bash|code_(?:execution|interpreter)|computer|computer_use_preview|file_search|image_generation|local_shell|memory|shell|str_replace_(?:based_edit|editor)|text_editor|tool_search(?:_tool_(?:bm25|regex))?)(?:_20\d{6})?$/;
/** What of a tool that runs code opens the network to it. */
const OPENS_NETWORK: ReadonlySet<string> = new Set(
  ['network_policy', 'allowed_domains', 'domain_secrets'].map(likenessOf),
);
/** Members by which a server searches or browses while it answers. */
const SEARCHES: ReadonlySet<string> = new Set(
  ['mcp_servers', 'plugins', 'search_parameters', 'web_search', 'web_search_options'].map(
    likenessOf,
  ),
);
/** Members that are texts or schemas of the caller's, or that other checks read: from an address in them nothing is fetched. */
const NOT_FETCHED: ReadonlySet<string> = new Set(
  [
    ['messages', 'input', 'prompt', 'system', 'instructions', 'suffix', 'prediction'],
    ['functions', 'response_format', 'text', 'output_config', 'output_format', 'stop'],
    ['stop_sequences', 'metadata', 'user', 'safety_identifier', 'prompt_cache_key'],
  ]
    .flat()
    .map(likenessOf),
);

const PLAIN_NAME = /^[a-z][a-z\d_]{0,63}$/;
/** What is said to be wrong where a member is none of the interface. */
const WHOLE = 'request';

/** The first of these in a validated request of any interface; undefined when there is none, as mostly. */
export function fetchedBy(body: JsonObject): Fetched | undefined {
  for (const name in body) {
    const value = body[name];
    if (value == null || value === false || typeof value === 'number') continue;
    const likeness = likenessOf(name);
    if (likeness === 'tools') {
      const place = reachingIn(value, 'tools');
      if (place !== undefined) return { field: 'tools', place };
    } else if (likeness === 'input') {
      const place = inItems(value);
      if (place !== undefined) return { field: 'input', place };
    } else if (NOT_FETCHED.has(likeness)) continue;
    else if (SEARCHES.has(likeness) || namesAddressInside({ [name]: value })) {
      // The caller's spelling may be any text.
      const place = PLAIN_NAME.test(name) ? name : WHOLE;
      return { field: WHOLE, place };
    }
  }
  return undefined;
}

/** Items of the input that bring tools: the caller's own, and those that a search is said to have found. */
const BRINGS_TOOLS: ReadonlySet<unknown> = new Set(['additional_tools', 'tool_search_output']);

/** Tools that an item of the input brings. */
function inItems(input: unknown): string | undefined {
  for (const [at, item] of listOf(input).entries()) {
    if (!isObject(item) || !BRINGS_TOOLS.has(item['type'])) continue;
    const place = reachingIn(item['tools'], `input[${at}].tools`);
    if (place !== undefined) return place;
  }
  return undefined;
}

function reachingIn(tools: unknown, path: string): string | undefined {
  for (const [at, tool] of listOf(tools).entries()) {
    if (!isObject(tool)) continue;
    const { type } = tool;
    const place = `${path}[${at}]`;
    // A chat's, a response's and a message's, which its caller runs.
    if (type == null || type === 'function' || type === 'custom') continue;
    if (type === 'namespace') {
      const inside = reachingIn(tool['tools'], `${place}.tools`);
      if (inside !== undefined) return inside;
    } else if (!reachesNothing(type) || namesAddressInside(tool) || opens(tool)) return place;
  }
  return undefined;
}

function reachesNothing(type: unknown): boolean {
  return typeof type === 'string' && REACHES_NOTHING.test(type);
}

function opens(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(opens);
  if (!isObject(value)) return false;
  return Object.entries(value).some(
    ([name, member]) => (member != null && OPENS_NETWORK.has(likenessOf(name))) || opens(member),
  );
}

/**
 * Refuses what has a server fetch for a caller, where only data are taken: it may reach what its caller cannot.
 * @throws Fault with the place
 */
export function checkFetched(taken: MediaUrls, fetched: Fetched | undefined): void {
  if (taken === 'any' || fetched === undefined) return;
  throw invalidParam(
    fetched.field,
    'Nothing is fetched here for a request: it may have no tool of a server that reaches other servers, and no address for one.',
    fetched.place,
  );
}
