import { findInjectionPhrases, normalizeText } from '@switchyard/security';

/** The result of screening a text before it is stored. */
export interface Screening {
  /** `suspicious` texts are stored with less trust, `critical` texts are rejected. */
  verdict: 'clean' | 'suspicious' | 'critical';
  /** Names of the patterns found. */
  patterns: string[];
}

/**
 * Screens a text for instructions, because a model reads it with every later recall. Rephrased instructions pass, so the prompt of the
 * sessions service also tells the model never to follow instructions in memories.
 */
export function screenText(text: string): Screening {
  const plain = normalizeText(text);
  const critical = findPatterns(CRITICAL, plain);
  // Fenced code is screened as well.
  const suspicious = [...findInjectionPhrases(plain), ...findPatterns(SUSPICIOUS, plain)];
  const verdict = critical.length > 0 ? 'critical' : suspicious.length > 0 ? 'suspicious' : 'clean';
  return { verdict, patterns: [...critical, ...suspicious] };
}

type Patterns = Readonly<Record<string, RegExp>>;

/** Patterns for memories, in addition to the patterns for messages. */
const SUSPICIOUS: Patterns = {
  jailbreak: /\b(?:jailbreak|jailbroken|dan\s+mode|developer\s+mode\s+enabled)\b/,
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

function findPatterns(patterns: Patterns, text: string): string[] {
  return Object.entries(patterns).flatMap(([name, pattern]) => (pattern.test(text) ? [name] : []));
}
