/** The characters that texts may not hold: the same code points to both verifiers, of any Unicode that they know. */
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BLANK, isDisguised, isSeen, madeSeen, UNSEEN } from '#shared/kernel/characters.ts';

const SCRIPT = new URL('../../shared/packs/files/verify.py', import.meta.url).pathname;
/** The ends of every range of both lists, and what stands beside them. */
const POINTS = [UNSEEN, BLANK]
  .flatMap((list) => list.split(/[ -]/).map((end) => Number.parseInt(end, 16)))
  .flatMap((end) => [end - 1, end, end + 1])
  .filter((point) => point >= 0);

/** Says of each code point whether words of it, names with it, and names of it alone are refused. */
const DRIVER = `
import sys
sys.path.insert(0, sys.argv[1])
import verify
points = [chr(int(point)) for point in sys.argv[2].split(',')]
print(''.join(str((not verify.seen(each)) + 2 * verify.disguised('a' + each) + 4 * verify.disguised(each)) for each in points), end='')
`;

describe('the characters that texts may not hold', () => {
  it('are the same code points to docket and to verify.py', () => {
    const { stdout } = spawnSync('python3', ['-c', DRIVER, dirname(SCRIPT), POINTS.join()], {
      encoding: 'utf8',
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
    });
    const ours = POINTS.map((point) => {
      const each = String.fromCodePoint(point);
      const [named, alone] = [isDisguised(`a${each}`), isDisguised(each)].map(Number);
      return Number(!isSeen(each)) + 2 * named! + 4 * alone!;
    });
    expect(stdout).toBe(ours.join(''));
  });

  it.each([
    ['a character that Unicode 15 first had', 'x\u{1343F}', false, true],
    ['a right-to-left override', 'x\u202E', false, true],
    ['a filler of Hangul', 'x\u3164', false, true],
    ['half of a pair', 'x\uD800', false, true],
    ['a joiner between letters', '\u0646\u200C\u0645', true, true],
    ['a space that does not break', 'n\u00BA\u00A01', true, true],
    ['a variant of a letter', '\u845B\u{E0100}', true, true],
    ['a space', 'a b', true, false],
    ['spaces alone', '  ', false, true],
    ['a blank of braille and a joiner', '\u2800\u200D', false, true],
    ['nothing', '', false, true],
  ])('%s', (_, text, seen, disguised) => {
    expect([isSeen(text), isDisguised(text)]).toEqual([seen, disguised]);
    // What is written in the place of words that cannot stand is nothing, or can.
    const made = madeSeen(text);
    expect(made === '' || isSeen(made)).toBe(true);
  });
});
