/** What a text looks like that may want to give orders to an agent. */
export interface Injection {
  /** 0 to 1. */
  score: number;
  /** `low` passes, `medium` is answered with a reminder of what counts, `high` is warned of. */
  risk: 'low' | 'medium' | 'high';
  /** Names of what was found. */
  patterns: string[];
}

const MEDIUM = 0.4;
const HIGH = 0.7;
const SCRAMBLED = 0.3;

/**
 * Whether a text looks like orders to its reader, by kinds of phrases that each count once. Blocks of code count nothing. Words can be
 * put otherwise, so nothing rests on this alone. Takes time in proportion to the text, whatever is in it.
 */
export function scoreInjection(text: string): Injection {
  const plain = plainOf(withoutCode(text));
  const patterns = phrasesIn(plain);
  const weights = patterns.map((name) => KINDS[name]?.weight ?? 0);
  if (hasScrambled(plain)) {
    patterns.push('scrambled_words');
    weights.push(SCRAMBLED);
  }
  const sum = weights.reduce((all, one) => all + one, 0);
  const score = Math.min(1, Math.round(sum * 100) / 100);
  return { score, risk: score < MEDIUM ? 'low' : score < HIGH ? 'medium' : 'high', patterns };
}

/** The kinds of phrases that give orders, in a text as `plainOf` makes it. */
export function phrasesIn(plain: string): string[] {
  return Object.entries(KINDS).flatMap(([name, { phrase }]) => (phrase.test(plain) ? [name] : []));
}

/** Letters that nobody sees, by which a word is hidden from a search for it. */
const INVISIBLE = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/g;

/** Nothing of it can be written otherwise. */
const ASCII = /^\p{ASCII}*$/u;
const MARKS = /\p{M}/gu;

/**
 * A text as a search for phrases reads it: without letters that nobody sees, in small letters, each of them written in one way. Spaces in
 * a row count as one, so that no phrase can be stretched; lines stay lines. Takes time in proportion to the text.
 */
export function plainOf(written: string): string {
  // Marks go first: to bring many of them into order takes a normaliser much longer than to read them.
  const plain = ASCII.test(written) ? written : written.replace(MARKS, '').normalize('NFKC').replace(INVISIBLE, '');
  const said = plain.toLowerCase();
  return said.replace(/[^\S\n]+/g, ' ').replace(/\n\s*/g, '\n');
}

/** What stands between fences; a fence that nobody closes begins no block. */
function withoutCode(text: string): string {
  const parts = text.split('```');
  if (parts.length < 3) return text;
  const closed = parts.length - ((parts.length + 1) % 2);
  return parts.filter((_, at) => at % 2 === 0 || at >= closed).join('\n');
}

interface Kind {
  weight: number;
  phrase: RegExp;
}

/** Up to four words that may stand between the two that matter. */
const FEW = String.raw`(?:[\w'’]{1,30},?\s){0,4}`;
const ORDERS = String.raw`(?:instructions?|rules?|prompts?|guidelines?|directives?|commands?)`;

function phrase(source: string): RegExp {
  return new RegExp(source);
}

/** A space may be the end of a line. */
const KINDS: Readonly<Record<string, Kind>> = {
  ignore_instructions: { weight: 0.6, phrase: phrase(String.raw`\b(?:ignore|bypass|skip)\s${FEW}${ORDERS}\b`) },
  override_safety: {
    weight: 0.6,
    phrase: phrase(String.raw`\b(?:override|disable|turn\soff)\s${FEW}(?:safety|guardrails?|filters?|restrictions?|security)\b`),
  },
  disregard_previous: { weight: 0.5, phrase: phrase(String.raw`\bdisregard\s${FEW}(?:above|previous|prior|earlier|${ORDERS})\b`) },
  forget_instructions: { weight: 0.5, phrase: phrase(String.raw`\bforget\s${FEW}(?:training|everything\sabove|${ORDERS})\b`) },
  new_instructions: { weight: 0.5, phrase: phrase(String.raw`\b(?:new|updated)\s(?:system\s)?instructions?\s?:`) },
  important_override: {
    weight: 0.5,
    phrase: phrase(String.raw`\b(?:important|urgent|attention)\s?[:!]\s?${FEW}(?:override|ignore|disregard)\b`),
  },
  role_assumption: { weight: 0.4, phrase: phrase(String.raw`\byou\sare\s(?:now|no\slonger)\s(?:an?\s|the\s|in\s)?\w`) },
  act_as_role: {
    weight: 0.4,
    phrase: phrase(
      String.raw`\b(?:act|behave|respond|pretend\sto\sbe)\s(?:as\s)?(?:an?\s|if\syou\s(?:are|were|had)\s)?${FEW}(?:admin|administrator|root|unrestricted|jailbroken|no\srestrictions?)\b`,
    ),
  },
  context_reset: {
    weight: 0.4,
    phrase: phrase(
      String.raw`\b(?:reset|clear|wipe)\s(?:your|the)\s(?:context|memory|conversation|instructions?)\b|\bend\sof\s(?:system\s)?(?:prompt|context)\b`,
    ),
  },
  rule_replacement: { weight: 0.4, phrase: phrase(String.raw`\b(?:your|the)\snew\s(?:rules?|system\sprompt|persona|role)\s(?:is|are)\b`) },
  system_markers: { weight: 0.3, phrase: phrase(String.raw`<\/?(?:system|instructions?)>|\[\/?system\]|(?:^|\n)#{1,6}\ssystem\b`) },
  special_tokens: { weight: 0.3, phrase: phrase(String.raw`<\|[a-z_]{2,30}\|>|\[\/?inst\]|<<\/?sys>>`) },
  role_markers: { weight: 0.2, phrase: phrase(String.raw`(?:^|\n)\s?(?:system|assistant|developer)\s?:`) },
};

/** Words whose inner letters are shuffled so that a search misses them and a model does not. */
const KEY_WORDS = [
  'ignore',
  'bypass',
  'override',
  'disregard',
  'forget',
  'previous',
  'instruction',
  'instructions',
  'system',
  'prompt',
  'safety',
];
const SIGNATURES = new Map(KEY_WORDS.map((word) => [signatureOf(word), word]));
const ENDS = new Set(KEY_WORDS.map((word) => endsOf(word, 0, word.length)));
const LONGEST = Math.max(...KEY_WORDS.map(({ length }) => length));
const [A, Z] = [97, 122];

/** Word by word, and nothing is made of a word that is none of them at a glance. */
function hasScrambled(text: string): boolean {
  let from = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const code = at < text.length ? text.charCodeAt(at) : 0;
    if (code >= A && code <= Z) continue;
    if (at - from > 2 && at - from <= LONGEST && ENDS.has(endsOf(text, from, at))) {
      const word = text.slice(from, at);
      const meant = SIGNATURES.get(signatureOf(word));
      if (meant !== undefined && meant !== word) return true;
    }
    from = at + 1;
  }
  return false;
}

/** What a shuffled word has in common with its own at a glance: its first letter, its last one, and how long it is. */
function endsOf(text: string, from: number, to: number): number {
  return ((to - from) * 128 + text.charCodeAt(from)) * 128 + text.charCodeAt(to - 1);
}

/** The first letter, the last one, and the others in order. */
function signatureOf(word: string): string {
  return `${word.slice(0, 1)}${word.slice(1, -1).split('').toSorted().join('')}${word.slice(-1)}`;
}
