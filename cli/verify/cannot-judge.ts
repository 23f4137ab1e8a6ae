import { BeyondBounds } from '#shared/receipts/bounds.ts';

/** What judging takes is not there, or cannot be read: neither good nor bad. */
export class CannotJudge extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'CannotJudge';
  }
}

/** What is read of a file. @throws CannotJudge where that is more than can be judged */
export function withinBounds<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof BeyondBounds) throw new CannotJudge(error.message, error);
    throw error;
  }
}
