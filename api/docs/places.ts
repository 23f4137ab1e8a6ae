import { ERRORS } from './page/errors.ts';
import { sectionsOf } from './page/markdown.ts';
import { introduction, type IntroductionOptions } from './introduction.ts';
import type { DeclaredOperation } from './operation.ts';

/** A place of the page `/docs`. */
export interface DocsPlace {
  address: string;
  name: string;
  note: string;
  words: string;
}

/** The places of the page `/docs` that have a name: sections of its introduction, operations and codes of errors. */
export function docsPlaces(
  operations: readonly DeclaredOperation[],
  options: IntroductionOptions,
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
  ];
}
