/** `If-None-Match`: a list of tags, weak ones too, or `*` (RFC 9110, 13.1.2). */
export function isHeld(header: string | undefined, etag: string): boolean {
  // A tag has its quotation marks and holds none, so it stands in the list where it stands in the text.
  return header !== undefined && (header.trim() === '*' || header.includes(opaque(etag)));
}

const opaque = (tag: string): string => tag.replace(/^W\//, '');
