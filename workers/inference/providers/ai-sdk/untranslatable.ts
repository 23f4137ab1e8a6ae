/** A request says something that the native interface of this provider has no words for. The caller is told, not guessed for. */
export class Untranslatable extends Error {
  /** The member of the body that is meant, e.g. `messages[2].content`. */
  readonly param: string;

  constructor(param: string, message: string) {
    super(message);
    this.name = 'Untranslatable';
    this.param = param;
  }
}
