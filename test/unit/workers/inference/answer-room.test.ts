import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerRoom } from '#workers/inference/answer-room.ts';
import { forAll } from '#test/support/for-all.ts';

const SMALL = 256 * 1024;
const ROOM = 4 * SMALL;

/** An answer that comes in pieces, as far as it is read on. */
function answer(room: AnswerRoom, pieces: number, piece = SMALL) {
  const hold = room.open();
  const answering = { left: pieces, paused: false, release: () => hold.release() };
  const read = (): void => {
    answering.paused = false;
    while (answering.left > 0) {
      answering.left -= 1;
      if (hold.take(piece)) continue;
      answering.paused = true;
      return hold.whenRoom(read);
    }
  };
  read();
  return answering;
}

describe('room for answers', () => {
  it('large answers beyond the room wait, all but the first of them, and go on when there is room [limits.answers]', () => {
    const room = new AnswerRoom(ROOM);
    const [first, second, third] = [answer(room, 6), answer(room, 3), answer(room, 3)];
    expect([first.left, second.paused, third.paused]).toEqual([0, true, true]);
    first.release();
    expect([second.left, third.left]).toEqual([0, 1]);
    second.release();
    expect(third.left).toBe(0);
    third.release();
    expect(room.taken).toBe(0);
  });

  it('a small answer never waits [limits.answers]', () => {
    const room = new AnswerRoom(ROOM);
    answer(room, 8);
    expect(answer(room, 1)).toMatchObject({ left: 0, paused: false });
  });

  it('every answer is read to its end in any order of pieces, and no more is in hand than the room, the first answer and a piece of each other [limits.answers]', () => {
    forAll(
      [
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 30 }),
        fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
      ],
      (sizes, choices) => {
        const room = new AnswerRoom(ROOM);
        let open = sizes.map((pieces) => answer(room, pieces));
        const most = ROOM + 12 * SMALL + sizes.length * 2 * SMALL;
        while (open.length > 0) {
          expect(room.taken).toBeLessThanOrEqual(most);
          const done = open.filter(({ left }) => left === 0);
          expect(done).not.toEqual([]);
          const next = choices[open.length - 1];
          const one = done[next! % done.length]!;
          one.release();
          open = open.filter((other) => other !== one);
        }
        expect(room.taken).toBe(0);
      },
    );
  });
});
