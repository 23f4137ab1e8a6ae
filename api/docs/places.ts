import { type Guides, guidePlaces } from './guides/guides.ts';
import { ERRORS } from './page/errors.ts';
import { sectionsOf } from './page/markdown.ts';
import { introduction, type IntroductionOptions } from './introduction.ts';
import type { DeclaredOperation } from './operation.ts';

/** A place of the documentation. */
export interface DocsPlace {
  address: string;
  name: string;
  note: string;
  words: string;
}

/** The places that have a name: sections of the introduction, operations, codes of errors, guides and their headings. */
export function docsPlaces(
  operations: readonly DeclaredOperation[],
  options: IntroductionOptions,
  guides: Guides,
): DocsPlace[] {
  return [
    ...sectionsOf(introduction(options)).map(({ id, title, text }) => ({
      address: `/docs#${id}`,
      name: title,
      note: 'section',
      words: text,
    })),
    ...operations.map(({ method, url, schema }) => ({
      address: `/docs#${schema.operationId}`,
      name: schema.summary,
      note: `${method.toUpperCase()} ${url}`,
      words: schema.operationId,
    })),
    ...ERRORS.map(({ code, anchor, when }) => ({
      address: `/docs#${anchor}`,
      name: code,
      note: 'error',
      words: when,
    })),
    ...guidePlaces(guides).map((place) => ({ ...place, note: 'guide' })),
  ];
}
