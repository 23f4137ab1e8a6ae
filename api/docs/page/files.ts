import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A file that a page loads; its address changes when it does. */
export interface PageFile {
  path: string;
  type: string;
  text: string;
}

const file = (name: string, type: string): PageFile => ({
  path: `/docs/${name}`,
  type,
  text: readFileSync(new URL(name, import.meta.url), 'utf8'),
});

export const STYLESHEET = file('docs.css', 'text/css');
export const SEARCH_SCRIPT = file('search.js', 'text/javascript');
export const CONSOLE_SCRIPT = file('console.js', 'text/javascript');

export function addressOf({ path, text }: PageFile): string {
  return `${path}?v=${hash('sha256', text).slice(0, 10)}`;
}
