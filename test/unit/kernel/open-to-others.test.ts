import { expect, it } from 'vitest';
import { isOpenToOthers } from '#shared/kernel/files/open-to-others.ts';

const [ROOT, SERVICE] = [0, 10_001];

it.each([
  ['its own, for itself alone', 0o600, SERVICE, false],
  ['its own, which its group may read', 0o640, SERVICE, true],
  ['its own, which all may read', 0o644, SERVICE, true],
  ['one of root’s that its group may read, as orchestrators mount secrets', 0o440, ROOT, false],
  ['one of root’s that its group may write', 0o460, ROOT, true],
  ['one of root’s that all may read', 0o444, ROOT, true],
  ['a stranger’s that its group may read', 0o440, 1_000, true],
])('a file of secrets: %s', (_, mode, uid, isOpen) => {
  expect(isOpenToOthers({ mode: 0o100_000 | mode, uid }, SERVICE)).toBe(isOpen);
});

it('of a process that is root itself the group may read none', () => {
  expect(isOpenToOthers({ mode: 0o100_440, uid: ROOT }, ROOT)).toBe(true);
  expect(isOpenToOthers({ mode: 0o100_400, uid: ROOT }, ROOT)).toBe(false);
});
