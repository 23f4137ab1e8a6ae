import { describe, expect, it } from 'vitest';
import { compilePack, failedExamples } from '#shared/screening/screen.ts';
import { readPack } from '#shared/screening/files/load.ts';
import { BENIGN_TEXTS } from './benign-texts.ts';
import { EVASIONS } from './evasions.ts';

const pack = readPack();
const screen = compilePack(pack);
const positives = pack.rules.flatMap((rule) =>
  rule.positive.map((text) => ({ rule: rule.id, code: rule.code, text })),
);

describe('the pack that is shipped', () => {
  it('lives up to the examples it carries', () => {
    expect(failedExamples(pack, screen)).toEqual([]);
  });

  it('covers both codes, and has several examples for each rule', () => {
    expect(new Set(pack.rules.map((rule) => rule.code)).size).toBe(2);
    for (const rule of pack.rules) {
      expect(rule.positive.length).toBeGreaterThanOrEqual(2);
      expect(rule.negative.length).toBeGreaterThanOrEqual(2);
    }
  });

  it('uses every group it defines', () => {
    const used = new Set([...pack.masks, ...pack.guard.groups]);
    for (const pattern of pack.rules.flatMap((rule) => rule.any)) {
      for (const group of [...pattern.sequence.flat(), ...pattern.break]) used.add(group);
    }
    expect(Object.keys(pack.groups).filter((group) => !used.has(group))).toEqual([]);
  });

  it('lets every harmless text pass [operations.screening]', () => {
    const texts = Object.values(BENIGN_TEXTS).flat();
    expect(texts.length).toBeGreaterThanOrEqual(200);
    expect(texts.filter((text) => screen.check([text]) !== null)).toEqual([]);
  });

  it.each(Object.entries(EVASIONS))(
    'lets no harmful text pass in disguise: %s [operations.screening, codes.dual_use_screen_block]',
    (_, disguise) => {
      const passed = positives.filter((p) => screen.check([disguise(p.text)])?.code !== p.code);
      expect(passed.map((p) => `${p.rule}: ${disguise(p.text)}`)).toEqual([]);
    },
  );

  it.each(Object.entries(EVASIONS))(
    'lets harmless texts pass in any dress: %s',
    (name, disguise) => {
      const texts = Object.values(BENIGN_TEXTS).flat().map(disguise);
      const blocked = texts.filter((text) => screen.check([text]) !== null);
      // A disguise blurs where words begin and end, so innocent phrases are recognised less well: measured 4 of 228 at
      // most, and 9 where letters stand apart. No innocent text is like this; in plain writing it is none.
      const most = name.startsWith('letters apart') ? 9 : 4;
      expect(blocked.length).toBeLessThanOrEqual(most);
    },
  );

  it('gives two packs that differ different digests', () => {
    expect(pack.digest).toMatch(/^[\w-]{43}$/);
    expect(readPack().digest).toBe(pack.digest);
  });
});
