/** A page in place of what was asked for. Its words are shown. */
export class PageError extends Error {
  readonly status: number;
  readonly title: string;

  constructor(status: number, title: string, message: string) {
    super(message);
    this.name = 'PageError';
    this.status = status;
    this.title = title;
  }
}

/** One answer for what is not there and for what is another's. */
export function notFound(): PageError {
  return new PageError(
    404,
    'There is no such page',
    'It may have moved, or it may belong to another organisation.',
  );
}
