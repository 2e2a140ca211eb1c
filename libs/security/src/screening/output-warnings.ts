/** Patterns that cause a warning only, because they may be intended. */
const WARNINGS: Readonly<Record<string, RegExp>> = {
  bearer_token: /\bbearer [\w.~+/-]{20,}/i,
  jwt: /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/,
  prompt_leak: /\b(?:my|the) (?:system prompt|system instructions|hidden instructions) (?:is|are|says?|reads?)\b/i,
};

/** Names of the patterns in an answer that a person should check. */
export function outputWarnings(text: string): string[] {
  return Object.entries(WARNINGS).flatMap(([name, pattern]) => (pattern.test(text) ? [name] : []));
}
