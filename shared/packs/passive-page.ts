/**
 * The reader of a report trusts no sender: it may not run, load or lead to anything. Its text is escaped, so what
 * begins with `<` is a tag.
 */
const TAGS =
  /<\/?(?:a|animate\w*|area|audio|base|button|embed|foreignobject|form|frame|iframe|image|img|input|link|object|picture|script|set|source|template|track|use|video)[\s/>]/i;
const ATTRIBUTES =
  /<[^<>]*[\s"'/](?:on\w+|action|background|data|formaction|href|http-equiv|ping|poster|src|srcset|style|xlink:href)\s*=/i;
const STYLES = /<style[^<>]*>[^<]*(?:@import|url\()/i;

/** Whether a page does nothing but show what is in it. */
export function isPassive(page: string): boolean {
  return ![TAGS, ATTRIBUTES, STYLES].some((active) => active.test(page));
}
