import { only, type Operation } from '../history.ts';
import type { Known, Violation } from './known.ts';

/** A gateway that receives no revocations rejects all tokens after this time. */
const BOUND_MS = 5_000;

/** I10: revoked secrets are rejected, valid ones are accepted, and no call exceeds the scopes of its token. */
export function tokens({ all }: Known): Violation[] {
  const matches: string[] = [];
  const changes = Map.groupBy([...only(all, 'rotate'), ...only(all, 'revoke')], ({ request }) => request.token);
  for (const use of only(all, 'use')) matches.push(...wrongUse(use, changes.get(use.request.token) ?? []));
  for (const { op, failure, f } of all)
    if (f !== 'use' && failure?.code === 'UNAUTHENTICATED')
      matches.push(`operation ${op} was refused as UNAUTHENTICATED with a token that nobody revoked`);
  return matches.map((description) => ({ invariant: 'I10', what: description }));
}

type Change = Operation<'rotate'> | Operation<'revoke'>;

function wrongUse({ op, request: asked, from, to, outcome, failure }: Operation<'use'>, changes: readonly Change[]): string[] {
  const { token, rotations, within } = asked;
  const endings = changes.filter(({ f }) => f === 'revoke' || rotations === 0);
  const over = Math.min(Infinity, ...endings.flatMap((ending) => (ending.outcome === 'ok' ? [ending.to] : [])));
  if (outcome === 'ok' && !within) return [`use ${op} of ${token} did what is not within its scopes`];
  if (outcome === 'ok' && from > over + BOUND_MS) return [`use ${op} of ${token} was accepted ${Math.round(from - over)} ms after its end`];
  const mayBeOver = endings.some((ending) => ending.outcome !== 'failed' && ending.from <= to);
  if (failure?.code === 'UNAUTHENTICATED' && !mayBeOver) return [`use ${op} of ${token} was refused while it held`];
  return [];
}

/** The longest time for which a secret was accepted after its revocation. */
export function longestAfterEnd({ all }: Known): number {
  const endings = new Map(
    only(all, 'revoke').flatMap(({ request: asked, outcome, to }) => (outcome === 'ok' ? [[asked.token, to] as const] : [])),
  );
  const late = only(all, 'use').flatMap(({ request: asked, from, outcome }) =>
    outcome === 'ok' ? [from - (endings.get(asked.token) ?? Infinity)] : [],
  );
  return Math.max(0, ...late);
}
