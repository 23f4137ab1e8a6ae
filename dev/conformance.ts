/**
 * docs/conformance.md: what the service promises, rule by rule. The page is the list of the rules; a test says which of
 * them it proves by their ids at the end of its title: `it('refuses a revoked key [keys.revoked]', …)`.
 * `node dev/conformance.ts` writes the last column of the page, the tests, from their sources.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
export const CONFORMANCE_PAGE = join(ROOT, 'docs/conformance.md');

/** A row of the page: id, sentence, and what was last found to prove it. */
const ROW = /^\| `([a-z0-9_.-]+)` \| (.*?(?<!\\)) \| .*\|$/gm;

/** A test's title, and the ids at its end. */
const PROVING = /(['"`])((?:\\.|(?!\1)[^\\\n])+) \[([a-z0-9-]+\.[a-z0-9_.,\s-]+)\]\1/g;

export interface Rule {
  id: string;
  /** The promise, in a sentence. */
  sentence: string;
}

export interface Proof {
  /** The test's file, relative to test/. */
  file: string;
  title: string;
  /** Ids of the rules that it proves. */
  rules: readonly string[];
}

export function readRules(page = readFileSync(CONFORMANCE_PAGE, 'utf8')): Rule[] {
  return [...page.matchAll(ROW)].map(([, id = '', sentence = '']) => ({ id, sentence }));
}

/** Every test that names a rule, by files and in the order of their sources: those of a shared product are parts of a file. */
export function readProofs(): Proof[] {
  const paths = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' });
  const tests = paths.filter((path) => path.endsWith('.ts')).toSorted();
  return tests.flatMap((path) => {
    const source = readFileSync(join(ROOT, 'test', path), 'utf8');
    return [...source.matchAll(PROVING)].map(([, , title = '', ids = '']) => ({
      file: path.replaceAll('\\', '/'),
      title: title.replaceAll(/\\(.)/g, '$1'),
      rules: ids.split(', '),
    }));
  });
}

/** The page with its last column as the tests say it. */
export function withProofs(page: string, proofs: readonly Proof[]): string {
  return page.replaceAll(ROW, (_row, id: string, sentence: string) => {
    const files = Map.groupBy(
      proofs.filter(({ rules }) => rules.includes(id)),
      ({ file }) => file,
    );
    const cell = [...files].map(
      ([file, tests]) =>
        `[${file.replace(/(\.test)?\.ts$/, '')}](../test/${file}): ${tests.map(({ title }) => `*${readable(title)}*`).join(' · ')}`,
    );
    return `| \`${id}\` | ${sentence} | ${cell.join('<br>')} |`;
  });
}

/** The title of a table of tests has places for what differs. */
function readable(title: string): string {
  return title
    .replaceAll(/\$\{\w+\}|%[a-z]/g, '…')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .replaceAll('*', '\\*');
}

if (import.meta.main) {
  const page = readFileSync(CONFORMANCE_PAGE, 'utf8');
  writeFileSync(CONFORMANCE_PAGE, withProofs(page, readProofs()));
}
