/** A kind of secret: its head and the characters that may follow. */
export interface SecretPattern {
  name: string;
  /** The shortest text that is certainly a secret. It starts a word, unless `anywhere` is set. */
  head: string;
  /** The characters that continue the secret after its head. */
  tail: RegExp;
  /** Its literal prefixes. */
  prefixes: readonly string[];
  anywhere?: true;
}

const WORD = /[\w-]/;

/** A secret with a fixed prefix and at least this many characters after it. */
function prefixed(name: string, prefixes: readonly string[], minChars: number, tail = WORD): SecretPattern {
  return { name, head: `(?:${prefixes.map((prefix) => RegExp.escape(prefix)).join('|')})${tail.source}{${minChars}}`, tail, prefixes };
}

/** The name of the canary pattern. A canary in an output proves that a prompt leaked. */
export const CANARY = 'canary';

/** The first matching pattern wins. */
export const SECRET_PATTERNS: readonly SecretPattern[] = [
  prefixed('aws_access_key', ['AKIA', 'ASIA'], 16, /[0-9A-Z]/),
  // Before openai_key, whose prefix also matches.
  prefixed('anthropic_key', ['sk-ant-'], 13),
  prefixed('openai_key', ['sk-'], 20),
  prefixed('github_token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'], 30, /\w/),
  prefixed('gitlab_token', ['glpat-'], 20),
  prefixed('slack_token', ['xoxa-', 'xoxb-', 'xoxe-', 'xoxo-', 'xoxp-', 'xoxr-', 'xoxs-', 'xapp-'], 10),
  prefixed('stripe_key', ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'whsec_'], 16, /[0-9A-Za-z]/),
  prefixed('google_api_key', ['AIza'], 35),
  { name: 'sendgrid_key', head: String.raw`SG\.[\w-]{16,64}\.[\w-]{16}`, tail: WORD, prefixes: ['SG.'] },
  prefixed('npm_token', ['npm_'], 36, /\w/),
  prefixed('switchyard_token', ['sy_pat_', 'sy_svc_'], 20, /\w/),
  { name: 'telegram_bot_token', head: String.raw`\d{8,10}:AA[\w-]{33}`, tail: WORD, prefixes: [] },
  {
    name: 'private_key',
    head: String.raw`-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:\s|\\[nr]){0,20}[A-Za-z0-9+/=]{20}`,
    tail: /[A-Za-z0-9+/=\s\\]/,
    prefixes: ['-----BEGIN '],
    anywhere: true,
  },
  prefixed(CANARY, ['CTKN_'], 16, /[0-9a-f]/),
];
