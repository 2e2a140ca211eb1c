/** A longer message is no plain answer to a request. */
const MAX_CHARS = 60;
/** Words that deny are looked for first, so that "no, don't go" does not approve. */
const DENY = ['deny', 'no', 'stop', 'reject', 'cancel', 'abort', 'hold', 'wait', "don't", 'dont', 'not', 'never'];
const APPROVE = ['approve', 'yes', 'go', 'confirm', 'proceed', 'ok', 'okay', 'sure', 'yeah', 'sounds good', 'do it', 'lgtm'];

const DENIES = compile(DENY);
const APPROVES = compile(APPROVE);

/** Returns whether a message approves or denies; undefined if it does neither. */
export function readVerdictWords(message: string): boolean | undefined {
  if (message.length > MAX_CHARS) return undefined;
  const text = message.replaceAll('’', "'");
  if (DENIES.test(text)) return false;
  return APPROVES.test(text) ? true : undefined;
}

/** Matches whole words only, so that "now" is no "no" and "google" is no "go". */
function compile(words: readonly string[]): RegExp {
  const alternatives = words.map((word) => word.replaceAll(' ', String.raw`\s+`)).join('|');
  return new RegExp(String.raw`(?<![\p{L}\p{N}_'])(?:${alternatives})(?![\p{L}\p{N}_'])`, 'iu');
}
