/** Words that occur in nearly every text and do not distinguish one from another. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about above after again all also am an and any are as at be because been before being below between both but by can could did do ' +
    'does doing down during each few for from further had has have having he her here hers him his how i if in into is it its itself just ' +
    'me more most my myself no nor not of off on once only or other our ours out over own s same she should so some such t than that the ' +
    'their theirs them then there these they this those through to too under until up very was we were what when where which while who ' +
    'whom why will with would you your yours'
  ).split(' '),
);
