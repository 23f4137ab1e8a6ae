/** The head of a log as it was signed. */
export interface SignedHead {
  /** The exact text. */
  note: string;
  origin: string;
  size: number;
  /** Base64: the root of a tree, the hash of a chain's last entry. */
  root: string;
}

/** The lines of a checkpoint of ours: origin, size, root. */
export function headOf(note: string): SignedHead {
  const [origin = '', size = '', root = ''] = note.split('\n');
  return { note, origin, size: Number(size), root };
}
