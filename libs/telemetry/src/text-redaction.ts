import { longestHidden, withoutHidden } from './masked-values.ts';

const MAX_TEXT = 8_192;
const MIN_TEXT = 8;

/** Formats of secrets in free text. Named groups are kept; the rest of the match is redacted. */
const SECRETS = new RegExp(
  [
    String.raw`(?<scheme>\bBearer\s+)\S+`,
    String.raw`(?<basic>\b(?:Basic|Token)\s+)(?=(?-i:[^\sa-z]*[a-z][^\sA-Z]*[A-Z])|[^\s\d+/=]*[\d+/=])[\w.~+/=-]{8,}`,
    String.raw`(?<query>(?:token|password|passwd|passphrase|secret|credentials?|api_?key|access_?key|signature|[?&](?:key|sig|auth|jwt|pwd|pass|code))=)[^&\s"'<>]+`,
    String.raw`(?<argument>--?[a-z-]{0,32}(?:token|password|passwd|passphrase|secret|credentials?|api-?key|access-?key)(?:=|\s+))(?!-)[^\s"']+`,
    String.raw`(?<json>(?:token|password|passphrase|secret|authorization|cookie|credentials?|api_?key|access_?key|private_?key)\\?"\s*:\s*\\?")[^"\\]+`,
    String.raw`(?<url>:\/\/[^\s:/@]{0,256}:)[^\s/@]+(?=@)`,
    String.raw`(?<user>:\/\/)[^\s:/@]{8,256}(?=@)`,
    String.raw`(?<path>\/(?:services\/T\w{1,32}\/B\w{1,32}|webhooks\/\d{1,32})\/)[\w-]{16,}`,
    String.raw`\bsy_(?:pat|svc)_\w+`,
    String.raw`\bsk-[\w-]{8,}`,
    String.raw`\b(?:sk|rk|pk|whsec)_(?:live_|test_)?[0-9A-Za-z]{16,}`,
    String.raw`\b(?:gh[pousr]|github_pat|glpat)[_-]\w{16,}`,
    String.raw`\b(?:xox[a-z]|xapp)-[\w-]{8,}`,
    String.raw`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`,
    String.raw`\bAIza[\w-]{20,}`,
    String.raw`\bSG\.[\w-]{16,}\.[\w-]{16,}`,
    String.raw`\beyJ[\w-]{8,}(?:\.[\w-]+){0,2}`,
    String.raw`\b\d{8,10}:[\w-]{35}\b`,
    String.raw`\b[0-9a-f]{40,}\b`,
    String.raw`-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`,
  ].join('|'),
  'gi',
);

export const REDACTED = '[REDACTED]';

/** Redacts masked values and texts in a secret format. Cuts texts above 8 Ki characters. */
export function scrub(text: string): string {
  return text.length < MIN_TEXT ? text : scrubKnown(text).replace(SECRETS, keepGroups);
}

/** Like `scrub`, but redacts only masked values. */
export function scrubKnown(text: string): string {
  return text.length > MAX_TEXT ? `${getBeginning(text)}… ${text.length - MAX_TEXT} more` : withoutHidden(text, REDACTED);
}

/** Masks beyond the cut by the length of the longest masked value, so that no half of a value remains. */
function getBeginning(text: string): string {
  const beyond = longestHidden();
  const output = withoutHidden(text.slice(0, MAX_TEXT + beyond), REDACTED);
  return output.slice(0, Math.min(MAX_TEXT, output.length - beyond));
}

function keepGroups(...match: unknown[]): string {
  const groups = match.at(-1) as Record<string, string | undefined>;
  return (
    (groups['scheme'] ??
      groups['basic'] ??
      groups['query'] ??
      groups['json'] ??
      groups['argument'] ??
      groups['url'] ??
      groups['user'] ??
      groups['path'] ??
      '') + REDACTED
  );
}
