import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { normalizeText } from '@switchyard/security';
import { removeInvisible, sanitizeText } from './sanitize-text.ts';
import { SCAN_RULES, type ScannedText, type ScanSeverity } from './scan-rules.ts';

/** A rule of the content scan that a text breaks. */
export interface ScanFinding {
  rule: string;
  severity: ScanSeverity;
  /** The file in which it was found. */
  path: string;
}

const PART_CHARS = 32_768;
/** More than any rule matches, so that nothing hides at the border of two parts. */
const OVERLAP_CHARS = 4_096;
/** Time after which other work of the process gets its turn. */
const YIELD_AFTER_MS = 10;
const CONTINUED_LINE = /\\\r?\n/g;

/**
 * Scans the files of a skill for text that would harm the people or the machine that use it. Each rule is reported once for each file.
 * Large files are scanned in parts, so that other work of the process continues.
 */
export async function scanSkill(files: readonly { path: string; content: string }[]): Promise<ScanFinding[]> {
  const findings: ScanFinding[] = [];
  const pause = createPause();
  for (const { path, content } of files) {
    const open = new Set(SCAN_RULES);
    for (const text of listVersions(content)) {
      for (let at = 0; at < text.length; at += PART_CHARS) {
        const part = preparePart(text.slice(at, at + PART_CHARS + OVERLAP_CHARS));
        for (const rule of open) {
          if (rule.matches(part)) {
            open.delete(rule);
            findings.push({ rule: rule.name, severity: rule.severity, path });
          }
          await pause();
        }
      }
    }
  }
  return findings;
}

/** The text of a file, and the text without its HTML comments, which could divide a command. */
function listVersions(content: string): string[] {
  const sanitized = sanitizeText(content);
  return sanitized === content ? [content] : [content, sanitized];
}

function preparePart(raw: string): ScannedText {
  return { raw, plain: normalizeText(removeInvisible(raw).replace(CONTINUED_LINE, ' ')) };
}

function createPause(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < YIELD_AFTER_MS) return undefined;
    return setImmediate().then(() => void (since = performance.now()));
  };
}
