import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pageLines } from '#cli/audit/page-lines.ts';
import { judgeEntriesAlone } from '#cli/audit/fetched-log.ts';
import { auditPagesIn } from '#cli/verify/chosen-files.ts';
import { verifyFiles, verifyReceipt } from '#cli/verify/library.ts';
import { BOUNDS, checkJson, jsonSize } from '#shared/receipts/bounds.ts';
import { withBreaks } from '#shared/receipts/content.ts';
import { answerIn, locateReceipt } from '#shared/receipts/locate.ts';
import { SLICE_CHARS } from '#shared/receipts/spellings.ts';
import { forAll } from '#test/support/for-all.ts';

/** Longer than what is parsed without a look. */
const SPACE = ' '.repeat(BOUNDS.unseenChars);
const cannotJudge = (what: string): object => ({
  verdict: 'cannot_judge',
  exitCode: 2,
  text: expect.stringMatching(
    new RegExp(`^CANNOT JUDGE {2}The file has more than \\d+ ${what}: too many to be judged\\.\n$`),
  ),
});

describe('a file that has more in it than can be judged', () => {
  const many = `{"receipt":1,${'"":0,'.repeat(BOUNDS.objectMembers)}"a":1}`;
  const deep = `{"receipt":1,"a":${'['.repeat(600)}${SPACE}${']'.repeat(600)}}`;
  it.each([
    ['an answer with a million members', many, 'members in one object of JSON'],
    ['a response with as many', `{"response":${many}}`, 'members in one object of JSON'],
    ['a stream with one of them', `data: ${many}\n\n`, 'members in one object of JSON'],
    ['a long answer that is nested deep', deep, 'levels of JSON'],
    ['what looks like an anchor', deep.replace('receipt', 'anchor_proof'), 'levels of JSON'],
    ['what looks like an audit log', deep.replace('receipt', 'audit_log_entry'), 'levels of JSON'],
    ['a stream of events without end', 'data:a\n\n'.repeat(BOUNDS.events + 1), 'events'],
  ])(
    'cannot be judged, in one sentence that says what is too many: %s',
    async (_, content, what) => {
      const expected = cannotJudge(what);
      expect(await verifyFiles([{ name: 'file', content }])).toMatchObject(expected);
      expect(await verifyReceipt(content)).toMatchObject(expected);
    },
  );

  it('cannot be compared with a receipt either', async () => {
    const compared = await verifyReceipt('{}', { answer: deep });
    expect(compared).toMatchObject(cannotJudge('levels of JSON'));
  });

  it('is told by its values and members at every level', () => {
    const bounds = { ...BOUNDS, unseenChars: 0, members: 2, values: 5 };
    expect(() => checkJson('[[{"a":1,"b":2}]]', bounds)).not.toThrow();
    expect(() => checkJson('[[{"a":1,"b":2,"c":3}]]', bounds)).toThrow(/2 members of JSON/);
    expect(() => checkJson('[1,2,3,4,5,6]', bounds)).toThrow(/5 values of JSON/);
    const narrow = { ...BOUNDS, unseenChars: 0, objectMembers: 2 };
    expect(() => checkJson('{"a":{"a":1,"b":2},"c":{"a":1}}', narrow)).not.toThrow();
    expect(() => checkJson('[[[{"a":[{}],"b":2,"c":3}]]]', narrow)).toThrow(/2 members in one/);
  });

  it('is none when it is short', () => {
    const short = deep.replace(SPACE, '');
    expect(locateReceipt(short).receipt).toBe('1');
    expect(answerIn(short).receipts).toEqual(['1']);
  });

  it('is told apart from a stream with as many events as may be', () => {
    const bounds = { ...BOUNDS, events: 2 };
    const stream = 'data: {"a":1}\n\ndata: {"receipt":{}}\n\ndata: [DONE]\n\n';
    expect(locateReceipt(stream, bounds).receipt).toBe('{}');
    expect(() => locateReceipt(`data: 0\n\n${stream}`, bounds)).toThrow(/2 events/);
    expect(() => answerIn(`data: 0\n\n${stream}`, bounds)).toThrow(/2 events/);
  });
});

describe('lines of a file that may be pages of an audit log', () => {
  const page = '{"object":"list","data":[{"object":"audit_log_entry"}]}';

  it('are read up to the first that is none, however many come after it', () => {
    const ends = '\n'.repeat(8_000_000);
    expect(auditPagesIn(`{"x":"audit_log_entry" ${ends}"audit_log_entry"`)).toBeUndefined();
    expect(auditPagesIn(`"audit_log_entry"${'x\n'.repeat(4_000_000)}`)).toBeUndefined();
    expect(auditPagesIn(`${page}\n${'x\n'.repeat(4_000_000)}`)).toBeUndefined();
  });

  it('are its pages where each is one, with empty lines between and any end', () => {
    expect(auditPagesIn(`\n${page}\n \r\n${page}\r\n\n`)).toEqual([page, `${page}\r`]);
    expect(auditPagesIn(`${page}\n${page}`)).toEqual([page, page]);
  });

  it('are of any number of line breaks within a page, and of any number of pages with one entry', () => {
    const ends = '\r\n'.repeat(4_000_000);
    expect(auditPagesIn(page.replace(':', `:${ends}`))).toEqual([
      page.replace(':', `:${' '.repeat(4_000_000)}`),
    ]);
    expect(auditPagesIn(`${page}\n`.repeat(600_000))).toHaveLength(600_000);
  });

  it('are a bounded number', () => {
    expect([...pageLines('1\n\n2', 2)]).toEqual(['1', '2']);
    expect(() => [...pageLines('1\n2\n3', 2)]).toThrow(/more than 2 pages/);
  });

  it('are no place for a name that stands twice, beside a text of any length', () => {
    const long = JSON.stringify('"\\'.repeat(4_000_000));
    const twice = page.replace('"data"', `"x":${long},"x":1,"data"`);
    expect(() => judgeEntriesAlone(twice)).toThrow(/a name stands twice/);
  });

  it('are not judged where an entry is nested deeper than a hash is made of', () => {
    const details = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const nested = page.replace('_entry"', `_entry","details":${details}`);
    expect(() => judgeEntriesAlone(nested)).toThrow(
      expect.objectContaining({ name: 'CannotJudge', message: expect.stringContaining('512') }),
    );
  });
});

it('line breaks of a text are the same however long it is', () => {
  const text = fc.string({ unit: fc.constantFrom('\r', '\n', 'x'), maxLength: 9 });
  forAll([text, text, fc.nat(4)], (before, after, less) => {
    const long = before + 'x'.repeat(SLICE_CHARS - before.length - less) + after + before;
    expect(withBreaks(long, '|')).toBe(long.replaceAll(/\r\n?|\n/g, '|'));
  });
});

describe('the size of a JSON text', () => {
  it('counts what a parser finds, and nothing in strings', () => {
    const counted = (value: unknown): { members: number; values: number; depth: number } => {
      if (typeof value !== 'object' || value === null) return { members: 0, values: 0, depth: 0 };
      const inner = Object.values(value).map(counted);
      const sum = (name: 'members' | 'values'): number =>
        inner.reduce((total, each) => total + each[name], 0);
      return {
        members: sum('members') + (Array.isArray(value) ? 0 : inner.length),
        values: sum('values') + 1 + Math.max(0, inner.length - 1),
        depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
      };
    };
    forAll([fc.json({ maxDepth: 6 })], (text) => {
      expect(jsonSize(text)).toMatchObject(counted(JSON.parse(text)));
    });
  });
});
