import { applyMergePatch, createMergePatch, findConflicts, isEqual } from './merge-patch.ts';

/** A change that an operator is making to one value of the configuration. */
export interface Draft {
  /** What the operator typed, as JSON. It may be invalid while they type. */
  text: string;
  /** The version and the value at the first keystroke. */
  baseSha: string | undefined;
  baseValue: unknown;
}

export const formatJson = (value: unknown): string => JSON.stringify(value ?? {}, undefined, 2);

/** Returns the value of the text, or why it is no JSON. */
export function parseDraft({ text }: Pick<Draft, 'text'>): { value: unknown } | { failure: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { failure: `The text is no valid JSON: ${(error as Error).message}` };
  }
}

/** The state of a draft beside what is in force now. */
export type Standing =
  | { kind: 'current' }
  /** Another version is in force, and this value has not changed. The draft can be applied to it. */
  | { kind: 'moved' }
  /** Somebody else changed this value. */
  | { kind: 'concurrent'; conflicts: string[] };

/** Compares a draft with what is in force. */
export function compareDraft(draft: Draft, head: string | undefined, inForce: unknown): Standing {
  if (draft.baseSha === head) return { kind: 'current' };
  const theirs = createMergePatch(draft.baseValue, inForce);
  if (theirs === undefined) return { kind: 'moved' };
  const parsed = parseDraft(draft);
  const mine = 'value' in parsed ? createMergePatch(draft.baseValue, parsed.value) : undefined;
  return { kind: 'concurrent', conflicts: findConflicts(mine, theirs) };
}

/** Makes the same change on the value in force. Where both changed a key, the draft keeps its own value. */
export function rebaseDraft(draft: Draft, head: string | undefined, inForce: unknown): Draft {
  const parsed = parseDraft(draft);
  if ('failure' in parsed) return draft;
  const value = applyMergePatch(inForce, createMergePatch(draft.baseValue, parsed.value));
  return { text: formatJson(value), baseSha: head, baseValue: inForce };
}

/** Returns what is left of a draft after its text was saved: undefined, or what was typed while the save ran. */
export function continueDraft(now: Draft | undefined, saved: Draft, commitSha: string | undefined): Draft | undefined {
  if (now === undefined || now.text === saved.text) return undefined;
  const parsed = parseDraft(saved);
  return { text: now.text, baseSha: commitSha ?? now.baseSha, baseValue: 'value' in parsed ? parsed.value : now.baseValue };
}

/** Whether a draft changes nothing. */
export function isUnchanged(draft: Draft): boolean {
  const parsed = parseDraft(draft);
  return 'value' in parsed && isEqual(parsed.value, draft.baseValue);
}
