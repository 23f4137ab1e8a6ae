/** One thing that a search may lead to. */
export interface Place {
  address: string;
  name: string;
  /** What tells it from others of its name. */
  note?: string;
  /** Further words by which it is found. */
  words?: string;
}

/** Of one kind: as many as fit a screen with the other kinds. */
export const PLACES_SHOWN_MAX = 8;

/** How well a place fits a word: its name, the beginning of it or of a word in it, somewhere; 0 where it does not. */
function fit(name: string, rest: string, word: string): number {
  if (name === word) return 8;
  if (name.startsWith(word)) return 5;
  if (name.split(/[\s_/-]+/).some((part) => part.startsWith(word))) return 4;
  if (name.includes(word)) return 3;
  return rest.includes(word) ? 1 : 0;
}

/** Those in which every word of the question is found, the best first; equals stay in their order. */
export function bestOf(places: Iterable<Place>, question: string): Place[] {
  const words = question.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const fitting: { place: Place; score: number }[] = [];
  for (const place of places) {
    const name = place.name.toLowerCase();
    const rest = `${place.note ?? ''} ${place.words ?? ''}`.toLowerCase();
    const fits = words.map((word) => fit(name, rest, word));
    if (fits.includes(0)) continue;
    fitting.push({ place, score: fits.reduce((sum, one) => sum + one, 0) });
  }
  return fitting
    .toSorted((a, b) => b.score - a.score)
    .slice(0, PLACES_SHOWN_MAX)
    .map(({ place }) => place);
}

/** What of a key is typed to find it, beside its name: what it begins with, its last four, or both as pages show them. */
export function partsOfKey(question: string): { head?: string; tail?: string } {
  const [, head, tail] = /^(dkt_\w{4})?(?:…|\.{3})?(\w{4})?$/.exec(question) ?? [];
  return { ...(head && { head }), ...(tail && { tail }) };
}
