/** Why a document is not a receipt, or cannot become one. Stable; messages may change. */
export type RefusalCode =
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
  | 'missing_field'
  | 'unknown_field'
  | 'wrong_value'
  | 'contradiction';

/** Thrown where a receipt is made or read. `path` names the place: `measurement.result[2].value`. */
export class ReceiptRefusal extends Error {
  readonly code: RefusalCode;
  readonly path: string;

  constructor(code: RefusalCode, path: string, message: string) {
    super(path === '' ? message : `${path}: ${message}`);
    this.name = 'ReceiptRefusal';
    this.code = code;
    this.path = path;
  }
}
