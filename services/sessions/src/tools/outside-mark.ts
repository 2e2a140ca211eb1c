/**
 * Returns whether a result contains text that its service marks as coming from outside: messages of tainted turns and of webhooks, and
 * memories with external trust.
 */
export function hasOutsideMark(result: unknown): boolean {
  if (Array.isArray(result)) return result.some(hasOutsideMark);
  if (typeof result !== 'object' || result === null) return false;
  const { outside, trustLevel } = result as { outside?: unknown; trustLevel?: unknown };
  return outside === true || trustLevel === 'external' || Object.values(result).some(hasOutsideMark);
}
