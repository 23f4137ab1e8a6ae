import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, Scalar, visit } from 'yaml';
import type { Document, Node } from 'yaml';
import type { CatalogueProblem, Path } from './problem.ts';

/** A YAML file as a plain value that still knows on which line each part of it stands. */
export interface YamlDocument {
  value: unknown;
  /** The line of the value at this path, of its key where it has one, or of the nearest parent that exists. */
  lineOf(path: Path): number;
}

/** Reads the text; `variable` gives the values of `${NAME}`. Problems with syntax or variables come instead of a document. */
export function readYaml(
  text: string,
  variable: (name: string) => string | undefined,
): YamlDocument | { problems: CatalogueProblem[] } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: '1.2' });
  const lineAt = (offset: number): number => Math.max(1, lines.linePos(offset).line);
  const problems = [...document.errors, ...document.warnings].map((error): CatalogueProblem => ({
    line: lineAt(error.pos[0]),
    path: '',
    message: error.message,
  }));
  if (problems.length === 0) problems.push(...expand(document, variable, lineAt));
  if (problems.length > 0) return { problems };
  try {
    return { value: document.toJS(), lineOf: (path) => lineAt(offsetOf(document, path)) };
  } catch (error) {
    // Aliases of aliases that would grow beyond the parser's bound.
    return { problems: [{ line: 1, path: '', message: (error as Error).message }] };
  }
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;

/** Puts the values of variables into the document's strings, in place. */
function expand(
  document: Document,
  variable: (name: string) => string | undefined,
  lineAt: (offset: number) => number,
): CatalogueProblem[] {
  const problems: CatalogueProblem[] = [];
  visit(document, {
    Scalar(key, node) {
      if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('${')) return;
      const report = (message: string) =>
        problems.push({ line: lineAt(node.range?.[0] ?? 0), path: '', message });
      const expanded = node.value.replaceAll(VARIABLE, (_whole, name: string) => {
        const value = variable(name);
        if (value === undefined) report(`the environment variable ${name} is not set`);
        return value ?? '';
      });
      // Left over from the file, not from a value: `${A:-b}` and the like would otherwise reach an upstream as they are.
      if (node.value.replaceAll(VARIABLE, '').includes('${')) {
        report('only ${NAME} is replaced, with letters, digits and underscores in the name');
      }
      // Without quotes, a number in a variable is a number, as it would be in the file.
      const isNumber = node.type === Scalar.PLAIN && NUMBER.test(expanded);
      node.value = isNumber ? Number(expanded) : expanded;
    },
  });
  return problems;
}

function offsetOf(document: Document, path: Path): number {
  let node: unknown = document.contents;
  let offset = (node as Node | null)?.range?.[0] ?? 0;
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document);
    const next = stepInto(node, step);
    if (next === undefined) return offset;
    node = next.node;
    offset = next.offset ?? offset;
  }
  return offset;
}

function stepInto(
  node: unknown,
  step: string | number,
): { node: unknown; offset: number | undefined } | undefined {
  if (isSeq(node) && typeof step === 'number') {
    const item = node.items[step] as Node | undefined;
    return item === undefined ? undefined : { node: item, offset: item.range?.[0] };
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
  return pair === undefined
    ? undefined
    : { node: pair.value, offset: (pair.key as Scalar).range?.[0] };
}
