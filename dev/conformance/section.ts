/** Titles of tests by the file they stand in, relative to test/ and without `.test.ts`. */
export type Proof = Readonly<Record<string, readonly string[]>>;

export interface Row {
  /** What must hold, in a sentence. */
  rule: string;
  proof: Proof;
}

export interface Section {
  title: string;
  /** Where the rules come from, or what they are about. */
  about: string;
  rows: readonly Row[];
}

export const row = (rule: string, proof: Proof): Row => ({ rule, proof });
