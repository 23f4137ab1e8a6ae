import { expect, it } from 'vitest';
import { placed } from '#shared/lanes/redis/scripts.ts';

const SOURCE = { file: 'x.lua', keys: ['lane', 'claim'], args: ['group', 'entryId'] };
const TEXT = 'f(KEYS.lane, KEYS.claim, ARGV.entryId, ARGV.group, ARGV[MORE])';

it('a script names its keys and arguments, and Redis gets their places', () => {
  expect(placed(TEXT, SOURCE)).toBe('f(KEYS[1], KEYS[2], ARGV[2], ARGV[1], ARGV[3])');
});

it.each([
  [{ ...SOURCE, keys: ['lane'] }, 'x.lua has no KEYS.claim'],
  [{ ...SOURCE, args: ['group'] }, 'x.lua has no ARGV.entryId'],
  [{ ...SOURCE, args: [...SOURCE.args, 'number'] }, 'x.lua does not use ARGV.number'],
])('a name that only the script or only its table has is refused', (source, words) => {
  expect(() => placed(TEXT, source)).toThrow(words);
});
