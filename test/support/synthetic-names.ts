/**
 * Invented names, the same for the same seed: two to four words of syllables, as varied as those of a
 * real list, and belong to no person.
 */
export function syntheticNames(count: number, seed: number): string[] {
  const random = mulberry32(seed);
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)]!;
  const word = (): string => {
    const syllables = 2 + Math.floor(random() * 3);
    let text = '';
    for (let i = 0; i < syllables; i += 1) text += pick(ONSETS) + pick(VOWELS) + pick(CODAS);
    return text.charAt(0).toUpperCase() + text.slice(1);
  };
  // Given names and words of trade repeat, family and firm names hardly do.
  const common = Array.from({ length: 400 }, word);
  return Array.from({ length: count }, () => {
    const words = [word(), pick(common)];
    if (random() < 0.5) words.push(pick(common));
    if (random() < 0.3) words.push(word());
    return words.join(' ');
  });
}

const ONSETS = 'b br ch d dr f g gr h j k kh kr l m n p r s sh st t tr v z'.split(' ');
const VOWELS = 'a a e i o u ai ou ia'.split(' ');
const CODAS = ['', '', '', 'n', 'r', 'l', 'm', 's', 'k', 'd', 'v'];

/** A small generator with a state of 32 bits (Tommy Ettinger's mulberry32, public domain). */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
