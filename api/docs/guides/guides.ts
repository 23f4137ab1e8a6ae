import { posix } from 'node:path';
import {
  type Heading,
  headingsOf,
  isOutside,
  type Linking,
  type Picture,
  unmarked,
} from '../page/markdown.ts';

/** A page of the repository, as it is written. */
export interface GuideFile {
  /** From the root of the repository. */
  path: string;
  source: string;
}

/** A page of the repository at its address. */
export interface Guide extends GuideFile {
  address: string;
  title: string;
  /** Its title’s first. */
  headings: readonly Heading[];
}

/** Pages for the same readers, in the order of the list. */
interface Audience {
  name: string;
  guides: readonly { guide: Guide; name: string; about: string }[];
}

export interface Guides {
  /** By their paths. */
  all: ReadonlyMap<string, Guide>;
  beginning: Guide;
  audiences: readonly Audience[];
}

/** The list of all pages, by those they are for. */
const LIST = 'docs/README.md';

/** @param files the pages of the repository, the list among them */
export function guidesOf(files: readonly GuideFile[]): Guides {
  const all = new Map(files.map((file) => [file.path, guideOf(file)]));
  const beginning = all.get(LIST)!;
  return { all, beginning, audiences: audiencesIn(beginning, all) };
}

function guideOf({ path, source }: GuideFile): Guide {
  const headings = headingsOf(source);
  return { path, source, address: addressOf(path), title: headings[0]?.title ?? path, headings };
}

/** What leads to the same page has the same address: a folder is its README, and the list stands at the top. */
function addressOf(path: string): string {
  if (path === LIST) return '/docs/guides';
  const name = path
    .replace(/^docs\//, '')
    .replace(/\/README\.md$/, '')
    .replace(/\.md$/, '');
  return `/docs/guides/${name.toLowerCase()}`;
}

/** Each heading of the list with the table below it: a page, and what it answers. */
function audiencesIn({ source, path }: Guide, all: ReadonlyMap<string, Guide>): Audience[] {
  return source
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      name: section.slice(0, section.indexOf('\n')),
      guides: [...section.matchAll(/^\| \[([^\]]*)\]\(([^)]+)\) +\| (.*?) +\|$/gm)].flatMap(
        ([, text = '', target = '', about = '']) => {
          const guide = all.get(posix.join(path, '..', target));
          if (guide === undefined) return [];
          return [{ guide, name: isNameOf(target, text) ? guide.title : text, about }];
        },
      ),
    }));
}

/** Whether a link says the name of its file, which says nothing to readers who have no files. */
function isNameOf(target: string, text: string): boolean {
  return text.endsWith('.md') && target.endsWith(text);
}

/**
 * Where the links of a page lead: to pages and pictures at their addresses, and to the network. Those into the source, which
 * is not served, are their text alone.
 */
export function linkingOf(
  { path }: Guide,
  { all }: Guides,
  pictures: ReadonlyMap<string, Picture>,
): Linking {
  const pathOf = (target: string): string => posix.join(path, '..', target);
  return {
    link: (href, text) => {
      if (isOutside(href) || href.startsWith('#')) return { address: href };
      const [target = '', anchor] = href.split('#');
      const guide = all.get(pathOf(target));
      if (guide === undefined) return undefined;
      return {
        address: anchor === undefined ? guide.address : `${guide.address}#${anchor}`,
        ...(isNameOf(target, text) && { text: guide.title }),
      };
    },
    picture: (href) => pictures.get(pathOf(href)),
  };
}

/** Each page and each of its headings, as searches name them. */
export function guidePlaces({
  all,
  audiences,
}: Guides): { address: string; name: string; words: string }[] {
  const told = new Map(audiences.flatMap(({ guides }) => guides.map((one) => [one.guide, one])));
  return [...all.values()].flatMap((guide) => {
    const { name = guide.title, about = '' } = told.get(guide) ?? {};
    return [
      { address: guide.address, name, words: unmarked(about) },
      ...guide.headings.slice(1).map(({ id, title }) => ({
        address: `${guide.address}#${id}`,
        name: title,
        words: name,
      })),
    ];
  });
}
