import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { fittingName, shortenedName, toolNamesOf } from './tool-names.ts';

/**
 * The tools of a request for a response, at a server of chat completions: its caller runs functions and custom tools, which
 * are functions there, and those of a namespace have a longer name. What the server would have to run by itself is left out.
 */
export interface ChatTools {
  /** What the server gets, each with the name that it is to be called by there. */
  readonly tools: readonly { readonly name: string; readonly tool: JsonObject }[];
  /** Which of them may be called, in the words of responses; undefined where that is not said. */
  readonly choice: unknown;
  /** The types that were left out, in the order in which they came. */
  readonly ignored: readonly string[];
  /** The name at the server of a tool that its caller knows by these names. */
  readonly nameOf: (name: unknown, namespace?: unknown) => unknown;
  /** What the caller knows a tool by that the server calls by this name. */
  readonly callerNameOf: (name: string) => CallerName;
}

/** What a caller knows a tool by. */
interface CallerName {
  readonly name: string;
  readonly namespace?: string;
  /** It takes any text, which is an argument at the server. */
  readonly isCustom?: true;
}

/** Between a namespace and a name: chat servers take letters, digits, `_` and `-`. */
const SEPARATOR = '__';
/** OpenAI's bound of a value of `metadata`. */
const METADATA_VALUE_CHARS_MAX = 512;

/** Whether a caller runs tools of this type. */
function isCallers(type: unknown): boolean {
  return type === 'function' || type === 'custom';
}

/** The member of `metadata` in which an answer names the types of tools that were left out of its request. */
export const IGNORED_TOOLS = 'ignored_tools';
/** Where the caller's own value of that name is, when ours stands in its place. */
const CALLERS_IGNORED_TOOLS = 'ignored_tools_of_request';

/** The `metadata` of an answer: that of its request, with what was left out. Where nothing was, it is the caller's alone. */
export function answeredMetadata(asked: JsonObject, ignored: readonly string[]): JsonObject {
  if (ignored.length === 0) return asked;
  const named = namedIgnored(ignored);
  const theirs = asked[IGNORED_TOOLS];
  const isTheirs = theirs !== undefined && theirs !== named;
  return {
    ...asked,
    [IGNORED_TOOLS]: named,
    ...(isTheirs ? { [CALLERS_IGNORED_TOOLS]: theirs } : {}),
  };
}

/** Reads the tools of a validated request. */
export function chatToolsOf({ tools, tool_choice: choice, input }: JsonObject): ChatTools {
  const added = listOf(input).filter(
    (item) => isObject(item) && item['type'] === 'additional_tools',
  );
  const given = [tools, ...added.map((item) => (item as JsonObject)['tools'])]
    .flatMap(listOf)
    .filter(isObject);
  const plain = given.filter(({ type }) => isCallers(type));
  const ofPlain = toolNamesOf(plain.map(({ name }) => String(name)));
  const names = new Set(ofPlain.taken);
  const chatNames = new Map<string, string>();
  const callerNames = new Map<string, CallerName>();
  /** What the first tool of a namespace is called that has this name there. */
  const inside = new Map<string, string>();
  const taken: { name: string; tool: JsonObject }[] = [];
  const take = (name: string, tool: JsonObject, caller: CallerName): void => {
    taken.push({ name, tool });
    callerNames.set(name, tool['type'] === 'custom' ? { ...caller, isCustom: true } : caller);
  };
  const ignored = new Set<string>();
  for (const tool of given) {
    const ownName = String(tool['name']);
    if (isCallers(tool['type'])) take(ofPlain.nameOf(ownName), tool, { name: ownName });
    else if (tool['type'] !== 'namespace') ignored.add(String(tool['type']));
    else
      for (const one of listOf(tool['tools']).filter(isObject)) {
        if (!isCallers(one['type'])) {
          ignored.add(String(one['type']));
          continue;
        }
        const [name, namespace] = [String(one['name']), ownName];
        const joined = joinedName(namespace, name);
        const free = names.has(joined) ? shortenedName(joined, `${namespace}\n${name}`) : joined;
        names.add(free);
        chatNames.set(`${namespace}\n${name}`, free);
        if (!inside.has(name)) inside.set(name, free);
        take(free, one, { name, namespace });
      }
  }
  // Each of thousands of calls asks for one of thousands of tools.
  const declared = new Set(plain.map(({ name }) => name));
  const nameOf = (name: unknown, namespace?: unknown): unknown => {
    if (typeof name !== 'string') return name;
    if (typeof namespace === 'string' && namespace !== '')
      return chatNames.get(`${namespace}\n${name}`) ?? joinedName(namespace, name);
    if (declared.has(name)) return ofPlain.nameOf(name);
    if (names.has(name)) return name;
    // A choice has no member for the namespace.
    return inside.get(name) ?? fittingName(name);
  };
  return {
    tools: taken,
    choice: choiceAmong(taken.length, ignored.size, choice),
    ignored: [...ignored],
    nameOf,
    callerNameOf: (name) => callerNames.get(name) ?? { name },
  };
}

/** The names of what was left out, as a value of `metadata`. */
export function namedIgnored(ignored: readonly string[]): string {
  let named = '';
  for (const type of ignored) {
    const next = named === '' ? type : `${named},${type}`;
    if (next.length > METADATA_VALUE_CHARS_MAX) continue;
    named = next;
  }
  return named;
}

function joinedName(namespace: string, name: string): string {
  const between = namespace.endsWith(SEPARATOR) ? '' : SEPARATOR;
  return fittingName(`${namespace}${between}${name}`);
}

/** A choice of what was left out is a free one. */
function choiceAmong(left: number, ignored: number, choice: unknown): unknown {
  if (ignored > 0 && left === 0) return 'none';
  if (choice == null) return undefined;
  if (!isObject(choice) || isCallers(choice['type'])) return choice;
  if (choice['type'] !== 'allowed_tools') return 'auto';
  const tools = listOf(choice['tools']).filter(isObject);
  const allowed = tools.filter(({ type }) => isCallers(type) || type === 'namespace');
  if (allowed.length === 0) return 'auto';
  return allowed.length === tools.length ? choice : { ...choice, tools: allowed };
}

/** The names at the server of the tools of a choice, each once, a namespace standing for all that it has. */
export function allowedIn(
  choice: JsonObject,
  { tools, nameOf, callerNameOf }: ChatTools,
): unknown[] {
  const inNamespaces = Map.groupBy(tools, ({ name }) => callerNameOf(name).namespace as unknown);
  const allowed = new Set<unknown>();
  for (const { type, name, namespace } of listOf(choice['tools']).filter(isObject)) {
    if (type !== 'namespace') allowed.add(nameOf(name, namespace));
    else {
      for (const one of inNamespaces.get(name) ?? []) allowed.add(one.name);
      // It is there as a whole now.
      inNamespaces.delete(name);
    }
  }
  return [...allowed];
}
