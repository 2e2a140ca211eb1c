import { normalizeUnicode } from './unicode.ts';

/** The result of scoring a text for prompt injection. */
export interface Injection {
  /** 0 to 1. */
  score: number;
  /** `low` passes, `medium` adds a reminder to the prompt, `high` emits a warning. */
  risk: 'low' | 'medium' | 'high';
  /** Names of the patterns found. */
  patterns: string[];
}

const MEDIUM = 0.4;
const HIGH = 0.7;
const SCRAMBLED_WEIGHT = 0.3;

/**
 * Scores how much a text looks like instructions to a model. Each kind of phrase counts once; code blocks are ignored. Rephrased
 * instructions pass, so this must not be the only defence. Runs in linear time.
 */
export function scoreInjection(text: string): Injection {
  const plain = normalizeText(withoutCode(text));
  const patterns = findInjectionPhrases(plain);
  const weights = patterns.map((name) => KINDS[name]?.weight ?? 0);
  if (hasScrambled(plain)) {
    patterns.push('scrambled_words');
    weights.push(SCRAMBLED_WEIGHT);
  }
  const sum = weights.reduce((all, one) => all + one, 0);
  const score = Math.min(1, Math.round(sum * 100) / 100);
  return { score, risk: score < MEDIUM ? 'low' : score < HIGH ? 'medium' : 'high', patterns };
}

/** Finds kinds of instruction phrases in a normalized text. */
export function findInjectionPhrases(plain: string): string[] {
  return Object.entries(KINDS).flatMap(([name, { phrase }]) => (phrase.test(plain) ? [name] : []));
}

/** Invisible characters, which can hide a word from a search. */
const INVISIBLE = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]/g;

/** ASCII text needs no Unicode normalization. */
const ASCII = /^\p{ASCII}*$/u;
const MARKS = /\p{M}/gu;

/**
 * Normalizes a text for the search for phrases: NFKC, lower case, without invisible characters and combining marks, and with runs of
 * spaces collapsed. Line breaks are kept. Runs in linear time.
 */
export function normalizeText(text: string): string {
  const plain = ASCII.test(text) ? text : normalizeUnicode(text.replace(MARKS, ''), 'NFKC').replace(INVISIBLE, '');
  const lowerCase = plain.toLowerCase();
  return lowerCase.replace(/[^\S\n]+/g, ' ').replace(/\n\s*/g, '\n');
}

/** Removes fenced code blocks. An unclosed fence does not start a block. */
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

/** Up to four words between the two key words. */
const GAP = String.raw`(?:[\w'’]{1,30},?\s){0,4}`;
const ORDERS = String.raw`(?:instructions?|rules?|prompts?|guidelines?|directives?|commands?)`;

function phrase(source: string): RegExp {
  return new RegExp(source);
}

/** `\s` also matches a line break. */
const KINDS: Readonly<Record<string, Kind>> = {
  ignore_instructions: { weight: 0.6, phrase: phrase(String.raw`\b(?:ignore|bypass|skip)\s${GAP}${ORDERS}\b`) },
  override_safety: {
    weight: 0.6,
    phrase: phrase(String.raw`\b(?:override|disable|turn\soff)\s${GAP}(?:safety|guardrails?|filters?|restrictions?|security)\b`),
  },
  disregard_previous: { weight: 0.5, phrase: phrase(String.raw`\bdisregard\s${GAP}(?:above|previous|prior|earlier|${ORDERS})\b`) },
  forget_instructions: { weight: 0.5, phrase: phrase(String.raw`\bforget\s${GAP}(?:training|everything\sabove|${ORDERS})\b`) },
  new_instructions: { weight: 0.5, phrase: phrase(String.raw`\b(?:new|updated)\s(?:system\s)?instructions?\s?:`) },
  important_override: {
    weight: 0.5,
    phrase: phrase(String.raw`\b(?:important|urgent|attention)\s?[:!]\s?${GAP}(?:override|ignore|disregard)\b`),
  },
  role_assumption: { weight: 0.4, phrase: phrase(String.raw`\byou\sare\s(?:now|no\slonger)\s(?:an?\s|the\s|in\s)?\w`) },
  act_as_role: {
    weight: 0.4,
    phrase: phrase(
      String.raw`\b(?:act|behave|respond|pretend\sto\sbe)\s(?:as\s)?(?:an?\s|if\syou\s(?:are|were|had)\s)?${GAP}(?:admin|administrator|root|unrestricted|jailbroken|no\srestrictions?)\b`,
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

/** Words that attackers scramble: a search misses the scrambled word, and a model understands it. */
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
const SIGNATURES = new Map(KEY_WORDS.map((word) => [computeSignature(word), word]));
const ENDS = new Set(KEY_WORDS.map((word) => encodeEnds(word, 0, word.length)));
const LONGEST = Math.max(...KEY_WORDS.map(({ length }) => length));
const [A, Z] = [97, 122];

/** Compares first letter, last letter and length before it computes a signature. */
function hasScrambled(text: string): boolean {
  let from = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const code = at < text.length ? text.charCodeAt(at) : 0;
    if (code >= A && code <= Z) continue;
    if (at - from > 2 && at - from <= LONGEST && ENDS.has(encodeEnds(text, from, at))) {
      const word = text.slice(from, at);
      const keyWord = SIGNATURES.get(computeSignature(word));
      if (keyWord !== undefined && keyWord !== word) return true;
    }
    from = at + 1;
  }
  return false;
}

/** Combines first letter, last letter and length of a word in one number. */
function encodeEnds(text: string, from: number, to: number): number {
  return ((to - from) * 128 + text.charCodeAt(from)) * 128 + text.charCodeAt(to - 1);
}

/** First letter, sorted inner letters, last letter. */
function computeSignature(word: string): string {
  return `${word.slice(0, 1)}${word.slice(1, -1).split('').toSorted().join('')}${word.slice(-1)}`;
}
