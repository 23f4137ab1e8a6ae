/** Codes of what is wrong with a document. Stable; the words beside it may change. */
export type MalformedCode =
  /* what the bytes may not be */
  | 'too_large'
  | 'not_utf8'
  | 'not_json'
  | 'too_deep'
  | 'duplicate_key'
  | 'forbidden_key'
  | 'non_ascii_key'
  | 'null_value'
  | 'not_an_integer'
  | 'lone_surrogate'
  /* what the document must be */
  | 'unknown_context'
  /* it may be in order where its format is known */
  | 'unknown_format'
  | 'missing_field'
  | 'unknown_field'
  | 'wrong_value'
  | 'contradiction';

/**
 * A document (a receipt, a seal, a factor set) is not what it should be, whether it is read or about to be written.
 * `path` names the place: `measurement.result[2].value`; empty for the document as a whole.
 */
export class MalformedData extends Error {
  readonly code: MalformedCode;
  readonly path: string;

  constructor(code: MalformedCode, path: string, problem: string) {
    super(path === '' ? problem : `${path}: ${problem}`);
    this.name = 'MalformedData';
    this.code = code;
    this.path = path;
  }
}
