import { findInjectionPhrases } from '@switchyard/security';

/** Critical findings stop a skill; warnings are logged. */
export type ScanSeverity = 'critical' | 'warning';

/** A part of a file: as it is, and normalized (lower case, one space between words, continued lines joined). */
export interface ScannedText {
  raw: string;
  plain: string;
}

/** A rule of the content scan. Its check takes linear time. */
export interface ScanRule {
  /** `<category>.<rule>` */
  name: string;
  severity: ScanSeverity;
  matches(text: ScannedText): boolean;
}

type Check = ScanRule['matches'];
type CategoryRules = Readonly<Record<string, readonly [severity: ScanSeverity, matches: Check]>>;

/** Returns a check for any of these patterns in the normalized text. Repeats in patterns are bounded. */
function matching(...sources: readonly string[]): Check {
  const pattern = new RegExp(sources.map((source) => `(?:${source})`).join('|'));
  return ({ plain }) => pattern.test(plain);
}

const { raw: source } = String;
/** A program that executes its standard input, after a pipe. */
const PIPED_SHELL = source`\|\s?(?:sudo\s)?(?:/(?:usr/)?bin/)?(?:env\s)?(?:(?:ba|z|da|k|fi)?sh|python3?|perl|ruby|node|php|iex)\b`;
const FETCH = source`\b(?:curl|wget|iwr|invoke-webrequest)\s`;
const DECODE = source`\b(?:base(?:64|32)\s(?:-d|-di|--decode)|openssl\s(?:enc\s)?-?base64\s-d|xxd\s-r|uudecode)\b`;
const SECRET_FILE = source`(?:\.ssh/id_|\.aws/credentials|\.netrc\b|\.npmrc\b|\.pgpass\b|\.kube/config\b|\.docker/config\.json|\.gnupg/|/etc/shadow\b|login\.keychain|cookies\.sqlite)`;
const READER = source`\b(?:cat|less|head|tail|cp|scp|tar|zip|base64|grep|strings|open|read_text|readfile(?:sync)?)\b`;
const PROFILE_FILE = source`(?:\.(?:bashrc|bash_profile|zshrc|zprofile|zshenv|profile)|/etc/(?:profile|bash\.bashrc|environment))\b`;

const MIN_BLOB_CHARS = 1_000;
const BLOB = /[A-Za-z0-9+/_-]+/g;
/** Invisible characters that hide text from a reader, in a run or as tag characters. A single joiner is part of emoji and scripts. */
const HIDDEN_TEXT = /[\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069]{2}|[\u{e0020}-\u{e007e}]{3}|[\u200b-\u200f\u2060-\u2064]{8}/u;

function hasBlob({ raw }: ScannedText): boolean {
  for (const [run] of raw.matchAll(BLOB)) if (run.length >= MIN_BLOB_CHARS) return true;
  return false;
}

