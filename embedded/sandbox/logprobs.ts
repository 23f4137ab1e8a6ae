export interface Alternative {
  text: string;
  logprob: number;
}

/** What every token is said to have had: a text that is not drawn has no probabilities. */
export const LOGPROB = Math.log(0.9);

/** As many as a request may ask for, one of which may be the token itself. */
const OTHERS = 'the a and of in to it is was for on with at by from that as he she they'
  .split(' ')
  .map((word) => ` ${word}`);

/** The tokens that are said to have been likeliest at the place of one: itself, then others, each a tenth as likely. */
export function likeliest(token: string, count: number): Alternative[] {
  return [token, ...OTHERS.filter((other) => other !== token)]
    .slice(0, count)
    .map((text, rank) => ({ text, logprob: LOGPROB - rank * Math.LN10 }));
}
