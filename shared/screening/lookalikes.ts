/**
 * Letters of other alphabets that are drawn like Latin ones, and Latin letters that Unicode does not decompose.
 * Upper and lower case are listed apart because they resemble different letters (Greek Ν is drawn N, ν is drawn v).
 * Each row: what it stands for, then the characters that stand for it.
 */
const ROWS: readonly (readonly [string, string])[] = [
  ['a', 'АаΑαɑᴀ⍺ꓮᗅꭺ'],
  ['b', 'ВвЬьΒβʙƄɓᏴꓐ♭'],
  ['c', 'СсϹϲᴄⅽꓚƈ'],
  ['d', 'ԁԀᴅđĐðÐꓓɗɖⅾ'],
  ['e', 'ЕеΕεҽᴇəɛєЄꓰ℮€'],
  ['f', 'ꜰƒϝꓝẝ'],
  ['g', 'ɡɢԌԍցꓖɠ'],
  ['h', 'НнҺһΗʜհꓧħĦɦ'],
  ['i', 'ІіΙιıɪӀӏɩꓲʟꓡłŁǀɫⅼⅰ'],
  ['j', 'ЈјϳᴊȷꓙʝɈɉ'],
  ['k', 'КкΚκᴋꓗƙ'],
  ['m', 'МмΜᴍꓟɱⅿ'],
  ['n', 'ΝηɴПпոռꓠɲŋŊƞ'],
  ['o', 'ОоΟοσᴏօꓳøØөѳⲟɵ'],
  ['p', 'РрΡρᴘꓑþÞƥ'],
  ['q', 'ԛԚզɋ'],
  ['r', 'ʀгГɼꓣɽ'],
  ['s', 'ЅѕƽꜱꓢʂՏ'],
  ['t', 'ТтΤτᴛꓔŧŦƭ'],
  ['u', 'υᴜսИиμꓴʋʉ'],
  ['v', 'νѴѵᴠꓦⅴ'],
  ['w', 'ԜԝωᴡѡꓪɯшШ'],
  ['x', 'ХхΧχꓫⅹ'],
  ['y', 'УуΥγʏүҮꓬƴ'],
  ['z', 'ΖᴢꓜƶƵʐ'],
  ['ae', 'æÆ'],
  ['oe', 'œŒ'],
  ['ss', 'ßẞ'],
  ['!', '¡ǃ'],
  ['|', '¦∣'],
];

/** Character → the Latin letters it stands for. Marks of money and the like are handled as leetspeak, not here. */
export const LOOKALIKES: ReadonlyMap<string, string> = new Map(
  ROWS.flatMap(([latin, characters]) => Array.from(characters, (c) => [c, latin] as const)),
);