const EXECUTION: CategoryRules = {
  'exec-injection': [
    'critical',
    matching(
      source`\b(?:eval|source|(?:ba|z|da)?sh\s-c)\s?["']?(?:\$\(|${'`'}|<\()\s?(?:sudo\s)?(?:curl|wget|nc|base64|xxd|printf\s["']?\\x)`,
      source`\b(?:exec|eval)\s?\(\s?(?:requests\.get|urllib\.request|urlopen|await\sfetch|fetch\s?\(|compile\s?\(\s?(?:requests|urlopen))`,
      source`\bos\.system\s?\(\s?(?:input\s?\(|sys\.argv|requests\.get|urlopen)`,
      source`\b(?:iex|invoke-expression)\s?\(?\s?(?:\(\s?)?(?:iwr|irm|curl|new-object\s(?:system\.)?net\.webclient)`,
    ),
  ],
  'reverse-shell': [
    'critical',
    matching(
      source`/dev/(?:tcp|udp)/[^\s/]{1,100}/\d`,
      source`\b(?:nc|ncat|netcat)\s[^\n|;]{0,100}-(?:[a-z]{0,5}e|-exec|c)\s?/?(?:bin/)?(?:(?:ba|z|da)?sh|cmd)`,
      source`\bmkfifo\s[^\n]{1,200}\|\s?(?:nc|ncat|netcat|openssl\ss_client)\b`,
      source`\bsocat\s[^\n]{0,200}\bexec:`,
      source`\bos\.dup2\s?\(\s?\w{1,30}\.fileno`,
      source`\bpty\.spawn\s?\(\s?["']/bin/`,
      source`\bnew-object\s(?:system\.)?net\.sockets\.tcpclient\b`,
    ),
  ],
  'remote-script': ['warning', matching(source`${FETCH}[^\n|]{1,300}${PIPED_SHELL}`)],
};

const OBFUSCATION: CategoryRules = {
  'decode-pipe': [
    'critical',
    matching(
      source`${DECODE}[^\n|]{0,200}${PIPED_SHELL}`,
      source`\b(?:exec|eval)\s?\(\s?(?:\w{1,30}\.){0,2}(?:b64decode|b32decode|unhexlify|decompress|atob|buffer\.from)\s?\(`,
      source`\b(?:exec|eval)\s?\(\s?(?:compile|zlib|marshal|bytes\.fromhex|__import__)\b`,
      source`\bpowershell(?:\.exe)?\s[^\n|]{0,100}-(?:e|ec|enc|encodedcommand)\s[a-z0-9+/=]{16}`,
    ),
  ],
  'hidden-text': ['warning', ({ raw }) => HIDDEN_TEXT.test(raw)],
  'encoded-blob': ['warning', hasBlob],
};

const MINING: CategoryRules = {
  program: [
    'critical',
    matching(
      source`\b(?:xmrig|xmr-stak|minerd|cpuminer|ccminer|cgminer|bfgminer|ethminer|nbminer|lolminer|phoenixminer|nicehash(?:miner)?)\b`,
    ),
  ],
  pool: [
    'critical',
    matching(
      source`\bstratum(?:\+(?:tcp|ssl|tls)|[12](?:\+(?:tcp|ssl))?)?://`,
      source`\b(?:supportxmr|minexmr|moneroocean|nanopool|hashvault|2miners|herominers|f2pool|ethermine)\.(?:com|stream|org|pro)\b`,
    ),
  ],
  'browser-script': ['critical', matching(source`\b(?:coinhive|coin-hive|cryptoloot|crypto-loot|jsecoin|deepminer|coinimp|webminepool)\b`)],
};

const EXFILTRATION: CategoryRules = {
  'credential-read': [
    'warning',
    matching(
      source`${READER}[^\n|;]{0,100}${SECRET_FILE}`,
      source`\bsecurity\sfind-(?:generic|internet)-password\b`,
      source`\b169\.254\.169\.254\b`,
    ),
  ],
  upload: [
    'warning',
    matching(
      source`\bcurl\s[^\n|]{0,200}(?:-d|--data(?:-binary|-raw|-urlencode)?|-f|--form|-t|--upload-file)\s?["']?(?:\w{1,30}=)?(?:@|~/|\.env\b|\$\()`,
      source`\b(?:env|printenv|history|set)\s?\|[^\n]{0,100}\b(?:curl|wget|nc|ncat)\b`,
      source`\bwget\s[^\n|]{0,200}--post-file`,
    ),
  ],
  channel: [
    'warning',
    matching(
      source`\b(?:webhook\.site|requestbin\.(?:com|net)|requestcatcher\.com|pipedream\.net|interact\.sh|oast\.(?:fun|pro|live|site|me)|burpcollaborator\.net|ngrok(?:-free)?\.(?:io|app)|transfer\.sh|pastebin\.com/api|file\.io)\b`,
      source`\bdiscord(?:app)?\.com/api/webhooks/`,
      source`\bapi\.telegram\.org/bot`,
    ),
  ],
};

const PERSISTENCE: CategoryRules = {
  schedule: [
    'warning',
    matching(
      source`\bcrontab\s-(?!l\b)`,
      source`\|\s?crontab\b`,
      source`/etc/cron(?:tab|\.d|\.daily|\.hourly)\b`,
      source`\bschtasks\s/create\b`,
    ),
  ],
  profile: [
    'warning',
    matching(source`(?:>>?|\btee\s(?:-a\s)?)\s?["']?(?:~|\$home|\$\{home\}|/root|/home/[\w.-]{1,32})?/?${PROFILE_FILE}`),
  ],
  service: [
    'warning',
    matching(
      source`\bsystemctl\s(?:--user\s)?enable\b`,
      source`\blaunchctl\s(?:load|bootstrap)\b`,
      source`\b(?:launchagents|launchdaemons)/`,
      source`(?:>>?|\btee\s(?:-a\s)?)\s?["']?[^\s"']{0,100}authorized_keys\b`,
      source`\breg(?:\.exe)?\sadd\s[^\n]{0,200}currentversion\\run\b`,
    ),
  ],
};

const PROMPT: CategoryRules = {
  'tag-breakout': [
    'critical',
    matching(
      source`</(?:system|system[_-]prompt|skill|skills|available_skills|skill_instructions|tool_result|tool_results|function_results|untrusted[\w-]{0,30})\s?>`,
      source`<\|(?:im_start|im_end|start_header_id|end_header_id|eot_id|endoftext|system|assistant|user)\|>`,
      source`\[/inst\]|<</?sys>>`,
    ),
  ],
  injection: ['warning', ({ plain }) => findInjectionPhrases(plain).length > 0],
  secrecy: [
    'warning',
    matching(
      source`\b(?:do\snot|don['’]t|never)\s(?:tell|inform|notify|alert|mention|reveal|show|disclose)\s(?:[\w'’]{1,20}\s){0,3}?(?:to\s)?(?:the\s|any\s|your\s)?(?:user|human|operator|owner)s?\b`,
      source`\bwithout\s(?:telling|informing|notifying|asking|alerting)\s(?:the\s|any\s|your\s)?(?:user|human|operator|owner)s?\b`,
      source`\b(?:hide|conceal|keep)\s(?:this|it|that)\s(?:secret\s|hidden\s)?from\s(?:the\s)?(?:user|human|operator)s?\b`,
    ),
  ],
};

const CATEGORIES = {
  execution: EXECUTION,
  obfuscation: OBFUSCATION,
  mining: MINING,
  exfiltration: EXFILTRATION,
  persistence: PERSISTENCE,
  prompt: PROMPT,
};

/** All rules: six categories of three. */
export const SCAN_RULES: readonly ScanRule[] = Object.entries(CATEGORIES).flatMap(([category, rules]) =>
  Object.entries(rules).map(([rule, [severity, matches]]) => ({ name: `${category}.${rule}`, severity, matches })),
);
