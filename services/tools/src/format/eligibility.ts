import type { SkillHead } from './skill-head.ts';

/** Returns what the skill requires and this process does not have; undefined if nothing is missing. */
export function findMissing({ os }: Pick<SkillHead, 'os' | 'requires'>): string | undefined {
  return os === undefined || os.includes(process.platform) ? undefined : `the operating system ${os.join(' or ')}`;
}
