/** A rule of the content scan that a text breaks. */
export interface ScanFinding {
  rule: string;
  severity: 'critical' | 'warning';
  /** The file in which it was found. */
  path: string;
}

/** Scans the files of a skill for text that would harm the people or the machine that use it. */
export function scanSkill(_files: readonly { path: string; content: string }[]): ScanFinding[] {
  return [];
}
