/** What a text to be remembered looks like. */
export interface Screening {
  /** `suspicious` is remembered and trusted less, `critical` is not remembered. */
  verdict: 'clean' | 'suspicious' | 'critical';
  /** Names of what was found. */
  patterns: string[];
}

/**
 * Whoever reads a memory later is a model, and a memory that gives orders is an order that comes back each time. Words can be put
 * otherwise, so nothing rests on this alone: what is remembered is never instructions (`turns/memories.ts` of sessions says so to the model).
 */
export function screen(text: string): Screening {
  const plain = text.normalize('NFKC').replace(INVISIBLE, '').toLowerCase();
  const critical = namesOf(CRITICAL, plain);
  const suspicious = namesOf(SUSPICIOUS, plain);
  const verdict = critical.length > 0 ? 'critical' : suspicious.length > 0 ? 'suspicious' : 'clean';
  return { verdict, patterns: [...critical, ...suspicious] };
}

/** Letters that nobody sees, by which a word is hidden from a search for it. */
const INVISIBLE = /[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]/g;

type Patterns = Readonly<Record<string, RegExp>>;

const SUSPICIOUS: Patterns = {
  ignore_instructions: /\b(?:ignore|bypass|skip)\s+(?:\w+\s+){0,3}(?:instructions?|rules?|prompts?|guidelines?)\b/,
  disregard_previous: /\bdisregard\s+(?:\w+\s+){0,3}(?:above|previous|prior|earlier|instructions?|rules?)\b/,
  forget_instructions: /\bforget\s+(?:\w+\s+){0,3}(?:instructions?|rules?|training|guidelines?)\b/,
  override_safety: /\b(?:override|disable|turn\s+off)\s+(?:\w+\s+){0,3}(?:safety|guardrails?|filters?|restrictions?|security)\b/,
  new_instructions: /\bnew\s+(?:system\s+)?instructions?\s*:/,
  rule_replacement: /\b(?:your|the)\s+new\s+(?:rules?|system\s+prompt|persona|role)\s+(?:is|are)\b/,
  role_assumption: /\byou\s+are\s+(?:now|no\s+longer)\s+(?:an?\s+|the\s+|in\s+)?\w+/,
  act_as_role:
    /\b(?:act|behave|respond)\s+as\s+(?:an?\s+|if\s+you\s+(?:are|were|had)\s+)?(?:\w+\s+)?(?:admin|administrator|root|developer|system|unrestricted|jailbroken|no\s+restrictions?)\b/,
  jailbreak: /\b(?:jailbreak|jailbroken|dan\s+mode|developer\s+mode\s+enabled)\b/,
  system_markers: /(?:^|\n)[ \t]{0,20}(?:system|assistant|developer)[ \t]{0,20}:|<\/?(?:system|assistant|instructions?)>/,
  special_tokens: /<\|[a-z_]{2,30}\|>|\[\/?inst\]|<<\/?sys>>/,
  reveal_prompt: /\b(?:reveal|print|repeat|show)\s+(?:\w+\s+){0,3}(?:system\s+prompt|hidden\s+instructions?)\b/,
};

const CRITICAL: Patterns = {
  destructive_shell:
    /\brm\s+-[a-z]{0,20}[rf][a-z]{0,20}\s+(?:-\S{1,50}\s+){0,10}(?:\/|~|\*|\$home)|\bmkfs(?:\.\w+)?\s|\bdd\s+if=\S{1,300}\s+of=\/dev\/|:\(\)\s*\{\s*:\|:&\s*\};:/,
  destructive_sql: /\bdrop\s+(?:table|database|schema)\s+\w/,
  piped_shell: /\b(?:curl|wget)\s[^\n|]{1,300}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b/,
  exec_command: /\b(?:eval|exec|system|popen|subprocess\.(?:run|call|popen)|child_process)\s*\(/,
  elevated_command: /\bsudo\s+[a-z/]|\bchmod\s+(?:-r\s+)?(?:0?777|[ugo]*\+s)\b/,
  elevated_flag:
    /--(?:no-sandbox|privileged|dangerously-[a-z-]+|allow-root|yolo)\b|\b(?:elevated|bypass_approvals?|auto_approve|skip_permissions)\s*[:=]\s*(?:true|1|yes|on)\b/,
};

function namesOf(patterns: Patterns, text: string): string[] {
  return Object.entries(patterns).flatMap(([name, pattern]) => (pattern.test(text) ? [name] : []));
}
