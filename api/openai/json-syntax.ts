import { skipSpace, stringEnd } from '#shared/kernel/json-text.ts';

/**
 * Questions about a JSON text that the built-in parser does not answer: how deep it is (before it is parsed:
 * millions of nested brackets take seconds), and whether a name repeats.
 */

const QUOTE = 0x22;
const COLON = 0x3a;
/** With this bit set, `[` and `{` are the same character, and so are `]` and `}`. */
const BRACE_BIT = 0x20;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * One pass over any text: how many members its objects have (a colon outside strings is a member) and whether it is
 * nested deeper than `depthMax`. Strings are jumped over with indexOf, so long prompts and images cost almost nothing.
 */
export function scanStructure(
  text: string,
  depthMax: number,
): { members: number; tooDeep: boolean } {
  let members = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) - 1;
    else if (code === COLON) members += 1;
    else if ((code | BRACE_BIT) === OPEN) {
      depth += 1;
      if (depth > depthMax) return { members, tooDeep: true };
    } else if ((code | BRACE_BIT) === CLOSE) depth -= 1;
  }
  return { members, tooDeep: false };
}

/** Where a member name of a valid JSON text stands for the second time in its object; -1 when all are unique. */
export function repeatedMember(text: string): number {
  const names: Set<string>[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if ((code | BRACE_BIT) === OPEN) names.push(new Set());
    else if ((code | BRACE_BIT) === CLOSE) names.pop();
    if (code !== QUOTE) continue;
    const end = stringEnd(text, at);
    if (text.charCodeAt(skipSpace(text, end)) === COLON) {
      const name = JSON.parse(text.slice(at, end)) as string;
      const seen = names.at(-1)!;
      if (seen.has(name)) return at;
      seen.add(name);
    }
    at = end - 1;
  }
  return -1;
}
