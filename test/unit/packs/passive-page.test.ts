import { expect, it } from 'vitest';
import { isPassive } from '#shared/packs/passive-page.ts';

it.each([
  ['a tag that loads', '<p>x</p><img src="x">', false],
  ['an attribute behind others', '<p class="a" onclick="x()">', false],
  ['a style that imports', '<style>@import "x"</style>', false],
  ['a page of words', '<p class="a">1 &lt; 2</p><style>p { color: red }</style>', true],
])('%s', (_what, page, passive) => {
  expect(isPassive(page)).toBe(passive);
});

it('is told of a page of any signs in a time that grows with it, not with its square', () => {
  for (const sign of ['<', '< ', '<style', '<a'])
    expect(isPassive(sign.repeat(1_000_000))).toBe(true);
});
