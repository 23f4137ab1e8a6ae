import { HOUR_MS } from '#shared/kernel/time.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { KeyUseRecorder } from '#api/auth/key-use.ts';

let recorder: KeyUseRecorder | undefined;
afterEach(() => recorder?.close());

describe('the recorder of last use', () => {
  it('uses are written in one batch with the latest time of each key', async () => {
    const written: [string, number][][] = [];
    recorder = new KeyUseRecorder(
      { recordUses: async (uses) => void written.push([...uses]) },
      HOUR_MS,
    );
    recorder.used('key_1', 1);
    recorder.used('key_2', 2);
    recorder.used('key_1', 3);
    await recorder.flush();
    await recorder.flush();
    expect(written).toEqual([
      [
        ['key_1', 3],
        ['key_2', 2],
      ],
    ]);
  });

  it('uses that could not be written are kept, later ones win, and the rest is written at the end', async () => {
    let down = true;
    const written = new Map<string, number>();
    recorder = new KeyUseRecorder(
      {
        recordUses: async (uses) => {
          if (down) throw new Error('down');
          for (const [id, at] of uses) written.set(id, at);
        },
      },
      HOUR_MS,
    );
    recorder.used('key_1', 1);
    recorder.used('key_2', 2);
    const flushing = recorder.flush();
    recorder.used('key_1', 5);
    await flushing;
    down = false;
    await recorder.close();
    expect(written).toEqual(
      new Map([
        ['key_1', 5],
        ['key_2', 2],
      ]),
    );
  });
});
