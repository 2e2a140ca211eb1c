import { AgentId, ServiceError } from '@switchyard/contracts';
import { normalizeUnicode } from '@switchyard/security';

const MAX_LENGTH = 64;

/** Derives the agent id from its name: lower-case letters, digits, - and _. */
export function deriveAgentId(name: string): string {
  const slug = normalizeUnicode(name, 'NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, MAX_LENGTH)
    .replace(/-+$/, '');
  if (AgentId.safeParse(slug).success) return slug;
  throw new ServiceError('INVALID_ARGUMENT', 'Invalid params: name: expected text with at least one letter or digit, got none', {
    details: {
      issues: [
        { path: 'name', expected: 'text with at least one letter or digit', received: 'none', message: 'name: no id can be derived' },
      ],
    },
  });
}
