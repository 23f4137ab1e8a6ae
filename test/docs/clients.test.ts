import { expect, it } from 'vitest';
import { PROGRAMS, STEPS } from '#lab/programs/programs.ts';
import { readPage } from './pages.ts';

const page = readPage('docs/clients.md');

it.each(PROGRAMS)(
  'the page of programs has $name at the version that is tried, each step, and where its user finds the receipt',
  ({ name, version, receipt = 'docket last' }) => {
    const row = page.text.split('\n').find((line) => line.startsWith(`| ${name} `));
    const cells = row?.split('|').map((cell) => cell.trim()) ?? [];
    expect(cells[2]).toBe(version);
    expect(cells.at(-2)).toContain(receipt);
    // Name, version, interface, the receipt, and what is outside of the first and last bar.
    expect(cells).toHaveLength(STEPS.length + 6);
  },
);
