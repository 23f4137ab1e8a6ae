import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Picture } from '../page/markdown.ts';
import type { GuideFile } from './guides.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** The pages for people who use, judge and run the service; the code of this repository is no part of them. */
const PAGES = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'docs/**/*.md'];
const PICTURES = ['docs/*.svg', 'docs/pictures/*.webp'];

/** By their paths in the repository, which are those in the package and the image too. */
export function readGuideFiles(): GuideFile[] {
  return globSync(PAGES, { cwd: ROOT })
    .map((name) => name.replaceAll('\\', '/'))
    .toSorted()
    .map((path) => ({ path, source: readFileSync(`${ROOT}${path}`, 'utf8') }));
}

/** By their paths, with their sizes. */
export function readPictures(): Map<string, Picture & { content: Buffer }> {
  const read = globSync(PICTURES, { cwd: ROOT }).map((name) => {
    const content = readFileSync(`${ROOT}${name}`);
    const [width, height] = name.endsWith('.svg') ? sizeOfSvg(content) : sizeOfWebp(content);
    const picture = { address: `/docs/guides/${basename(name)}`, width, height, content };
    return [name.replaceAll('\\', '/'), picture] as const;
  });
  return new Map(read);
}

function sizeOfSvg(content: Buffer): [width: number, height: number] {
  const [, width, height] = /viewBox="\S+ \S+ (\d+) (\d+)"/.exec(content.toString())!;
  return [Number(width), Number(height)];
}

/** Of the extended form, in which the pictures are taken: one less than each, in 24 bits. */
function sizeOfWebp(content: Buffer): [width: number, height: number] {
  return [content.readUIntLE(24, 3) + 1, content.readUIntLE(27, 3) + 1];
}
