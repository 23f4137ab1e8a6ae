import { describe, expect, it } from 'vitest';
import { bytesOfText, textOfBytes } from '#shared/kernel/long-text.ts';
import { LONG } from '#shared/kernel/turns.ts';

describe('long texts and their bytes', () => {
  it.each([0, 1, 2, 3])(
    'are the same in turns as at once, cut within characters: %i',
    async (shift) => {
      for (const one of ['a', 'é', '世', '😀', '\ud800']) {
        const text = 'x'.repeat(shift) + one.repeat(LONG);
        const bytes = Buffer.from(text);
        expect((await bytesOfText(text)).equals(bytes)).toBe(true);
        expect((await textOfBytes(bytes)) === bytes.toString()).toBe(true);
      }
    },
  );

  it('let others have their turn between megabytes', async () => {
    const text = 'a'.repeat(8 * LONG);
    const bytes = Buffer.from(text);
    for (const made of [() => bytesOfText(text), () => textOfBytes(bytes)]) {
      let turns = 0;
      const watch = (): void => {
        turns += 1;
        if (isOpen) setImmediate(watch);
      };
      let isOpen = true;
      setImmediate(watch);
      await made();
      isOpen = false;
      expect(turns).toBeGreaterThan(5);
    }
  });

  it('are nothing where there is none', async () => {
    expect([await textOfBytes(Buffer.alloc(0)), (await bytesOfText('')).length]).toEqual(['', 0]);
  });
});
