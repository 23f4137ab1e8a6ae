import { type CatalogueSources, parseCatalogue } from '#shared/catalogue/parse.ts';
import { CatalogueError } from '#shared/catalogue/problem.ts';
import { expect } from 'vitest';
import { thrownBy } from '#test/support/thrown-by.ts';

export const GOOD = `version: 1
regions:
  - code: eu-west
    zone: FRA
  - code: eu-north
    zone: SWE
endpoints:
  - name: local
    adapter: openai-compatible
    base_url: http://127.0.0.1:8000/v1/
    regions: [eu-west, eu-north]
models:
  - id: acme/llama
    kinds: [chat]
    context_window: 8192
    endpoints:
      - { name: local, model: llama }
    footprint: { active_b: 8, total_b: 8 }
`;

const known = {
  zones: new Set(['FRA', 'SWE']),
  models: new Set(['llama-3.1-8b']),
  providers: new Set(['anthropic']),
};
export const sources = (variables: Record<string, string> = {}): CatalogueSources => ({
  variable: (name) => variables[name],
  timeoutMs: 90_000,
  known,
});

export const parse = (text: string | Uint8Array, variables?: Record<string, string>) =>
  parseCatalogue(Buffer.from(text as string), 'catalogue.yaml', sources(variables));

/** The lines of the refusal, as an operator sees them. */
export const problems = (text: string | Uint8Array, variables?: Record<string, string>): string[] =>
  thrownBy(CatalogueError, () => parse(text, variables))!.message.split('\n');

/** The good file with one piece of its text replaced. */
export const changed = (from: string, to: string): string => {
  expect(GOOD).toContain(from);
  return GOOD.replace(from, to);
};
