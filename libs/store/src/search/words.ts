/** Words of a text as search sees them: lower case, without marks, in the order in which they stand. */
export function wordsOf(text: string, most: number): string[] {
  const words: string[] = [];
  for (const [word] of text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .matchAll(/[\p{L}\p{N}]+/gu)) {
    if (!STOP_WORDS.has(word)) words.push(word.slice(0, LONGEST));
    if (words.length === most) break;
  }
  return words;
}

/** Of a longer word its beginning stands for it. */
const LONGEST = 64;

/** They stand in nearly every text, and so say nothing about which one is meant. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about above after again all also am an and any are as at be because been before being below between both but by can could did do ' +
    'does doing down during each few for from further had has have having he her here hers him his how i if in into is it its itself just ' +
    'me more most my myself no nor not of off on once only or other our ours out over own s same she should so some such t than that the ' +
    'their theirs them then there these they this those through to too under until up very was we were what when where which while who ' +
    'whom why will with would you your yours'
  ).split(' '),
);
