import { AgentId, ServiceError } from '@switchyard/contracts';

const MAX_LENGTH = 64;

/** The id an agent gets by its name: lower-case letters, digits, - and _. */
export function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, MAX_LENGTH)
    .replace(/-+$/, '');
  if (AgentId.safeParse(slug).success) return slug;
  throw new ServiceError('INVALID_ARGUMENT', 'Invalid params: name: expected text with a letter or a digit in it, got none', {
    details: {
      issues: [{ path: 'name', expected: 'text with a letter or a digit in it', received: 'none', message: 'name: gives no id' }],
    },
  });
}
