/** What judging takes is not there, or cannot be read: neither good nor bad. */
export class CannotJudge extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'CannotJudge';
  }
}
