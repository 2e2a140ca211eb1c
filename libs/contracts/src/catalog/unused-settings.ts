import { UNREAD_SETTINGS } from '../config/unread-settings.ts';
import { covers, writtenPaths } from '../config/immutable.ts';

/**
 * Lists the set paths of a configuration value that no code reads. They are accepted and stored without effect. `prefix` is the path of
 * the value, such as `agents.oslo`.
 */
export function listUnusedSettings(value: unknown, prefix = ''): string[] {
  if (prefix !== '' && isUnread(prefix)) return writtenPaths(value, prefix);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => listUnusedSettings(inner, prefix === '' ? key : `${prefix}.${key}`));
}

/** Whether nothing reads the setting at this path yet. */
export function isUnread(path: string): boolean {
  const names = path.split('.');
  return UNREAD_SETTINGS.some((unread) => covers(unread, names));
}
