/** What in an answer is only warned of: it may be meant, and nothing is taken out. */
const WARNINGS: Readonly<Record<string, RegExp>> = {
  bearer_token: /\bbearer [\w.~+/-]{20,}/i,
  jwt: /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/,
  prompt_leak: /\b(?:my|the) (?:system prompt|system instructions|hidden instructions) (?:is|are|says?|reads?)\b/i,
};

/** Names of what is in an answer that a person should look at. */
export function outputWarnings(text: string): string[] {
  return Object.entries(WARNINGS).flatMap(([name, pattern]) => (pattern.test(text) ? [name] : []));
}
